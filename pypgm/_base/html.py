"""HTML of small tables, shares and folded parts; text is escaped, markup has a type of its own."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Sequence
from functools import singledispatch

from pypgm._base.terminal import escaped

_BLUE = "37,99,168"
_RED = "#b3261e"
_DARKEST = 0.45  # opacity of the darkest shade: text on it stays legible on white and on black
_CELL = "padding:2px 8px;vertical-align:top;"
_TABLE = "border-collapse:collapse;margin:4px 0;font-size:90%"


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


class Shown:
    """Objects that show themselves at the end of a notebook's cell, by the writer of their class.

    The writers know the classes, and the classes know none of them: they are imported when something is shown.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(importlib.import_module("pypgm.notebook").as_html(self))


@singledispatch
def written(thing: object) -> Markup:
    """Return an object as HTML by the writer registered for its class; ``TypeError`` where there is none."""
    raise TypeError(f"objects of class {type(thing).__name__} have no HTML")


@written.register(Shown)
def _represented(thing: object) -> Markup:
    """Return the ``repr`` of an object whose class has no writer of its own."""
    return element("span", repr(thing))


def text(value: object) -> Markup:
    """Return a value as escaped text, a number to six digits, markup as it is.

    Examples
    --------
    >>> text("<b>"), text(1234.5678), text(12345)
    ('&lt;b&gt;', '1,234.57', '12,345')
    """
    if isinstance(value, Markup):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return Markup(_number(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return Markup(f"{value:,}" if abs(value) < 10**15 else f"{value:.6g}" if abs(value) < 10**300 else "huge")
    return _safe(value)


def _safe(value: object) -> Markup:
    """Return a text that shows as it is, in attributes of elements too."""
    import html

    return Markup(html.escape(escaped(value)))


def _number(value: float) -> str:
    """Return a number to six digits, without an exponent where it is short."""
    if value and not 1e-4 <= abs(value) < 1e12:
        return f"{value:.3g}"
    digits = max(0, 5 - math.floor(math.log10(abs(value)))) if value else 0
    shown = f"{value:,.{digits}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def element(tag: str, *content: object, style: str = "", **attributes: str) -> Markup:
    """Return an element with its content; text is escaped.

    Examples
    --------
    >>> element("b", "a < b")
    '<b>a &lt; b</b>'
    """
    named = {**({"style": style} if style else {}), **attributes}
    settings = "".join(f' {name.rstrip("_")}="{_safe(value)}"' for name, value in named.items())
    return Markup(f"<{tag}{settings}>{''.join(map(text, content))}</{tag}>")


def heading(title: object, *more: object) -> Markup:
    """Return a line with a bold title and more text beside it."""
    return element("div", element("b", title), *(element("span", " ", m, style="opacity:.75") for m in more if m))


def warning(text: object) -> Markup:
    """Return a line in the colour of a warning."""
    return element("div", text, style=f"color:{_RED}")


def shaded(content: object, share: float) -> Markup:
    """Return a cell of a table in a shade of blue, the darker the larger a share of 0 to 1."""
    alpha = _DARKEST * min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0
    return element("td", content, style=f"{_CELL}text-align:right;background:rgba({_BLUE},{alpha:.2f})")


def bar(share: float) -> Markup:
    """Return a share of 0 to 1 as the length of a bar."""
    long = 100 * min(max(share, 0.0), 1.0)
    inner = element("div", style=f"width:{long:.1f}%;height:10px;background:rgb({_BLUE})")
    return element("div", inner, style="width:160px;background:rgba(128,128,128,.2);margin-top:4px")


def folded(title: object, *content: object, is_open: bool = False) -> Markup:
    """Return a part that opens when its title is clicked."""
    inside = "".join(map(text, (element("summary", title), *content)))
    return Markup(f"<details{' open' * is_open}>{inside}</details>")


def table(head: Sequence[object], rows: Iterable[Sequence[object]], left_out: int = 0) -> Markup:
    """Return a table with numbers to the right; a last row counts the rows left out.

    Examples
    --------
    >>> "&lt;script&gt;" in table(["label"], [["<script>"]])
    True
    """
    cells = [[*map(_cell, row)] for row in rows]
    numeric = [bool(cells) and all(n for n, _ in column) for column in zip(*cells, strict=True)] if cells else []
    sides = ["right" if n else "left" for n in numeric] or ["left"] * len(head)
    top = [element("th", h, style=f"{_CELL}text-align:{side}") for h, side in zip(head, sides, strict=True)]
    lines = [element("tr", *(cell for _, cell in row)) for row in cells]
    if left_out:
        note = element("td", f"… {left_out:,} more", colspan=str(max(1, len(head))), style=f"{_CELL}opacity:.75")
        lines.append(element("tr", note))
    body = [element("thead", element("tr", *top))] if any(map(text, head)) else []
    return element("table", *body, element("tbody", *lines), style=_TABLE)


def _cell(value: object) -> tuple[bool, Markup]:
    """Return whether a cell is a number, and the cell."""
    if isinstance(value, Markup) and value.startswith("<td"):
        return True, value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    side = "right" if is_number else "left"
    return is_number, element("td", value, style=f"{_CELL}text-align:{side}")
