"""Which regions hold a clique, and what regions say about one that none holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from pypgm import _core
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Cliques", "RegionIndex", "maximal"]


class RegionIndex:
    """The pseudo-marginals of a region graph, found by clique.

    Parameters
    ----------
    marginals : CliqueVector
        One table a region, counts.
    total : float
        What each of them sums to.
    """

    def __init__(self, marginals: CliqueVector, total: float) -> None:
        self.domain = marginals.domain
        self.marginals = marginals
        self.total = total
        self._member = np.zeros((len(marginals.cliques), len(self.domain)), dtype=bool)
        for i, clique in enumerate(marginals.cliques):
            self._member[i, list(self.domain.indices(clique))] = True
        self._with = [np.flatnonzero(column) for column in self._member.T]  # regions, by attribute
        self._cells = np.array([self.domain.size(c) for c in marginals.cliques], dtype=float)

    def holders(self, clique: Clique) -> NDArray[np.intp]:
        """Return the positions of the regions that hold a clique, the smallest table first, ties in their order.

        Of tables of the same size that with fewer attributes comes first: others have one value.
        """
        found = self._holding(clique)
        return found[np.lexsort((self._member[found].sum(axis=1), self._cells[found]))]

    def holds(self, clique: Clique) -> bool:
        """Tell whether some region holds a clique."""
        return self._holding(clique).size > 0

    def _holding(self, clique: Clique) -> NDArray[np.intp]:
        """Return the positions of the regions that hold a clique, looked for among those of its rarest attribute."""
        own = self.domain.indices(clique)
        if not own:
            return np.arange(len(self._member))
        rarest = min((self._with[i] for i in own), key=len)
        return rarest[self._member[rarest[:, None], own].all(axis=1)]

    def probabilities(self, clique: Clique) -> NDArray[np.float64]:
        """Return the marginal of a clique (in the domain's order) in the smallest region that holds it, sum 1."""
        cells = self.project(int(self.holders(clique)[0]), clique)
        mass = cells.sum()
        return cells / mass if mass > 0 else np.full(cells.size, 1 / cells.size)

    def project(self, region: int, clique: Clique) -> NDArray[np.float64]:
        """Return the cells of a region's table summed onto a clique (in the domain's order), counts."""
        scope = self.marginals.cliques[region]
        table = self.marginals.table(region)
        return table if scope == clique else self.summed(table, scope, clique)

    def summed(self, table: NDArray[np.float64], scope: Clique, clique: Clique) -> NDArray[np.float64]:
        """Return the cells of a table over one clique summed onto a part of it, both in the domain's order."""
        kept = [1 if a in clique else 0 for a in scope]
        return _core.reduce_sum(table, list(self.domain.sizes(scope)), kept, 1)

    def intersections(self, clique: Clique) -> list[Clique]:
        """Return the maximal distinct, non-empty intersections of regions with a clique, in the domain's order."""
        attributes = self.domain.canonical(clique)
        own = list(self.domain.indices(attributes))
        near = np.unique(np.concatenate([np.empty(0, np.intp), *[self._with[i] for i in own]]))
        inside = self._member[near][:, own]
        distinct = np.unique(inside, axis=0)
        parts = [tuple(a for a, held in zip(attributes, row, strict=True) if held) for row in distinct]
        return sorted(maximal(p for p in parts if p), key=self.domain.indices)


class Cliques:
    """Cliques in which those that share an attribute are found without a look at the others."""

    def __init__(self, cliques: Iterable[Clique] = ()) -> None:
        self._all: list[frozenset[str]] = []
        self._with: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
        for clique in cliques:
            self.add(clique)

    def add(self, clique: Clique) -> None:
        """Take in one more."""
        attributes = frozenset(clique)
        self._all.append(attributes)
        for attribute in clique:
            self._with[attribute].append(attributes)

    def holds(self, clique: Clique) -> bool:
        """Tell whether some clique has all attributes of this one."""
        near = min((self._with[a] for a in clique), key=len, default=self._all)
        return any(other.issuperset(clique) for other in near)

    def shared(self, clique: Clique) -> set[Clique]:
        """Return what cliques have of this one, in its order, where they have anything of it."""
        near = {id(other): other for a in clique for other in self._with[a]}
        return {tuple(a for a in clique if a in other) for other in near.values()}


def maximal(cliques: Iterable[Clique]) -> list[Clique]:
    """Return the distinct cliques that no other one holds, larger ones first, in their order."""
    kept, found = Cliques(), []
    for clique in sorted(dict.fromkeys(cliques), key=len, reverse=True):
        if not kept.holds(clique):
            kept.add(clique)
            found.append(clique)
    return found
