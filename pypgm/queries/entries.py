"""The one place that checks what a query is made of and asked: lists of numbers, matrix entries, norms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "ENTRY_LIMIT",
    "SparseArray",
    "as_csr",
    "as_vector",
    "check_norm",
    "checked_integers",
    "checked_matrix",
]

SparseArray = Any  # scipy's sparse classes share no base that is typed
ENTRY_LIMIT = 1 << 18  # times any number of records below 2^44 an answer stays in int64
_NORM_LIMIT = 1 << 51  # distances of columns stay below 2^53, so float64 sums of integers are exact


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


def checked_integers(name: str, entries: ArrayLike) -> NDArray[np.int64]:
    """Return a copy of a list of integers; ``TypeError`` or ``ValueError`` unless it is one that int64 holds."""
    given = np.asarray(entries)
    if given.ndim != 1:
        raise ValueError(f"{name} need one entry a cell in one dimension, got shape {given.shape}")
    if given.size and given.dtype.kind not in "iu":
        raise TypeError(f"{name} need integers, got dtype {given.dtype}")
    if given.size and int(given.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"{name} must fit int64, got {given.max()}")
    return given.astype(np.int64)


def checked_matrix(entries: SparseArray) -> SparseArray:
    """Return a copy of a matrix, dense or sparse, as a csr_array of int64 or of float64; ``ValueError`` for bad ones.

    Integers stay integers: each must be below 2^18 in magnitude and the squares of a column sum to less than 2^51.
    """
    from scipy.sparse import issparse

    given: Any = entries if issparse(entries) else np.asarray(entries)
    if given.ndim != 2 or 0 in given.shape:
        raise ValueError(f"a matrix query needs rows and columns, got shape {given.shape}")
    if given.dtype.kind not in "iub":
        own = as_csr(given, np.float64)
        if not np.isfinite(own.data).all():
            raise ValueError("a matrix query needs finite entries, got NaN or infinity")
        return own
    _check_limit(given.max(), given.min())  # before int64 could wrap them
    own = as_csr(given, np.int64)
    _check_limit(own.max(), own.min())  # duplicates are summed now
    # The sum is in float64, which does not wrap and is exact below the limit.
    squares = np.bincount(own.indices, np.square(own.data.astype(np.float64)), minlength=own.shape[1])
    if squares.max() >= _NORM_LIMIT:
        raise ValueError("the squares of each column of a matrix query must sum to less than 2^51")
    return own


def as_csr(entries: SparseArray, dtype: type[np.generic]) -> SparseArray:
    """Return a copy of a matrix, dense or sparse, as a csr_array without duplicates and zeros."""
    from scipy.sparse import csr_array

    own: Any = csr_array(entries, dtype=dtype, copy=True)
    own.sum_duplicates()
    own.eliminate_zeros()
    return own


def _check_limit(most: float, least: float) -> None:
    if int(most) >= ENTRY_LIMIT or int(least) <= -ENTRY_LIMIT:
        needed = "integer entries of a matrix query must be below 2^18"
        raise ValueError(f"{needed}, got {least}..{most}; as floats they are taken for estimates")
