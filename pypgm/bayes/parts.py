"""The part of a network that an answer depends on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pypgm.bayes.editing import EditedTables
from pypgm.bayes.relevance import relevant
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain
from pypgm.factor import Factor
from pypgm.graphs import JunctionTree

__all__ = ["Part", "PlannedTables"]

_PLANS_KEPT = 32


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
    def log_total(self) -> float:
        """Natural log of what the product of the tables sums to: 0 but for printed digits."""
        return 0.0 if self.exact else self.tree.log_partition(self.potentials)


class PlannedTables(EditedTables):
    """A network with the plans of its answers; see `BayesianNetwork`."""

    @cached_property
    def _whole(self) -> Part:
        return Part(self.domain, list(self.tables.values()), not self._inexact)

    @cached_property
    def _parts(self) -> dict[frozenset[str], Part]:
        return {}

    @property
    def potentials(self) -> CliqueVector:
        """Natural logs of the tables, one clique for each attribute in the order of the domain."""
        return self._whole.potentials

    @property
    def tree(self) -> JunctionTree:
        """The junction tree of all attributes; print it to see what an answer costs."""
        return self._whole.tree

    def _part(self, attributes: Iterable[str]) -> Part:
        """Return the part of the network that an answer on some attributes depends on.

        Others, none of whose descendants is asked for or known, are summed out first; where their rows sum to 1 the
        sum is 1 and they are left out. Where they do not, they stay, with all their ancestors.
        """
        asked = dict.fromkeys(attributes)
        self.domain.indices(tuple(asked))
        kept = relevant([*asked, *self._inexact], self.parents)
        if len(kept) == len(self.domain):
            return self._whole
        if kept not in self._parts:
            names = [a for a in self.domain if a in kept]
            if len(self._parts) >= _PLANS_KEPT:
                self._parts.clear()
            self._parts[kept] = Part(self.domain.project(names), [self.tables[a] for a in names], not self._inexact)
        return self._parts[kept]
