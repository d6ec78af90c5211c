"""Several queries on one table, measured together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.queries.entries import SparseArray, as_vector
from pypgm.queries.neighbours import DENSE_ENTRIES, Neighbours
from pypgm.queries.query import LinearQuery, checked_queries

_MOST_SOLVED = 1 << 22  # cells times parts whose best combination is found by least squares: a second or so


class Union(LinearQuery):
    """Queries on the same cells, their answers concatenated; the noise may differ from part to part.

    Parameters
    ----------
    parts : sequence of LinearQuery
        At least one, all for the same number of cells.

    Attributes
    ----------
    parts : tuple of LinearQuery

    Raises
    ------
    ValueError
        If there is no part, or the parts are for different numbers of cells.

    Notes
    -----
    Sensitivities are exact where the stacked matrix has at most 2^24 entries, zeros counted; beyond they are the sums
    of the parts', a bound.

    Examples
    --------
    >>> from pypgm import LinearMeasurement
    >>> from pypgm.queries import Identity, total
    >>> both = Union([Identity(3), total(3)])
    >>> both.matvec([1, 2, 4]).tolist(), both.l1_sensitivity("add-remove")
    ([1, 2, 4, 7], 2)
    >>> LinearMeasurement([1.5, 1.8, 4.2, 7.1], "a", both.spread([2.0, 0.5]), both).stddev
    array([2. , 2. , 2. , 0.5])
    """

    parts: tuple[LinearQuery, ...]

    def __init__(self, parts: Iterable[LinearQuery]) -> None:
        queries = checked_queries(parts, "a union needs at least one query")
        if len({p.shape[1] for p in queries}) > 1:
            raise ValueError(f"the parts of a union need the same cells, got {[p.shape[1] for p in queries]}")
        shape = (sum(p.shape[0] for p in queries), queries[0].shape[1])
        nnz, cost = sum(p.nnz for p in queries), sum(p.cost for p in queries)
        self._describe((queries,), shape, nnz, cost=cost, inner=queries, text=", ".join(map(repr, queries)))
        self._set(parts=queries)

    def spread(self, levels: ArrayLike) -> NDArray[np.float64]:
        """Return a number for each answer, that of its part, such as the noise of a measurement."""
        each = as_vector("levels", levels, len(self.parts)).astype(np.float64)
        return np.repeat(each, [p.shape[0] for p in self.parts])

    def total_weights(self, stddev: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return v with Q'v = 1; for large unions those of the parts that have one, weighted by precision.

        That is the best if noise is equal within each part and its answers are over equally many cells.
        """
        if len(self.parts) * self.shape[1] <= _MOST_SOLVED:
            return super().total_weights(stddev)
        combination, precision = np.zeros(self.shape[0]), 0.0
        for (part, noise), (_, part_weights) in zip(self._split(stddev), self._split(combination), strict=True):
            weights = part.total_weights(noise)
            if weights is not None:
                variance = float(np.square(weights * noise).sum())
                part_weights[:] = weights / variance
                precision += 1 / variance
        return combination / precision if precision > 0 else super().total_weights(stddev)

    def magnitudes(self, power: Literal[1, 2]) -> LinearQuery:
        """Return the union of the parts' magnitudes."""
        return Union([p.magnitudes(power) for p in self.parts])

    def to_sparse(self) -> SparseArray:
        """Return the parts' matrices, one below the other, as a scipy.sparse.csr_array."""
        from scipy.sparse import csr_array, vstack

        return csr_array(vstack([p.to_sparse() for p in self.parts]))

    def largest_squared_distance(self, weights: NDArray[np.float64]) -> float:
        """Return the sum over the parts, which is a bound, or the bound from the norms of the columns if it is less."""
        parts = sum(p.largest_squared_distance(w) for p, w in self._split(weights))
        return min(parts, super().largest_squared_distance(weights))

    def _largest_change(self, neighbours: Neighbours) -> int:
        return max(p._largest_change(neighbours) for p in self.parts)

    def _sensitivity(self, neighbours: Neighbours, norm: Literal[1, 2]) -> int:
        parts = sum(p._sensitivity(neighbours, norm) for p in self.parts)
        small = math.prod(self.shape) <= DENSE_ENTRIES
        return min(parts, super()._sensitivity(neighbours, norm)) if small else parts

    def _split(self, answers: NDArray[Any], axis: int = 0) -> list[tuple[LinearQuery, NDArray[Any]]]:
        ends = np.cumsum([p.shape[0] for p in self.parts])
        return list(zip(self.parts, np.split(answers, ends[:-1], axis), strict=True))

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([p._apply(table) for p in self.parts], axis=1)

    def _transpose(self, table: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.sum([p._transpose(t) for p, t in self._split(table, 1)], axis=0))
