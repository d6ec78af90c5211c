"""Products of queries on the attributes of a clique."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pypgm.queries.entries import SparseArray
from pypgm.queries.query import LinearQuery
from pypgm.queries.sensitivity import EXACT_LIMIT, MAX_COLUMNS, Neighbours, check_neighbours, pairwise

__all__ = ["Kronecker"]

_ENTRY_LIMIT = 1 << 18
_DENSE_ENTRIES = 1 << 24


class Kronecker(LinearQuery):
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
    >>> from pypgm.queries import Identity, Prefix
    >>> Kronecker([Identity(2), Prefix(3)]).matvec([1, 2, 3, 4, 5, 6]).tolist()
    [1, 3, 6, 4, 9, 15]
    """

    __slots__ = ("factors",)

    factors: tuple[LinearQuery, ...]

    def __init__(self, factors: Iterable[LinearQuery]) -> None:
        own = tuple(factors)
        if not own or not all(isinstance(f, LinearQuery) for f in own):
            raise ValueError(f"a Kronecker query needs one query an attribute, got {own!r}")
        exact = all(f.is_integer for f in own)
        if exact and math.prod(f.largest_change("add-remove") for f in own) >= _ENTRY_LIMIT:
            raise ValueError("the entries of a Kronecker query must be below 2^18")
        self._set(factors=own, shape=(math.prod(f.shape[0] for f in own), math.prod(f.shape[1] for f in own)))

    def _arguments(self) -> tuple[tuple[LinearQuery, ...]]:
        return (self.factors,)

    def __repr__(self) -> str:
        return f"Kronecker({', '.join(map(repr, self.factors))})"

    @property
    def supports_total(self) -> bool:
        """Whether some combination of the answers is the sum over all cells: if every factor's is."""
        return all(f.supports_total for f in self.factors)

    def total_weights(self, stddev: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return v with Q'v = 1; with equal noise the shortest is the product of the factors' shortest."""
        if np.ptp(stddev) > 0 or self.has_unit_columns:
            return super().total_weights(stddev)
        weights: NDArray[Any] = np.ones(1)
        for factor in self.factors:
            own = factor.total_weights(np.ones(factor.shape[0]))
            if own is None:
                return None
            weights = np.kron(weights, own)
        return weights

    @property
    def _inner(self) -> tuple[LinearQuery, ...]:
        return self.factors

    @property
    def has_unit_columns(self) -> bool:
        """Whether each cell is counted in exactly one answer, as in every factor."""
        return all(f.has_unit_columns for f in self.factors)

    @property
    def groups(self) -> NDArray[np.int64] | None:
        """The one answer each cell is summed into, where every factor has such."""
        product = np.zeros(1, dtype=np.int64)
        for factor in self.factors:
            own = factor.groups if factor.has_unit_columns else None
            if own is None:
                return None
            product = (product[:, None] * factor.shape[0] + own).reshape(-1)
        return product

    @property
    def nnz(self) -> int:
        """Number of entries that are not zero."""
        return math.prod(f.nnz for f in self.factors)

    @property
    def cost(self) -> int:
        """Number of additions of one application, factor by factor."""
        rows, cells, cost = 1, self.shape[1], 0
        for f in self.factors:
            cells //= f.shape[1]
            cost += rows * f.cost * cells
            rows *= f.shape[0]
        return cost

    def magnitudes(self, power: Literal[1, 2]) -> LinearQuery:
        """Return the product of the factors' magnitudes."""
        return Kronecker([f.magnitudes(power) for f in self.factors])

    def to_sparse(self) -> SparseArray:
        """Return the product of the factors' matrices as a scipy.sparse.csr_array."""
        from scipy.sparse import csr_array, kron

        product = self.factors[0].to_sparse()
        for factor in self.factors[1:]:
            product = kron(product, factor.to_sparse(), format="csr")
        return csr_array(product)

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        before, after = table.shape[0], self.shape[1] * table.shape[2]
        for factor in self.factors:
            after //= factor.shape[1]
            table = factor._apply(table.reshape(before, factor.shape[1], after))
            before *= factor.shape[0]
        return table.reshape(-1, self.shape[0], after)

    def _transpose(self, table: NDArray[Any]) -> NDArray[Any]:
        before, after = table.shape[0], self.shape[0] * table.shape[2]
        for factor in self.factors:
            after //= factor.shape[0]
            table = factor._transpose(table.reshape(before, factor.shape[0], after))
            before *= factor.shape[1]
        return table.reshape(-1, self.shape[1], after)

    def _exact_sensitivity(self, neighbours: Neighbours, norm: Literal[1, 2]) -> int:
        check_neighbours(neighbours)
        self._check_integer()
        largest = math.prod(f._norm_sensitivity("add-remove", norm) for f in self.factors)
        if neighbours == "add-remove":
            return largest
        if norm == 2 and 4 * largest >= EXACT_LIMIT:
            return 4 * largest
        units, others = self._units()
        bound = (2 if norm == 1 or all(f.is_non_negative for f in others) else 4) * largest
        columns = None if units and bound == 2 * largest else _columns(others)
        return bound if columns is None else max(2 * largest if units else 0, pairwise(columns, norm))

    def largest_change(self, neighbours: Neighbours) -> int:
        """Return a bound of the most that one answer changes, exact where no entry is negative."""
        check_neighbours(neighbours)
        self._check_integer()
        if neighbours == "replace" and self.squared_l2_sensitivity(neighbours) == 0:
            return 0
        largest = math.prod(f.largest_change("add-remove") for f in self.factors)
        return largest if neighbours == "add-remove" or self.is_non_negative else 2 * largest

    def columns(self) -> NDArray[Any] | None:
        """Return the different columns, each once; None where they are too many to compare."""
        return _columns(self.factors)

    def _units(self) -> tuple[bool, list[LinearQuery]]:
        """Return whether a factor has different unit columns, and the factors that have others or one alone."""
        units = [f.has_unit_columns and f.largest_change("replace") > 0 for f in self.factors]
        return any(units), [f for f, unit in zip(self.factors, units, strict=True) if not unit]


def _columns(factors: Sequence[LinearQuery]) -> NDArray[Any] | None:
    """Return the distinct columns of a product, None where there are too many to compare."""
    product = np.ones((1, 1), dtype=np.int64)
    for factor in factors:
        if factor.shape[1] > MAX_COLUMNS or factor.shape[0] * factor.shape[1] > _DENSE_ENTRIES:
            return None
        own = np.unique(factor.to_sparse().toarray(), axis=1)
        if own.shape[1] * product.shape[1] > MAX_COLUMNS or own.size * product.size > _DENSE_ENTRIES:
            return None
        product = np.kron(product, own)
    return np.unique(product, axis=1)
