"""Pictures of Markov random fields: their edges by strength."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pypgm._base.canvas import axes_of
from pypgm._base.terminal import escaped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _LINE = "#2b2f36", "#2563a8"
_WIDEST = 6.0


def draw_edges(attributes: Sequence[str], edges: Mapping[tuple[str, str], float], ax: Axes | None = None) -> Axes:
    """Draw attributes on a circle and edges between them, the wider the stronger, with the strength beside the widest.

    Parameters
    ----------
    attributes : sequence of str
    edges : mapping of (str, str) to float
        Strengths, at least 0.
    ax : matplotlib Axes, optional
        New axes by default.

    Raises
    ------
    ImportError
        If matplotlib, the extra ``plot``, is not installed.
    """
    n = max(len(attributes), 1)
    side = float(np.clip(1.0 + 0.45 * n, 4.0, 14.0))
    ax = axes_of(ax, side, side)
    angles = {a: np.pi / 2 - 2 * np.pi * i / n for i, a in enumerate(attributes)}
    places = {a: (float(np.cos(t)), float(np.sin(t))) for a, t in angles.items()}
    strongest = max(edges.values(), default=0.0) or 1.0
    for (a, b), strength in sorted(edges.items(), key=lambda edge: edge[1]):
        (x, y), (u, v) = places[a], places[b]
        share = strength / strongest
        ax.plot([x, u], [y, v], color=_LINE, lw=0.5 + (_WIDEST - 0.5) * share, alpha=0.35 + 0.6 * share, zorder=1)
        if strength == strongest and strongest != 1.0:
            ax.text((x + u) / 2, (y + v) / 2, f"{strength:.2g}", color=_INK, ha="center", va="center", zorder=3)
    size = float(np.clip(160 / n, 5, 10))
    for a, (x, y) in places.items():
        box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": _LINE}
        ax.text(
            x, y, escaped(a), ha="center", va="center", fontsize=size, color=_INK, bbox=box, zorder=2, parse_math=False
        )
    ax.set_xlim(-1.3, 1.3)
    ax.set_ylim(-1.2, 1.2)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax
