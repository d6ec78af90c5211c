r"""Text of files, names and labels made safe for a terminal: nothing in it moves, hides or reverses the output."""

from __future__ import annotations

import json
import shutil
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence

NO_BREAK = "\xa0"
"""A space at which no line ends."""

MISSING = "(missing)"
"""Text of a missing value."""

WIDEST = 100
"""Columns of text at most; a narrower terminal has fewer."""
_NARROWEST = 40

_JOINERS = "\u200c\u200d"  # format characters that words of Persian and of India's languages are written with


def escaped(text: object) -> str:
    r"""Return a text with Python escapes in place of unprintable characters.

    Unprintable are control characters, line breaks of all kinds, marks that change the direction of writing or have no
    width, and lone surrogates.

    Examples
    --------
    >>> print(escaped("café \x1b[2J\u202e\nguarantee"))
    café \x1b[2J\u202e\nguarantee
    """
    characters = str(text)
    if characters.isprintable():
        return characters
    return "".join(c if _is_shown(c) else c.encode("unicode_escape").decode("ascii") for c in characters)


def escaped_json(text: str) -> str:
    r"""Return JSON text with escapes in place of unprintable characters; it means the same.

    Examples
    --------
    >>> print(escaped_json('["\u202e"]'))
    ["\u202e"]
    """
    return "".join(c if c == "\n" or _is_shown(c) else json.dumps(c)[1:-1] for c in text)


def label_text(label: object) -> str:
    """Return a label for a reader; one without a visible character is a missing value.

    Examples
    --------
    >>> label_text("yes"), label_text(" "), label_text(2.5)
    ('yes', '(missing)', '2.5')
    """
    text = str(label)
    return text if text.strip() else MISSING


def missing_code(labels: Sequence[object]) -> int | None:
    """Return the code of the only label shown as a missing value; None if there is none or more than one.

    Examples
    --------
    >>> missing_code(["yes", ""]), missing_code(["", " "]), missing_code([0, 1])
    (1, None, None)
    """
    codes = [code for code, label in enumerate(labels) if label_text(label) == MISSING]
    return codes[0] if len(codes) == 1 else None


def terminal_width() -> int:
    """Return the number of columns for text: that of the terminal, 40 to 100, and 100 without a terminal."""
    return min(max(shutil.get_terminal_size((WIDEST, 24)).columns, _NARROWEST), WIDEST)


def laid_out(rows: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Return texts below each other, wrapped to a width, with titles beside them; an empty title continues the last.

    No word is cut, so that a path or command can be copied whole.

    Examples
    --------
    >>> laid_out([("who", "any one person"), ("", "at all")], 16)
    ['who  any one', '     person', '     at all']
    """
    shown = [(escaped(title), escaped(text)) for title, text in rows]
    indent = max((cells_wide(title) for title, _ in shown), default=0) + 2
    lines = []
    for title, text in shown:
        wrapped = textwrap.wrap(text, max(width - indent, 1), break_long_words=False, break_on_hyphens=False) or [""]
        wrapped = [line.replace(NO_BREAK, " ") for line in wrapped]
        lines.append(f"{title}{' ' * (indent - cells_wide(title))}{wrapped[0]}".rstrip())
        lines += [f"{' ' * indent}{more}" for more in wrapped[1:]]
    return lines


def aligned(rows: Sequence[Sequence[str]], width: int, numbers: Iterable[int] = ()) -> list[str]:
    """Return the rows of a table in columns, numbers to the right, lines cut to the width.

    Examples
    --------
    >>> aligned([("age", "1.9"), ("workclass", "0.43")], 80, numbers=[1])
    ['age         1.9', 'workclass  0.43']
    """
    n = max(map(len, rows), default=0)
    texts = [[*map(escaped, row), *[""] * (n - len(row))] for row in rows]
    right = set(numbers)
    widths = [max((cells_wide(row[i]) for row in texts), default=0) for i in range(n)]
    lines = []
    for row in texts:
        cells = [_padded(cell, widths[i], i in right) for i, cell in enumerate(row)]
        lines.append(_cut("  ".join(cells).rstrip(), width))
    return lines


def cells_wide(text: str) -> int:
    """Return the number of terminal columns of a text.

    Examples
    --------
    >>> cells_wide("abc"), cells_wide("日本"), cells_wide("e\u0301")
    (3, 4, 1)
    """
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _padded(text: str, width: int, to_the_right: bool) -> str:
    space = " " * (width - cells_wide(text))
    return f"{space}{text}" if to_the_right else f"{text}{space}"


def _cut(text: str, width: int) -> str:
    if cells_wide(text) <= width:
        return text
    while cells_wide(text) >= width:
        text = text[:-1]
    return f"{text.rstrip()}…"


def _is_shown(c: str) -> bool:
    return c.isprintable() or c in _JOINERS or unicodedata.category(c) == "Zs"
