"""A sparse integer matrix as a query."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.queries.matrix import ENTRY_LIMIT, NORM_LIMIT, IntegerMatrix
from pypgm.queries.real import RealMatrix, as_csr
from pypgm.queries.sensitivity import Neighbours, Operator, Unchanging, as_vector, check_neighbours, check_norm

__all__ = ["SparseMatrix", "sparse_matrix"]

_DENSE_ENTRIES = 1 << 22


class SparseMatrix(Unchanging, Operator):
    """A scipy.sparse matrix of integers, of either sign.

    Parameters
    ----------
    entries : scipy.sparse array or matrix of int, shape (answers, cells)
        Each below 2^18 in magnitude, the squares of each column summing to less than 2^51.

    Attributes
    ----------
    entries : scipy.sparse.csr_array of int64, shape (answers, cells)

    Raises
    ------
    ValueError
        If the matrix is empty or has entries too large.
    TypeError
        If it is not a sparse matrix of integers.

    Notes
    -----
    Under "replace" sensitivities are those of `IntegerMatrix` up to 2^22 entries, zeros counted. Beyond, they are
    bounds: twice the largest L1 norm of a column, and the largest squared L2 norm times 4 (times 2 if no entry is
    negative).

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> SparseMatrix(csr_array([[0, 2, 0], [0, 0, 1]])).matvec([1, 2, 3]).tolist()
    [4, 3]
    """

    __slots__ = ("entries", "shape")

    entries: Any
    shape: tuple[int, int]

    def __init__(self, entries: Any) -> None:  # noqa: ANN401 - scipy's sparse classes share no base that is typed
        from scipy.sparse import issparse

        kind = getattr(entries, "dtype", np.dtype(object))
        if not issparse(entries) or kind.kind not in "iu":
            raise TypeError(f"a sparse query needs a scipy.sparse matrix of integers, got {type(entries)} of {kind}")
        own = as_csr(entries, np.int64)
        if 0 in own.shape:
            raise ValueError(f"a matrix query needs rows and columns, got shape {own.shape}")
        if own.nnz and int(np.abs(own.data).max()) >= ENTRY_LIMIT:
            raise ValueError(f"entries of a matrix query must be below 2^18, got {own.data.min()}..{own.data.max()}")
        if int(_column_sums(own, 2).max()) >= NORM_LIMIT:
            raise ValueError("the squares of each column of a matrix query must sum to less than 2^51")
        object.__setattr__(self, "entries", own)
        object.__setattr__(self, "shape", (int(own.shape[0]), int(own.shape[1])))

    def __reduce__(self) -> tuple[type[SparseMatrix], tuple[Any]]:
        return (SparseMatrix, (self.entries,))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseMatrix):
            return NotImplemented
        return self.shape == other.shape and bool((self.entries != other.entries).nnz == 0)

    def __hash__(self) -> int:
        return hash((self.shape, self.entries.data.tobytes(), self.entries.indices.tobytes()))

    def __repr__(self) -> str:
        return f"SparseMatrix({self.shape[0]} answers on {self.shape[1]} cells, {self.entries.nnz} entries)"

    @property
    def supports_total(self) -> bool:
        """Whether some combination of the answers is the sum over all cells, up to 1e-8 of a cell."""
        return RealMatrix(self.entries).supports_total

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return the answers on the cells `x`, array_like of shape (cells,); integers stay exact."""
        product: NDArray[Any] = self.entries @ as_vector("x", x, self.shape[1])
        return product

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return the transpose applied to `y`, array_like of shape (answers,)."""
        product: NDArray[Any] = self.entries.T @ as_vector("y", y, self.shape[0])
        return product

    def l1_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the largest L1 norm of a column, or under "replace" of a difference of two."""
        check_neighbours(neighbours)
        largest = int(_column_sums(self.entries, 1).max())
        if neighbours == "add-remove":
            return largest
        dense = self._dense()
        return 2 * largest if dense is None else dense.l1_sensitivity(neighbours)

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the largest squared L2 norm of a column, or under "replace" of a difference of two."""
        check_neighbours(neighbours)
        largest = int(_column_sums(self.entries, 2).max())
        if neighbours == "add-remove":
            return largest
        dense = self._dense()
        if dense is not None:
            return dense.squared_l2_sensitivity(neighbours)
        return (4 if (self.entries.data < 0).any() else 2) * largest

    def largest_change(self, neighbours: Neighbours) -> int:
        """Return the largest entry in magnitude, or under "replace" the widest spread of a row."""
        check_neighbours(neighbours)
        if neighbours == "add-remove":
            return int(np.abs(self.entries.data).max(initial=0))
        # The zeros of a row count too, so the spread is from at most 0 to at least 0 unless a row is full.
        most = self.entries.max(axis=1).toarray().reshape(-1)
        least = self.entries.min(axis=1).toarray().reshape(-1)
        return int((most - least).max())

    def column_norms(self, norm: Literal[1, 2]) -> NDArray[np.float64]:
        """Return the norm of each column; see `Operator`."""
        check_norm(norm)
        sums = _column_sums(self.entries, norm).astype(np.float64)
        return sums if norm == 1 else np.sqrt(sums)

    def _dense(self) -> IntegerMatrix | None:
        return IntegerMatrix(self.entries.toarray()) if self.shape[0] * self.shape[1] <= _DENSE_ENTRIES else None


def _column_sums(entries: Any, power: int) -> NDArray[np.int64]:  # noqa: ANN401 - as above
    """Return the sums of |entry|^power over each column, exactly."""
    sums = np.zeros(entries.shape[1], dtype=np.int64)
    np.add.at(sums, entries.indices, np.abs(entries.data) ** power)
    return sums


def sparse_matrix(entries: Any) -> SparseMatrix:  # noqa: ANN401 - as above
    """Return the query whose answers are ``entries @ cells``, for a scipy.sparse matrix of integers."""
    return SparseMatrix(entries)
