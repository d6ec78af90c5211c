"""Queries with real entries: a matrix, dense or sparse, or any user's operator. Estimates read them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.queries.sensitivity import (
    MAX_COLUMNS,
    Neighbours,
    Unchanging,
    as_vector,
    check_neighbours,
    check_norm,
    largest_distance,
)

__all__ = ["LinearQuery", "RealMatrix", "UserOperator", "as_csr", "real_matrix", "user_operator"]

_DENSE_ENTRIES = 1 << 22
_TOTAL_TOLERANCE = 1e-8


@runtime_checkable
class LinearQuery(Protocol):
    """Any linear query on the cells of one table: what an estimate needs of it."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of answers and number of cells."""

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return the answers on the cells `x`, array_like of shape (cells,)."""

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return the transpose applied to `y`, array_like of shape (answers,)."""


class _Real(Unchanging, ABC):
    """What queries with real entries share."""

    __slots__ = ()

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of answers and number of cells."""

    @abstractmethod
    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return the answers on the cells `x`."""

    @abstractmethod
    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return the transpose applied to `y`."""

    @abstractmethod
    def column_norms(self, norm: Literal[1, 2]) -> NDArray[np.float64]:
        """Return the L1 or L2 norm of each column, shape (cells,)."""

    @abstractmethod
    def _dense(self) -> NDArray[np.float64] | None:
        """Return the matrix, None where it is too large to be one."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape[0]} answers on {self.shape[1]} cells)"

    @property
    def supports_total(self) -> bool:
        """Whether some combination of the answers is the sum over all cells, up to 1e-8 of a cell."""
        from scipy.sparse.linalg import LinearOperator, lsmr

        rows, cells = self.shape
        dense = self._dense()
        if dense is not None:
            combination = np.linalg.lstsq(dense.T, np.ones(cells), rcond=None)[0]
        else:
            transpose: Any = LinearOperator(
                (cells, rows), matvec=self.rmatvec, rmatvec=self.matvec, dtype=np.dtype(np.float64)
            )
            combination = lsmr(transpose, np.ones(cells), atol=1e-13, btol=1e-13, maxiter=10 * min(rows, cells))[0]
        return bool(np.abs(self.rmatvec(combination) - 1.0).max() < _TOTAL_TOLERANCE)

    def sensitivity(self, neighbours: Neighbours, norm: Literal[1, 2]) -> float:
        """Return by how much the answers of neighbouring tables differ at most.

        Exact, to rounding, under "add-remove"; under "replace" with up to 4096 cells and 2^22 entries, else twice the
        largest norm of a column, a bound.

        Parameters
        ----------
        neighbours : {"add-remove", "replace"}
            Whether neighbours differ by a record more or less, or by one record substituted.
        norm : {1, 2}
            The norm of the difference.
        """
        check_neighbours(neighbours)
        check_norm(norm)
        largest = float(self.column_norms(norm).max())
        if neighbours == "add-remove":
            return largest
        dense = self._dense()
        if dense is None or dense.shape[1] > MAX_COLUMNS:
            return 2 * largest
        distance = largest_distance(dense, norm)
        return distance if norm == 1 else math.sqrt(max(0.0, distance))


class RealMatrix(_Real):
    """A matrix of real numbers, dense or sparse.

    Exact private measurements take integers (`IntegerMatrix`, `SparseMatrix`, `on_lattice`); this query describes
    measurements that were made elsewhere.

    Parameters
    ----------
    entries : array_like or scipy.sparse array of float, shape (answers, cells)

    Attributes
    ----------
    entries : scipy.sparse.csr_array of float64, shape (answers, cells)

    Raises
    ------
    ValueError
        If the matrix is empty, not two-dimensional or not finite.

    Examples
    --------
    >>> RealMatrix([[0.5, 0.5], [1.0, -1.0]]).matvec([2.0, 4.0]).tolist()
    [3.0, -2.0]
    """

    __slots__ = ("entries", "shape")

    entries: Any
    shape: tuple[int, int]

    def __init__(self, entries: Any) -> None:  # noqa: ANN401 - scipy's sparse classes share no base that is typed
        from scipy.sparse import issparse

        given: Any = entries if issparse(entries) else np.asarray(entries, dtype=np.float64)
        if given.ndim != 2 or 0 in given.shape:
            raise ValueError(f"a matrix query needs rows and columns, got shape {given.shape}")
        own = as_csr(given, np.float64)
        if not np.isfinite(own.data).all():
            raise ValueError("a matrix query needs finite entries, got NaN or infinity")
        object.__setattr__(self, "entries", own)
        object.__setattr__(self, "shape", (int(given.shape[0]), int(given.shape[1])))

    def __reduce__(self) -> tuple[type[RealMatrix], tuple[Any]]:
        return (RealMatrix, (self.entries,))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RealMatrix):
            return NotImplemented
        return self.shape == other.shape and bool((self.entries != other.entries).nnz == 0)

    def __hash__(self) -> int:
        return hash((self.shape, self.entries.data.tobytes(), self.entries.indices.tobytes()))

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return the answers on the cells `x`, array_like of shape (cells,)."""
        answers: NDArray[Any] = self.entries @ as_vector("x", x, self.shape[1])
        return answers

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return the transpose applied to `y`, array_like of shape (answers,)."""
        cells: NDArray[Any] = self.entries.T @ as_vector("y", y, self.shape[0])
        return cells

    def column_norms(self, norm: Literal[1, 2]) -> NDArray[np.float64]:
        """Return the L1 or L2 norm of each column, shape (cells,)."""
        check_norm(norm)
        powers = np.asarray(abs(self.entries).power(norm).sum(axis=0), dtype=np.float64).reshape(-1)
        return powers if norm == 1 else np.sqrt(powers)

    def _dense(self) -> NDArray[np.float64] | None:
        if self.shape[0] * self.shape[1] > _DENSE_ENTRIES:
            return None
        dense: NDArray[np.float64] = self.entries.toarray()
        return dense


class UserOperator(_Real):
    """A linear query given by functions.

    Parameters
    ----------
    shape : (int, int)
        Number of answers and number of cells.
    matvec : callable
        Cells, ndarray of shape (cells,), to answers, shape (answers,).
    rmatvec : callable
        The transpose: answers to cells.
    column_norms : callable
        A norm, 1 or 2, to the norms of all columns, shape (cells,): what a record changes. It bounds the step of an
        estimate and gives the sensitivity.

    Raises
    ------
    ValueError
        If the shape is not of two positive integers, or a function returns another shape or its transpose does not
        fit it: <matvec(x), y> = <x, rmatvec(y)> is checked on random vectors.

    Examples
    --------
    >>> import numpy as np
    >>> mean = UserOperator((1, 4), lambda x: x.mean(keepdims=True), lambda y: np.repeat(y / 4, 4),
    ...                     lambda norm: np.full(4, 0.25))
    >>> mean.sensitivity("add-remove", 1)
    0.25
    """

    __slots__ = ("_column_norms", "_matvec", "_rmatvec", "shape")

    shape: tuple[int, int]
    _matvec: Callable[[NDArray[Any]], ArrayLike]
    _rmatvec: Callable[[NDArray[Any]], ArrayLike]
    _column_norms: Callable[[int], ArrayLike]

    def __init__(
        self,
        shape: tuple[int, int],
        matvec: Callable[[NDArray[Any]], ArrayLike],
        rmatvec: Callable[[NDArray[Any]], ArrayLike],
        column_norms: Callable[[int], ArrayLike],
    ) -> None:
        if len(shape) != 2 or min(shape) < 1:
            raise ValueError(f"a query needs a shape (answers, cells) of positive integers, got {shape}")
        object.__setattr__(self, "shape", (int(shape[0]), int(shape[1])))
        object.__setattr__(self, "_matvec", matvec)
        object.__setattr__(self, "_rmatvec", rmatvec)
        object.__setattr__(self, "_column_norms", column_norms)
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=self.shape[1]), rng.normal(size=self.shape[0])
        forth, back = float(self.matvec(x) @ y), float(x @ self.rmatvec(y))
        scale = float(np.linalg.norm(x) * np.linalg.norm(y) * self.column_norms(2).max())
        if not abs(forth - back) <= 1e-8 * (1 + scale):
            raise ValueError(f"rmatvec needs to be the transpose of matvec; <Qx, y> is {forth}, <x, Q'y> is {back}")

    def __reduce__(self) -> tuple[type[UserOperator], tuple[object, ...]]:
        return (UserOperator, (self.shape, self._matvec, self._rmatvec, self._column_norms))

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return the answers on the cells `x`, array_like of shape (cells,)."""
        return as_vector("matvec", self._matvec(as_vector("x", x, self.shape[1])), self.shape[0])

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return the transpose applied to `y`, array_like of shape (answers,)."""
        return as_vector("rmatvec", self._rmatvec(as_vector("y", y, self.shape[0])), self.shape[1])

    def column_norms(self, norm: Literal[1, 2]) -> NDArray[np.float64]:
        """Return the L1 or L2 norm of each column, shape (cells,), as the user's function says."""
        check_norm(norm)
        norms = as_vector("column_norms", self._column_norms(norm), self.shape[1]).astype(np.float64)
        if not (np.isfinite(norms).all() and (norms >= 0).all()):
            raise ValueError("column_norms need to be finite and not negative")
        return norms

    def _dense(self) -> NDArray[np.float64] | None:
        cells = self.shape[1]
        if cells > MAX_COLUMNS or self.shape[0] * cells > _DENSE_ENTRIES:
            return None
        return np.stack([self.matvec(unit) for unit in np.eye(cells)], axis=1).astype(np.float64)


def as_csr(entries: Any, dtype: type[np.generic]) -> Any:  # noqa: ANN401 - as above
    """Return a copy of a matrix, dense or sparse, as a csr_array without duplicates and zeros."""
    from scipy.sparse import csr_array

    own: Any = csr_array(entries, dtype=dtype, copy=True)
    own.sum_duplicates()
    own.eliminate_zeros()
    return own


def real_matrix(entries: Any) -> RealMatrix:  # noqa: ANN401 - as above
    """Return the query whose answers are ``entries @ cells``, for a dense or scipy.sparse matrix of real numbers."""
    return RealMatrix(entries)


def user_operator(
    shape: tuple[int, int],
    matvec: Callable[[NDArray[Any]], ArrayLike],
    rmatvec: Callable[[NDArray[Any]], ArrayLike],
    column_norms: Callable[[int], ArrayLike],
) -> UserOperator:
    """Return the query that functions describe; see `UserOperator`."""
    return UserOperator(shape, matvec, rmatvec, column_norms)
