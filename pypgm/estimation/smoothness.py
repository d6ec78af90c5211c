"""How fast the gradient of a loss over measurements can change, relative to the entropy of the joint distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.stacked import cells_as_written
from pypgm.queries import (
    AllRange,
    Identity,
    IntegerMatrix,
    Partition,
    Prefix,
    RangeList,
    RealMatrix,
    SparseMatrix,
    Subset,
)
from pypgm.queries.sensitivity import MAX_COLUMNS, largest_distance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.graphs import JunctionTree

__all__ = ["column_squares", "largest_column_distance", "relative_smoothness"]

_COUNTING = (Partition, Prefix, AllRange, RangeList)  # entries are 0 or 1
_DENSE_ENTRIES = 1 << 20


def relative_smoothness(
    tree: JunctionTree, measurements: Sequence[LinearMeasurement], weights: Sequence[NDArray[np.float64]]
) -> float:
    r"""Return K for which :math:`\frac12 \sum w (Q\mu - y)^2` is K-smooth relative to the joint's negative entropy.

    K is a quarter of the largest squared distance of two columns of the weighted queries, over all pairs of joint
    assignments. Two bounds of it are taken and the smaller returned: the sum of each measurement's own largest
    distance, which is exact where two assignments can differ everywhere at once, and, from the squared norms of the
    columns, half of their largest sum over an assignment (all of it if entries may be negative), by max-product.

    Parameters
    ----------
    tree : JunctionTree
        Built for the cliques of the measurements.
    measurements : sequence of LinearMeasurement
    weights : sequence of ndarray of float64
        For each measurement one weight an answer.

    References
    ----------
    Bauschke, Bolte, Teboulle: A descent lemma beyond Lipschitz gradient continuity, 2017.
    """
    norms = CliqueVector(tree.domain, tree.cliques)
    distances, signed = 0.0, False
    for m, w in zip(measurements, weights, strict=True):
        squares = column_squares(m, w)
        distances += largest_column_distance(m, w, squares)
        signed = signed or not _non_negative(m)
        table = norms[tree.domain.canonical(m.clique)].datavector()
        table[cells_as_written(tree.domain, m.clique)] += squares
    jointly = tree.plan.max_log_weight(norms.values, [], 1) if norms.values.size else 0.0
    return min(distances / 4, jointly if signed else jointly / 2)


def column_squares(m: LinearMeasurement, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted squared norm of each column, or a bound of it for operators with weights that differ."""
    query = m.query
    if isinstance(query, Identity | None):
        return weights
    if isinstance(query, _COUNTING):
        return np.asarray(query.rmatvec(weights), dtype=np.float64)
    if isinstance(query, Subset):
        return query.rmatvec(weights * query.weights)
    if isinstance(query, IntegerMatrix):
        return np.asarray(weights @ np.square(query.entries.astype(np.float64)), dtype=np.float64)
    if isinstance(query, SparseMatrix | RealMatrix):
        return np.asarray(query.entries.astype(np.float64).power(2).T @ weights, dtype=np.float64)
    if not hasattr(query, "column_norms"):
        raise ValueError(f"the query on {m.clique} needs column_norms(norm): {query!r} has none")
    return np.square(np.asarray(query.column_norms(2), dtype=np.float64)) * float(weights.max())


def largest_column_distance(m: LinearMeasurement, weights: NDArray[np.float64], squares: NDArray[np.float64]) -> float:
    """Return the largest weighted squared distance of two columns of a query, or a bound of it."""
    query = m.query
    if squares.size < 2:
        return 0.0
    if isinstance(query, Partition):
        filled = weights[np.unique(query.groups)]
        return float(np.sort(filled)[-2:].sum()) if filled.size > 1 else 0.0
    if isinstance(query, Prefix):
        return float(weights[:-1].sum())
    if isinstance(query, IntegerMatrix | SparseMatrix | RealMatrix):
        rows, cells = query.shape
        if cells <= MAX_COLUMNS and rows * cells <= _DENSE_ENTRIES:
            dense: NDArray[Any] = query.entries if isinstance(query, IntegerMatrix) else query.entries.toarray()
            return max(0.0, largest_distance(dense * np.sqrt(weights)[:, None], 2))
    one, two = np.sort(squares)[-2:].tolist()
    return float(one + two if _non_negative(m) else (math.sqrt(one) + math.sqrt(two)) ** 2)


def _non_negative(m: LinearMeasurement) -> bool:
    query = m.query
    if isinstance(query, IntegerMatrix):
        return bool(query.entries.min() >= 0)
    if isinstance(query, SparseMatrix | RealMatrix):
        return bool(query.entries.data.min(initial=0) >= 0)
    # Two chosen cells share no row: whatever their signs, squared norms of columns add up.
    return isinstance(query, (Identity, Subset, type(None), *_COUNTING))
