"""Index of the regions that hold a clique, and of the intersections with one that none holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique


class RegionIndex:
    """The pseudo-marginals of a region graph, found by clique.

    Parameters
    ----------
    marginals : CliqueVector
        Table of each region, in counts.
    total : float
        Sum of each of them.
    """

    def __init__(self, marginals: CliqueVector, total: float) -> None:
        self.domain = marginals.domain
        self.marginals = marginals
        self.total = total
        size, cliques = self.domain.size, marginals.cliques
        # Of tables of the same size that with fewer attributes comes first: others have one value.
        self._ranked = sorted(range(len(cliques)), key=lambda i: (size(cliques[i]), len(cliques[i])))
        self._with: dict[str, set[int]] = {a: set() for a in self.domain}  # ranks of regions, by attribute
        for rank, i in enumerate(self._ranked):
            for attribute in cliques[i]:
                self._with[attribute].add(rank)

    def holders(self, clique: Clique) -> list[int]:
        """Return the positions of the regions that hold a clique, the smallest table first, ties in their order."""
        return [self._ranked[rank] for rank in sorted(self._holding(clique))]

    def holds(self, clique: Clique) -> bool:
        """Tell whether some region holds a clique."""
        return bool(self._holding(clique))

    def _holding(self, clique: Clique) -> set[int]:
        """Return the ranks of the regions that hold a clique, looked for among those of its rarest attribute."""
        rarest, *others = sorted([self._with[a] for a in clique], key=len) or [set(range(len(self._ranked)))]
        return rarest.intersection(*others)

    def probabilities(self, clique: Clique) -> NDArray[np.float64]:
        """Return the marginal of a clique (in the domain's order) in the smallest region that holds it, sum 1."""
        cells = self.project(self._ranked[min(self._holding(clique))], clique)
        mass = cells.sum()
        return cells / mass if mass > 0 else np.full(cells.size, 1 / cells.size)

    def project(self, region: int, clique: Clique) -> NDArray[np.float64]:
        """Return the cells of a region's table summed onto a clique (in the domain's order), counts."""
        scope = self.marginals.cliques[region]
        table = self.marginals.table(region)
        return table if scope == clique else self.summed(table, scope, clique)

    def summed(self, table: NDArray[np.float64], scope: Clique, clique: Clique) -> NDArray[np.float64]:
        """Return the cells of a table over one clique summed onto part of the clique, both in the domain's order."""
        kept = [1 if a in clique else 0 for a in scope]
        return _core.reduce_sum(table, list(self.domain.sizes(scope)), kept, 1)

    def intersections(self, clique: Clique) -> list[Clique]:
        """Return the maximal distinct, non-empty intersections of regions with a clique, in the domain's order."""
        attributes, shared = self.domain.canonical(clique), defaultdict[int, int](int)
        for k, attribute in enumerate(attributes):
            for rank in self._with[attribute]:
                shared[rank] |= 1 << k
        masks: list[int] = []
        for bits in sorted(set(shared.values()), key=int.bit_count, reverse=True):
            if all(bits & ~other for other in masks):
                masks.append(bits)
        # In the order of attributes, of which the first is the lowest bit.
        parts = sorted([k for k in range(len(attributes)) if bits >> k & 1] for bits in masks)
        return [tuple([attributes[k] for k in part]) for part in parts]


class Cliques:
    """Cliques indexed by attribute: those that share one are found without a look at the others."""

    def __init__(self, cliques: Iterable[Clique] = ()) -> None:
        self._all: list[frozenset[str]] = []
        self._with: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
        for clique in cliques:
            self.add(clique)

    def add(self, clique: Clique) -> None:
        """Add a clique."""
        attributes = frozenset(clique)
        self._all.append(attributes)
        for attribute in clique:
            self._with[attribute].append(attributes)

    def holds(self, clique: Clique) -> bool:
        """Return whether some clique has all attributes of this one."""
        near = min((self._with[a] for a in clique), key=len, default=self._all)
        return any(other.issuperset(clique) for other in near)

    def shared(self, clique: Clique) -> set[Clique]:
        """Return the non-empty intersections of cliques with this one, in its order."""
        near = {id(other): other for a in clique for other in self._with[a]}
        return {tuple(a for a in clique if a in other) for other in near.values()}


def maximal(cliques: Iterable[Clique]) -> list[Clique]:
    """Return the distinct cliques that no other one holds, larger ones first, in their order."""
    distinct: dict[frozenset[str], Clique] = {}
    for clique in cliques:
        distinct.setdefault(frozenset(clique), clique)
    ordered = sorted(distinct.values(), key=len, reverse=True)
    most = sum(len(clique) == len(ordered[0]) for clique in ordered)  # none of these is larger than another
    largest = ordered[:most]
    kept = Cliques(largest if most < len(ordered) else ())
    for clique in ordered[most:]:
        if not kept.holds(clique):
            kept.add(clique)
            largest.append(clique)
    return largest
