"""The query that returns every cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.queries.sensitivity import Neighbours, as_vector, check_neighbours
from pypgm.queries.sums import Sums, check_size

__all__ = ["Identity", "identity"]


@dataclass(frozen=True, slots=True)
class Identity(Sums):
    """Every cell of a table, as it is.

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

    size: int

    def __post_init__(self) -> None:
        check_size(self.size)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of answers and number of cells."""
        return (self.size, self.size)

    @property
    def supports_total(self) -> bool:
        """Whether some combination of the answers is the sum over all cells: always."""
        return True

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return a copy of the cells `x`, array_like of shape (size,)."""
        return np.array(as_vector("x", x, self.size))

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return a copy of the answers `y`, array_like of shape (size,)."""
        return np.array(as_vector("y", y, self.size))

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the square of the L2 sensitivity: 1, or 2 under "replace" (0 for a single cell)."""
        check_neighbours(neighbours)
        if neighbours == "add-remove":
            return 1
        return 2 if self.size > 1 else 0


def identity(size: int) -> Identity:
    """Return the query of every cell of a table of `size` cells."""
    return Identity(size)
