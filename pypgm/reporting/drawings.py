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

from pypgm._base.shade import STRONGEST, shade
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
_WIDE = 100  # ratio of widths of bins from which on an axis is logarithmic, and of a heap's to the others'
_CELLS = 24  # values of a column in the picture of a pair
_TABLE_ROWS, _TABLE_COLUMNS = 8, 4  # values of two columns that are read as a table

_BENDS = (0.0, 16.0, -16.0, 32.0, -32.0, 48.0, -48.0)  # percent, of an arc
_SQUARES = 45  # columns of a map of pairs
_SCALE = [(points, shade(points)) for points in (1, 5, 10, STRONGEST)]  # of the legend
_APART = 6.0  # percent, of an arc and a node that it passes


@dataclass(frozen=True, slots=True)
class Bar:
    """A count to show as a bar; lengths are in percent of the longest bar, places of the width of the picture.

    Attributes
    ----------
    label : str
    count : float
    error : float
        Reach to each side; inf where nothing is known.
    length, low, high : float
        Length of the bar, and the ends of its error bar; in a histogram the count for each part of the axis.
    left, width : float
        Place of the bar in a histogram.
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
    left: float = 0.0
    width: float = 100.0
    real: float | None = None
    real_length: float = 0.0


@dataclass(frozen=True, slots=True)
class Bars:
    """Counts of one column.

    Attributes
    ----------
    bars : tuple of Bar
    apart : tuple of Bar
        Missing and other values, and numbers that many records have among bins of many: shares of all records.
    is_histogram : bool
        Whether values stand side by side in their order, without their names: their areas are the counts.
    is_log : bool
        Whether the axis of the histogram is logarithmic.
    text : str
        The picture in words.
    """

    bars: tuple[Bar, ...]
    apart: tuple[Bar, ...]
    is_histogram: bool
    is_log: bool
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

    @property
    def paths(self) -> list[tuple[float, str]]:
        """Shades to two digits, and the cells of each as one path of unit squares, joined along the rows.

        Examples
        --------
        >>> Grid(("x",), ("0", "1", "2"), ((0.5, 0.5, 1.0),), ((1.0, 1.0, 4.0),), "").paths
        [(0.5, 'M0 0h2v1h-2z'), (1.0, 'M2 0h1v1h-1z')]
        """
        by_strength: dict[float, list[str]] = {}
        for i, row in enumerate(self.shades):
            j = 0
            for strength, cells in itertools.groupby(row, key=lambda s: round(s, 2)):
                width = len(list(cells))
                if strength:
                    by_strength.setdefault(strength, []).append(f"M{j} {i}h{width}v1h-{width}z")
                j += width
        return [(strength, "".join(parts)) for strength, parts in by_strength.items()]


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
    n_values: int | None = None,
    starts: NDArray[np.float64] | None = None,
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
    n_values : int, optional
        Number of values that are neither missing nor "other", which come first; by default all.
    starts : ndarray of float, shape (n_values + 1,), optional
        Start of each bin and the end of the last one, for values that are bins.

    Examples
    --------
    >>> import numpy as np
    >>> bars("sex", ["F", "M"], np.array([30.0, 60.0]), np.array([2.0, 3.0]), is_ordinal=False).text
    'sex: F 30 ± 3, M 60 ± 5 (90 %)'
    """
    n = counts.size if n_values is None else n_values
    reach = np.full(counts.size, math.nan) if errors is None else REACH * errors
    is_histogram = is_ordinal and n > _ROWS
    values, apart = np.arange(n), [np.array([i]) for i in range(n, counts.size)]
    if is_histogram and starts is not None:
        is_heap = np.diff(starts) * _WIDE < np.median(np.diff(starts))
        values, apart = values[~is_heap], [*(np.array([i]) for i in values[is_heap]), *apart]
    if is_histogram:
        parts = np.array_split(values, min(values.size, _COLUMNS))
    elif n > _ROWS:
        order = np.argsort(-counts[:n], kind="stable")
        parts = [order[i : i + 1] for i in range(_ROWS - 1)]
        apart = [order[_ROWS - 1 :], *apart]
    else:
        parts = [values[i : i + 1] for i in range(n)]
    edges, is_log = _axis(parts, starts) if is_histogram else (None, False)
    named = [(_named(part, labels, is_histogram=is_histogram), part) for part in parts]
    others = [(_named(part, labels, is_histogram=False), part) for part in apart]
    total = max(float(counts.sum()), 0.0 if real is None else float(real.sum()), 1e-300)
    drawn, beside = _scaled(named, (counts, reach, real), edges), _scaled(others, (counts, reach, real), longest=total)
    text = _in_words(name, drawn, beside, is_histogram=is_histogram)
    return Bars(drawn, beside, is_histogram, is_log, text)


def _axis(parts: Sequence[NDArray[np.intp]], starts: NDArray[np.float64] | None) -> tuple[NDArray[np.float64], bool]:
    """Return the edges of the bars in percent, and whether they lie on a logarithmic axis."""
    if starts is None:
        return np.linspace(0.0, 100.0, len(parts) + 1), False
    edges = np.append(starts[[p[0] for p in parts]], starts[-1]) - starts[parts[0][0]]
    widths = np.diff(edges)
    is_log = bool(widths.max() > _WIDE * widths.min())
    edges = np.arcsinh(edges / widths.min()) if is_log else edges
    return 100 * edges / edges[-1], is_log


def _named(part: NDArray[np.intp], labels: Sequence[str], *, is_histogram: bool) -> str:
    """Return the label of values that have one bar."""
    if len(part) > 1 and not is_histogram:
        return f"{len(part):,} values not shown"
    first, last = labels[int(part[0])], labels[int(part[-1])]
    return first if len(part) == 1 else f"{first} to {last}"


def _scaled(
    named: Sequence[tuple[str, NDArray[np.intp]]],
    numbers: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None],
    edges: NDArray[np.float64] | None = None,
    longest: float = 0.0,
) -> tuple[Bar, ...]:
    """Return bars of values, in percent of the longest of them or of a given number; between edges they are areas."""
    counts, reach, real = numbers
    sums = [float(counts[p].sum()) for _, p in named]
    far = [float(np.sqrt(np.square(reach[p]).sum())) for _, p in named]
    true = [None if real is None else float(real[p].sum()) for _, p in named]
    places = [(0.0, 100.0)] * len(named) if edges is None else list(itertools.pairwise(edges.tolist()))
    widths = [(end - start) / 100 for start, end in places]
    ends = [max(c + (f if math.isfinite(f) else 0.0), t or 0.0) for c, f, t in zip(sums, far, true, strict=True)]
    longest = longest or max([*(end / width for end, width in zip(ends, widths, strict=True)), 1e-300])
    drawn = []
    for i, (label, _) in enumerate(named):
        unit, known = 100 / (longest * widths[i]), math.isfinite(far[i])
        low, high = (unit * max(sums[i] - far[i], 0.0), unit * (sums[i] + far[i])) if known else (0.0, 0.0)
        left, width, exact = places[i][0], 100 * widths[i], true[i]
        error_bar, real_bar = (unit * sums[i], low, high), (exact, unit * (exact or 0.0))
        drawn.append(Bar(escaped(label), sums[i], far[i], *error_bar, left, width, *real_bar))
    return tuple(drawn)


def _in_words(name: str, drawn: Sequence[Bar], apart: Sequence[Bar], *, is_histogram: bool) -> str:
    shown = [*(sorted(drawn, key=lambda bar: -bar.count)[:3] if is_histogram else drawn), *apart]
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
    import networkx as nx  # heavy

    pairs = {*far, *unknown}
    counted: nx.Graph[str] = nx.Graph()
    counted.add_nodes_from(a for a in names if any(a in pair for pair in pairs))
    counted.add_edges_from(pair for pair in far if pair not in guessed)
    # Columns that were counted together stand side by side.
    shown = list(nx.utils.reverse_cuthill_mckee_ordering(counted))[:_SQUARES]
    rows = []
    for a in shown:
        cells: list[dict[str, Any] | None] = []
        for b in shown:
            pair = next((p for p in ((a, b), (b, a)) if p in pairs), None)
            if pair is None:
                cells.append(None)
            else:
                points, why = far.get(pair, 0.0), unknown.get(pair, "")
                square = {"shade": shade(points), "points": points, "why": why, "pair": pair}
                cells.append({**square, "guessed": bool(why) or pair in guessed})
        rows.append((a, cells))
    also = f", {len(guessed)} of them not counted together" if guessed else ""
    worst = max(far, key=lambda pair: far[pair], default=())
    text = f"{len(far)} pairs of columns{also}; the worst is {' × '.join(worst)}"
    text += f", {rounded(far.get(worst, 0.0))} points off"
    text += f"; nothing is known of {many(len(unknown), 'more pair')}" if unknown else ""
    return {"rows": rows, "scale": _SCALE, "guessed": len(guessed), "unknown": len(unknown), "text": escaped(text)}
