"""Sums over all ranges of an ordered attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.queries.sensitivity import Neighbours, as_vector, check_neighbours
from pypgm.queries.sums import Sums, check_size

__all__ = ["AllRange", "all_range"]


@dataclass(frozen=True, slots=True)
class AllRange(Sums):
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

    size: int

    def __post_init__(self) -> None:
        check_size(self.size)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of answers and number of cells."""
        return (self.size * (self.size + 1) // 2, self.size)

    @property
    def supports_total(self) -> bool:
        """Whether some combination of the answers is the sum over all cells: the longest range is."""
        return True

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return the sums over all ranges of the cells `x`, array_like of shape (size,); integers stay exact."""
        cells = as_vector("x", x, self.size)
        ends = np.concatenate([np.zeros(1, dtype=cells.dtype), np.cumsum(cells)])
        first, last = np.triu_indices(self.size)
        sums: NDArray[Any] = ends[last + 1] - ends[first]
        return sums

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return for each cell the sum of the answers it is in, from `y`, array_like of shape (answers,)."""
        answers = as_vector("y", y, self.shape[0])
        first, last = np.triu_indices(self.size)
        steps = np.zeros(self.size + 1, dtype=np.result_type(answers.dtype, np.int64))
        np.add.at(steps, first, answers)
        np.subtract.at(steps, last + 1, answers)
        return np.cumsum(steps)[:-1]

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the square of the L2 sensitivity: floor((n + 1)^2 / 4) (0 for a single cell under "replace")."""
        check_neighbours(neighbours)
        if neighbours == "replace" and self.size == 1:
            return 0
        return (self.size + 1) ** 2 // 4


def all_range(size: int) -> AllRange:
    """Return the sums over all ranges of `size` ordered cells."""
    return AllRange(size)
