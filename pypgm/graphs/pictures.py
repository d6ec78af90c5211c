"""Pictures of graphs: boxes with text, and arcs that run around them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm._base.canvas import GREY, INK, axes_of, plain_text
from pypgm._base.terminal import escaped
from pypgm.graphs.layout import laid_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pypgm.domain import Clique

_SIZE = 9.0  # of letters, in points, where a picture is as large as it wants to be
_LETTER, _LINE, _EDGE = 0.084, 0.16, 0.16  # inches of a letter, of a line and of the space around a text
_WIDEST, _TALLEST = 16.0, 12.0  # inches of a figure
_LONGEST, _LINES = 28, 4  # letters of a line, and lines that one is wrapped to
_MAX_LINES = 3  # attributes that stand below each other


def draw_graph(
    texts: Sequence[str],
    arcs: Sequence[tuple[int, int]],
    ax: Axes | None = None,
    *,
    colours: Sequence[Any] | None = None,
    arrows: bool = True,
    extra: tuple[float, float] = (0.3, 0.3),
) -> Axes:
    """Draw a graph without cycles from the top down: laid out by Graphviz where it is installed.

    Parameters
    ----------
    texts : sequence of str
        Text of each node; a line break begins a line.
    arcs : sequence of (int, int)
        Tail and head, by position.
    ax : matplotlib Axes, optional
        New axes by default, of a size that fits.
    colours : sequence of colours, optional
        Colours of the nodes.
    arrows : bool
        Whether arcs have a head.
    extra : (float, float)
        Inches that a new figure has besides, such as for a colour bar.

    Raises
    ------
    ImportError
        If matplotlib, the extra ``plot``, is not installed.
    """
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
    from matplotlib.path import Path

    shown = [_shortened(text) for text in texts]
    boxes = [_box(text) for text in shown]
    drawing = laid_out(boxes, arcs)
    wide, tall = max(drawing.width, 1.0), max(drawing.height, 0.4)
    fits = min(1.0, _WIDEST / wide, _TALLEST / tall)
    ax = axes_of(ax, max(3.0, wide * fits + extra[0]), max(1.0, tall * fits + extra[1]))
    scale = _scale(ax, wide + extra[0], tall + extra[1])
    with plain_text():
        for points in drawing.curves:
            path = Path(points, [Path.MOVETO, *[Path.CURVE4] * (len(points) - 1)])
            style = "-|>" if arrows else "-"
            arrow = FancyArrowPatch(path=path, arrowstyle=style, color=GREY, lw=1.1 * scale, mutation_scale=9 * scale)
            arrow.set_zorder(1)
            ax.add_patch(arrow)
        for i, ((x, y), (w, h), text) in enumerate(zip(drawing.places, boxes, shown, strict=True)):
            colour = "white" if colours is None else colours[i]
            box = FancyBboxPatch((x - w / 2, y - h / 2), w, h, boxstyle="round,pad=0,rounding_size=0.06")
            box.set(facecolor=colour, edgecolor=GREY, linewidth=0.9 * scale, zorder=2)
            ax.add_patch(box)
            ink = "white" if _is_dark(colour) else INK
            ax.text(x, y, text, fontsize=_SIZE * scale, color=ink, ha="center", va="center", zorder=3)
    ax.set_xlim(-0.1, wide + 0.1)
    ax.set_ylim(-0.1, tall + 0.1)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def names_and_cells(clique: Clique, cells: int) -> str:
    """Return the text of a clique: its attributes, few of them each on a line, and the cells of its table."""
    return "\n".join([*clique, f"{cells:,}"]) if len(clique) <= _MAX_LINES else f"{', '.join(clique)}\n{cells:,}"


def _shortened(text: str) -> str:
    """Return the lines of a text that fit: long lines are wrapped, and the excess is cut."""
    lines = []
    for line in text.split("\n"):
        lines += textwrap.wrap(escaped(line), _LONGEST, max_lines=_LINES, placeholder=" …") or [""]
    return "\n".join(lines)


def _box(text: str) -> tuple[float, float]:
    lines = text.split("\n")
    return max(0.35, _LETTER * max(map(len, lines)) + _EDGE), _LINE * len(lines) + 0.8 * _EDGE


def _scale(ax: Axes, wide: float, tall: float) -> float:
    """Return the factor by which a picture is reduced to fit its axes."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    inches = figure.get_size_inches()
    place = ax.get_position()
    is_alone = len(figure.axes) == 1
    room = inches if is_alone else inches * [place.width, place.height]
    return float(np.clip(min(room[0] / wide, room[1] / tall), 0.25, 1.0))


def _is_dark(colour: object) -> bool:
    from matplotlib.colors import to_rgb

    return bool(np.dot(to_rgb(colour), [0.299, 0.587, 0.114]) < 0.55)  # type: ignore[arg-type]
