"""Where cliques and the queries on them lie among tables that hold them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from pypgm.domain import Clique, Domain, as_clique, listed
from pypgm.factor import Factor
from pypgm.queries.folded import folded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.queries import LinearQuery

__all__ = ["Tables", "cells_of"]


class Tables:
    """Tables over cliques, one behind the other in a flat vector, each in the domain's order.

    Parameters
    ----------
    domain : Domain
        All attributes.
    cliques : iterable of cliques
        Those of the tables.

    Attributes
    ----------
    size : int
        Cells of all tables.
    """

    def __init__(self, domain: Domain, cliques: Iterable[str | Iterable[str]]) -> None:
        self.domain = domain
        self.cliques = tuple(domain.canonical(c) for c in cliques)
        self._begins = [0, *itertools.accumulate(map(domain.size, self.cliques))]
        self._first = {clique: i for i, clique in reversed(list(enumerate(self.cliques)))}
        self.size = self._begins[-1]

    def home(self, clique: str | Iterable[str]) -> int:
        """Return the position of the first smallest table that holds a clique; ``ValueError`` if none does."""
        own = self.domain.canonical(clique)
        if own not in self._first:
            holders = [(self.domain.size(c), i) for i, c in enumerate(self.cliques) if set(own) <= set(c)]
            if not holders:
                raise ValueError(f"no table holds clique {own}; the tables are over {listed(self.cliques, 4)}")
            self._first[own] = min(holders)[1]
        return self._first[own]

    def query(self, m: LinearMeasurement) -> tuple[slice, LinearQuery]:
        """Return where the `home` of a measured clique stands in the vector, and the query on its cells."""
        home = self.home(m.clique)
        query = m.linear_map
        if m.clique != self.cliques[home]:
            query = folded(query, cells_of(self.domain, m.clique, self.cliques[home]))
        return slice(*self._begins[home : home + 2]), query


def cells_of(domain: Domain, clique: str | Iterable[str], table: Clique) -> NDArray[np.int64]:
    """Return, for each cell of a table, the cell of a clique that holds it; axes of both are as written.

    Examples
    --------
    >>> cells_of(Domain({"a": 2, "b": 2}), ("b", "a"), ("a", "b")).tolist()
    [0, 2, 1, 3]
    """
    own = domain.project(as_clique(clique))
    return Factor(own, np.arange(own.size())).expand(domain.project(table)).datavector().astype(np.int64)
