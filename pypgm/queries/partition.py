"""Sums over groups of cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.queries.sensitivity import Neighbours, Unchanging, as_vector, check_neighbours
from pypgm.queries.sums import Sums

__all__ = ["Partition", "partition", "total"]


class Partition(Unchanging, Sums):
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

    __slots__ = ("groups", "shape")

    groups: NDArray[np.int64]
    shape: tuple[int, int]

    def __init__(self, groups: ArrayLike, n_groups: int | None = None) -> None:
        given = np.asarray(groups)
        if given.ndim != 1 or given.size == 0:
            raise ValueError(f"groups needs one entry a cell in one dimension, got shape {given.shape}")
        if not np.issubdtype(given.dtype, np.integer):
            raise TypeError(f"groups needs integers, got dtype {given.dtype}")
        least, most = int(given.min()), int(given.max())
        rows = most + 1 if n_groups is None else n_groups
        if least < 0 or most >= rows:
            raise ValueError(f"groups must lie in 0..{rows - 1}, got {least}..{most}")
        own = given.astype(np.int64)
        own.setflags(write=False)
        object.__setattr__(self, "groups", own)
        object.__setattr__(self, "shape", (rows, own.size))

    def __reduce__(self) -> tuple[type[Partition], tuple[NDArray[np.int64], int]]:
        return (Partition, (self.groups, self.shape[0]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Partition):
            return NotImplemented
        return self.shape == other.shape and bool(np.array_equal(self.groups, other.groups))

    def __hash__(self) -> int:
        return hash((self.shape, self.groups.tobytes()))

    def __repr__(self) -> str:
        rows, cells = self.shape
        return f"Partition({cells} cells into {rows} groups)"

    @property
    def supports_total(self) -> bool:
        """Whether some combination of the answers is the sum over all cells: always, as the groups cover it."""
        return True

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return the sum of the cells `x`, array_like of shape (cells,), over each group; integers stay exact."""
        cells = as_vector("x", x, self.shape[1])
        if np.issubdtype(cells.dtype, np.floating):
            return np.bincount(self.groups, weights=cells, minlength=self.shape[0])
        # bincount would pass integers through float64, which is exact below 2^53 only.
        sums = np.zeros(self.shape[0], dtype=np.int64)
        np.add.at(sums, self.groups, cells)
        return sums

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return for each cell the answer of its group, from `y`, array_like of shape (groups,)."""
        spread: NDArray[Any] = as_vector("y", y, self.shape[0])[self.groups]
        return spread

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the square of the L2 sensitivity: 1, or 2 under "replace" (0 if all cells share one group)."""
        check_neighbours(neighbours)
        if neighbours == "add-remove":
            return 1
        return 2 if bool((self.groups != self.groups[0]).any()) else 0


def partition(groups: ArrayLike, n_groups: int | None = None) -> Partition:
    """Return the sums over groups of cells, `groups` naming the group of each cell."""
    return Partition(groups, n_groups)


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
