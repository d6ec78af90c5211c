"""Queries as lists of entries, and the matrices of their definitions."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, kron, vstack

from pypgm import queries
from pypgm.queries.folded import folded

Spec = tuple[Any, ...]
"""Class of a query and its arguments: ("prefix", 4); products and unions have further specs."""

_SIGNED = [[2, 0, -3, 1], [1, 1, 1, -1]]

SMALL: tuple[Spec, ...] = (
    *(("identity", n) for n in (1, 2, 5)),
    *(("partition", list(groups), None) for groups in itertools.product(range(3), repeat=3)),
    ("partition", [1, 1], 4),
    ("partition", [0, 0, 0, 2], 3),
    ("total", 1),
    ("total", 4),
    *(("prefix", n) for n in (1, 2, 5)),
    *(("all ranges", n) for n in (1, 2, 3, 6)),
    ("ranges", 4, [(0, 3)]),
    ("ranges", 3, [(0, 1)]),
    ("ranges", 4, [(1, 1), (1, 2), (2, 2), (2, 2)]),
    ("ranges", 5, [(0, 1), (3, 4), (3, 4), (1, 3)]),
    ("ranges", 6, [(0, 0), (0, 0), (5, 5), (0, 5)]),
    ("ranges", 7, [(2, 6), (0, 2), (6, 6), (6, 6), (4, 5)]),
    ("subset", [2], 3, None),
    ("subset", [0], 1, [7]),
    ("subset", [3, 0], 5, [-4, 3]),
    ("subset", [1, 0, 2], 3, [-2, -5, 4]),
    ("subset", [0, 1], 2, [-9, 1]),
    ("subset sum", [0, 2, 3], 4),
    ("order", [2, 0, 1]),
    ("weights", [-3, 0, 1, 2], [3, 1, 0, 2]),
    ("lattice", [[0.3, -0.7, 0.24], [1, 0, -1.5]], 8),
    ("matrix", [[1, -1, 0]]),
    ("matrix", [[3]]),
    ("matrix", [[-3, 4]]),
    ("matrix", [[2, 2], [2, 2]]),
    ("matrix", _SIGNED),
    ("matrix", [[5, -5, 1], [-5, 5, 1], [1, 1, 1]]),
    ("sparse", _SIGNED),
    ("sparse", [[0, 0, 9, 0, 0], [0, -9, 0, 0, 1]]),
    ("product", ("prefix", 2), ("identity", 3)),
    ("product", ("total", 3), ("matrix", [[1, -1]])),
    ("product", ("matrix", [[1, -2], [0, 1]]), ("prefix", 3)),
    ("product", ("identity", 2), ("matrix", [[1, -1]])),
    ("product", ("partition", [0, 1, 1], None), ("matrix", [[3, -4, 0], [1, 2, 2]]), ("identity", 1)),
    ("product", ("total", 2), ("total", 3)),
    ("product", ("total", 2), ("identity", 3)),
    ("product", ("subset", [1, 0], 3, [2, -3]), ("partition", [0, 1], None)),
    ("product", ("matrix", [[1, -1], [1, 1]]), ("matrix", [[-2, 1]])),
    ("product", ("all ranges", 2), ("prefix", 2), ("total", 2)),
    ("product", ("ranges", 3, [(0, 1), (1, 2)]), ("matrix", [[0, 2, -1]])),
    *(
        ("contrasts", list(sizes))
        for sizes in ((), (2,), (3,), (2, 2), (4, 2), (2, 3, 5), (6, 5), (3, 2, 3, 2), (3, 3, 4))
    ),
    ("product", ("contrasts", [3, 2]), ("prefix", 2)),
    ("contrasts", [2, 3], [[0, 1, 1], [1, 0, 2, 1]]),
    ("named", ("prefix", 3), ("matrix", [[1, -2]]), ("identity", 2)),
    ("union", ("identity", 3), ("total", 3)),
    ("union", ("matrix", [[1, -1, 0]]), ("matrix", [[1, 1, -3]]), ("prefix", 3)),
    ("union", ("total", 2), ("total", 2)),
    ("union", ("subset", [0], 4, [-5]), ("all ranges", 4)),
    ("union", ("product", ("identity", 2), ("matrix", [[2, -1]])), ("identity", 4)),
    ("identity", 70),
    ("partition", [i % 7 for i in range(90)], None),
    ("prefix", 130),
    ("all ranges", 40),
    ("ranges", 80, [(i, min(79, 2 * i + 3)) for i in range(0, 80, 3)]),
    ("subset", list(range(69, -1, -1)), 70, [(-1) ** i * i for i in range(70)]),
    ("matrix", [[(i * i) % 11 - 5 for i in range(90)], [(3 * i) % 13 - 6 for i in range(90)]]),
    ("product", ("prefix", 9), ("matrix", _SIGNED), ("identity", 2)),
    ("finer", ("matrix", [[1, -2], [3, 0]]), [1, 0, 1, 1]),
    ("finer", ("partition", [0, 1, 1], None), [2, 1, 0, 0]),
    ("finer", ("prefix", 3), [2, 0, 1, 0]),
)
"""Queries of every class on a few cells."""


def _wide() -> tuple[Spec, ...]:
    rng = np.random.default_rng(11)
    signed = rng.integers(-3, 4, size=(8, 4200))
    signed[:, 77] = [9, -9, 9, -9, 9, -9, 9, -9]
    signed[:, 4100] = -signed[:, 77]  # twice as far apart as either is from 0
    plain = np.abs(signed)
    factor = rng.integers(-4, 5, size=(6, 80))
    factor[:, 3], factor[:, 5] = 5, -5
    cells = 4500
    ends = [(i, min(cells - 1, i + 1 + i % 3)) for i in range(cells)]
    weights = rng.integers(-100, 101, size=cells)
    weights[[5, 4400]] = [-250, 249]
    return (
        ("identity", 5000),
        ("partition", (np.arange(5000) % 97).tolist(), None),
        ("total", 5000),
        ("prefix", 4100),
        ("ranges", cells, [*ends, (17, 17), (17, 17), (4000, 4003)]),
        ("subset", rng.permutation(cells).tolist(), cells, weights.tolist()),
        ("matrix", signed.tolist()),
        ("sparse", signed.tolist()),
        ("matrix", plain.tolist()),
        ("product", ("matrix", factor.tolist()), ("matrix", factor[:, ::-1].tolist())),
        ("product", ("identity", 2), ("matrix", signed.tolist())),
        ("product", ("identity", 52), ("matrix", factor.tolist())),
        ("product", ("prefix", 6), ("matrix", plain[:, :900].tolist())),
        ("union", ("matrix", signed.tolist()), ("matrix", (-2 * signed).tolist())),
        ("union", ("identity", 4200), ("total", 4200)),
        ("contrasts", [2] * 9 + [9]),
        ("contrasts", [3] + [2] * 10 + [3]),
    )


WIDE: tuple[Spec, ...] = _wide()
"""Queries on more than 4096 cells, where sensitivities may be bounds."""


def built(spec: Spec) -> queries.LinearQuery:
    """Return the query of a spec, from pypgm."""
    kind, *given = spec
    if kind == "product":
        return queries.Kronecker([built(s) for s in given])
    if kind == "named":
        return queries.KroneckerQuery({f"x{i}": built(s) for i, s in enumerate(given)}).operator
    if kind == "union":
        return queries.Union([built(s) for s in given])
    if kind == "finer":
        return folded(built(given[0]), np.array(given[1]))
    if kind == "sparse":
        return queries.Matrix(csr_array(np.array(given[0])))
    make: dict[str, Any] = {
        "identity": queries.Identity,
        "partition": queries.Partition,
        "total": queries.total,
        "prefix": queries.Prefix,
        "contrasts": queries.Contrasts,
        "all ranges": queries.AllRange,
        "ranges": queries.RangeList,
        "subset": queries.Subset,
        "subset sum": queries.subset_sum,
        "order": queries.permutation,
        "weights": queries.weighted,
        "lattice": queries.on_lattice,
        "matrix": queries.Matrix,
    }
    query: queries.LinearQuery = make[kind](*given)
    return query


def written_out(spec: Spec) -> Any:
    """Return the matrix of a spec as a csr_array, entry by entry from its definition, without `pypgm.queries`."""
    kind, *given = spec
    if kind == "contrasts":
        given = _contrasts(*given)
    if kind in {"product", "named", "contrasts"}:
        return csr_array(functools.reduce(kron, map(written_out, given)))
    if kind == "union":
        return csr_array(vstack([written_out(s) for s in given]))
    if kind == "finer":
        return written_out(given[0])[:, given[1]]
    if kind in {"matrix", "sparse"}:
        return csr_array(np.array(given[0], dtype=np.int64))
    if kind == "lattice":
        return csr_array(np.array([[round(entry * given[1]) for entry in row] for row in given[0]], dtype=np.int64))
    size, rows = _rows(kind, given)
    cells = [np.asarray(cells_of_row, dtype=np.int64) for cells_of_row, _ in rows]
    lengths = [cells_of_row.size for cells_of_row in cells]
    weights = np.repeat([weight for _, weight in rows], lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return csr_array((weights, np.concatenate(cells), starts), shape=(len(rows), size))


def _contrasts(sizes: list[int], groups: list[list[int]] | None = None) -> list[Spec]:
    """Return one factor an attribute: n times its value minus the sum; for two values their difference."""
    matrices = [[[1]], *([[1, -1]] if n == 2 else n * np.eye(n, dtype=np.int64) - 1 for n in sizes)]
    values = [[0], *(map(np.arange, sizes) if groups is None else groups)]
    return [("matrix", np.asarray(m)[:, values_of]) for m, values_of in zip(matrices, values, strict=True)]


def _rows(kind: str, given: list[Any]) -> tuple[int, list[tuple[Any, int]]]:
    """Return the number of cells and, for each answer, the cells it sums and their factors."""
    if kind == "partition":
        groups = np.array(given[0])
        return groups.size, [(np.flatnonzero(groups == g), 1) for g in range(given[1] or max(given[0]) + 1)]
    if kind in {"order", "weights"}:
        order = given[-1]
        factors = given[0] if kind == "weights" else [1] * len(order)
        return len(order), [([cell], w) for cell, w in zip(order, factors, strict=True)]
    if kind == "subset":
        weights = given[2] or [1] * len(given[0])
        return given[1], [([cell], weight) for cell, weight in zip(given[0], weights, strict=True)]
    size = given[1] if kind == "subset sum" else given[0]
    every: dict[str, Callable[[], list[tuple[Any, int]]]] = {
        "identity": lambda: [([cell], 1) for cell in range(size)],
        "total": lambda: [(range(size), 1)],
        "prefix": lambda: [(range(last + 1), 1) for last in range(size)],
        "all ranges": lambda: [(range(i, j + 1), 1) for i in range(size) for j in range(i, size)],
        "ranges": lambda: [(range(first, last + 1), 1) for first, last in given[1]],
        "subset sum": lambda: [(given[0], 1)],
    }
    return size, every[kind]()
