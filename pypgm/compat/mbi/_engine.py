"""Conversions to the engine and back: pypgm's domains take strings, its vectors sort axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import lru_cache
from typing import Any

import numpy as np

import pypgm
from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.constraint import Constraint
from pypgm.compat.mbi.domain import Attribute, Clique, Domain
from pypgm.compat.mbi.factor import Factor


def finished(*arguments: Any, **options: Any) -> Future[Any]:
    """Return a finished future, as mbi's precompilation does: there is nothing to compile."""
    del arguments, options
    future: Future[Any] = Future()
    future.set_result(None)
    return future


class Bridge:
    """A domain and the engine's version of it.

    Attributes
    ----------
    names : dict
        The engine's name of each attribute: itself as a string, or its position where that is not unique.
    attributes : dict
        The attribute of each of the engine's names.
    """

    def __init__(self, domain: Domain) -> None:
        names = [str(a) for a in domain]
        if len(set(names)) < len(names) or "" in names:
            names = [str(i) for i in range(len(names))]
        self.domain = domain
        self.names: dict[Attribute, str] = dict(zip(domain, names, strict=True))
        self.attributes: dict[str, Attribute] = dict(zip(names, domain, strict=True))
        self.engine = pypgm.Domain(names, domain.shape)

    @staticmethod
    @lru_cache(maxsize=32)
    def of(domain: Domain) -> Bridge:
        """Return the bridge of a domain, the same for equal domains."""
        return Bridge(domain)

    def clique(self, clique: object) -> tuple[str, ...]:
        """Return the engine's names of a clique; ``ValueError`` if one is unknown."""
        return tuple(self.names[a] for a in self.domain.project(clique))

    def scopes(self, vector: pypgm.CliqueVector) -> list[Clique]:
        """Return the cliques of a vector of the engine."""
        return [tuple(self.attributes[name] for name in c) for c in vector.cliques]

    def table(self, clique: Clique, table: pypgm.Factor) -> Factor:
        """Return a table of the engine over a clique, axes in the clique's order."""
        return Factor(self.domain.project(clique), np.array(table.transpose(self.clique(clique)).values))

    def vector(self, tables: Iterable[Factor]) -> pypgm.CliqueVector:
        """Return tables as a vector of the engine, without tables over no attribute."""
        factors = [
            pypgm.Factor(self.engine.project(self.clique(t.domain.attributes)), t.values) for t in tables if t.domain
        ]
        return pypgm.CliqueVector.from_factors(self.engine, factors)

    def made(self, cliques: Sequence[Clique], tables: Iterable[pypgm.Factor]) -> CliqueVector:
        """Return tables of the engine over cliques, axes in each clique's order."""
        return CliqueVector(self.domain, cliques, {c: self.table(c, t) for c, t in zip(cliques, tables, strict=True)})

    def parts(self, cliques: Sequence[Clique], vector: pypgm.CliqueVector) -> CliqueVector:
        """Return a vector of the engine over cliques, axes in each clique's order."""
        scopes = enumerate(vector.cliques)
        return self.made(cliques, (pypgm.Factor(self.engine.project(c), vector.table(i)) for i, c in scopes))

    def marginals(self, cliques: Sequence[Clique], marginals: Any) -> CliqueVector:
        """Return the projections of one of the engine's answers onto cliques."""
        return self.made(cliques, (marginals.project(self.clique(c)) for c in cliques))

    def tables(self, cliques: Sequence[Clique], model: Any) -> CliqueVector:
        """Return a model's marginals over cliques."""
        return self.made(cliques, model.project_many([self.clique(c) for c in cliques]))

    def evidence(self, evidence: Mapping[Attribute, int]) -> dict[str, int]:
        known = {self.names[a]: int(np.asarray(v)) for a, v in evidence.items()}
        for a, code in zip(evidence, known.values(), strict=True):
            if not -self.domain[a] <= code < self.domain[a]:
                raise ValueError(f"evidence on {a!r} needs a code of 0 to {self.domain[a] - 1}")
        return known


def model_of(
    potentials: CliqueVector, total: float = 1.0, constraints: Iterable[Constraint] = ()
) -> pypgm.GraphicalModel:
    """Return the engine's model of potentials and constraints; tables whose attributes are unknown are dropped."""
    sizes = potentials.domain.config.items()
    within = [t for t in potentials.tables.values() if t.domain.config.items() <= sizes]
    vector = Bridge.of(potentials.domain).vector([*within, *(c.potential for c in constraints)])
    return pypgm.GraphicalModel(vector, float(total))
