"""A query applied to a finer table."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pypgm.queries.entries import SparseArray
from pypgm.queries.partition import Partition
from pypgm.queries.query import Form, LinearQuery


class Folded(LinearQuery):
    """A query on the cells of a table, applied to finer cells that each lie in one of them.

    Parameters
    ----------
    query : LinearQuery
        The query on the coarse cells.
    cells : ndarray of int64, shape (fine cells,)
        The coarse cell each fine one lies in; a permutation puts cells into another order.
    """

    query: LinearQuery
    _sums: Partition

    def __init__(self, query: LinearQuery, cells: NDArray[np.int64]) -> None:
        sums = Partition(cells, query.shape[1])
        most, cost = int(np.bincount(sums.groups).max()), query.cost + sums.shape[1]
        shape, n_read = (query.shape[0], sums.shape[1]), query.n_read * most
        self._describe((query, sums.groups), shape, query.nnz * most, cost=cost, n_read=n_read, inner=(query,))
        self._set(query=query, _sums=sums)

    def form(self) -> Form:
        """Return the query as the compiled loop takes it: the columns of the inner one's."""
        return self.query.form().of(self._sums.groups)

    def magnitudes(self, power: Literal[1, 2]) -> LinearQuery:
        """Return the query with each entry replaced by its magnitude, raised to a power."""
        return Folded(self.query.magnitudes(power), self._sums.groups)

    def to_sparse(self) -> SparseArray:
        """Return the matrix as a scipy.sparse.csr_array."""
        return self.query.to_sparse()[:, self._sums.groups]

    def column_squares(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted squared norm of the column of each fine cell, or a bound of it."""
        return self.query.column_squares(weights)[self._sums.groups]

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        return self.query._apply(self._sums._apply(table))

    def _transpose(self, table: NDArray[Any]) -> NDArray[Any]:
        return self._sums._transpose(self.query._transpose(table))


def folded(query: LinearQuery, cells: NDArray[np.int64]) -> LinearQuery:
    """Return a query on a finer table, each of whose cells lies in one of the query's cells, as `cells` says.

    Examples
    --------
    >>> folded(Partition([0, 1]), np.array([0, 1, 1])).matvec([5, 2, 3]).tolist()
    [5, 5]
    """
    return Folded(query, cells) if query.groups is None else Partition(query.groups[cells], query.shape[0])
