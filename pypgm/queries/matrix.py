"""Any integer matrix as a query."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.queries.sensitivity import (
    MAX_COLUMNS,
    Neighbours,
    Operator,
    Unchanging,
    as_vector,
    check_neighbours,
    check_norm,
    pairwise,
)

__all__ = ["ENTRY_LIMIT", "NORM_LIMIT", "IntegerMatrix", "distinct_columns", "matrix", "on_lattice"]

ENTRY_LIMIT = 1 << 18  # times any number of records below 2^44 an answer stays in int64
NORM_LIMIT = 1 << 51  # distances of columns stay below 2^53, so float64 sums of integers are exact


class IntegerMatrix(Unchanging, Operator):
    """A dense matrix of integers, of either sign.

    Parameters
    ----------
    entries : array_like of int, shape (answers, cells)
        Each below 2^18 in magnitude, the squares of each column summing to less than 2^51.

    Attributes
    ----------
    entries : ndarray of int64, shape (answers, cells), read-only
        The matrix.

    Raises
    ------
    ValueError
        If the matrix is empty, not two-dimensional, or has entries too large.
    TypeError
        If it does not hold integers.

    Notes
    -----
    Under "replace" sensitivities are exact with up to 4096 distinct columns. Beyond, they are bounds: twice the
    largest L1 norm of a column, and the largest squared L2 norm times 4 (times 2 if no entry is negative).

    Examples
    --------
    >>> IntegerMatrix([[1, -1, 0]]).l1_sensitivity("replace")
    2
    """

    __slots__ = ("entries", "shape")

    entries: NDArray[np.int64]
    shape: tuple[int, int]

    def __init__(self, entries: ArrayLike) -> None:
        given = np.asarray(entries)
        if given.ndim != 2 or given.size == 0:
            raise ValueError(f"a matrix query needs rows and columns, got shape {given.shape}")
        if given.dtype.kind not in "iu":
            raise TypeError(f"a matrix query needs integers, got dtype {given.dtype}; on_lattice rounds others")
        if int(given.max()) >= ENTRY_LIMIT or int(given.min()) <= -ENTRY_LIMIT:
            raise ValueError(f"entries of a matrix query must be below 2^18, got {given.min()}..{given.max()}")
        own = np.array(given, dtype=np.int64)
        if int(np.square(own).sum(axis=0).max()) >= NORM_LIMIT:
            raise ValueError("the squares of each column of a matrix query must sum to less than 2^51")
        own.setflags(write=False)
        object.__setattr__(self, "entries", own)
        object.__setattr__(self, "shape", own.shape)

    def __reduce__(self) -> tuple[type[IntegerMatrix], tuple[NDArray[np.int64]]]:
        return (IntegerMatrix, (self.entries,))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IntegerMatrix):
            return NotImplemented
        return bool(np.array_equal(self.entries, other.entries))

    def __hash__(self) -> int:
        return hash((self.shape, self.entries.tobytes()))

    def __repr__(self) -> str:
        return f"IntegerMatrix({self.shape[0]} answers on {self.shape[1]} cells)"

    @property
    def supports_total(self) -> bool:
        """Whether some combination of the answers is the sum over all cells, up to 1e-8 of a cell."""
        columns = distinct_columns(self.entries).astype(np.float64)
        ones = np.ones(columns.shape[1])
        combination = np.linalg.lstsq(columns.T, ones, rcond=None)[0]
        return bool(np.abs(columns.T @ combination - ones).max() < 1e-8)

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return the answers on the cells `x`, array_like of shape (cells,); integers stay exact."""
        product: NDArray[Any] = self.entries @ as_vector("x", x, self.shape[1])
        return product

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return the transpose applied to `y`, array_like of shape (answers,)."""
        product: NDArray[Any] = as_vector("y", y, self.shape[0]) @ self.entries
        return product

    def l1_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the largest L1 norm of a column, or under "replace" of a difference of two."""
        check_neighbours(neighbours)
        largest = int(np.abs(self.entries).sum(axis=0).max())
        if neighbours == "add-remove":
            return largest
        columns = distinct_columns(self.entries)
        return pairwise(columns, 1) if columns.shape[1] <= MAX_COLUMNS else 2 * largest

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the largest squared L2 norm of a column, or under "replace" of a difference of two."""
        check_neighbours(neighbours)
        largest = int(np.square(self.entries).sum(axis=0).max())
        if neighbours == "add-remove":
            return largest
        columns = distinct_columns(self.entries)
        if columns.shape[1] <= MAX_COLUMNS:
            return pairwise(columns, 2)
        return (2 if int(self.entries.min()) >= 0 else 4) * largest

    def column_norms(self, norm: Literal[1, 2]) -> NDArray[np.float64]:
        """Return the norm of each column; see `Operator`."""
        check_norm(norm)
        return np.asarray(np.linalg.norm(self.entries, norm, axis=0), dtype=np.float64)

    def largest_change(self, neighbours: Neighbours) -> int:
        """Return the largest entry in magnitude, or under "replace" the widest spread of a row."""
        check_neighbours(neighbours)
        if neighbours == "add-remove":
            return int(np.abs(self.entries).max())
        return int((self.entries.max(axis=1) - self.entries.min(axis=1)).max())


def distinct_columns(entries: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different columns of a matrix, each once, in lexicographic order."""
    return np.unique(entries, axis=1)


def matrix(entries: ArrayLike) -> IntegerMatrix:
    """Return the query whose answers are ``entries @ cells``."""
    return IntegerMatrix(entries)


def on_lattice(entries: ArrayLike, scale: int) -> IntegerMatrix:
    """Return real-valued queries on a public lattice: the integers nearest to ``scale * entries``.

    What is measured is then ``scale`` times the rounded query, exactly; divide answers and noise by `scale`.

    Parameters
    ----------
    entries : array_like of float, shape (answers, cells)
        The queries, chosen without looking at the data.
    scale : int
        Steps of the lattice in one unit, at least 1.

    Raises
    ------
    ValueError
        If the entries are not finite or do not fit, or `scale` is not positive.

    Examples
    --------
    >>> on_lattice([[0.25, 0.5]], 4).entries.tolist()
    [[1, 2]]
    """
    if scale < 1:
        raise ValueError(f"scale must be at least 1, got {scale}")
    scaled = np.asarray(entries, dtype=np.float64) * scale
    if not np.isfinite(scaled).all() or (np.abs(scaled) >= ENTRY_LIMIT - 1).any():
        raise ValueError("entries of a query on a lattice must be finite and, times the scale, below 2^18")
    return IntegerMatrix(np.rint(scaled).astype(np.int64))
