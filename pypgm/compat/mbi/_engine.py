"""The way to the engine and back: pypgm's domains take strings, its vectors sort axes."""

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

__all__ = ["Bridge", "done", "model_of", "numpy_seed"]


def done(value: object = None) -> Future[Any]:
    """Return a future that is finished: there is nothing to compile."""
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def numpy_seed() -> int:
    """Return a seed from NumPy's global state, on which mbi's random numbers depend."""
    return int(np.random.randint(0, 2**31 - 1))  # noqa: NPY002


class Bridge:
    """A domain and the engine's version of it.

    Attributes
    ----------
    names : dict
        The engine's name of each attribute: itself as a string, or its position where that is not unique.
    """

    def __init__(self, domain: Domain) -> None:
        names = [str(a) for a in domain]
        if len(set(names)) < len(names) or "" in names:
            names = [str(i) for i in range(len(names))]
        self.domain = domain
        self.names: dict[Attribute, str] = dict(zip(domain, names, strict=True))
        self.engine = pypgm.Domain(names, domain.shape)

    @staticmethod
    @lru_cache(maxsize=32)
    def of(domain: Domain) -> Bridge:
        """Return that of a domain, the same for equal ones."""
        return Bridge(domain)

    def clique(self, clique: object) -> tuple[str, ...]:
        """Return the engine's names; ``ValueError`` where one is unknown."""
        return tuple(self.names[a] for a in self.domain.project(clique))

    def factor(self, table: Factor) -> pypgm.Factor:
        return pypgm.Factor(self.engine.project(self.clique(table.domain.attributes)), table.values)

    def table(self, clique: Clique, found: pypgm.Factor) -> Factor:
        """Return a table of the engine over a clique as it is written."""
        return Factor(self.domain.project(clique), np.array(found.transpose(self.clique(clique)).values))

    def vector(self, tables: Iterable[Factor]) -> pypgm.CliqueVector:
        """Return tables as a vector of the engine, those over no attribute left out."""
        return pypgm.CliqueVector.from_factors(self.engine, [self.factor(t) for t in tables if len(t.domain)])

    def tables(self, cliques: Sequence[Clique], model: pypgm.GraphicalModel) -> CliqueVector:
        """Return a model's marginals over cliques."""
        found = model.project_many([self.clique(c) for c in cliques])
        return CliqueVector(self.domain, cliques, {c: self.table(c, t) for c, t in zip(cliques, found, strict=True)})

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
    domain, bridge = potentials.domain, Bridge.of(potentials.domain)
    own = [t for t in potentials.tables.values() if _fits(domain, t.domain)]
    return pypgm.GraphicalModel(bridge.vector([*own, *(c.potential for c in constraints)]), float(total))


def _fits(domain: Domain, part: Domain) -> bool:
    return all(a in domain and domain[a] == n for a, n in part.config.items())
