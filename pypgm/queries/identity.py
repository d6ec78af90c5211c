"""The query that returns every cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.queries.sensitivity import Neighbours, Operator, as_vector, check_neighbours, check_norm

__all__ = ["Identity", "identity"]


@dataclass(frozen=True, slots=True)
class Identity(Operator):
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
        if self.size < 1:
            raise ValueError(f"a query needs at least one cell, got size {self.size}")

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

    def l1_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the L1 sensitivity: as the columns are unit vectors, the same as the squared L2 sensitivity."""
        return self.squared_l2_sensitivity(neighbours)

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the square of the L2 sensitivity: 1, or 2 under "replace" (0 for a single cell)."""
        check_neighbours(neighbours)
        if neighbours == "add-remove":
            return 1
        return 2 if self.size > 1 else 0

    def column_norms(self, norm: Literal[1, 2]) -> NDArray[np.float64]:
        """Return the norm of each column: they are unit vectors; see `Operator`."""
        check_norm(norm)
        return np.ones(self.size)

    def largest_change(self, neighbours: Neighbours) -> int:
        """Return the most that one cell changes: 1 (0 for a single cell under "replace")."""
        return min(1, self.squared_l2_sensitivity(neighbours))


def identity(size: int) -> Identity:
    """Return the query of every cell of a table of `size` cells."""
    return Identity(size)
