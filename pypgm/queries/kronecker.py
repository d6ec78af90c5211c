"""Products of queries on the attributes of a clique."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.queries.all_range import AllRange
from pypgm.queries.identity import Identity
from pypgm.queries.matrix import IntegerMatrix, distinct_columns
from pypgm.queries.partition import Partition
from pypgm.queries.prefix import Prefix
from pypgm.queries.range_list import RangeList
from pypgm.queries.sensitivity import MAX_COLUMNS, Neighbours, Operator, as_vector, check_neighbours, pairwise
from pypgm.queries.sparse import SparseMatrix
from pypgm.queries.subset import Subset

__all__ = ["Kronecker", "kronecker"]

_ENTRY_LIMIT = 1 << 18
_DENSE_ENTRIES = 1 << 24
_NORM_LIMIT = 1 << 53  # float64 sums of integers are exact below


class Kronecker(Operator):
    """The Kronecker product of one query for each attribute of a clique, in the clique's order.

    An answer belongs to one answer of every factor; its weight on a cell is the product of the factors' weights.

    Parameters
    ----------
    factors : sequence of query
        At least one.

    Attributes
    ----------
    factors : tuple of query
        The factors.

    Raises
    ------
    ValueError
        If there are no factors, or entries of the product reach 2^18.

    Notes
    -----
    Add-remove sensitivities are products of the factors' and exact. Under "replace", a factor of unit columns
    (`Identity`, `Partition`) either differs between two cells, then their columns share no row and norms add up,
    or it does not and drops out; the distinct columns of the other factors are compared, pair by pair, if there are
    at most 4096 of at most 2^24 entries in all. Beyond, and for squared norms above 2^51, sensitivities are bounds:
    twice the largest L1 norm of a column, and the largest squared L2 norm times 4 (times 2 if no entry is negative).

    Examples
    --------
    >>> from pypgm.queries import Prefix
    >>> Kronecker([Identity(2), Prefix(3)]).matvec([1, 2, 3, 4, 5, 6]).tolist()
    [1, 3, 6, 4, 9, 15]
    """

    __slots__ = ("factors", "shape")

    factors: tuple[Operator, ...]
    shape: tuple[int, int]

    def __init__(self, factors: Iterable[Operator]) -> None:
        own = tuple(factors)
        if not own or not all(isinstance(f, Operator) for f in own):
            raise ValueError(f"a Kronecker query needs one query an attribute, got {own!r}")
        if math.prod(f.largest_change("add-remove") for f in own) >= _ENTRY_LIMIT:
            raise ValueError("the entries of a Kronecker query must be below 2^18")
        object.__setattr__(self, "factors", own)
        object.__setattr__(self, "shape", tuple(math.prod(f.shape[i] for f in own) for i in (0, 1)))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Kronecker query does not change; make another one (got {name}={value!r})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Kronecker query does not change; {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[type[Kronecker], tuple[tuple[Operator, ...]]]:
        return (Kronecker, (self.factors,))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kronecker):
            return NotImplemented
        return self.factors == other.factors

    def __hash__(self) -> int:
        return hash(self.factors)

    def __repr__(self) -> str:
        return f"Kronecker({', '.join(map(repr, self.factors))})"

    @property
    def supports_total(self) -> bool:
        """Whether some combination of the answers is the sum over all cells: if every factor's is."""
        return all(f.supports_total for f in self.factors)

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return the answers on the cells `x`, array_like of shape (cells,); integers stay exact."""
        table = as_vector("x", x, self.shape[1]).reshape([f.shape[1] for f in self.factors])
        for axis, factor in enumerate(self.factors):
            if not isinstance(factor, Identity):
                table = np.apply_along_axis(factor.matvec, axis, table)
        return table.reshape(-1)

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return the transpose applied to `y`, array_like of shape (answers,)."""
        table = as_vector("y", y, self.shape[0]).reshape([f.shape[0] for f in self.factors])
        for axis, factor in enumerate(self.factors):
            if not isinstance(factor, Identity):
                table = np.apply_along_axis(factor.rmatvec, axis, table)
        return table.reshape(-1)

    def l1_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the L1 sensitivity."""
        check_neighbours(neighbours)
        largest = math.prod(f.l1_sensitivity("add-remove") for f in self.factors)
        if neighbours == "add-remove":
            return largest
        units, others = self._units()
        if units:
            return 2 * largest
        columns = _columns(others)
        return 2 * largest if columns is None else pairwise(columns, 1)

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the square of the L2 sensitivity."""
        check_neighbours(neighbours)
        largest = math.prod(f.squared_l2_sensitivity("add-remove") for f in self.factors)
        if neighbours == "add-remove":
            return largest
        units, others = self._units()
        if 4 * largest >= _NORM_LIMIT:
            return 4 * largest
        if _non_negative(others):
            columns = None if units else _columns(others)
            return 2 * largest if columns is None else pairwise(columns, 2)
        columns = _columns(others)
        if columns is None:
            return 4 * largest
        return max(2 * largest if units else 0, pairwise(columns, 2))

    def largest_change(self, neighbours: Neighbours) -> int:
        """Return a bound of the most that one answer changes, exact where no entry is negative."""
        check_neighbours(neighbours)
        if neighbours == "replace" and self.squared_l2_sensitivity(neighbours) == 0:
            return 0
        largest = math.prod(f.largest_change("add-remove") for f in self.factors)
        return largest if neighbours == "add-remove" or _non_negative(list(self.factors)) else 2 * largest

    def column_norms(self, norm: Literal[1, 2]) -> NDArray[np.float64]:
        """Return the norm of each column, a product of the factors'; see `Operator`."""
        norms: NDArray[Any] = np.ones(1)
        for factor in self.factors:
            norms = np.kron(norms, factor.column_norms(norm))
        return norms

    def _units(self) -> tuple[bool, list[Operator]]:
        """Return whether a factor has different unit columns, and the factors that have others or one alone."""
        units = [isinstance(f, Identity | Partition) and f.largest_change("replace") > 0 for f in self.factors]
        return any(units), [f for f, unit in zip(self.factors, units, strict=True) if not unit]


def _columns(factors: list[Operator]) -> NDArray[np.int64] | None:
    """Return the distinct columns of a product, None where there are too many to compare."""
    product = np.ones((1, 1), dtype=np.int64)
    for factor in factors:
        rows, cells = factor.shape
        if cells > MAX_COLUMNS or rows * cells > _DENSE_ENTRIES:
            return None
        dense = np.stack([factor.matvec(unit) for unit in np.eye(cells, dtype=np.int64)], axis=1)
        own = distinct_columns(dense)
        if own.shape[1] * product.shape[1] > MAX_COLUMNS or own.size * product.size > _DENSE_ENTRIES:
            return None
        product = np.kron(product, own)
    return distinct_columns(product)


def _non_negative(factors: list[Operator]) -> bool:
    return all(_least_entry(f) >= 0 for f in factors)


def _least_entry(factor: Operator) -> int:
    """Return a number with the sign of the least entry."""
    if isinstance(factor, Identity | Partition | Prefix | AllRange | RangeList):
        return 0
    if isinstance(factor, Subset):
        return int(factor.weights.min())
    if isinstance(factor, IntegerMatrix | SparseMatrix):
        return int(factor.entries.min())
    if isinstance(factor, Kronecker):
        return 0 if _non_negative(list(factor.factors)) else -1
    return -1  # of an operator that is not known any entry may be negative


def kronecker(*factors: Operator) -> Kronecker:
    """Return the product of one query for each attribute of a clique, in its order."""
    return Kronecker(factors)
