"""Sums over groups of cells, every cell on its own, and some cells or cells in another order, each times a weight."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.constraints import AtLeast
from pypgm._base.signatures import checked
from pypgm.queries.entries import ENTRY_LIMIT, SparseArray, checked_integers
from pypgm.queries.matrix import Matrix
from pypgm.queries.neighbours import Neighbours
from pypgm.queries.query import ZeroOneQuery


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
        If no cell is chosen, a cell is repeated or lies outside the table, or the weights do not fit.
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


class Partition(ZeroOneQuery):
    """Sums over disjoint groups of cells that together cover the table.

    Parameters
    ----------
    groups : array_like of int, shape (cells,)
        The group of each cell, from 0.
    n_groups : int, optional
        Number of groups; one more than the largest by default. Groups without cells are answered by 0.

    Attributes
    ----------
    groups : ndarray of int64, shape (cells,), read-only
        The group of each cell.

    Raises
    ------
    ValueError
        If `groups` is empty, not one-dimensional, negative, or names a group that is not below `n_groups`.
    TypeError
        If `groups` does not hold integers.

    Examples
    --------
    >>> Partition([0, 1, 1]).matvec([5, 2, 3]).tolist()
    [5, 5]
    """

    _groups: NDArray[np.int64]

    def __init__(self, groups: ArrayLike, n_groups: int | None = None) -> None:
        answer_of = checked_integers("groups", groups)
        if answer_of.size == 0:
            raise ValueError("groups need one entry per cell, got none")
        least, most = int(answer_of.min()), int(answer_of.max())
        rows = most + 1 if n_groups is None else int(n_groups)
        if least < 0 or most >= rows:
            raise ValueError(f"groups must lie in 0..{rows - 1}, got {least}..{most}")
        text = f"{answer_of.size} cells into {rows} groups"
        self._describe((answer_of, rows), (rows, answer_of.size), answer_of.size, units=True, text=text)
        self._set(_groups=answer_of)

    @property
    def groups(self) -> NDArray[np.int64]:
        """The group of each cell, shape (cells,)."""
        return self._groups

    def to_sparse(self) -> SparseArray:
        """Return the matrix as a scipy.sparse.csr_array."""
        from scipy.sparse import csc_array

        cells = self.shape[1]
        return csc_array((np.ones(cells, np.int64), self.groups, np.arange(cells + 1)), shape=self.shape).tocsr()

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        if table.size != self.shape[1]:
            return super()._apply(table)
        # A single vector: four times as fast as a matrix made for it.
        sums = np.zeros(self.shape[0], dtype=table.dtype if table.dtype.kind == "f" else np.int64)
        np.add.at(sums, self.groups, table.reshape(-1))
        return sums[None, :, None]

    def _transpose(self, table: NDArray[Any]) -> NDArray[Any]:
        return table[:, self.groups]

    def largest_squared_distance(self, weights: NDArray[np.float64]) -> float:
        """Return the two largest weights of groups that have cells, summed; 0 if there is one."""
        filled = weights[np.bincount(self.groups, minlength=self.shape[0]) > 0]
        return float(np.sort(filled)[-2:].sum()) if filled.size > 1 else 0.0

    def _sensitivity(self, neighbours: Neighbours, norm: Literal[1, 2]) -> int:
        del norm
        if neighbours == "add-remove":
            return 1
        return 2 if bool((self.groups != self.groups[0]).any()) else 0


class Identity(Partition):
    """Query of every cell of a table.

    Parameters
    ----------
    size : int
        Number of cells.

    Raises
    ------
    ValueError
        If `size` is not at least 1.

    Examples
    --------
    >>> Identity(3).sensitivity("replace", norm=1)
    2
    """

    is_identity = True

    @checked()
    def __init__(self, size: Annotated[int, AtLeast(1)]) -> None:
        self._describe((size,), (size, size), size, units=True, text=f"size={size}")

    @property
    def groups(self) -> NDArray[np.int64]:
        """The answer of each cell, shape (cells,)."""
        return np.arange(self.shape[1])

    def largest_squared_distance(self, weights: NDArray[np.float64]) -> float:
        """Return the two largest weights, summed; 0 if there is one."""
        return float(np.partition(weights, -2)[-2:].sum()) if weights.size > 1 else 0.0

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        return table

    def _transpose(self, table: NDArray[Any]) -> NDArray[Any]:
        return table


@checked()
def total(size: Annotated[int, AtLeast(1)]) -> Partition:
    """Return the sum of all cells of a table of `size` cells: one group.

    Raises
    ------
    ValueError
        If `size` is not at least 1.

    Examples
    --------
    >>> total(3).matvec([2, 3, 4]).tolist()
    [9]
    """
    return Partition(np.zeros(size, dtype=np.int64))
