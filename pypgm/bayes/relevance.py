"""The part of a network that an answer depends on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.factor import Factor
from pypgm.graphs import JunctionTree

__all__ = ["Part", "relevant"]


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


def relevant(attributes: Iterable[str], parents: Mapping[str, Clique]) -> frozenset[str]:
    """Return some attributes and all their ancestors.

    Examples
    --------
    >>> sorted(relevant(["b"], {"a": (), "b": ("a",), "c": ("b",)}))
    ['a', 'b']
    """
    waiting = list(attributes)
    kept: set[str] = set()
    while waiting:
        attribute = waiting.pop()
        if attribute not in kept:
            kept.add(attribute)
            waiting.extend(parents[attribute])
    return frozenset(kept)
