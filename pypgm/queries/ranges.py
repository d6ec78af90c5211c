"""Sums over ranges of an ordered attribute: all of them, or a list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.queries.entries import checked_integers, checked_size
from pypgm.queries.query import ZeroOneQuery
from pypgm.queries.sensitivity import MAX_COLUMNS, Neighbours, check_neighbours, pairwise

__all__ = ["AllRange", "RangeList"]

_DENSE_ENTRIES = 1 << 24


class RangeList(ZeroOneQuery):
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
    TypeError
        If an end is not an integer.

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

    __slots__ = ("_ranges",)

    _ranges: NDArray[np.int64]

    def __init__(self, size: int, ranges: Iterable[tuple[int, int]]) -> None:
        own, cells = np.array([tuple(r) for r in ranges]), checked_size(size)
        if own.ndim != 2 or own.shape[1] != 2:
            raise ValueError(f"ranges need (first, last) pairs, at least one, got shape {own.shape}")
        own = checked_integers("ranges", own.reshape(-1)).reshape(-1, 2)
        bad = own[(own[:, 0] < 0) | (own[:, 0] > own[:, 1]) | (own[:, 1] >= cells)]
        if bad.size:
            raise ValueError(f"ranges need 0 <= first <= last < {cells}, got {tuple(bad[0].tolist())}")
        self._set(_ranges=own, shape=(len(own), cells))

    def _arguments(self) -> tuple[Any, ...]:
        return (self.shape[1], self._ranges)

    def __repr__(self) -> str:
        return f"RangeList({self.shape[0]} ranges of {self.shape[1]} cells)"

    @property
    def ranges(self) -> NDArray[np.int64]:
        """First and last cell of each range, shape (answers, 2)."""
        return self._ranges

    @property
    def nnz(self) -> int:
        """Number of entries that are not zero."""
        return int((self.ranges[:, 1] - self.ranges[:, 0] + 1).sum())

    @property
    def cost(self) -> int:
        """Number of additions of one application."""
        return self.shape[0] + self.shape[1]

    @property
    def supports_total(self) -> bool:
        """Whether some combination of the answers is the sum over all cells, up to 1e-8 of a cell.

        Beyond the limit of exact sensitivities: whether one range holds all cells.
        """
        whole = bool(((self.ranges[:, 0] == 0) & (self.ranges[:, 1] == self.shape[1] - 1)).any())
        return whole or (self.columns() is not None and super().supports_total)

    def columns(self) -> NDArray[np.int64] | None:
        """Return the different columns, each once; None where they are too many to compare."""
        ends = np.unique(np.concatenate([[0], self.ranges[:, 0], self.ranges[:, 1] + 1]))
        cells = ends[ends < self.shape[1]]
        if cells.size > MAX_COLUMNS or cells.size * self.shape[0] > _DENSE_ENTRIES:
            return None
        inside = (self.ranges[:, :1] <= cells) & (cells <= self.ranges[:, 1:])
        return np.unique(inside.astype(np.int64), axis=1)

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        ends = np.concatenate([np.zeros_like(table[:, :1]), np.cumsum(table, axis=1)], axis=1)
        ranges = self.ranges
        sums: NDArray[Any] = ends[:, ranges[:, 1] + 1] - ends[:, ranges[:, 0]]
        return sums

    def _transpose(self, table: NDArray[Any]) -> NDArray[Any]:
        shape = (self.shape[1] + 1, table.shape[0], table.shape[2])
        steps = np.zeros(shape, dtype=np.result_type(table.dtype, np.int64))
        answers, ranges = np.moveaxis(table, 1, 0), self.ranges
        np.add.at(steps, ranges[:, 0], answers)
        np.subtract.at(steps, ranges[:, 1] + 1, answers)
        return np.moveaxis(np.cumsum(steps, axis=0)[:-1], 0, 1)

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the most ranges a cell is in, or under "replace" that hold one of two cells alone."""
        check_neighbours(neighbours)
        counts = self.rmatvec(np.ones(self.shape[0], dtype=np.int64))
        if neighbours == "add-remove":
            return int(counts.max())
        columns = self.columns()
        return int(np.sort(counts)[-2:].sum()) if columns is None else pairwise(columns, 1)


class AllRange(RangeList):
    """The sums of cells i..j for all i <= j, ordered by i and then j.

    Parameters
    ----------
    size : int
        Number of cells, n; there are n (n + 1) / 2 answers.

    Raises
    ------
    ValueError
        If `size` is not at least 1.

    Notes
    -----
    Cell x is in (x + 1)(n - x) ranges, at most floor((n + 1)^2 / 4). Of two cells x < y, with s = x + 1 + n - y in
    2..n, exactly s (n + 1 - s) ranges hold one and not the other: again at most floor((n + 1)^2 / 4) for n >= 2.

    Examples
    --------
    >>> AllRange(3).matvec([1, 2, 4]).tolist()
    [1, 3, 7, 2, 6, 4]
    """

    __slots__ = ("size",)

    size: int

    def __init__(self, size: int) -> None:
        own = checked_size(size)
        self._set(size=own, shape=(own * (own + 1) // 2, own))

    def _arguments(self) -> tuple[Any, ...]:
        return (self.size,)

    def __repr__(self) -> str:
        return f"AllRange(size={self.size})"

    @property
    def ranges(self) -> NDArray[np.int64]:
        """First and last cell of each range, shape (answers, 2), made when asked for."""
        return np.stack(np.triu_indices(self.size), axis=1)

    @property
    def nnz(self) -> int:
        """Number of entries that are not zero."""
        return self.size * (self.size + 1) * (self.size + 2) // 6

    @property
    def cost(self) -> int:
        """Number of additions of one application: cumulative sums, and a difference a range."""
        return self.shape[0] + self.shape[1]

    @property
    def supports_total(self) -> bool:
        """Whether some combination of the answers is the sum over all cells: the longest range is."""
        return True

    def columns(self) -> NDArray[np.int64] | None:
        """Return the different columns, each once; None where they are too many to compare."""
        cells = self.shape[1]
        return None if cells > MAX_COLUMNS or cells * self.shape[0] > _DENSE_ENTRIES else super().columns()

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the square of the L2 sensitivity: floor((n + 1)^2 / 4) (0 for a single cell under "replace")."""
        check_neighbours(neighbours)
        if neighbours == "replace" and self.size == 1:
            return 0
        return (self.size + 1) ** 2 // 4
