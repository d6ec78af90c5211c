"""Tables over many cliques in one contiguous buffer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm import _core
from pypgm._base.html import Shown
from pypgm._base.memory import check_fits, short
from pypgm._base.numeric import float_array
from pypgm._base.terminal import escaped
from pypgm.domain import Clique, Domain, as_clique, check_domain, listed
from pypgm.factor import Factor

_INT64 = (1 << 63) - 1


class CliqueVector(Shown):
    """Tables of cliques, packed into a flat buffer.

    Potentials (natural logs), marginals (counts) and gradients all have this form, so that adding, scaling and
    dotting them are single passes.

    Parameters
    ----------
    domain : Domain
        All attributes.
    cliques : sequence of cliques
        Scopes, in any order; each is kept in the domain's order. A scope may come more than once: as
        log-potentials its tables add up.
    values : array_like of float, shape (total number of cells,), optional
        The cells, clique by clique, each table in C order; zeros by default. A float64 array is kept, not copied.

    Raises
    ------
    ValueError
        If a clique names an attribute that is unknown or repeated, or the number of values does not fit.
    TypeError
        If values are complex or masked.

    Examples
    --------
    >>> vector = CliqueVector(Domain({"a": 2, "b": 3}), [("a", "b"), ("b",)])
    >>> vector.values.shape
    (9,)
    >>> vector["b"].values
    array([0., 0., 0.])
    """

    __slots__ = ("_first", "_offsets", "cliques", "domain", "scopes", "values")
    __array_priority__ = 1000.0  # a NumPy number times a vector is a vector

    domain: Domain
    cliques: tuple[Clique, ...]
    scopes: tuple[tuple[int, ...], ...]
    """The cliques as ascending positions in the domain."""
    values: NDArray[np.float64]

    def __init__(self, domain: Domain, cliques: Sequence[str | Iterable[str]], values: ArrayLike | None = None) -> None:
        check_domain(domain)
        self.domain = domain
        self._lay_out([tuple(sorted(domain.indices(c))) for c in cliques])
        check_fits(8 * self._offsets[-1], None, f"{len(self.cliques)} cliques need {short(self._offsets[-1])} cells")
        self.values = self._checked(np.zeros(self._offsets[-1]) if values is None else values)

    def _lay_out(self, scopes: Sequence[tuple[int, ...]]) -> None:
        """Set the cliques, by ascending positions of their attributes, and where their tables begin."""
        names, shape = self.domain.attributes, self.domain.shape
        self.scopes = tuple(scopes)
        self.cliques = tuple([tuple([names[i] for i in scope]) for scope in scopes])
        self._offsets = [0, *itertools.accumulate([math.prod([shape[i] for i in scope]) for scope in scopes])]
        self._first = dict(zip(reversed(self.cliques), reversed(range(len(scopes))), strict=True))

    @classmethod
    def from_factors(cls, domain: Domain, factors: Sequence[Factor]) -> CliqueVector:
        """Pack tables, each with its axes brought into the domain's order."""
        vector = object.__new__(cls)
        vector.domain = domain
        axes = [domain.indices(f.domain.attributes) for f in factors]
        vector._lay_out([tuple(sorted(a)) for a in axes])
        shape = [min(size, _INT64) for size in domain.shape]  # larger ones are of no factor
        vector.values = _core.stack_tables(shape, axes, [f.datavector() for f in factors])
        return vector

    def like(self, values: ArrayLike) -> CliqueVector:
        """Return other values for the same cliques, a float64 array as it is; ``ValueError`` if their number differs.

        Examples
        --------
        >>> CliqueVector(Domain({"a": 2}), ["a"]).like([1, 2])["a"].values
        array([1., 2.])
        """
        other = object.__new__(CliqueVector)
        other.domain, other.cliques, other.scopes = self.domain, self.cliques, self.scopes
        other._offsets, other._first = self._offsets, self._first
        other.values = self._checked(values)
        return other

    def part(self, index: int) -> slice:
        """Return the slice of the buffer that holds the cells of the clique at a position."""
        return slice(self._offsets[index], self._offsets[index + 1])

    def table(self, index: int) -> NDArray[np.float64]:
        """Return the cells of the clique at a position: a flat view in C order."""
        return self.values[self._offsets[index] : self._offsets[index + 1]]

    def _ipython_key_completions_(self) -> list[str | Clique]:
        """Return the cliques, for the completion of ``vector["``."""
        return [clique[0] if len(clique) == 1 else clique for clique in dict.fromkeys(self.cliques)]

    def __getitem__(self, clique: str | Iterable[str]) -> Factor:
        """Return the (first) table of a clique, axes in the given order: a view if they come in the domain's order."""
        wanted = as_clique(clique)
        canonical = self.domain.canonical(wanted)
        if canonical not in self._first:
            raise KeyError(f"no table over {wanted}; the cliques are {_some(self.cliques)}")
        factor = Factor.over(self.domain.project(canonical), self.table(self._first[canonical]))
        return factor if wanted == canonical else factor.transpose(wanted)

    def project(self, clique: str | Iterable[str]) -> Factor:
        """Sum the first smallest table that holds a clique onto it; axes come in the given order.

        Raises
        ------
        ValueError
            If no table holds the clique.
        """
        wanted = as_clique(clique)
        return self[self.cliques[self.home(wanted)]].project(wanted)

    def find(self, clique: str | Iterable[str]) -> int | None:
        """Return the position of a clique's table, or of the first smallest one that holds it; None if none does."""
        if isinstance(clique, tuple) and (known := self._first.get(clique)) is not None:
            return known
        wanted = self.domain.canonical(clique)
        if wanted in self._first:
            return self._first[wanted]
        held = set(wanted)
        holders = [(self.part(i).stop - self.part(i).start, i) for i, c in enumerate(self.cliques) if held <= set(c)]
        return min(holders)[1] if holders else None

    def home(self, clique: str | Iterable[str]) -> int:
        """Return the position that `find` returns; ``ValueError`` if no table holds the clique."""
        position = self.find(clique)
        if position is None:
            raise ValueError(f"no clique holds {as_clique(clique)}; the cliques are {_some(self.cliques)}")
        return position

    def add(self, index: int, part: Clique, cells: NDArray[np.float64]) -> None:
        """Add a table over a part of the clique at a position, both in the domain's order, to that clique's."""
        clique = self.cliques[index]
        _core.expand_add(self.table(index), self.domain.sizes(clique), cells, [a in part for a in clique])

    def __len__(self) -> int:
        return len(self.cliques)

    def __iter__(self) -> Iterator[Clique]:
        """Iterate over the cliques, in the order given."""
        return iter(self.cliques)

    def __contains__(self, clique: str | Iterable[str]) -> bool:
        """Return whether there is a table over a clique, its attributes in any order."""
        try:
            return self.domain.canonical(clique) in self._first
        except (TypeError, ValueError):
            return False

    @np.errstate(over="ignore")
    def __add__(self, other: CliqueVector | float) -> CliqueVector:
        return self.like(self.values + self._cells_of(other))

    @np.errstate(over="ignore")
    def __sub__(self, other: CliqueVector | float) -> CliqueVector:
        return self.like(self.values - self._cells_of(other))

    @np.errstate(over="ignore")
    def __mul__(self, other: float) -> CliqueVector:
        return self.like(self.values * other)

    @np.errstate(over="ignore")
    def __truediv__(self, other: float) -> CliqueVector:
        return self.like(self.values / other)

    __rmul__ = __mul__

    def __neg__(self) -> CliqueVector:
        return self.like(-self.values)

    @np.errstate(over="ignore")
    def exp(self) -> CliqueVector:
        """Return exp of every cell."""
        return self.like(np.exp(self.values))

    def log(self) -> CliqueVector:
        """Return the natural log of every cell; log 0 is -inf."""
        with np.errstate(divide="ignore"):
            return self.like(np.log(self.values))

    def dot(self, other: CliqueVector) -> float:
        """Return the sum of cell-wise products with a vector over the same cliques."""
        return float(self.values @ self._cells_of(other))

    def normalize(self, total: float = 1.0) -> CliqueVector:
        """Scale each table to a sum of `total`."""
        tables = [Factor(self.domain.project(c), self.table(i)) for i, c in enumerate(self.cliques)]
        return CliqueVector.from_factors(self.domain, [t.normalize(total) for t in tables])

    def __repr__(self) -> str:
        with np.printoptions(precision=6, suppress=True, threshold=12, edgeitems=3, linewidth=1000):
            cells = np.array2string(self.values, separator=", ")
        return f"CliqueVector({len(self.cliques)} cliques, {self.values.size} cells: {_some(self.cliques)}; {cells})"

    def _checked(self, values: ArrayLike) -> NDArray[np.float64]:
        cells = np.ascontiguousarray(float_array("values of tables", values))
        if cells.shape != (self._offsets[-1],):
            raise ValueError(f"{len(self.cliques)} cliques need {self._offsets[-1]} values, got shape {cells.shape}")
        return cells

    def _cells_of(self, other: CliqueVector | float) -> NDArray[np.float64] | float:
        if not isinstance(other, CliqueVector):
            return other
        if other.cliques != self.cliques or other.domain.shape != self.domain.shape:
            raise ValueError(
                f"both vectors need the same cliques, got {_some(self.cliques)} and {_some(other.cliques)}"
            )
        return other.values


def read_only(vector: CliqueVector) -> CliqueVector:
    """Return a view of a vector through which its values cannot be changed."""
    values = vector.values.view()
    values.flags.writeable = False
    return vector.like(values)


def _some(cliques: Sequence[Clique]) -> str:
    return listed([f"({escaped(', '.join(c))})" for c in cliques], 6)
