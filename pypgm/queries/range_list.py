"""Sums over chosen ranges of an ordered attribute."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.queries.sensitivity import (
    MAX_COLUMNS,
    Neighbours,
    Unchanging,
    as_vector,
    check_neighbours,
    pairwise,
)
from pypgm.queries.sums import Sums

__all__ = ["RangeList", "range_list"]

_DENSE_ENTRIES = 1 << 24


class RangeList(Unchanging, Sums):
    """The sums of cells first..last, both included, for a list of ranges.

    Parameters
    ----------
    size : int
        Number of cells.
    ranges : sequence of (int, int)
        First and last cell of each range; ranges may overlap and repeat.

    Attributes
    ----------
    ranges : ndarray of int64, shape (answers, 2), read-only

    Raises
    ------
    ValueError
        If there are no ranges, or one does not lie in the table.

    Notes
    -----
    Cells between two neighbouring ends of ranges are in the same ranges; sensitivities under "replace" compare one
    cell of each such stretch with every other. They are exact up to 4096 different stretches and 2^24 entries of
    these columns; beyond, they are the sum of the two largest numbers of ranges a cell is in, a bound.

    Examples
    --------
    >>> RangeList(4, [(0, 1), (1, 3)]).matvec([1, 2, 3, 4]).tolist()
    [3, 9]
    """

    __slots__ = ("ranges", "shape")

    ranges: NDArray[np.int64]
    shape: tuple[int, int]

    def __init__(self, size: int, ranges: Iterable[tuple[int, int]]) -> None:
        own = np.array([tuple(r) for r in ranges], dtype=np.int64)
        if own.ndim != 2 or own.shape[1] != 2:
            raise ValueError(f"ranges need (first, last) pairs, at least one, got shape {own.shape}")
        bad = own[(own[:, 0] < 0) | (own[:, 0] > own[:, 1]) | (own[:, 1] >= size)]
        if bad.size:
            raise ValueError(f"ranges need 0 <= first <= last < {size}, got {tuple(bad[0].tolist())}")
        own.setflags(write=False)
        object.__setattr__(self, "ranges", own)
        object.__setattr__(self, "shape", (len(own), size))

    def __reduce__(self) -> tuple[type[RangeList], tuple[int, list[tuple[int, int]]]]:
        return (RangeList, (self.shape[1], [(int(a), int(b)) for a, b in self.ranges]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RangeList):
            return NotImplemented
        return self.shape == other.shape and bool(np.array_equal(self.ranges, other.ranges))

    def __hash__(self) -> int:
        return hash((self.shape, self.ranges.tobytes()))

    def __repr__(self) -> str:
        return f"RangeList({self.shape[0]} ranges of {self.shape[1]} cells)"

    def _columns(self) -> NDArray[np.int64] | None:
        """Return the different columns, None where there are too many to compare."""
        ends = np.unique(np.concatenate([[0], self.ranges[:, 0], self.ranges[:, 1] + 1]))
        cells = ends[ends < self.shape[1]]
        if cells.size > MAX_COLUMNS or cells.size * self.shape[0] > _DENSE_ENTRIES:
            return None
        inside = (self.ranges[:, :1] <= cells) & (cells <= self.ranges[:, 1:])
        return np.unique(inside.astype(np.int64), axis=1)

    @property
    def supports_total(self) -> bool:
        """Whether some combination of the answers is the sum over all cells, up to 1e-8 of a cell.

        Beyond the limit of exact sensitivities: whether one range holds all cells.
        """
        columns = self._columns()
        if columns is None:
            return bool(((self.ranges[:, 0] == 0) & (self.ranges[:, 1] == self.shape[1] - 1)).any())
        ones = np.ones(columns.shape[1])
        combination = np.linalg.lstsq(columns.T.astype(np.float64), ones, rcond=None)[0]
        return bool(np.abs(columns.T @ combination - ones).max() < 1e-8)

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return the sums over the ranges of the cells `x`, array_like of shape (cells,); integers stay exact."""
        cells = as_vector("x", x, self.shape[1])
        ends = np.concatenate([np.zeros(1, dtype=cells.dtype), np.cumsum(cells)])
        sums: NDArray[Any] = ends[self.ranges[:, 1] + 1] - ends[self.ranges[:, 0]]
        return sums

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return for each cell the sum of the answers it is in, from `y`, array_like of shape (answers,)."""
        answers = as_vector("y", y, self.shape[0])
        steps = np.zeros(self.shape[1] + 1, dtype=np.result_type(answers.dtype, np.int64))
        np.add.at(steps, self.ranges[:, 0], answers)
        np.subtract.at(steps, self.ranges[:, 1] + 1, answers)
        return np.cumsum(steps)[:-1]

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the most ranges a cell is in, or under "replace" that hold one of two cells alone."""
        check_neighbours(neighbours)
        counts = self.rmatvec(np.ones(self.shape[0], dtype=np.int64))
        if neighbours == "add-remove":
            return int(counts.max())
        columns = self._columns()
        return int(np.sort(counts)[-2:].sum()) if columns is None else pairwise(columns, 1)


def range_list(size: int, ranges: Iterable[tuple[int, int]]) -> RangeList:
    """Return the sums over ranges (first, last) of `size` ordered cells, both ends included."""
    return RangeList(size, ranges)
