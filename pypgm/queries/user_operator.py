"""A query given by functions: any linear operator of a user."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.signatures import checked
from pypgm.queries.entries import as_vector
from pypgm.queries.matrix import Matrix
from pypgm.queries.query import LinearQuery


@runtime_checkable
class Products(Protocol):
    """Interface of an object that is accepted as a query, such as a scipy LinearOperator."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of answers and number of cells."""

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return the answers on the cells `x`, array of shape (cells,)."""

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return the transpose applied to `y`, array of shape (answers,)."""


class UserOperator(LinearQuery):
    """A linear query given by functions.

    Parameters
    ----------
    shape : (int, int)
        Number of answers and number of cells.
    matvec : callable
        Cells, ndarray of shape (cells,), to answers, shape (answers,).
    rmatvec : callable
        The transpose: answers to cells.
    column_norms : callable, optional
        Function of a norm, 1 or 2, that returns the norms of all columns, shape (cells,): the change by a record. It
        bounds the step of an estimate; a private measurement does not rely on it. By default every column is made.

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

    _matvec: Callable[[NDArray[Any]], ArrayLike]
    _rmatvec: Callable[[NDArray[Any]], ArrayLike]
    _column_norms: Callable[[int], ArrayLike] | None

    def __init__(
        self,
        shape: tuple[int, int],
        matvec: Callable[[NDArray[Any]], ArrayLike],
        rmatvec: Callable[[NDArray[Any]], ArrayLike],
        column_norms: Callable[[int], ArrayLike] | None = None,
    ) -> None:
        if len(shape) != 2 or min(shape) < 1:
            raise ValueError(f"a query needs a shape (answers, cells) of positive integers, got {shape}")
        size = (int(shape[0]), int(shape[1]))
        # Nothing is known of its cost (less than a matrix would take), and what functions return may be inexact.
        made = (size, matvec, rmatvec, column_norms)
        self._describe(made, size, math.prod(size), cost=0, integer=False, non_negative=False)
        self._set(_matvec=matvec, _rmatvec=rmatvec, _column_norms=column_norms)
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=self.shape[1]), rng.normal(size=self.shape[0])
        answers, cells = self.matvec(x), self.rmatvec(y)
        forth, back = float(answers @ y), float(x @ cells)
        scale = float(np.linalg.norm(answers) * np.linalg.norm(y) + np.linalg.norm(x) * np.linalg.norm(cells))
        if not abs(forth - back) <= 1e-8 * (1 + scale):
            raise ValueError(f"rmatvec must be the transpose of matvec; <Qx, y> is {forth}, <x, Q'y> is {back}")
        if column_norms is not None:
            self.column_norms(2)

    @classmethod
    def of(cls, operator: Products, name: str) -> UserOperator:
        """Return an object's products as a query; norms of columns are the object's own, or refused by `name`."""

        def unknown(norm: int) -> NDArray[np.float64]:
            raise ValueError(f"{name} needs column_norms({norm}): {operator!r} has none; UserOperator makes them")

        query = cls(operator.shape, operator.matvec, operator.rmatvec, getattr(operator, "column_norms", None))
        if query._column_norms is None:
            query._set(_column_norms=unknown)
        return query

    def magnitudes(self, power: Literal[1, 2]) -> LinearQuery:
        """Return the matrix of the entries' magnitudes raised to a power."""
        return Matrix(self.to_sparse()).magnitudes(power)

    @checked()
    def column_norms(self, norm: Literal[1, 2]) -> NDArray[np.float64]:
        """Return the L1 or L2 norm of each column, shape (cells,), as the user's function says, or from the columns."""
        if self._column_norms is None:
            sums = self._column_sums(norm, np.ones(self.shape[0]))
            return sums if norm == 1 else np.sqrt(sums)
        norms = as_vector("column_norms", self._column_norms(norm), self.shape[1]).astype(np.float64)
        if not (np.isfinite(norms).all() and (norms >= 0).all()):
            raise ValueError("column_norms must be finite and not negative")
        return norms

    def column_squares(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the squared norm of each column, the answers weighted; by a user's norms times the largest weight."""
        if self._column_norms is None:
            return self._column_sums(2, weights)
        return np.square(self.column_norms(2)) * float(weights.max())

    @np.errstate(over="ignore")
    def _column_sums(self, power: Literal[1, 2], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted sum of each column's magnitudes, raised to a power, holding one column and row at a time.

        Whether columns or rows are made, one unit vector after the other, terms are added in the order of the answers.
        """
        rows, cells = self.shape
        sums = np.zeros(cells)
        for i in range(min(rows, cells)):
            unit = np.zeros(min(rows, cells))
            unit[i] = 1.0
            if cells <= rows:
                terms = np.abs(self.matvec(unit).astype(np.float64)) ** power * weights
                sums[i] = np.add.accumulate(terms)[-1]
            else:
                sums += np.abs(self.rmatvec(unit).astype(np.float64)) ** power * weights[i]
        if not np.isfinite(sums).all():
            raise ValueError("norms of columns need finite entries of the query, got NaN or infinity")
        return sums

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        rows = self.shape[0]
        return np.apply_along_axis(lambda x: as_vector("matvec", self._matvec(x), rows), 1, table)

    def _transpose(self, table: NDArray[Any]) -> NDArray[Any]:
        cells = self.shape[1]
        return np.apply_along_axis(lambda y: as_vector("rmatvec", self._rmatvec(y), cells), 1, table)
