"""Sums over groups of cells, and every cell on its own."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.constraints import AtLeast
from pypgm._base.signatures import checked
from pypgm.queries.entries import SparseArray, checked_integers
from pypgm.queries.neighbours import Neighbours
from pypgm.queries.query import ZeroOneQuery


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
