"""Some cells of a table, and cells in another order, each times a weight."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.queries.entries import ENTRY_LIMIT, SparseArray, checked_integers, checked_size
from pypgm.queries.matrix import Matrix
from pypgm.queries.query import LinearQuery
from pypgm.queries.sensitivity import Neighbours, check_neighbours

__all__ = ["Subset", "permutation", "subset_sum", "weighted"]


class Subset(LinearQuery):
    """Chosen cells of a table, in any order, each times an integer.

    Parameters
    ----------
    cells : array_like of int, shape (answers,)
        The cell each answer reads, no cell twice.
    size : int
        Number of cells of the table.
    weights : array_like of int, shape (answers,), optional
        What each answer is multiplied by; 1 by default, below 2^18 in magnitude.

    Attributes
    ----------
    cells, weights : ndarray of int64, shape (answers,), read-only

    Raises
    ------
    ValueError
        If no cell is chosen, one comes twice or lies outside the table, or the weights do not fit.
    TypeError
        If cells or weights are not integers.

    Examples
    --------
    >>> Subset([2, 0], size=3, weights=[1, 10]).matvec([5, 6, 7]).tolist()
    [7, 50]
    """

    __slots__ = ("cells", "weights")

    cells: NDArray[np.int64]
    weights: NDArray[np.int64]

    def __init__(self, cells: ArrayLike, size: int, weights: ArrayLike | None = None) -> None:
        own, n_cells = checked_integers("cells", cells), checked_size(size)
        if own.size == 0 or own.min() < 0 or own.max() >= n_cells or np.unique(own).size != own.size:
            raise ValueError(f"cells need to be different numbers in 0..{n_cells - 1}, at least one, got {own}")
        factors = np.ones(own.size, dtype=np.int64) if weights is None else checked_integers("weights", weights)
        if factors.size != own.size or max(int(factors.max()), -int(factors.min())) >= ENTRY_LIMIT:
            raise ValueError(f"weights need one integer below 2^18 a cell, got {factors.size} for {own.size} cells")
        self._set(cells=own, weights=factors, shape=(own.size, n_cells))

    def _arguments(self) -> tuple[Any, ...]:
        return (self.cells, self.shape[1], self.weights)

    def __repr__(self) -> str:
        return f"Subset({self.shape[0]} of {self.shape[1]} cells)"

    @property
    def nnz(self) -> int:
        """Number of cells that are read."""
        return self.shape[0]

    @property
    def is_non_negative(self) -> bool:
        """Whether no weight is negative."""
        return bool(self.weights.min() >= 0)

    @property
    def has_acute_columns(self) -> bool:
        """Whether no two columns have a negative product: no two cells share an answer, whatever the signs."""
        return True

    def magnitudes(self, power: Literal[1, 2]) -> LinearQuery:
        """Return the query with each weight's magnitude to a power in its place."""
        return Matrix(self.to_sparse()).magnitudes(power)

    def to_sparse(self) -> SparseArray:
        """Return the matrix as a scipy.sparse.csr_array."""
        from scipy.sparse import csr_array

        return csr_array((self.weights, (np.arange(self.shape[0]), self.cells)), shape=self.shape)

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        return table[:, self.cells] * self.weights[:, None]

    def _transpose(self, table: NDArray[Any]) -> NDArray[Any]:
        weighted = table * self.weights[:, None]
        cells = np.zeros((table.shape[0], self.shape[1], table.shape[2]), dtype=weighted.dtype)
        cells[:, self.cells] = weighted
        return cells

    def _exact_sensitivity(self, neighbours: Neighbours, norm: Literal[1, 2]) -> int:
        check_neighbours(neighbours)
        amounts = np.sort(np.abs(self.weights) ** norm)
        if neighbours == "add-remove":
            return int(amounts[-1])
        return int(amounts[-2:].sum()) if self.shape[1] > 1 else 0  # no two cells share an answer


def subset_sum(cells: ArrayLike, size: int) -> Matrix:
    """Return the sum over chosen cells of a table of `size` cells, as one answer.

    Raises
    ------
    ValueError, TypeError
        As `Subset`.

    Examples
    --------
    >>> subset_sum([0, 3], 4).entries.toarray().tolist()
    [[1, 0, 0, 1]]
    """
    return Matrix(Subset(cells, size).rmatvec(np.ones(len(np.atleast_1d(cells)), dtype=np.int64))[None, :])


def permutation(order: ArrayLike) -> Subset:
    """Return the query of all cells in another order, `order` naming the cell of each answer."""
    return Subset(order, np.asarray(order).size)


def weighted(weights: ArrayLike, order: ArrayLike | None = None) -> Subset | Matrix:
    """Return the query of every cell times a weight, in an order.

    Parameters
    ----------
    weights : array_like of real, shape (cells,)
        One an answer. Integers give a query that can be measured exactly; others one for estimates alone.
    order : array_like of int, shape (cells,), optional
        The cell of each answer; as they stand by default.

    Examples
    --------
    >>> weighted([1, 0, 3]).matvec([5, 6, 7]).tolist()
    [5, 0, 21]
    """
    factors = np.asarray(weights)
    cells = np.arange(factors.size) if order is None else np.asarray(order)
    if factors.dtype.kind in "iu":
        return Subset(cells, factors.size, factors)
    from scipy.sparse import csr_array

    own = Subset(cells, factors.size)
    return Matrix(csr_array((factors.astype(np.float64), (np.arange(factors.size), own.cells)), shape=own.shape))
