"""Products of queries: on the attributes of a clique, and on named attributes of records or a model."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pypgm._base.terminal import escaped
from pypgm.queries.entries import ENTRY_LIMIT, SparseArray
from pypgm.queries.matrix import Matrix
from pypgm.queries.neighbours import DENSE_ENTRIES, EXACT_LIMIT, MAX_COLUMNS, Neighbours, few_columns, largest_distance
from pypgm.queries.query import LinearQuery, Value, checked_queries

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pypgm.domain import Clique, Domain


class KroneckerQuery(Value):
    r"""Product of one query for each of some attributes; all others are summed over.

    The answer is the tensor of all combinations of the blocks' answers,
    :math:`\sum_x \prod_i Q_i[z_i, x_i]\, n(x)` for a table of counts n.

    Parameters
    ----------
    blocks : mapping of str to query or array_like, shape (answers, values)
        Query on the values of each attribute (`pypgm.queries`), or a matrix: of integers, or of real numbers.

    Attributes
    ----------
    blocks : dict of str to query
        The blocks, in the order given.
    attributes : tuple of str
        The attributes with a block: the axes of an answer.
    shape : tuple of int
        The shape of an answer.

    Raises
    ------
    ValueError
        If a matrix is none.

    References
    ----------
    McKenna, Sheldon and Miklau, Graphical-model based estimation and inference for differential privacy (2019),
    algorithm 3.

    Examples
    --------
    >>> import numpy as np, pypgm
    >>> domain = pypgm.Domain({"age": 4, "sex": ["F", "M"]})
    >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, [("age", "sex")]), total=80.0)
    >>> query = KroneckerQuery({"sex": pypgm.queries.Identity(2), "age": pypgm.queries.Prefix(4)})
    >>> model.answer(query).round(6)
    array([[10., 20., 30., 40.],
           [10., 20., 30., 40.]])
    """

    blocks: dict[str, LinearQuery]
    attributes: Clique
    shape: tuple[int, ...]

    def __init__(self, blocks: Mapping[str, LinearQuery | ArrayLike]) -> None:
        queries = {attribute: _as_block(block) for attribute, block in dict(blocks).items()}
        shape = tuple(block.shape[0] for block in queries.values())
        self._set(blocks=queries, attributes=tuple(queries), shape=shape, _arguments=(tuple(queries.items()),))

    @property
    def operator(self) -> Kronecker:
        """The same query on the cells of the clique `attributes`, as `PrivateTable.measure` takes it.

        Raises
        ------
        ValueError
            If a block has real entries (round them first, `pypgm.queries.on_lattice`), or there is none.
        """
        for attribute, block in self.blocks.items():
            if not block.is_integer:
                needed = "on_lattice rounds them to be measured"
                raise ValueError(f"the query of {attribute!r} has real entries; {needed}")
        return Kronecker(self.blocks.values())

    def checked(self, domain: Domain) -> KroneckerQuery:
        """Return the query itself if it fits a domain, else raise ``ValueError``."""
        for (attribute, block), size in zip(self.blocks.items(), domain.sizes(self.attributes), strict=True):
            if block.shape[1] != size:
                raise ValueError(f"attribute {attribute!r} has {size} values, its query is for {block.shape[1]}")
        return self

    def __repr__(self) -> str:
        return f"KroneckerQuery({', '.join(f'{escaped(a)}: {b!r}' for a, b in self.blocks.items())})"


def _as_block(block: LinearQuery | ArrayLike) -> LinearQuery:
    if isinstance(block, LinearQuery):
        return block
    entries = np.asarray(block)
    if entries.size and entries.dtype.kind in "iu" and max(-int(entries.min()), int(entries.max())) >= ENTRY_LIMIT:
        entries = entries.astype(np.float64)  # more than can be measured, but not than can be asked
    return Matrix(entries)


Map = Callable[[NDArray[Any]], NDArray[Any]]


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
    Add-remove sensitivities are products of those of the factors, and exact. Under "replace", a factor of unit columns
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

    factors: tuple[LinearQuery, ...]

    def __init__(self, factors: Iterable[LinearQuery]) -> None:
        parts = checked_queries(factors, "a Kronecker query needs one query an attribute")
        exact = all(f.is_integer for f in parts)
        if exact and math.prod(f._largest_change("add-remove") for f in parts) >= ENTRY_LIMIT:
            raise ValueError("the entries of a Kronecker query must be below 2^18")
        shape = (math.prod(f.shape[0] for f in parts), math.prod(f.shape[1] for f in parts))
        rows, cells, cost = 1, shape[1], 0
        for f in parts:
            cells //= f.shape[1]
            cost += rows * f.cost * cells
            rows *= f.shape[0]
        units, nnz = all(f.has_unit_columns for f in parts), math.prod(f.nnz for f in parts)
        self._describe((parts,), shape, nnz, cost=cost, inner=parts, units=units, text=", ".join(map(repr, parts)))
        self._set(factors=parts)

    def total_weights(self, stddev: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return v with Q'v = 1; with equal noise the shortest is the product of the factors' shortest."""
        if np.ptp(stddev) > 0 or self.has_unit_columns:
            return super().total_weights(stddev)
        weights: NDArray[Any] = np.ones(1)
        for factor in self.factors:
            shortest = factor.total_weights(np.ones(factor.shape[0]))
            if shortest is None:
                return None
            weights = np.kron(weights, shortest)
        return weights

    @property
    def groups(self) -> NDArray[np.int64] | None:
        """The one answer each cell is summed into, where every factor has such."""
        product = np.zeros(1, dtype=np.int64)
        for factor in self.factors:
            answer_of = factor.groups
            if answer_of is None:
                return None
            product = (product[:, None] * factor.shape[0] + answer_of).reshape(-1)
        return product

    def magnitudes(self, power: Literal[1, 2]) -> LinearQuery:
        """Return the product of the factors' magnitudes."""
        return Kronecker([f.magnitudes(power) for f in self.factors])

    def to_sparse(self) -> SparseArray:
        """Return the product of the factors' matrices as a scipy.sparse.csr_array."""
        from scipy.sparse import csr_array, kron

        return csr_array(functools.reduce(kron, (f.to_sparse() for f in self.factors)))

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        return self._through(table, [(f._apply, *f.shape) for f in self.factors])

    def _transpose(self, table: NDArray[Any]) -> NDArray[Any]:
        return self._through(table, [(f._transpose, *f.shape[::-1]) for f in self.factors])

    def _through(self, table: NDArray[Any], maps: Sequence[tuple[Map, int, int]]) -> NDArray[Any]:
        """Return the maps of all factors, each with its numbers of results and of arguments, applied in turn."""
        before, size, after = table.shape
        done, left = before, size * after
        for apply, results, arguments in maps:
            left //= arguments
            table = apply(table.reshape(done, arguments, left))
            done *= results
        return table.reshape(before, done // before if before else 0, after)

    def _sensitivity(self, neighbours: Neighbours, norm: Literal[1, 2]) -> int:
        largest = math.prod(f._sensitivity("add-remove", norm) for f in self.factors)
        if neighbours == "add-remove":
            return largest
        if norm == 2 and 4 * largest >= EXACT_LIMIT:
            return 4 * largest
        # Unit columns that differ share no row; the other factors' columns are compared.
        others = [f for f in self.factors if not f.has_unit_columns or f._sensitivity("replace", 1) == 0]
        units = len(others) < len(self.factors)
        bound = (2 if norm == 1 or all(f.is_non_negative for f in others) else 4) * largest
        columns = None if units and bound == 2 * largest else _columns(others)
        return bound if columns is None else max(2 * largest * units, int(largest_distance(columns, norm)))

    def _largest_change(self, neighbours: Neighbours) -> int:
        """Return a bound of the most that one answer changes, exact where no entry is negative."""
        if neighbours == "replace" and self._sensitivity(neighbours, 2) == 0:
            return 0
        largest = math.prod(f._largest_change("add-remove") for f in self.factors)
        return largest if neighbours == "add-remove" or self.is_non_negative else 2 * largest

    def columns(self) -> NDArray[Any] | None:
        """Return the different columns, each once; None where they are too many to compare."""
        return _columns(self.factors)


def _columns(factors: Sequence[LinearQuery]) -> NDArray[Any] | None:
    """Return the distinct columns of a product, None where there are too many to compare."""
    product = np.ones((1, 1), dtype=np.int64)
    for factor in factors:
        columns = factor.columns()
        if (
            columns is None
            or columns.shape[1] * product.shape[1] > MAX_COLUMNS
            or columns.size * product.size > DENSE_ENTRIES
        ):
            return None
        product = np.kron(product, columns)
    return few_columns(product)
