"""Figures of matplotlib: shown by pyplot where it can show them, or saved."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BLUE", "GREY", "INK", "PALE", "RED", "axes_of", "new_figure", "plain_text", "svg_of", "unshown"]

# Style that matplotlib would set for the whole page around a picture.
_STROKES = "stroke-linejoin:round;stroke-linecap:butt;max-width:100%;height:auto"
_UNSHOWN = ContextVar("unshown", default=False)

BLUE, GREY, INK, PALE, RED = "#2563a8", "#b8bcc4", "#2b2f36", "#e6e8ec", "#b3261e"


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches; ``ImportError`` without matplotlib, the extra ``plot``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def axes_of(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the given axes, or the axes of a new figure with a size in inches.

    In a notebook, and where pyplot was imported and has windows, it is a figure of pyplot, shown at the end of the cell
    or by ``plt.show()``. Elsewhere pyplot does not know it.
    """
    if ax is not None:
        return ax
    if _UNSHOWN.get() or not _is_shown():
        return new_figure(width, height).subplots()
    from matplotlib import pyplot

    return pyplot.figure(figsize=(width, height), layout="constrained").subplots()


@contextlib.contextmanager
def unshown() -> Iterator[None]:
    """Context in which new figures are not shown by pyplot."""
    before = _UNSHOWN.set(True)
    try:
        yield
    finally:
        _UNSHOWN.reset(before)


def _is_shown() -> bool:
    """Return whether pyplot would show a figure."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        return True
    if "matplotlib.pyplot" not in sys.modules:
        return False
    import matplotlib

    return matplotlib.get_backend().lower() not in {"agg", "cairo", "pdf", "pgf", "ps", "svg", "template"}


@contextlib.contextmanager
def plain_text() -> Iterator[None]:
    """Context in which text is drawn as it is: a dollar sign in a name or label begins no formula."""
    from matplotlib import rc_context

    with rc_context({"text.parse_math": False}):
        yield


def svg_of(drawn: Axes) -> str:
    """Return the figure of some axes as an SVG element, with text kept as text."""
    from matplotlib import rc_context

    file, figure = io.StringIO(), drawn.get_figure(root=True)
    assert figure is not None
    with rc_context({"svg.fonttype": "none", "text.parse_math": False}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    apart = r"<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>"
    text = re.sub(apart, "", text, flags=re.DOTALL)
    return text[text.index("<svg") :].replace("<svg ", f'<svg style="{_STROKES}" ', 1)
