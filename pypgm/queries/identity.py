"""The query that returns every cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.queries.sensitivity import Neighbours, check_neighbours, check_norm

__all__ = ["Identity"]


@dataclass(frozen=True, slots=True)
class Identity:
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
        return np.array(_vector("x", x, self.size))

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return a copy of the answers `y`, array_like of shape (size,)."""
        return np.array(_vector("y", y, self.size))

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
        """Return the square of the L2 sensitivity: 1, or 2 under "replace" (0 for a single cell)."""
        check_neighbours(neighbours)
        if neighbours == "add-remove":
            return 1
        return 2 if self.size > 1 else 0


def _vector(name: str, entries: ArrayLike, size: int) -> NDArray[Any]:
    vector: NDArray[Any] = np.asarray(entries)
    if vector.shape != (size,):
        raise ValueError(f"{name} needs shape ({size},), got {vector.shape}")
    return vector
