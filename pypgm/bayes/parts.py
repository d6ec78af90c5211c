"""The part of a network that an answer depends on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from pypgm.bayes.editing import EditedTables
from pypgm.bayes.relevance import relevant
from pypgm.clique_vector import CliqueVector
from pypgm.clock import Clock
from pypgm.domain import Clique, Domain
from pypgm.factor import Factor
from pypgm.graphs import JunctionTree
from pypgm.graphs.evidence import Evidence
from pypgm.inference._variable_elimination import Elimination, Given

_PLANS_KEPT = 64

_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True, eq=False)
class Part:
    """Tables of some attributes of a network, and their plan.

    Attributes
    ----------
    domain : Domain
        The attributes.
    tables : sequence of Factor
        One for each attribute, over it and its parents.
    exact : bool
        Whether all rows sum to 1, but for rounding.
    """

    domain: Domain
    tables: Sequence[Factor]
    exact: bool

    @cached_property
    def potentials(self) -> CliqueVector:
        """Natural logs of the tables."""
        return CliqueVector.from_factors(self.domain, self.tables).log()

    @cached_property
    def tree(self) -> JunctionTree:
        """The junction tree of the part."""
        return JunctionTree.of(self.potentials)

    @cached_property
    def eliminations(self) -> dict[tuple[object, ...], Elimination]:
        """Plans of answers, by targets and known attributes."""
        return {}

    def marginal(self, clique: Clique, evidence: Evidence | None, max_bytes: float | None) -> Factor:
        """Return the joint probabilities of some attributes; its plan is kept for other values of the evidence."""
        given = Given(self.domain, clique, evidence)
        key = clique, given.pattern
        plan = self.eliminations.get(key)
        if plan is None:
            plan = Elimination(self.potentials, clique, given, max_bytes=max_bytes)
            _keep(self.eliminations, key, plan)
        return plan.marginal(given, 1.0, Clock(), max_bytes)

    @cached_property
    def log_total(self) -> float:
        """Natural log of the sum of the product of the tables: 0 but for printed digits."""
        return 0.0 if self.exact else self.tree.log_partition(self.potentials)


class PlannedTables(EditedTables):
    """A network with the plans of its answers; see `BayesianNetwork`."""

    @cached_property
    def _whole(self) -> Part:
        return Part(self.domain, list(self.tables.values()), not self._inexact)

    @cached_property
    def _parts(self) -> dict[frozenset[str], Part]:
        return {}

    @cached_property
    def _parts_asked(self) -> dict[Clique, Part]:
        return {}

    @property
    def potentials(self) -> CliqueVector:
        """Natural logs of the tables, one clique for each attribute in the order of the domain."""
        return self._whole.potentials

    @property
    def tree(self) -> JunctionTree:
        """The junction tree of all attributes; print it to see the cost of an answer."""
        return self._whole.tree

    def _part(self, attributes: Iterable[str]) -> Part:
        """Return the part of the network that an answer on some attributes depends on.

        Attributes without a descendant that is a target or known are summed out first; if their rows sum to 1, the sum
        is 1 and they are left out. If not, they stay, with all their ancestors.
        """
        names = tuple(attributes)
        part = self._parts_asked.get(names)
        if part is None:
            self.domain.indices(tuple(dict.fromkeys(names)))
            part = self._part_of(relevant([*names, *self._inexact], self.parents))
            _keep(self._parts_asked, names, part)
        return part

    def _part_of(self, attributes: frozenset[str]) -> Part:
        if len(attributes) == len(self.domain):
            return self._whole
        part = self._parts.get(attributes)
        if part is None:
            names = [a for a in self.domain if a in attributes]
            part = Part(self.domain.project(names), [self.tables[a] for a in names], not self._inexact)
            _keep(self._parts, attributes, part)
        return part


def _keep(plans: dict[_K, _V], key: _K, plan: _V) -> None:
    """Keep a plan in place of the oldest one."""
    if len(plans) >= _PLANS_KEPT:
        plans.pop(next(iter(plans)), None)
    plans[key] = plan
