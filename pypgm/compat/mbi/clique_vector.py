"""Vectors of tables, one for each of several cliques."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from pypgm.compat.mbi.clique_utils import Cliques
from pypgm.compat.mbi.domain import Clique, Domain, as_clique
from pypgm.compat.mbi.factor import Factor


class _AttrsFields:
    """The fields that `attr.evolve` reads; attrs is imported only when they are read."""

    def __get__(self, instance: object, owner: type) -> Any:
        try:
            import attr
        except ImportError as error:
            raise AttributeError("__attrs_attrs__") from error
        return attr.fields(attr.make_class("Fields", ["domain", "cliques", "arrays"]))


class CliqueVector(Mapping[Clique, Factor]):
    """Tables over cliques, each with its axes in the order of its clique.

    Examples
    --------
    >>> vector = CliqueVector.ones(Domain(["a", "b"], [2, 3]), [("a", "b")])
    >>> vector.project("a").datavector()
    array([3., 3.])
    """

    domain: Domain
    cliques: Cliques
    tables: dict[Clique, Factor]
    __attrs_attrs__ = _AttrsFields()

    def __init__(
        self,
        domain: Domain | Mapping[Any, Factor] | None = None,
        cliques: Iterable[object] | None = None,
        tables: Mapping[Any, Factor] | None = None,
        *,
        arrays: Mapping[Any, Factor] | None = None,
        dictionary: Mapping[Any, Factor] | None = None,
    ) -> None:
        given = tables if arrays is None else arrays
        if cliques is None:  # before mbi 1.0 a dict of tables was all
            given = domain if isinstance(domain, Mapping) else dictionary
            domain, cliques = (
                functools.reduce(Domain.merge, (t.domain for t in (given or {}).values()), Domain([], [])),
                given,
            )
        if given is None or cliques is None or not isinstance(domain, Domain):
            raise TypeError("a CliqueVector needs tables, a mapping of cliques to Factors")
        self.domain, self.cliques = domain, Cliques(map(as_clique, cliques))
        if len(set(self.cliques)) != len(self.cliques):
            raise ValueError(f"Cliques must be unique. Got {self.cliques}.")
        self.tables = {as_clique(c): table for c, table in given.items()}
        if set(self.tables) != set(self.cliques):
            raise ValueError(f"Cliques must be equal to keys of tables. Got {self.cliques} and {[*self.tables]}.")

    @property
    def arrays(self) -> dict[Clique, Factor]:
        """The tables, by their older name."""
        return self.tables

    @classmethod
    def _made(cls, domain: Domain, cliques: Iterable[object], make: Callable[[Domain], Factor]) -> CliqueVector:
        scopes = [as_clique(c) for c in cliques]
        return cls(domain, scopes, {c: make(domain.project(c)) for c in scopes})

    @classmethod
    def zeros(cls, domain: Domain, cliques: Iterable[object]) -> CliqueVector:
        return cls._made(domain, cliques, Factor.zeros)

    @classmethod
    def ones(cls, domain: Domain, cliques: Iterable[object]) -> CliqueVector:
        return cls._made(domain, cliques, Factor.ones)

    @classmethod
    def uniform(cls, domain: Domain, cliques: Iterable[object]) -> CliqueVector:
        return cls._made(domain, cliques, Factor.uniform)

    @classmethod
    def random(cls, domain: Domain, cliques: Iterable[object], prng: Any = np.random) -> CliqueVector:
        return cls._made(domain, cliques, lambda part: Factor(part, prng.random(part.shape)))

    @classmethod
    def normal(cls, domain: Domain, cliques: Iterable[object], prng: Any = np.random) -> CliqueVector:
        return cls._made(domain, cliques, lambda part: Factor(part, prng.normal(size=part.shape)))

    abstract = zeros

    @classmethod
    def from_projectable(cls, data: Any, cliques: Iterable[object]) -> CliqueVector:
        """Return the marginals of a data set or a model."""
        return cls._made(data.domain, cliques, lambda part: Factor(part, data.project(part.attributes).values))

    from_data = from_projectable

    @property
    def active_domain(self) -> Domain:
        """The domain of the attributes that some clique has."""
        return self.domain.project(self.domain.canonical(a for c in self.cliques for a in c))

    def parent(self, clique: object) -> Clique | None:
        """Return the clique with fewest cells that holds another; None if none does."""
        members = set(as_clique(clique))
        return min((c for c in self.cliques if members <= set(c)), key=self.domain.size, default=None)

    def supports(self, clique: object) -> bool:
        return self.parent(clique) is not None

    def project(self, clique: object, log: bool = False) -> Factor:
        """Return the table of a clique, or the marginal of the smallest that holds it."""
        wanted = as_clique(clique)
        if wanted in self.tables:
            return self.tables[wanted]
        home = self.parent(wanted)
        if home is None:
            raise ValueError(f"Cannot project onto unsupported clique {wanted}; the cliques are {self.cliques}.")
        return self.tables[home].project(wanted, log=log)

    def expand(self, cliques: Iterable[object]) -> CliqueVector:
        """Return a vector over other cliques: each table added to the smallest that holds it, or dropped."""
        larger = CliqueVector.zeros(self.domain, cliques)
        for clique, table in self.tables.items():
            home = larger.parent(clique)
            if home is not None:
                larger.tables[home] = larger.tables[home] + table
        return larger

    def contract(self, cliques: Iterable[object], log: bool = False) -> CliqueVector:
        """Return the projections onto smaller cliques."""
        scopes = [as_clique(c) for c in cliques]
        return CliqueVector(self.domain, scopes, {c: self.project(c, log=log) for c in scopes})

    def _each(self, how: Callable[[Factor], Factor]) -> CliqueVector:
        return CliqueVector(self.domain, self.cliques, {c: how(self.tables[c]) for c in self.cliques})

    def _with(self, other: object, how: Callable[[Any, Any], Factor]) -> CliqueVector:
        if not isinstance(other, Mapping):
            return self._each(lambda table: how(table, other))
        self._check_same(other)
        return CliqueVector(self.domain, self.cliques, {c: how(self[c], other[c]) for c in self.cliques})

    def _check_same(self, other: Mapping[Any, Factor]) -> None:
        theirs = other.cliques if isinstance(other, CliqueVector) else [c for c in self.cliques if c in other]
        if self.cliques != theirs:
            raise ValueError(f"both vectors need the same cliques, got {self.cliques} and {theirs}")

    def normalize(self, total: float = 1.0, log: bool = True) -> CliqueVector:
        return self._each(lambda table: table.normalize(total, log=log))

    def exp(self) -> CliqueVector:
        return self._each(Factor.exp)

    def log(self) -> CliqueVector:
        return self._each(Factor.log)

    def dot(self, other: Mapping[Any, Factor]) -> float:
        self._check_same(other)
        return float(sum(self[c].dot(other[c]) for c in self.cliques))

    def size(self) -> int:
        """Return the number of cells of all tables."""
        return sum(self.domain.size(c) for c in self.cliques)

    def pad(self, mesh: object = None, pad_value: object = 0.0) -> CliqueVector:
        return self._each(lambda table: table.pad(mesh, pad_value))

    apply_sharding = pad

    __array_ufunc__ = None

    def __add__(self, other: object) -> CliqueVector:
        return self._with(other, Factor.__add__)

    def __sub__(self, other: object) -> CliqueVector:
        return self._with(other, Factor.__sub__)

    def __mul__(self, other: object) -> CliqueVector:
        if isinstance(other, Mapping | Factor) or np.ndim(other) != 0:  # type: ignore[arg-type]
            raise TypeError(f"a CliqueVector is scaled by a number, got {type(other).__name__}")
        return self._with(other, Factor.__mul__)

    def __truediv__(self, other: float) -> CliqueVector:
        return self * (1 / other)

    __radd__, __rmul__ = __add__, __mul__

    def __getitem__(self, clique: object) -> Factor:
        return self.tables[as_clique(clique)]

    def combine(self, other: Mapping[Any, Factor]) -> None:
        """Add the tables of another vector, each to the first clique that holds it."""
        for clique, table in other.items():
            home = next((c for c in self.cliques if {*as_clique(clique)} <= {*c}), None)
            if home is not None:
                self.tables[home] = self.tables[home] + table

    def __iter__(self) -> Iterator[Clique]:
        return iter(self.cliques)

    def __len__(self) -> int:
        return len(self.cliques)

    __eq__, __hash__ = object.__eq__, object.__hash__  # a vector is itself, as it was before it had keys and values

    def __setitem__(self, clique: object, table: Factor) -> None:
        if as_clique(clique) not in self.tables:
            raise ValueError(f"Clique {as_clique(clique)} must be one of {self.cliques}.")
        self.tables[as_clique(clique)] = table

    def __repr__(self) -> str:
        return f"CliqueVector({self.domain}, cliques={[*self.cliques]})"
