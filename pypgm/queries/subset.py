"""Some cells of a table, and cells in another order, each times a weight."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.queries.matrix import ENTRY_LIMIT, IntegerMatrix
from pypgm.queries.real import RealMatrix
from pypgm.queries.sensitivity import Neighbours, Operator, Unchanging, as_vector, check_neighbours, check_norm

__all__ = ["Subset", "permutation", "subset", "subset_sum", "weighted"]


class Subset(Unchanging, Operator):
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

    __slots__ = ("cells", "shape", "weights")

    cells: NDArray[np.int64]
    weights: NDArray[np.int64]
    shape: tuple[int, int]

    def __init__(self, cells: ArrayLike, size: int, weights: ArrayLike | None = None) -> None:
        own = _integers("cells", cells)
        if own.size == 0 or own.min() < 0 or own.max() >= size or np.unique(own).size != own.size:
            raise ValueError(f"cells need to be different numbers in 0..{size - 1}, at least one, got {own}")
        factors = np.ones(own.size, dtype=np.int64) if weights is None else _integers("weights", weights)
        if factors.size != own.size or int(np.abs(factors).max()) >= ENTRY_LIMIT:
            raise ValueError(f"weights need one integer below 2^18 a cell, got {factors.size} for {own.size} cells")
        for array in (own, factors):
            array.setflags(write=False)
        object.__setattr__(self, "cells", own)
        object.__setattr__(self, "weights", factors)
        object.__setattr__(self, "shape", (own.size, size))

    def __reduce__(self) -> tuple[type[Subset], tuple[NDArray[np.int64], int, NDArray[np.int64]]]:
        return (Subset, (self.cells, self.shape[1], self.weights))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Subset):
            return NotImplemented
        same = self.shape == other.shape and np.array_equal(self.cells, other.cells)
        return bool(same and np.array_equal(self.weights, other.weights))

    def __hash__(self) -> int:
        return hash((self.shape, self.cells.tobytes(), self.weights.tobytes()))

    def __repr__(self) -> str:
        return f"Subset({self.shape[0]} of {self.shape[1]} cells)"

    @property
    def supports_total(self) -> bool:
        """Whether some combination of the answers is the sum over all cells: if each is read."""
        return self.shape[0] == self.shape[1] and bool((self.weights != 0).all())

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return the answers on the cells `x`, array_like of shape (cells,); integers stay exact."""
        answers: NDArray[Any] = as_vector("x", x, self.shape[1])[self.cells] * self.weights
        return answers

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return the transpose applied to `y`, array_like of shape (answers,)."""
        weighted = as_vector("y", y, self.shape[0]) * self.weights
        table = np.zeros(self.shape[1], dtype=weighted.dtype)
        table[self.cells] = weighted
        return table

    def l1_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the largest weight, under "replace" the sum of the two largest: no two cells share an answer."""
        return self._largest(neighbours, np.abs(self.weights))

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the largest squared weight, under "replace" the sum of the two largest."""
        return self._largest(neighbours, np.square(self.weights))

    def largest_change(self, neighbours: Neighbours) -> int:
        """Return the largest weight in magnitude (0 for a table of a single cell under "replace")."""
        check_neighbours(neighbours)
        return 0 if neighbours == "replace" and self.shape[1] == 1 else int(np.abs(self.weights).max())

    def column_norms(self, norm: Literal[1, 2]) -> NDArray[np.float64]:
        """Return the magnitude of each cell's weight, 0 for cells that are not read; see `Operator`."""
        check_norm(norm)
        norms: NDArray[np.float64] = np.abs(self.rmatvec(np.ones(self.shape[0])))
        return norms

    def _largest(self, neighbours: Neighbours, amounts: NDArray[np.int64]) -> int:
        check_neighbours(neighbours)
        if neighbours == "add-remove":
            return int(amounts.max())
        return int(np.sort(amounts)[-2:].sum()) if self.shape[1] > 1 else 0


def subset(cells: ArrayLike, size: int) -> Subset:
    """Return the query of chosen cells of a table of `size` cells: a slice of it."""
    return Subset(cells, size)


def subset_sum(cells: ArrayLike, size: int) -> IntegerMatrix:
    """Return the sum over chosen cells of a table of `size` cells, as one answer.

    Raises
    ------
    ValueError, TypeError
        As `Subset`.

    Examples
    --------
    >>> subset_sum([0, 3], 4).entries.tolist()
    [[1, 0, 0, 1]]
    """
    return IntegerMatrix(Subset(cells, size).rmatvec(np.ones(len(np.atleast_1d(cells)), dtype=np.int64))[None, :])


def permutation(order: ArrayLike) -> Subset:
    """Return the query of all cells in another order, `order` naming the cell of each answer."""
    return Subset(order, np.asarray(order).size)


def weighted(weights: ArrayLike, order: ArrayLike | None = None) -> Subset | RealMatrix:
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
    return RealMatrix(csr_array((factors.astype(np.float64), (np.arange(factors.size), own.cells)), shape=own.shape))


def _integers(name: str, entries: ArrayLike) -> NDArray[np.int64]:
    given = np.asarray(entries)
    if given.ndim != 1:
        raise ValueError(f"{name} need one dimension, got shape {given.shape}")
    if given.size and given.dtype.kind not in "iu":
        raise TypeError(f"{name} need integers, got dtype {given.dtype}")
    return given.astype(np.int64)
