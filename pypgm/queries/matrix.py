"""Any matrix as a query: dense or sparse, of integers or of real numbers; means and moments of levels."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.constraints import AtLeast
from pypgm._base.signatures import checked
from pypgm.queries.entries import ENTRY_LIMIT, Rows, SparseArray, checked_matrix
from pypgm.queries.neighbours import MAX_COLUMNS, largest_distance
from pypgm.queries.query import LinearQuery

_WEIGHTED_ENTRIES = 1 << 20  # of columns compared for a step size


class Matrix(LinearQuery):
    """A matrix, dense or sparse, of either sign.

    Integers can be measured privately, exactly. Real numbers describe measurements that were made elsewhere;
    `on_lattice` rounds them.

    Parameters
    ----------
    entries : array_like or scipy.sparse array, shape (answers, cells)
        Integers, each below 2^18 in magnitude, the squares of each column summing to less than 2^51; or floats.

    Attributes
    ----------
    entries : scipy.sparse.csr_array of int64 or float64, shape (answers, cells)
        The matrix.

    Raises
    ------
    ValueError
        If the matrix is empty, not two-dimensional, not finite, or has integers too large.

    Notes
    -----
    Under "replace" sensitivities are exact with up to 4096 distinct columns, if the matrix has up to 2^24 entries,
    zeros counted, or is a quarter full. Beyond, they are bounds: twice the largest L1 norm of a column, and the
    largest squared L2 norm times 4 (times 2 if no entry is negative).

    Examples
    --------
    >>> Matrix([[1, -1, 0]]).l1_sensitivity("replace")
    2
    >>> Matrix([[0.5, 0.5], [1.0, -1.0]]).matvec([2.0, 4.0]).tolist()
    [3.0, -2.0]
    """

    _rows: Rows

    def __init__(self, entries: SparseArray) -> None:
        rows = checked_matrix(entries)
        integer, non_negative = rows.data.dtype.kind == "i", bool(rows.data.min(initial=0) >= 0)
        self._describe((rows,), rows.shape, rows.data.size, integer=integer, non_negative=non_negative)
        self._set(_rows=rows)

    @cached_property
    def entries(self) -> Any:  # noqa: ANN401 - scipy's class
        """The matrix of the query, as a sparse array."""
        from scipy.sparse import csr_array

        return csr_array(self._rows[1:], shape=self.shape)

    def _state(self) -> tuple[Any, ...]:
        rows = self._rows
        places = (a.astype(np.int64).tobytes() for a in (rows.indices, rows.indptr))
        return (self.shape, rows.data.dtype.str, rows.data.tobytes(), *places)

    def magnitudes(self, power: Literal[1, 2]) -> LinearQuery:
        """Return the matrix of the entries' magnitudes raised to a power, as floats."""
        return Matrix(self._rows._replace(data=np.abs(self._rows.data.astype(np.float64)) ** power))

    def to_sparse(self) -> SparseArray:
        """Return the matrix as a scipy.sparse.csr_array."""
        return self.entries

    def _nonzero(self) -> Rows:
        return self._rows

    def _dense(self) -> NDArray[Any]:
        return self._rows.toarray()

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        if self.shape[0] > 1:
            return super()._apply(table)
        return np.asarray(self._rows.data @ table[:, self._rows.indices])[:, None]

    def _transpose(self, table: NDArray[Any]) -> NDArray[Any]:
        return super()._transpose(table) if self.shape[0] > 1 else self._dense()[0][None, :, None] * table

    def largest_squared_distance(self, weights: NDArray[np.float64]) -> float:
        """Return the largest weighted squared distance of two columns, a bound if they are too many to compare."""
        rows, cells = self.shape
        if cells > MAX_COLUMNS or rows * cells > _WEIGHTED_ENTRIES:
            return super().largest_squared_distance(weights)
        return largest_distance(self._dense() * np.sqrt(weights)[:, None], 2)


@checked()
def on_lattice(entries: ArrayLike, scale: Annotated[int, AtLeast(1)]) -> Matrix:
    """Return real-valued queries on a public lattice: the integers nearest to ``scale * entries``.

    The measured query is then exactly ``scale`` times the rounded one; divide answers and noise by `scale`.

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
    >>> on_lattice([[0.25, 0.5]], 4).entries.toarray().tolist()
    [[1, 2]]
    """
    scaled = np.asarray(entries, dtype=np.float64) * scale
    if not np.isfinite(scaled).all() or (np.abs(scaled) >= ENTRY_LIMIT - 1).any():
        raise ValueError("entries of a query on a lattice must be finite and, times the scale, below 2^18")
    return Matrix(np.rint(scaled).astype(np.int64))


def mean(levels: ArrayLike) -> Matrix:
    """Return the query that weighs each cell with its level: its answer over the number of records is the mean.

    Parameters
    ----------
    levels : array_like of float, shape (cells,)
        The number each cell stands for, such as the middle of its bin.

    Raises
    ------
    ValueError
        If there are no levels, or a level is NaN or infinite.

    Examples
    --------
    >>> import pypgm
    >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(pypgm.Domain({"age": 3}), ["age"]), total=30.0)
    >>> (model.answer(pypgm.KroneckerQuery({"age": mean([10, 20, 60])})) / model.total).round(6)
    array([30.])
    """
    return moments(levels, 1)


def moments(levels: ArrayLike, order: int, *, centre: float = 0.0, scale: float = 1.0) -> Matrix:
    """Return the queries whose answers over the number of records are the moments of orders 1 to `order`.

    Row b - 1 weighs each cell with ((level - centre) / scale) ** b. High powers of uncentred levels cancel each other
    in derived statistics (a variance, a skewness): choose a centre and a scale near the middle and the spread of the
    levels.

    Parameters
    ----------
    levels : array_like of float, shape (cells,)
        The number each cell stands for.
    order : int
        Highest moment, at least 1.
    centre, scale : float
        Number subtracted from the levels, and positive divisor of the rest.

    Raises
    ------
    ValueError
        If there are no levels, `order` is not at least 1, `scale` is not positive, or a power is not finite.

    Examples
    --------
    >>> moments([1.0, 3.0], 3, centre=2.0).entries.toarray().tolist()
    [[-1.0, 1.0], [1.0, 1.0], [-1.0, 1.0]]
    """
    numbers = np.asarray(levels, dtype=np.float64)
    if numbers.ndim != 1 or numbers.size == 0:
        raise ValueError(f"levels need one number per cell, got shape {numbers.shape}")
    if order < 1 or not scale > 0:
        raise ValueError(f"moments need an order of at least 1 and a positive scale, got {order} and {scale}")
    with np.errstate(over="ignore"):
        return Matrix(((numbers - centre) / scale) ** np.arange(1, order + 1)[:, None])
