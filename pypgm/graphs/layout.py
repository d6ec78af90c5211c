"""Layout of a directed graph: by Graphviz where it is installed, else in layers."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Arc = tuple[int, int]
Point = tuple[float, float]

_BETWEEN_ROWS, _BETWEEN = 0.45, 0.25  # inches between rows, and between nodes of a row
_BEND = 0.12  # inches that an arc takes where it passes a row
_SWEEPS = 12
_SECONDS = 20.0  # that Graphviz may take
_MAX_NODES = 400  # nodes that Graphviz is asked about


@dataclass(frozen=True, slots=True)
class Drawing:
    """A graph in the plane, in inches, x to the right and y upward.

    Attributes
    ----------
    places : list of (float, float)
        The centre of each node.
    curves : list of ndarray, shape (3 k + 1, 2)
        The control points of the k cubic Bézier curves of each arc, from its tail to its head.
    width, height : float
    """

    places: list[Point]
    curves: list[NDArray[np.float64]]
    width: float
    height: float


def laid_out(sizes: Sequence[Point], arcs: Sequence[Arc], *, graphviz: bool | None = None) -> Drawing:
    """Return a drawing of a graph without cycles, arcs pointing down.

    Parameters
    ----------
    sizes : sequence of (float, float)
        Width and height of each node in inches.
    arcs : sequence of (int, int)
        Tail and head, by the positions of the nodes.
    graphviz : bool, optional
        Whether ``dot`` makes the layout; by default where it is installed.

    Examples
    --------
    >>> drawing = laid_out([(1, 0.3), (1, 0.3)], [(0, 1)], graphviz=False)
    >>> drawing.places[0][1] > drawing.places[1][1]
    True
    """
    wanted = len(sizes) <= _MAX_NODES if graphviz is None else graphviz
    program = shutil.which("dot") if wanted and sizes else None
    drawing = None if program is None else _by_graphviz(program, sizes, arcs)
    return drawing or _by_layers(sizes, arcs)


def _by_graphviz(program: str, sizes: Sequence[Point], arcs: Sequence[Arc]) -> Drawing | None:
    """Return the drawing of ``dot``, which sees only sizes and numbers; None where it fails."""
    nodes = [f"{i} [width={w:.3f},height={h:.3f}]" for i, (w, h) in enumerate(sizes)]
    head = 'digraph { nodesep=0.2; ranksep=0.4; node [shape=box,fixedsize=true,label=""]; edge [arrowhead=none];'
    source = "\n".join([head, *nodes, *(f"{a} -> {b}" for a, b in arcs), "}"])
    try:
        done = subprocess.run(
            [program, "-Tplain"], input=source, capture_output=True, text=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    places: dict[int, Point] = {}
    curves: dict[Arc, list[NDArray[np.float64]]] = {}
    width = height = 0.0
    for line in done.stdout.splitlines():
        kind, *words = line.split()
        if kind == "graph":
            width, height = float(words[1]), float(words[2])
        elif kind == "node":
            places[int(words[0])] = (float(words[1]), float(words[2]))
        elif kind == "edge":
            n = int(words[2])
            points = np.array(words[3 : 3 + 2 * n], dtype=np.float64).reshape(n, 2)
            curves.setdefault((int(words[0]), int(words[1])), []).append(points)
    return Drawing([places[i] for i in range(len(sizes))], [curves[arc].pop() for arc in arcs], width, height)


def _by_layers(sizes: Sequence[Point], arcs: Sequence[Arc]) -> Drawing:
    """Return a drawing in rows by the longest path from a root; where an arc passes a row, it has a place in it."""
    depth = _depths(len(sizes), arcs)
    boxes, chains = [*sizes], []
    for tail, head in arcs:
        chain = [tail]
        for row in range(depth[tail] + 1, depth[head]):
            depth.append(row)
            boxes.append((_BEND, 0.0))
            chain.append(len(boxes) - 1)
        chains.append([*chain, head])
    rows = [[i for i, d in enumerate(depth) if d == row] for row in range(max(depth, default=-1) + 1)]
    near: list[list[int]] = [[] for _ in boxes]
    for chain in chains:
        for a, b in itertools.pairwise(chain):
            near[a].append(b)
            near[b].append(a)
    x = _across(rows, near, depth, [w for w, _ in boxes])
    tall = [max((boxes[i][1] for i in row), default=0.0) for row in rows]
    y = np.zeros(len(rows))
    for r in range(1, len(rows)):
        y[r] = y[r - 1] - (tall[r - 1] + tall[r]) / 2 - _BETWEEN_ROWS
    low = min((x[i] - boxes[i][0] / 2 for i in range(len(boxes))), default=0.0)
    bottom = (y[-1] - tall[-1] / 2) if rows else 0.0
    at = [(float(x[i] - low), float(y[depth[i]] - bottom)) for i in range(len(boxes))]
    width = max((px + boxes[i][0] / 2 for i, (px, _) in enumerate(at)), default=1.0)
    height = float(y[0] + tall[0] / 2 - bottom) if rows else 1.0
    curves = []
    for tail, *passed, head in chains:  # an arc leaves a node below, and reaches another from above
        (x0, y0), (x1, y1) = at[tail], at[head]
        ends = (x0, y0 - boxes[tail][1] / 2), (x1, y1 + boxes[head][1] / 2)
        curves.append(_smooth([ends[0], *(at[i] for i in passed), ends[1]]))
    return Drawing(at[: len(sizes)], curves, width, height)


def _depths(n: int, arcs: Sequence[Arc]) -> list[int]:
    """Return the length of the longest path to each node; for nodes without parents, the row above the first child."""
    heads: list[list[int]] = [[] for _ in range(n)]
    waiting = [0] * n
    for tail, head in arcs:
        heads[tail].append(head)
        waiting[head] += 1
    depth, ready = [0] * n, [i for i in range(n) if waiting[i] == 0]
    for i in ready:  # grows while it is read
        for head in heads[i]:
            depth[head] = max(depth[head], depth[i] + 1)
            waiting[head] -= 1
            if waiting[head] == 0:
                ready.append(head)
    children = {head for _, head in arcs}
    return [min((depth[h] for h in heads[i]), default=1) - 1 if i not in children else d for i, d in enumerate(depth)]


def _across(
    rows: list[list[int]], near: Sequence[Sequence[int]], depth: Sequence[int], widths: Sequence[float]
) -> NDArray[np.float64]:
    """Return the x of each node: rows sorted by the mean of their neighbours above, then below, then moved there."""
    x = np.zeros(len(widths))
    for row in rows:
        _spread(row, x, widths, np.arange(len(row), dtype=np.float64))
    for sweep in range(_SWEEPS):
        step = 1 if sweep % 2 == 0 else -1
        for row in rows[::step]:
            beside = [[j for j in near[i] if depth[j] == depth[i] - step] for i in row]
            wanted = {i: float(np.mean(x[b])) if b else float(x[i]) for i, b in zip(row, beside, strict=True)}
            row.sort(key=wanted.__getitem__)
            _spread(row, x, widths, np.array([wanted[i] for i in row]))
    return x


def _spread(row: Sequence[int], x: NDArray[np.float64], widths: Sequence[float], wanted: NDArray[np.float64]) -> None:
    """Move the nodes of a row near their targets, in their order and apart from each other."""
    gaps = [(widths[a] + widths[b]) / 2 + _BETWEEN for a, b in itertools.pairwise(row)]
    offsets = np.cumsum([0.0, *gaps]) if row else np.zeros(0)
    target = wanted - offsets  # has to ascend: the mean of a running maximum and a running minimum does
    x[list(row)] = (np.maximum.accumulate(target) + np.minimum.accumulate(target[::-1])[::-1]) / 2 + offsets


def _smooth(points: Sequence[Point]) -> NDArray[np.float64]:
    """Return Bézier curves through points, upright where they pass a row."""
    corners = [points[0]]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        straight = len(points) == 2
        dy = (y0 - y1) * 0.4
        first = (x0 + (x1 - x0) / 3, y0 + (y1 - y0) / 3) if straight else (x0, y0 - dy)
        second = (x0 + (x1 - x0) * 2 / 3, y0 + (y1 - y0) * 2 / 3) if straight else (x1, y1 + dy)
        corners += [first, second, (x1, y1)]
    return np.array(corners, dtype=np.float64)
