"""Sums over ranges of an ordered attribute: running sums, all ranges, or a list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pypgm._base.constraints import AtLeast
from pypgm._base.signatures import checked
from pypgm.queries.entries import checked_integers
from pypgm.queries.neighbours import DENSE_ENTRIES, MAX_COLUMNS, Neighbours, few_columns, largest_distance
from pypgm.queries.query import Form, ZeroOneQuery


class Prefix(ZeroOneQuery):
    """The sums of the first 1, 2, ..., n cells.

    Parameters
    ----------
    size : int
        Number of cells, n.

    Raises
    ------
    ValueError
        If `size` is not at least 1.

    Examples
    --------
    >>> Prefix(4).matvec([1, 0, 2, 5]).tolist()
    [1, 1, 3, 8]
    >>> Prefix(4).l1_sensitivity("replace")
    3
    """

    @checked()
    def __init__(self, size: Annotated[int, AtLeast(1)]) -> None:
        nnz = size * (size + 1) // 2
        self._describe((size,), (size, size), nnz, cost=size, n_read=size, text=f"size={size}")

    def form(self) -> Form:
        """Return the query as the compiled loop takes it: every cell, accumulated."""
        return Form(np.arange(self.shape[0]), running=True)

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        return np.add.accumulate(table, axis=1)

    def _transpose(self, table: NDArray[Any]) -> NDArray[Any]:
        return np.cumsum(table[:, ::-1], axis=1)[:, ::-1]

    def largest_squared_distance(self, weights: NDArray[np.float64]) -> float:
        """Return the weight of all answers but the last, which hold the first cell and not the last."""
        return float(weights[:-1].sum())

    def _sensitivity(self, neighbours: Neighbours, norm: Literal[1, 2]) -> int:
        del norm  # all sums hold the first cell, and all but the last one do not hold the last
        return self.shape[1] - (neighbours == "replace")


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
        If there are no ranges, or a range does not lie in the table.
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

    _ranges: NDArray[np.int64]

    @checked()
    def __init__(self, size: Annotated[int, AtLeast(1)], ranges: Iterable[tuple[int, int]]) -> None:
        ends = np.array([tuple(r) for r in ranges])
        if ends.ndim != 2 or ends.shape[1] != 2:
            raise ValueError(f"ranges need (first, last) pairs, at least one, got shape {ends.shape}")
        ends = checked_integers("ranges", ends.reshape(-1)).reshape(-1, 2)
        bad = ends[(ends[:, 0] < 0) | (ends[:, 0] > ends[:, 1]) | (ends[:, 1] >= size)]
        if bad.size:
            raise ValueError(f"ranges need 0 <= first <= last < {size}, got {tuple(bad[0].tolist())}")
        nnz = int((ends[:, 1] - ends[:, 0] + 1).sum())
        self._describe((size, ends), (len(ends), size), nnz, cost=len(ends) + size)
        self._set(_ranges=ends)

    @property
    def ranges(self) -> NDArray[np.int64]:
        """First and last cell of each range, shape (answers, 2)."""
        return self._ranges

    def columns(self) -> NDArray[Any] | None:
        """Return the different columns, each once; None where they are too many to compare."""
        ends = np.unique(np.concatenate([[0], self.ranges[:, 0], self.ranges[:, 1] + 1]))
        cells = ends[ends < self.shape[1]]
        if cells.size > MAX_COLUMNS or cells.size * self.shape[0] > DENSE_ENTRIES:
            return None
        inside = (self.ranges[:, :1] <= cells) & (cells <= self.ranges[:, 1:])
        return few_columns(inside.astype(np.int64))

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

    def _sensitivity(self, neighbours: Neighbours, norm: Literal[1, 2]) -> int:
        del norm  # most ranges that one cell is in, or that hold one of two cells alone
        counts = self.rmatvec(np.ones(self.shape[0], dtype=np.int64))
        if neighbours == "add-remove":
            return int(counts.max())
        columns = self.columns()
        return int(np.sort(counts)[-2:].sum()) if columns is None else int(largest_distance(columns, 2))


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
    Cell x is in (x + 1)(n - x) ranges, at most floor((n + 1)^2 / 4). For two cells x < y, with s = x + 1 + n - y in
    2..n, exactly s (n + 1 - s) ranges hold one and not the other: again at most floor((n + 1)^2 / 4) for n >= 2.

    Examples
    --------
    >>> AllRange(3).matvec([1, 2, 4]).tolist()
    [1, 3, 7, 2, 6, 4]
    """

    @checked()
    def __init__(self, size: Annotated[int, AtLeast(1)]) -> None:
        rows = size * (size + 1) // 2
        self._describe((size,), (rows, size), rows * (size + 2) // 3, cost=rows + size, text=f"size={size}")

    @property
    def ranges(self) -> NDArray[np.int64]:
        """First and last cell of each range, shape (answers, 2), made on request."""
        return np.stack(np.triu_indices(self.shape[1]), axis=1)

    def squared_norms(self, tables: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the squared L2 norm of the answers on each of several tables, from their running sums alone."""
        # An answer is the difference of two of n + 1 running sums C, the first 0: all squared differences of pairs.
        ends = np.cumsum(tables, axis=0)
        centred = np.concatenate([np.zeros_like(ends[:1]), ends])
        centred -= centred.mean(axis=0)
        return np.asarray((self.shape[1] + 1) * np.square(centred).sum(axis=0), dtype=np.float64)

    def columns(self) -> NDArray[Any] | None:
        """Return the different columns, each once; None where they are too many to compare."""
        rows, cells = self.shape
        return None if cells > MAX_COLUMNS or cells * rows > DENSE_ENTRIES else super().columns()

    def _sensitivity(self, neighbours: Neighbours, norm: Literal[1, 2]) -> int:
        del norm
        cells = self.shape[1]
        return 0 if neighbours == "replace" and cells == 1 else (cells + 1) ** 2 // 4
