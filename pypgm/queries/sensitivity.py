"""Relations of neighbouring tables, norms, and the largest distance of two columns."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "EXACT_LIMIT",
    "MAX_COLUMNS",
    "Neighbours",
    "as_vector",
    "check_neighbours",
    "check_norm",
    "largest_distance",
    "pairwise",
]

Neighbours = Literal["add-remove", "replace"]
EXACT_LIMIT = 1 << 53  # float64 sums of integers are exact below
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
