"""Some cells of a table, and cells in another order, each times a weight."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.constraints import AtLeast
from pypgm._base.signatures import checked
from pypgm.queries.entries import ENTRY_LIMIT, SparseArray, checked_integers
from pypgm.queries.matrix import Matrix
from pypgm.queries.neighbours import Neighbours


class Subset(Matrix):
    """Chosen cells of a table, in any order, each times an integer.

    Parameters
    ----------
    cells : array_like of int, shape (answers,)
        The cell each answer reads, no cell twice.
    size : int
        Number of cells of the table.
    weights : array_like of int, shape (answers,), optional
        Factor of each answer; 1 by default, below 2^18 in magnitude.

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

    cells: NDArray[np.int64]
    weights: NDArray[np.int64]

    @checked()
    def __init__(self, cells: ArrayLike, size: Annotated[int, AtLeast(1)], weights: ArrayLike | None = None) -> None:
        chosen = checked_integers("cells", cells)
        n_chosen = chosen.size
        if n_chosen == 0 or chosen.min() < 0 or chosen.max() >= size or np.unique(chosen).size != n_chosen:
            raise ValueError(f"cells must be different numbers in 0..{size - 1}, at least one, got {chosen}")
        factors = np.ones(n_chosen, dtype=np.int64) if weights is None else checked_integers("weights", weights)
        if factors.size != n_chosen or max(int(factors.max()), -int(factors.min())) >= ENTRY_LIMIT:
            raise ValueError(f"weights need one integer below 2^18 per cell, got {factors.size} for {n_chosen} cells")
        super().__init__(_entries(factors, chosen, size))
        # No two cells share an answer: the product of two columns is 0, whatever the signs.
        self._set(cells=chosen, weights=factors, has_acute_columns=True, _arguments=(chosen, size, factors))

    def _state(self) -> tuple[Any, ...]:
        return (self.shape, self.cells.tobytes(), self.weights.tobytes())

    def _sensitivity(self, neighbours: Neighbours, norm: Literal[1, 2]) -> int:
        amounts = np.sort(np.abs(self.weights) ** norm)
        if neighbours == "add-remove":
            return int(amounts[-1])
        return int(amounts[-2:].sum()) if self.shape[1] > 1 else 0


def subset_sum(cells: ArrayLike, size: int) -> Matrix:
    """Return the sum over chosen cells of a table of `size` cells, as one answer.

    Raises
    ------
    ValueError, TypeError
        As in `Subset`.

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
        Weight of each cell. Integers give a query that can be measured exactly; others one for estimates alone.
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
    chosen = Subset(cells, factors.size)
    return Matrix(_entries(factors.astype(np.float64), chosen.cells, factors.size))


def _entries(weights: NDArray[Any], cells: NDArray[np.int64], size: int) -> SparseArray:
    """Return the matrix of the answers that read one cell each, times a weight."""
    from scipy.sparse import csr_array

    return csr_array((weights, cells, np.arange(cells.size + 1)), shape=(cells.size, size))
