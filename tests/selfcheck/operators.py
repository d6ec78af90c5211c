"""Queries against the matrices of their definitions: products, properties, sensitivities."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.audit.finding import Finding, finding
from pypgm.audit.pairs import PRIVACIES
from pypgm.privacy.relation import Privacy
from pypgm.queries import LinearQuery
from selfcheck.written_out import SMALL, WIDE, Spec, built, written_out

Found = Iterator[tuple[str, str]]
Integers = NDArray[np.int64]

_MAX_COUNT = 1 << 30  # of the counts in random products
_COMPARED = 64  # columns of the largest norms to compare with all others, fewer if the matrix is full
_PRODUCTS = 1 << 26  # entries times compared columns


def check_operators(specs: Sequence[Spec] = (*SMALL, *WIDE)) -> Finding:
    """Compare the products of queries with those of their matrices on random integers, and their properties.

    What a query says of itself decides on its sensitivity and on where it may be used: unit columns, signs, groups,
    magnitudes, different columns.
    """
    defects: list[tuple[str, str]] = []
    for number, spec in enumerate(specs):
        query, matrix = built(spec), written_out(spec)
        if query.shape != matrix.shape:
            defects.append(("operator", f"{query!r} has shape {query.shape}, its definition {matrix.shape}"))
            continue
        rng = np.random.default_rng(number)
        defects.extend(_products(query, matrix, rng))
        defects.extend(_properties(query, matrix))
        defects.extend(_columns(query, matrix, rng))
    return finding("operators", f"{len(specs)} queries", defects, "products and properties are those of their matrices")


def _products(query: LinearQuery, matrix: Any, rng: np.random.Generator) -> Found:
    rows, cells = matrix.shape
    x, y = (rng.integers(-_MAX_COUNT, _MAX_COUNT, size=n) for n in (cells, rows))
    tables = [rng.integers(0, 100, size=(2, n, 3)) for n in (cells, rows)]
    pairs = (
        ("matvec", query.matvec(x), matrix @ x),
        ("rmatvec", query.rmatvec(y), matrix.T @ y),
        ("apply", query.apply(tables[0], 1), np.stack([matrix @ t for t in tables[0]])),
        ("transpose", query.transpose(tables[1], 1), np.stack([matrix.T @ t for t in tables[1]])),
    )
    for name, products, true in pairs:
        if products.dtype.kind != "i" or not np.array_equal(products, true):
            yield "operator", f"{name} of {query!r} is not that of its matrix"
    if rows * cells < 1 << 22 and (query.to_sparse() != matrix).nnz:
        yield "operator", f"the matrix of {query!r} is not that of its definition"


def _properties(query: LinearQuery, matrix: Any) -> Found:
    ones = np.ones(matrix.shape[0], dtype=np.int64)
    unit = bool((matrix.data == 1).all() and (abs(matrix).T @ ones == 1).all())
    said = {
        "integer": (query.is_integer, True),
        "without negative entries": (query.is_non_negative, bool((matrix.data >= 0).all())),
        "of unit columns": (query.has_unit_columns, unit),
        "the identity": (query.is_identity, unit and bool((matrix.indices == np.arange(matrix.indices.size)).all())),
    }
    for name, (stated, true) in said.items():
        if stated and not true:
            yield "operator", f"{query!r} calls itself {name}"
    if query.groups is not None:
        groups = np.zeros(matrix.shape, dtype=np.int64) if unit and matrix.shape[1] <= 100 else None
        if not unit:
            yield "operator", f"{query!r} has groups, and columns that are no units"
        elif groups is not None:
            groups[query.groups, np.arange(matrix.shape[1])] = 1
            if (groups != matrix.toarray()).any():
                yield "operator", f"the groups of {query!r} are not those of its matrix"
    if query.has_acute_columns and matrix.shape[1] <= 100 and ((matrix.T @ matrix).toarray() < 0).any():
        yield "operator", f"{query!r} has columns of a negative product, and says it has none"
    for power in (1, 2):
        norms = (abs(matrix) ** power).T @ ones
        stated = np.asarray(query.column_norms(1 if power == 1 else 2)) ** power
        magnitudes = query.magnitudes(1 if power == 1 else 2).rmatvec(ones)
        if not np.allclose(stated, norms, rtol=1e-12) or not np.allclose(magnitudes, norms, rtol=1e-12):
            yield "operator", f"norms {power} of the columns of {query!r} are not those of its matrix"


def _columns(query: LinearQuery, matrix: Any, rng: np.random.Generator) -> Found:
    if matrix.shape[1] > 100:
        return
    dense = matrix.toarray()
    columns = query.columns()
    if columns is not None and not np.array_equal(np.unique(columns, axis=1), np.unique(dense, axis=1)):
        yield "operator", f"the different columns of {query!r} are not those of its matrix"
    weights = rng.uniform(0.1, 2.0, size=matrix.shape[0])
    differences = dense[:, :, None] - dense[:, None, :]
    true = float(np.einsum("a,axy->xy", weights, differences.astype(np.float64) ** 2).max())
    if query.largest_squared_distance(weights) < true * (1 - 1e-12):
        yield "operator", f"the largest weighted distance of {query!r} is understated"


def check_sensitivities(
    specs: Sequence[Spec] = SMALL,
    privacies: Sequence[Privacy] = (*PRIVACIES, Privacy(records_per_person=5)),
    make: Callable[[Spec], LinearQuery] = built,
) -> Finding:
    """Compare the sensitivities of a relation with those of the written-out matrix, neighbour by neighbour.

    L1 and L2 sensitivities must be equal, the largest change of one answer at least as large.
    """
    defects: list[tuple[str, str]] = []
    for spec in specs:
        query, matrix = make(spec), written_out(spec).toarray()
        steps = {"add-remove": matrix, "replace": (matrix[:, :, None] - matrix[:, None, :]).reshape(len(matrix), -1)}
        for privacy in privacies:
            defects.extend(_stated(query, privacy, steps[privacy.neighbours], exact=True))
    count = len(specs) * len(privacies)
    return finding("sensitivities", f"{len(specs)} queries", defects, f"{count} equal the worst neighbours'")


def check_wide_sensitivities(specs: Sequence[Spec] = WIDE, privacies: Sequence[Privacy] = PRIVACIES) -> Finding:
    """Check that sensitivities above 4096 cells are at least those of the worst neighbours found, at most 4 times.

    Compared are the columns of the largest norms with all others.
    """
    defects: list[tuple[str, str]] = []
    for spec in specs:
        query, matrix = built(spec), written_out(spec)
        steps = {"add-remove": _largest_columns(matrix), "replace": _far_apart(matrix)}
        for privacy in privacies:
            defects.extend(_stated(query, privacy, steps[privacy.neighbours], exact=False))
    figures = f"{len(specs) * len(privacies)} at least the worst neighbours'"
    return finding("sensitivities above 4096 cells", f"{len(specs)} queries", defects, figures)


def _stated(query: LinearQuery, privacy: Privacy, steps: Integers, *, exact: bool) -> Found:
    """Compare stated sensitivities with the changes of the answers, one a column; a person has k times the worst."""
    k = privacy.records_per_person
    sizes = np.abs(steps)
    measured = (
        ("L1", partial(privacy.l1_sensitivity, query), k * int(sizes.sum(axis=0).max()), exact),
        ("squared L2", partial(privacy.squared_l2_sensitivity, query), k**2 * int((sizes**2).sum(axis=0).max()), exact),
        ("largest change", partial(privacy.largest_change, query), k * int(sizes.max()), False),
    )
    for name, ask, true, equal in measured:
        stated = ask()
        if stated < true or (equal and stated != true) or stated > 4 * true:
            defect = "lost user bound" if k > 1 and k**2 * stated >= true > stated else "sensitivity"
            yield defect, f"{name} of {query!r} under {privacy}: {stated} is stated, {true} is true"


def _largest_columns(matrix: Any) -> Integers:
    """Return the columns of the largest L1 and L2 norms and of the largest entry."""
    sizes = abs(matrix)
    ones = np.ones(matrix.shape[0], dtype=np.int64)
    norms = (sizes.T @ ones, (sizes**2).T @ ones, sizes.max(axis=0).toarray())
    tops = [int(norm.argmax()) for norm in norms]
    columns: Integers = matrix[:, tops].toarray()
    return columns


def _far_apart(matrix: Any) -> Integers:
    """Return differences of columns that are far apart in a norm or in one entry."""
    ones = np.ones(matrix.shape[0], dtype=np.int64)
    squares = (abs(matrix) ** 2).T @ ones
    compared = np.argsort(squares, kind="stable")[-max(2, min(_COMPARED, _PRODUCTS // matrix.nnz)) :]
    worst: list[Integers] = []
    distances = squares[:, None] + squares[compared] - 2 * (matrix.T @ matrix[:, compared]).toarray()
    at, to = np.unravel_index(int(distances.argmax()), distances.shape)
    worst.append(matrix[:, [int(at)]].toarray() - matrix[:, [int(compared[to])]].toarray())
    few = matrix[:, compared].toarray()
    for one, other in itertools.product(few.T[:: max(1, matrix.shape[0] // 64)], repeat=2):
        worst.append((one - other)[:, None])
    steps = np.concatenate(worst, axis=1)
    sizes = np.abs(steps)
    kept = [int(sizes.sum(axis=0).argmax()), int((sizes**2).sum(axis=0).argmax()), int(sizes.max(axis=0).argmax())]
    columns: Integers = steps[:, kept]
    return columns
