"""Figures that belong to no window: they are drawn on, shown in a notebook or saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["new_figure"]


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches; ``ImportError`` if matplotlib, the extra ``plot``, is not there."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
