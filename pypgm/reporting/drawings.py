"""Pictures of a page as plain numbers: bars with errors, tables of two columns, graphs, the map of pairs.

The page draws them itself, in HTML and SVG without a scale: they fit a telephone and take the colours of the reader's
screen, and each number stands in the text.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm._base.student import LEVEL_TEXT, REACH
from pypgm._base.terminal import escaped
from pypgm.reporting.quality import rounded
from pypgm.reporting.words import many

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from pypgm.domain import Clique

_ROWS = 12  # values that have a row with their name; more are a histogram where they have an order
_COLUMNS = 120  # of a histogram; of more values neighbours are one
_CELLS = 24  # values of a column in the picture of a pair
_TABLE_ROWS, _TABLE_COLUMNS = 8, 4  # values of two columns that are read as a table

_BENDS = (0.0, 16.0, -16.0, 32.0, -32.0, 48.0, -48.0)  # percent, of an arc
_SQUARES = 45  # columns of a map of pairs
_APART = 6.0  # percent, of an arc and a node that it passes


@dataclass(frozen=True, slots=True)
class Bar:
    """A count to show as a bar; lengths are in percent of the longest bar.

    Attributes
    ----------
    label : str
    count : float
    error : float
        Reach to each side; inf where nothing is known.
    length, low, high : float
        Length of the bar, and the ends of its error bar.
    real : float, optional
        The true count, which is not private.
    real_length : float
        Length of its bar.
    """

    label: str
    count: float
    error: float
    length: float
    low: float
    high: float
    real: float | None = None
    real_length: float = 0.0


@dataclass(frozen=True, slots=True)
class Bars:
    """Counts of one column.

    Attributes
    ----------
    bars : tuple of Bar
    is_histogram : bool
        Whether values stand side by side in their order, without their names.
    text : str
        The picture in words.
    """

    bars: tuple[Bar, ...]
    is_histogram: bool
    text: str


@dataclass(frozen=True, slots=True)
class Grid:
    """Counts of two columns as squares.

    Attributes
    ----------
    rows, columns : tuple of str
        Labels.
    shades : tuple of tuple of float
        Shade of each cell, 0 .. 1: the square root of its ratio to the largest.
    counts : tuple of tuple of float
        Count of each cell.
    text : str
        The picture in words.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    shades: tuple[tuple[float, ...], ...]
    counts: tuple[tuple[float, ...], ...]
    text: str

    @property
    def is_small(self) -> bool:
        """Return whether it is shown as a table of its counts."""
        return len(self.rows) <= _TABLE_ROWS and len(self.columns) <= _TABLE_COLUMNS


@dataclass(frozen=True, slots=True)
class Arc:
    """An arc of a graph between two points, x in percent, y in rows, and its bend to the side in percent."""

    x1: float
    y1: float
    x2: float
    y2: float
    bend: float = 0.0

    def x_at(self, y: float) -> float:
        """Return the x of the arc at some height."""
        t = (y - self.y1) / (self.y2 - self.y1)
        return self.x1 + t * (self.x2 - self.x1) + 2 * t * (1 - t) * self.bend


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph from the top down: number and place of each node, in percent of the width and in rows."""

    nodes: tuple[tuple[int, float, float], ...]
    arcs: tuple[Arc, ...]
    n_rows: int
    text: str


def bars(
    name: str,
    labels: Sequence[str],
    counts: NDArray[np.float64],
    errors: NDArray[np.float64] | None,
    real: NDArray[np.float64] | None = None,
    *,
    is_ordinal: bool,
) -> Bars:
    """Return the counts of a column as bars.

    Parameters
    ----------
    name : str
    labels : sequence of str
    counts, errors, real : ndarray, shape (values,)
        Counts, their expected errors if known, and the true counts if they may be shown.
    is_ordinal : bool
        Whether the values have an order.

    Examples
    --------
    >>> import numpy as np
    >>> bars("sex", ["F", "M"], np.array([30.0, 60.0]), np.array([2.0, 3.0]), is_ordinal=False).text
    'sex: F 30 ± 3, M 60 ± 5 (90 %)'
    """
    reach = np.full(counts.size, math.nan) if errors is None else REACH * errors
    is_histogram = is_ordinal and counts.size > _ROWS
    if is_histogram:
        names, parts = _neighbours(labels)
    elif counts.size > _ROWS:
        names, parts = _frequent(labels, counts)
    else:
        names, parts = list(labels), [np.array([i]) for i in range(counts.size)]
    sums = [float(counts[p].sum()) for p in parts]
    far = [float(np.sqrt(np.square(reach[p]).sum())) for p in parts]
    true = None if real is None else [float(real[p].sum()) for p in parts]
    ends = [c + (f if math.isfinite(f) else 0.0) for c, f in zip(sums, far, strict=True)]
    longest = max([*ends, *(true or []), 1e-300])
    drawn = tuple(
        Bar(
            escaped(label),
            count,
            error,
            100 * count / longest,
            100 * max(count - error, 0.0) / longest if math.isfinite(error) else 0.0,
            100 * (count + error) / longest if math.isfinite(error) else 0.0,
            None if true is None else true[i],
            0.0 if true is None else 100 * true[i] / longest,
        )
        for i, (label, count, error) in enumerate(zip(names, sums, far, strict=True))
    )
    return Bars(drawn, is_histogram, _in_words(name, drawn, is_histogram))


def _neighbours(labels: Sequence[str]) -> tuple[list[str], list[NDArray[np.intp]]]:
    """Return labels and values in their order, with neighbours joined if there are many."""
    parts = np.array_split(np.arange(len(labels)), min(len(labels), _COLUMNS))
    return [labels[p[0]] if len(p) == 1 else f"{labels[p[0]]} to {labels[p[-1]]}" for p in parts], parts


def _frequent(labels: Sequence[str], counts: NDArray[np.float64]) -> tuple[list[str], list[NDArray[np.intp]]]:
    """Return labels and values of the most frequent ones, all others joined."""
    order = np.argsort(-counts, kind="stable")
    parts = [*(order[i : i + 1] for i in range(_ROWS - 1)), order[_ROWS - 1 :]]
    return [*(labels[i] for i in order[: _ROWS - 1]), f"{len(parts[-1]):,} other values"], parts


def _in_words(name: str, drawn: Sequence[Bar], is_histogram: bool) -> str:
    shown = sorted(drawn, key=lambda bar: -bar.count)[:3] if is_histogram else drawn
    text = ", ".join(
        f"{bar.label} {bar.count:,.0f}{f' ± {bar.error:,.0f}' if math.isfinite(bar.error) else ''}" for bar in shown
    )
    head = f"{len(drawn)} bars, the largest " if is_histogram else ""
    level = f" ({LEVEL_TEXT})" if any(math.isfinite(bar.error) for bar in shown) else ""
    return f"{escaped(name)}: {head}{text}{level}"


def grid(clique: Clique, labels: Sequence[Sequence[str]], counts: NDArray[np.float64]) -> Grid:
    """Return the counts of two columns as shades, with neighbours joined if there are many values.

    Examples
    --------
    >>> import numpy as np
    >>> grid(("a", "b"), [["x", "y"], ["0", "1"]], np.array([[4.0, 0.0], [1.0, 0.0]])).shades
    ((1.0, 0.0), (0.5, 0.0))
    """
    names = []
    for axis, values in enumerate(labels):
        parts = np.array_split(np.arange(len(values)), min(len(values), _CELLS))
        names.append([values[p[0]] if len(p) == 1 else f"{values[p[0]]} to {values[p[-1]]}" for p in parts])
        counts = np.add.reduceat(counts, [int(p[0]) for p in parts], axis=axis)
    largest = max(float(counts.max()), 1e-300)
    shades = np.sqrt(np.clip(counts, 0.0, None) / largest)
    places = np.argsort(-counts.ravel(), kind="stable")[:3]
    at = [np.unravel_index(i, counts.shape) for i in places.tolist()]
    examples = ", ".join(f"{names[0][i]} with {names[1][j]} {counts[i, j]:,.0f}" for i, j in at)
    rows, columns = (tuple(map(escaped, values)) for values in names)
    text = escaped(f"{clique[0]} by {clique[1]}, stronger where there are more records; most: {examples}")
    return Grid(rows, columns, tuple(map(tuple, shades.tolist())), tuple(map(tuple, counts.tolist())), text)


def graph(parents: Mapping[str, Sequence[str]]) -> Graph:
    """Return the drawing of a network from the top down, nodes numbered in their order.

    Examples
    --------
    >>> graph({"a": (), "b": ("a",)}).nodes
    ((1, 50.0, 0.5), (2, 50.0, 1.5))
    """
    depth: dict[str, int] = {}
    while len(depth) < len(parents):
        depth |= {
            a: 1 + max((depth[p] for p in sources), default=-1)
            for a, sources in parents.items()
            if a not in depth and all(p in depth for p in sources)
        }
    rows = [[a for a in parents if depth[a] == d] for d in range(max(depth.values(), default=-1) + 1)]
    places = {a: (100 * (i + 0.5) / len(row), d + 0.5) for d, row in enumerate(rows) for i, a in enumerate(row)}
    numbers = dict(zip(parents, itertools.count(1)))
    arcs = tuple(_arc(places[p], places[a], places.values()) for a, sources in parents.items() for p in sources)
    text = f"a network of {len(parents)} columns and {len(arcs)} arcs; the table below lists them"
    return Graph(tuple((numbers[a], *places[a]) for a in parents), arcs, len(rows), text)


def _arc(tail: tuple[float, float], head: tuple[float, float], nodes: Collection[tuple[float, float]]) -> Arc:
    """Return the least bent arc that passes no node; a straight one where every bend does."""
    passed = [(x, y) for x, y in nodes if tail[1] < y < head[1]]
    able = (Arc(*tail, *head, bend) for bend in _BENDS)
    return next((a for a in able if all(abs(a.x_at(y) - x) >= _APART for x, y in passed)), Arc(*tail, *head))


def squares_of(
    names: Sequence[str],
    far: Mapping[Any, float],
    guessed: Collection[Clique] = (),
    unknown: Mapping[Clique, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the arguments of the template of a map of pairs.

    Parameters
    ----------
    names : sequence of str
        Columns.
    far : mapping of (str, str) to float
        Points that each pair is off.
    guessed : collection of (str, str)
        Pairs that were not counted together.
    unknown : mapping of (str, str) to str
        Pairs without a known error, and why it is unknown.
    """
    pairs = {*far, *unknown}
    shown = [a for a in names if any(a in pair for pair in pairs)][:_SQUARES]
    most = max(far.values(), default=0.0) or 1.0
    rows = []
    for a in shown:
        cells: list[dict[str, Any] | None] = []
        for b in shown:
            pair = next((p for p in ((a, b), (b, a)) if p in pairs), None)
            if pair is None:
                cells.append(None)
            else:
                points, why = far.get(pair, 0.0), unknown.get(pair, "")
                square = {"shade": points / most, "points": points, "why": why, "pair": pair}
                cells.append({**square, "guessed": bool(why) or pair in guessed})
        rows.append((a, cells))
    also = f", {len(guessed)} of them not counted together" if guessed else ""
    worst = max(far, key=lambda pair: far[pair], default=())
    text = f"{len(far)} pairs of columns{also}; the worst is {' × '.join(worst)}, {rounded(most)} points off"
    text += f"; nothing is known of {many(len(unknown), 'more pair')}" if unknown else ""
    return {"rows": rows, "most": most, "guessed": len(guessed), "unknown": len(unknown), "text": escaped(text)}
