"""Checks of the arguments of queries: lists of numbers, matrix entries, norms."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

SparseArray = Any  # scipy's sparse classes share no base that is typed
ENTRY_LIMIT = 1 << 18  # times any number of records below 2^44 an answer stays in int64
_NORM_LIMIT = 1 << 51  # distances of columns stay below 2^53, so float64 sums of integers are exact


def as_vector(name: str, entries: ArrayLike, size: int) -> NDArray[Any]:
    """Return a vector with one number for each row or cell; ``ValueError`` unless its shape is (size,)."""
    vector: NDArray[Any] = np.asarray(entries)
    if vector.shape != (size,):
        raise ValueError(f"{name} needs shape ({size},), got {vector.shape}")
    return vector


def checked_integers(name: str, entries: ArrayLike) -> NDArray[np.int64]:
    """Return a copy of a list of integers; ``TypeError`` or ``ValueError`` unless int64 holds it."""
    given = np.asarray(entries)
    if given.ndim != 1:
        raise ValueError(f"{name} need one entry per cell in one dimension, got shape {given.shape}")
    if given.size and given.dtype.kind not in "iu":
        raise TypeError(f"{name} need integers, got dtype {given.dtype}")
    if given.size and int(given.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"{name} must fit int64, got {given.max()}")
    return given.astype(np.int64)


class Rows(NamedTuple):
    """The entries of a matrix, row by row, as those of a scipy.sparse.csr_array, whose import takes a while.

    Attributes
    ----------
    shape : (int, int)
    data : ndarray of int64 or float64
        The entries that are not 0.
    indices : ndarray of int32 or int64
        The column of each.
    indptr : ndarray of int32 or int64
        Position where each row begins, and where the last one ends.
    """

    shape: tuple[int, int]
    data: NDArray[Any]
    indices: NDArray[np.signedinteger]
    indptr: NDArray[np.signedinteger]

    def toarray(self) -> NDArray[Any]:
        """Return all entries, zeros too."""
        dense = np.zeros(self.shape, self.data.dtype)
        dense[np.repeat(np.arange(self.shape[0]), np.diff(self.indptr)), self.indices] = self.data
        return dense


def checked_matrix(entries: SparseArray) -> Rows:
    """Return a copy of a matrix, dense or sparse, of int64 or of float64; ``ValueError`` for bad ones.

    Integers stay integers: each must be below 2^18 in magnitude and the squares of a column sum to less than 2^51.
    """
    if isinstance(entries, Rows):
        return entries
    given: Any = entries if hasattr(entries, "tocsr") else np.asarray(entries)
    if given.ndim != 2 or 0 in given.shape:
        raise ValueError(f"a matrix query needs rows and columns, got shape {given.shape}")
    if given.dtype.kind not in "iub":
        rows = _rows(given, np.float64)
        if not np.isfinite(rows.data).all():
            raise ValueError("a matrix query needs finite entries, got NaN or infinity")
        return rows
    _check_limit(given.max(), given.min())  # before int64 could wrap them
    rows = _rows(given, np.int64)
    _check_limit(rows.data.max(initial=0), rows.data.min(initial=0))  # duplicates are summed now
    # The sum is in float64, which does not wrap and is exact below the limit.
    squares = np.bincount(rows.indices, np.square(rows.data.astype(np.float64)), minlength=rows.shape[1])
    if squares.max() >= _NORM_LIMIT:
        raise ValueError("the squares of each column of a matrix query must sum to less than 2^51")
    return rows


def _rows(given: Any, dtype: type[np.generic]) -> Rows:  # noqa: ANN401 - an array or a sparse one
    """Return a copy of a matrix without duplicates and zeros."""
    if isinstance(given, np.ndarray):
        row, indices = np.nonzero(given)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=given.shape[0]))])
        rows = Rows(given.shape, given[row, indices].astype(dtype), indices, indptr)
    else:
        from scipy.sparse import csr_array

        made: Any = csr_array(given, dtype=dtype, copy=True)
        made.sum_duplicates()
        made.eliminate_zeros()
        rows = Rows((int(made.shape[0]), int(made.shape[1])), made.data, made.indices, made.indptr)
    narrow = max(*rows.shape, rows.data.size) <= np.iinfo(np.int32).max
    places = (a.astype(np.int32 if narrow else np.int64) for a in (rows.indices, rows.indptr))
    rows = Rows(rows.shape, rows.data, *places)
    for array in rows[1:]:
        array.setflags(write=False)
    return rows


def _check_limit(most: float, least: float) -> None:
    if int(most) >= ENTRY_LIMIT or int(least) <= -ENTRY_LIMIT:
        needed = "integer entries of a matrix query must be below 2^18"
        raise ValueError(f"{needed}, got {least}..{most}; as floats they serve estimates only")
