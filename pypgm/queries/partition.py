"""Sums over groups of cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.queries.entries import SparseArray, checked_integers
from pypgm.queries.query import ZeroOneQuery
from pypgm.queries.sensitivity import Neighbours, check_neighbours

__all__ = ["Partition", "total"]


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

    __slots__ = ("_groups",)

    _groups: NDArray[np.int64]

    def __init__(self, groups: ArrayLike, n_groups: int | None = None) -> None:
        own = checked_integers("groups", groups)
        if own.size == 0:
            raise ValueError("groups need one entry a cell, got none")
        least, most = int(own.min()), int(own.max())
        rows = most + 1 if n_groups is None else int(n_groups)
        if least < 0 or most >= rows:
            raise ValueError(f"groups must lie in 0..{rows - 1}, got {least}..{most}")
        self._set(_groups=own, shape=(rows, own.size))

    def _arguments(self) -> tuple[NDArray[np.int64], int]:
        return (self._groups, self.shape[0])

    def __repr__(self) -> str:
        rows, cells = self.shape
        return f"Partition({cells} cells into {rows} groups)"

    @property
    def groups(self) -> NDArray[np.int64]:
        """The group of each cell, shape (cells,)."""
        return self._groups

    @property
    def nnz(self) -> int:
        """Number of entries that are not zero."""
        return self.shape[1]

    @property
    def has_unit_columns(self) -> bool:
        """Whether each cell is counted in exactly one answer."""
        return True

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        if table.shape[0] == table.shape[2] == 1 and table.dtype.kind == "f":
            return np.bincount(self._groups, table[0, :, 0], minlength=self.shape[0])[None, :, None]
        # bincount would pass integers through float64, which is exact below 2^53 only.
        kind = table.dtype if table.dtype.kind == "f" else np.dtype(np.int64)
        sums = np.zeros((self.shape[0], table.shape[0], table.shape[2]), dtype=kind)
        np.add.at(sums, self._groups, np.moveaxis(table, 1, 0))
        return np.moveaxis(sums, 0, 1)

    def _transpose(self, table: NDArray[Any]) -> NDArray[Any]:
        return table[:, self._groups]

    def to_sparse(self) -> SparseArray:
        """Return the matrix as a scipy.sparse.csr_array."""
        from scipy.sparse import csr_array

        cells = np.arange(self.shape[1])
        return csr_array((np.ones(cells.size, dtype=np.int64), (self._groups, cells)), shape=self.shape)

    def largest_squared_distance(self, weights: NDArray[np.float64]) -> float:
        """Return the two largest weights of groups that have cells, summed; 0 if there is one."""
        filled = weights[np.bincount(self._groups, minlength=self.shape[0]) > 0]
        return float(np.sort(filled)[-2:].sum()) if filled.size > 1 else 0.0

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the square of the L2 sensitivity: 1, or 2 under "replace" (0 if all cells share one group)."""
        check_neighbours(neighbours)
        if neighbours == "add-remove":
            return 1
        return 2 if bool((self._groups != self._groups[0]).any()) else 0


def total(size: int) -> Partition:
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
