"""Running sums over an ordered attribute."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.queries.query import SquareQuery
from pypgm.queries.sensitivity import Neighbours, check_neighbours

__all__ = ["Prefix"]


class Prefix(SquareQuery):
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

    __slots__ = ()

    @property
    def nnz(self) -> int:
        """Number of entries that are not zero."""
        return self.size * (self.size + 1) // 2

    @property
    def is_running(self) -> bool:
        """Whether answer i is the sum of cells 0..i."""
        return True

    @property
    def supports_total(self) -> bool:
        """Whether some combination of the answers is the sum over all cells: the last one is."""
        return True

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        return np.cumsum(table, axis=1)

    def _transpose(self, table: NDArray[Any]) -> NDArray[Any]:
        return np.cumsum(table[:, ::-1], axis=1)[:, ::-1]

    def largest_squared_distance(self, weights: NDArray[np.float64]) -> float:
        """Return the weight of all answers but the last: those that hold the first cell and not the last."""
        return float(weights[:-1].sum())

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the square of the L2 sensitivity: n sums hold the first cell, and n - 1 of them not the last."""
        check_neighbours(neighbours)
        return self.size if neighbours == "add-remove" else self.size - 1
