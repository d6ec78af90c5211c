"""By how much the answers of neighbouring tables differ: what every query says, and how dense ones find out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "MAX_COLUMNS",
    "Neighbours",
    "Operator",
    "Unchanging",
    "as_vector",
    "check_neighbours",
    "check_norm",
    "largest_distance",
    "pairwise",
]

Neighbours = Literal["add-remove", "replace"]
MAX_COLUMNS = 4096  # up to so many distinct columns all pairs are compared
_BLOCK_ENTRIES = 1 << 22


def check_neighbours(neighbours: str) -> None:
    """Raise ``ValueError`` unless `neighbours` is a relation pypgm knows."""
    if neighbours not in get_args(Neighbours):
        raise ValueError(f"neighbours must be 'add-remove' or 'replace', got {neighbours!r}")


def check_norm(norm: int) -> None:
    """Raise ``ValueError`` unless `norm` is 1 or 2."""
    if norm not in {1, 2}:
        raise ValueError(f"norm must be 1 or 2, got {norm!r}")


class Unchanging:
    """A value: no attribute is set or deleted once it is made."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} does not change; make another one (got {name}={value!r})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} does not change; {name!r} cannot be deleted")


class Operator(ABC):
    """Integer linear queries on the cells of one table: answers, transpose, and sensitivities.

    A record more or less changes the answers by a column of the matrix, a record substituted by the difference of
    two columns; a sensitivity is the largest norm of such a change, an integer that is never too small.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of answers and number of cells."""

    @property
    @abstractmethod
    def supports_total(self) -> bool:
        """Whether some combination of the answers is the sum over all cells."""

    @abstractmethod
    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return the answers on the cells `x`, array_like of shape (cells,); integers stay exact."""

    @abstractmethod
    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return the transpose applied to `y`, array_like of shape (answers,)."""

    @abstractmethod
    def l1_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the largest sum of absolute changes between neighbouring tables."""

    @abstractmethod
    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the largest sum of squared changes between neighbouring tables."""

    @abstractmethod
    def largest_change(self, neighbours: Neighbours) -> int:
        """Return the most that a single answer changes between neighbouring tables."""

    def column_norms(self, norm: Literal[1, 2]) -> NDArray[np.float64]:
        """Return the norm of each column: by how much one record in a cell changes the answers.

        Parameters
        ----------
        norm : {1, 2}

        Returns
        -------
        ndarray of float64, shape (cells,)
        """
        check_norm(norm)
        cells = self.shape[1]
        norms = np.empty(cells)
        block = max(1, _BLOCK_ENTRIES // max(cells, self.shape[0]))
        for first in range(0, cells, block):
            units = np.zeros((min(block, cells - first), cells))
            units[np.arange(len(units)), first + np.arange(len(units))] = 1.0
            columns = np.stack([self.matvec(u) for u in units])
            norms[first : first + len(units)] = np.linalg.norm(columns, norm, axis=1)
        return norms

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
            `l1_sensitivity` for norm 1; the square root of `squared_l2_sensitivity` for norm 2.
        """
        check_norm(norm)
        if norm == 1:
            return self.l1_sensitivity(neighbours)
        return math.sqrt(self.squared_l2_sensitivity(neighbours))


def as_vector(name: str, entries: ArrayLike, size: int) -> NDArray[Any]:
    """Return a vector of one number a row or cell; ``ValueError`` unless its shape is (size,)."""
    vector: NDArray[Any] = np.asarray(entries)
    if vector.shape != (size,):
        raise ValueError(f"{name} needs shape ({size},), got {vector.shape}")
    return vector


def pairwise(columns: NDArray[np.int64], norm: Literal[1, 2]) -> int:
    """Return the largest distance between two columns, for norm 2 its square, exactly.

    Parameters
    ----------
    columns : ndarray of int64, shape (rows, columns)
        Distances (for norm 2 squared) must stay below 2^53: then float64 sums of the integers are exact.
    norm : {1, 2}
    """
    return int(largest_distance(columns.astype(np.float64), norm))


def largest_distance(columns: NDArray[np.float64], norm: Literal[1, 2]) -> float:
    """Return the largest distance between two columns, shape (rows, columns); for norm 2 its square."""
    points = columns.T
    squares = np.square(points).sum(axis=1)
    block = max(1, _BLOCK_ENTRIES // max(points.size if norm == 1 else len(points), 1))
    largest = 0.0
    for first in range(0, len(points), block):
        rows = points[first : first + block]
        if norm == 1:
            distances = np.abs(rows[:, None, :] - points[None, first:, :]).sum(axis=2)
        else:
            distances = squares[first : first + block, None] + squares[None, first:] - 2 * (rows @ points[first:].T)
        largest = max(largest, float(distances.max()))
    return largest
