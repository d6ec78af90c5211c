"""Sums over groups of cells."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.queries.sensitivity import Neighbours, check_neighbours, check_norm

__all__ = ["Partition"]


class Partition:
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

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Partition does not change; make another one (got {name}={value!r})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Partition does not change; {name!r} cannot be deleted")

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
        cells = np.asarray(x)
        if cells.shape != (self.shape[1],):
            raise ValueError(f"x needs shape ({self.shape[1]},), got {cells.shape}")
        if np.issubdtype(cells.dtype, np.floating):
            return np.bincount(self.groups, weights=cells, minlength=self.shape[0])
        # bincount would pass integers through float64, which is exact below 2^53 only.
        sums = np.zeros(self.shape[0], dtype=np.int64)
        np.add.at(sums, self.groups, cells)
        return sums

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return for each cell the answer of its group, from `y`, array_like of shape (groups,)."""
        answers = np.asarray(y)
        if answers.shape != (self.shape[0],):
            raise ValueError(f"y needs shape ({self.shape[0]},), got {answers.shape}")
        return answers[self.groups]

    def sensitivity(self, neighbours: Neighbours, norm: Literal[1, 2]) -> int | float:
        """Return by how much the answers of neighbouring tables differ at most.

        Parameters
        ----------
        neighbours : {"add-remove", "replace"}
            Whether neighbours differ by a record more or less, or by one record substituted.
        norm : {1, 2}
            The norm of the difference.

        Returns
        -------
        int or float
            Exact for norm 1; the square root of `squared_l2_sensitivity` for norm 2.
        """
        check_norm(norm)
        squared = self.squared_l2_sensitivity(neighbours)
        # The columns are unit vectors, so a difference has entries 1 and -1 alone.
        return squared if norm == 1 else math.sqrt(squared)

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the square of the L2 sensitivity: 1, or 2 under "replace" (0 if all cells share one group)."""
        check_neighbours(neighbours)
        if neighbours == "add-remove":
            return 1
        return 2 if bool((self.groups != self.groups[0]).any()) else 0
