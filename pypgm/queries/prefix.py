"""Running sums over an ordered attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.queries.sensitivity import Neighbours, as_vector, check_neighbours
from pypgm.queries.sums import Sums, check_size

__all__ = ["Prefix", "prefix"]


@dataclass(frozen=True, slots=True)
class Prefix(Sums):
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

    size: int

    def __post_init__(self) -> None:
        check_size(self.size)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of answers and number of cells."""
        return (self.size, self.size)

    @property
    def supports_total(self) -> bool:
        """Whether some combination of the answers is the sum over all cells: the last one is."""
        return True

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return the running sums of the cells `x`, array_like of shape (size,); integers stay exact."""
        return np.cumsum(as_vector("x", x, self.size))

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return for each cell the sum of the answers it is in, from `y`, array_like of shape (size,)."""
        return np.cumsum(as_vector("y", y, self.size)[::-1])[::-1]

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the square of the L2 sensitivity: n sums hold the first cell, and n - 1 of them not the last."""
        check_neighbours(neighbours)
        return self.size if neighbours == "add-remove" else self.size - 1


def prefix(size: int) -> Prefix:
    """Return the running sums over `size` ordered cells."""
    return Prefix(size)
