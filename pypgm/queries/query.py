"""Linear queries: maps from the cells of one table to answers, which describe themselves."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.numeric import check_choice
from pypgm._base.signatures import checked
from pypgm.queries.entries import Rows, SparseArray, as_vector
from pypgm.queries.neighbours import (
    DENSE_ENTRIES,
    EXACT_LIMIT,
    Neighbours,
    few_columns,
    largest_distance,
)


class Value:
    """An immutable object.

    Attributes
    ----------
    _arguments : tuple
        Arguments from which its class makes an equal one.
    _text : str
        Text of its representation.
    """

    _arguments: tuple[Any, ...]
    _text: str

    def _set(self, **fields: object) -> None:
        """Set the arguments of the object, once; arrays become read-only."""
        for value in fields.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self.__dict__.update(fields)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} does not change; make another one (got {name}={value!r})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} does not change; {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[type[Value], tuple[Any, ...]]:
        return (type(self), self._arguments)

    def _state(self) -> tuple[Any, ...]:
        """Return hashable values that are equal for equal objects of one class."""
        return tuple(a.tobytes() if isinstance(a, np.ndarray) else a for a in self._arguments)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value):
            return NotImplemented
        return self is other or (type(self) is type(other) and self._state() == other._state())

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((type(self), self._state()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._text})"


_TOTAL_MISS = 1e-6
_EVEN = 1e-12  # of a cell's part in the total, by which rounding may tell cells apart


class Form(NamedTuple):
    """A query as the compiled loop takes it.

    Attributes
    ----------
    columns : scipy.sparse array, or ndarray of int64, shape (cells,)
        A matrix, or the row of the one entry that each column has.
    running : bool
        Whether the answers are the running sums of the matrix's results.
    axes : tuple of int
        The shape of the answers if, along each axis in turn, each answer is n times the matrix's result minus the sum
        of the results, where n is the length of the axis; otherwise empty.
    entries : ndarray of float64, shape (cells,), optional
        The one entry of each column, if it is not 1 in all of them.
    width : int
        Number of cells in a row of the table, if one query applies to each row with its own targets for the answers;
        otherwise 0.
    """

    columns: Any
    running: bool = False
    axes: tuple[int, ...] = ()
    entries: NDArray[np.float64] | None = None
    width: int = 0

    def of(self, cells: NDArray[np.int64]) -> Form:
        """Return the form of the query that has these columns."""
        return self._replace(
            columns=self.columns[..., cells], entries=None if self.entries is None else self.entries[cells], width=0
        )


class LinearQuery(Value, ABC):
    """A linear map Q from the cells of one table to answers; an immutable value.

    A query of integers can be measured privately. One record more or less changes its answers by a column of Q,
    a substituted record by the difference of two columns; a sensitivity is the largest norm of such a change, a Python
    integer that is never too small. Queries with real entries describe measurements that were made elsewhere.

    A class defines `to_sparse`, or `_apply` and `_transpose`; and `magnitudes`.

    Attributes
    ----------
    shape : (int, int)
        Number of answers and number of cells.
    nnz : int
        Number of entries of Q that are not zero, or a bound of it.
    n_read : int
        Number of entries that the compiled loop reads, or a bound of it; see `form`.
    cost : int
        Number of additions of one application.
    is_integer : bool
        Whether all entries are integers, so that sensitivities are exact.
    is_non_negative : bool
        Whether no entry is negative.
    has_acute_columns : bool
        Whether no two columns have a negative product, so that their distance is at most their hypotenuse.
    has_unit_columns : bool
        Whether each cell is counted in exactly one answer, once, as it is if there are `groups`.
    is_interaction : bool
        Whether answers are 0 on tables that are constant along some attribute, and so independent of single ones.
    is_identity : bool
        Whether the answers are the cells themselves; the compiled loop reads them in place.
    """

    shape: tuple[int, int]
    nnz: int
    n_read: int
    cost: int
    is_integer: bool
    is_non_negative: bool
    has_acute_columns: bool
    has_unit_columns: bool
    is_interaction: bool = False
    is_identity: ClassVar[bool] = False

    def _describe(
        self,
        arguments: tuple[Any, ...],
        shape: tuple[int, int],
        nnz: int,
        *,
        cost: int | None = None,
        n_read: int | None = None,
        inner: Sequence[LinearQuery] = (),
        integer: bool = True,
        non_negative: bool = True,
        units: bool = False,
        text: str = "",
    ) -> None:
        """Set the description of a query: the arguments that make an equal one, and its properties.

        A query made of inner ones is an integer one, or non-negative, or has acute columns, if all of them are or have.
        """
        acute = non_negative
        for query in inner:
            integer = integer and query.is_integer
            non_negative = non_negative and query.is_non_negative
            acute = acute and query.has_acute_columns
        self.__dict__.update(
            _arguments=arguments,
            _text=text or f"{shape[0]} answers on {shape[1]} cells",
            shape=shape,
            nnz=nnz,
            n_read=(shape[1] if _is_row(shape, nnz) else nnz) if n_read is None else n_read,
            cost=nnz if cost is None else cost,
            is_integer=integer,
            is_non_negative=non_negative,
            has_acute_columns=acute,
            has_unit_columns=units,
        )

    @property
    def groups(self) -> NDArray[np.int64] | None:
        """The one answer each cell is summed into, shape (cells,), for the compiled loop; None for other queries."""
        return None

    def form(self) -> Form:
        """Return the query in the form of the compiled loop, which reads `n_read` entries."""
        if _is_row(self.shape, self.nnz):
            return Form(np.zeros(self.shape[1], np.int64), entries=self.rmatvec(np.ones(1)).astype(np.float64))
        return Form(self.to_sparse() if self.groups is None else self.groups)

    @property
    def supports_total(self) -> bool:
        """True if some combination of the answers is the sum over all cells; see `total_weights`."""
        return self.total_weights(np.ones(self.shape[0])) is not None

    def total_weights(self, stddev: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return v with Q'v = 1, the best unbiased combination of the answers to the sum over all cells.

        Parameters
        ----------
        stddev : ndarray of float64, shape (answers,)
            Standard deviation of each answer's noise; v'y has the least variance.

        Returns
        -------
        ndarray of float64, shape (answers,), or None
            None if there is none: Q'v may differ from 1 by 1e-6 of a cell, times the root of their number.
        """
        rows, cells = self.shape
        if self.groups is not None:  # every cell is in one answer: all that have cells count once, whatever the noise
            return (np.bincount(self.groups, minlength=rows) > 0).astype(np.float64)
        sums = self.matvec(np.ones(cells, np.int64))
        if not sums.any():
            return None  # rows that sum to 0 each combine to no row of ones
        # The best is V^-1 Q x with Q' V^-1 Q x = 1: where every cell has the same part in it, x is constant.
        weighted = sums / np.square(stddev)
        parts = self.rmatvec(weighted)
        if np.ptp(parts) <= _EVEN * abs(parts[0]):
            return np.asarray(weighted / parts[0], dtype=np.float64)
        if rows == 1:
            return None  # multiples of one row are all there is
        from scipy.sparse.linalg import LinearOperator, lsmr

        # With v = V^(-1/2) u it is the shortest solution of Q' V^(-1/2) u = 1.
        scaled: Any = LinearOperator(
            (cells, rows),
            matvec=lambda u: self.rmatvec(u / stddev),
            rmatvec=lambda x: self.matvec(x) / stddev,
            dtype=np.dtype(np.float64),
        )
        limit = 10 * min(cells, rows) + 100
        shortest = lsmr(scaled, np.ones(cells), atol=1e-14, btol=1e-14, conlim=0, maxiter=limit)[0]
        combination = np.asarray(shortest / stddev, dtype=np.float64)
        miss = float(np.abs(self.rmatvec(combination) - 1.0).max())
        return combination if miss <= _TOTAL_MISS * math.sqrt(cells) else None

    # Products.

    def apply(self, table: ArrayLike, axis: int = 0) -> NDArray[Any]:
        """Return the table with the cells of one axis replaced by the answers; integers stay exact."""
        return _along(self._apply, np.asarray(table), axis, self.shape[1])

    def transpose(self, table: ArrayLike, axis: int = 0) -> NDArray[Any]:
        """Return the table with the answers of one axis replaced by the transpose applied to them."""
        return _along(self._transpose, np.asarray(table), axis, self.shape[0])

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return the answers on the cells `x`, array_like of shape (cells,); integers stay exact."""
        return np.array(self._apply(as_vector("x", x, self.shape[1])[None, :, None])[0, :, 0])

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return the transpose applied to `y`, array_like of shape (answers,)."""
        return np.array(self._transpose(as_vector("y", y, self.shape[0])[None, :, None])[0, :, 0])

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return Q applied to the middle axis of a table, shape (before, cells, after)."""
        return _product(self.to_sparse(), table)

    def _transpose(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return the transpose of Q applied to the middle axis of a table, shape (before, answers, after)."""
        return _product(self.to_sparse().T, table)

    def to_sparse(self) -> SparseArray:
        """Return Q as a scipy.sparse.csr_array of int64 or float64."""
        from scipy.sparse import csr_array

        rows, cells = self.shape
        units = np.eye(min(rows, cells), dtype=np.int64 if self.is_integer else np.float64)[None]
        return csr_array(self._apply(units)[0] if cells <= rows else self._transpose(units)[0].T)

    def squared_norms(self, tables: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the squared L2 norm of the answers on each of several tables, the columns of shape (cells, tables)."""
        return np.asarray(np.square(self.apply(tables)).sum(axis=0), dtype=np.float64)

    # Norms of columns.

    @abstractmethod
    def magnitudes(self, power: Literal[1, 2]) -> LinearQuery:
        """Return the query with each entry replaced by its magnitude, raised to a power."""

    @checked()
    def column_norms(self, norm: Literal[1, 2]) -> NDArray[np.float64]:
        """Return the norm of each column: the change of the answers by one record in a cell.

        Parameters
        ----------
        norm : {1, 2}

        Returns
        -------
        ndarray of float64, shape (cells,)
        """
        units = np.ones(self.shape[0])
        if norm == 2:
            return np.sqrt(self.column_squares(units))
        return np.asarray(self.magnitudes(1).rmatvec(units), dtype=np.float64)

    def column_squares(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the squared norm of each column with weighted answers, shape (answers,), or a bound on it."""
        return np.asarray(self.magnitudes(2).rmatvec(weights), dtype=np.float64)

    def largest_squared_distance(self, weights: NDArray[np.float64]) -> float:
        """Return the largest squared distance of two columns, the answers weighted, or a bound of it."""
        squares = self.column_squares(weights)
        if squares.size < 2:
            return 0.0
        one, two = np.partition(squares, -2)[-2:].tolist()
        return float(one + two if self.has_acute_columns else (math.sqrt(one) + math.sqrt(two)) ** 2)

    def columns(self) -> NDArray[Any] | None:
        """Return the different columns, each once, in lexicographic order; None where they are too many to compare.

        They are compared if all of Q has at most 2^24 entries, zeros counted, or four times those that one
        application reads, and at most 4096 columns differ.
        """
        if math.prod(self.shape) > max(DENSE_ENTRIES, 4 * min(self.nnz, self.cost)):
            return None
        return few_columns(self._dense())

    def _dense(self) -> NDArray[Any]:
        """Return the matrix of Q, zeros too."""
        return np.asarray(self.to_sparse().toarray())

    def _nonzero(self) -> Rows:
        """Return the entries of Q that are not 0, or a scipy.sparse.csr_array of them."""
        entries: Rows = self.to_sparse()
        return entries

    # Sensitivities.

    def l1_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the largest sum of absolute changes between neighbouring tables, or a bound of it."""
        return self._sensitivity(self._exactly(neighbours), 1)

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the largest sum of squared changes between neighbouring tables, or a bound of it."""
        return self._sensitivity(self._exactly(neighbours), 2)

    def largest_change(self, neighbours: Neighbours) -> int:
        """Return the most that a single answer changes between neighbouring tables, or a bound of it."""
        return self._largest_change(self._exactly(neighbours))

    @checked()
    def sensitivity(self, neighbours: Neighbours, norm: Literal[1, 2]) -> int | float:
        """Return the largest difference between the answers of neighbouring tables.

        Parameters
        ----------
        neighbours : {"add-remove", "replace"}
            Whether neighbours differ by a record more or less, or by one record substituted.
        norm : {1, 2}
            The norm of the difference.

        Returns
        -------
        int or float
            Sensitivity: of integers, `l1_sensitivity` for norm 1 and the square root of `squared_l2_sensitivity` for
            norm 2. For real entries the same up to rounding, or, with too many `columns`, twice the largest norm
            under "replace".
        """
        if self.is_integer:
            exact = self._sensitivity(neighbours, norm)
            return exact if norm == 1 else math.sqrt(exact)
        largest = float(self.column_norms(norm).max())
        if neighbours == "add-remove":
            return largest
        columns = self.columns()
        if columns is None:
            return 2 * largest
        distance = largest_distance(columns, norm)
        return distance if norm == 1 else math.sqrt(distance)

    def _sensitivity(self, neighbours: Neighbours, norm: Literal[1, 2]) -> int:
        """Return the L1 or squared L2 sensitivity of a query of integers."""
        largest = self._largest_column(norm)
        if neighbours == "add-remove":
            return largest
        columns = self.columns() if 4 * largest < EXACT_LIMIT else None
        if columns is not None:
            return int(largest_distance(columns, norm))
        return largest * (2 if norm == 1 or self.is_non_negative else 4)

    def _largest_column(self, norm: Literal[1, 2]) -> int:
        """Return the largest L1 or squared L2 norm of a column, exactly below 2^53 and from above beyond."""
        entries = self._nonzero()
        powers = np.abs(entries.data.astype(np.float64)) ** norm
        largest = float(np.bincount(entries.indices, powers, minlength=self.shape[1]).max())
        # Sums of n terms are short by at most n 2^-53 of themselves.
        return int(largest if largest < EXACT_LIMIT else math.ceil(largest * (1 + 2.0**-20)))

    def _largest_change(self, neighbours: Neighbours) -> int:
        """Return the largest change of a single answer, or a bound on it, for a query of integers."""
        if neighbours == "add-remove":
            return int(np.abs(self._nonzero().data).max(initial=0))
        entries = self.to_sparse()
        # The zeros of a row count too, so its range holds 0 unless the row is full.
        most, least = (f(axis=1).toarray().reshape(-1) for f in (entries.max, entries.min))
        return int((most - least).max())

    def _exactly(self, neighbours: Neighbours) -> Neighbours:
        """Return a relation that pypgm knows; ``ValueError`` for a query without exact sensitivities."""
        check_choice("neighbours", neighbours, get_args(Neighbours))
        if not self.is_integer:
            raise ValueError(f"{self!r} has real entries and no exact sensitivity: on_lattice rounds them")
        return neighbours


class ZeroOneQuery(LinearQuery):
    """Queries whose answers are sums of cells, each cell at most once: a matrix of zeros and ones.

    L1 and squared L2 sensitivities are the same.
    """

    def magnitudes(self, power: Literal[1, 2]) -> LinearQuery:
        """Return the query itself: ones are their own powers."""
        del power
        return self

    def _largest_change(self, neighbours: Neighbours) -> int:
        return min(1, self._sensitivity(neighbours, 1))


def _is_row(shape: tuple[int, int], nnz: int) -> bool:
    """Return whether a matrix is one row with few zeros: each column then has one entry, possibly 0."""
    return shape[0] == 1 and 2 * nnz >= shape[1]


def checked_queries(queries: Iterable[LinearQuery], needed: str) -> tuple[LinearQuery, ...]:
    """Return the parts of a query as a tuple; ``ValueError`` with the need if there is none."""
    parts = tuple(queries)
    if not parts or not all(isinstance(q, LinearQuery) for q in parts):
        raise ValueError(f"{needed}, got {parts!r}")
    return parts


def _along(product: Callable[[NDArray[Any]], NDArray[Any]], table: NDArray[Any], axis: int, size: int) -> NDArray[Any]:
    """Return a product along one axis of a table, whose length must be `size`."""
    if not -table.ndim <= axis < table.ndim or table.shape[axis] != size:
        raise ValueError(f"axis {axis} needs length {size}, got shape {table.shape}")
    axis %= table.ndim
    before, after = table.shape[:axis], table.shape[axis + 1 :]
    answers = product(table.reshape(math.prod(before), size, math.prod(after)))
    return answers.reshape(*before, answers.shape[1], *after)


def _product(entries: SparseArray, table: NDArray[Any]) -> NDArray[Any]:
    """Return a matrix applied to the middle axis of a table."""
    before, size, after = table.shape
    answers = entries @ np.moveaxis(table, 1, 0).reshape(size, before * after)
    return np.moveaxis(answers.reshape(-1, before, after), 0, 1)
