"""Sets of cliques."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from pypgm.compat.mbi.domain import Attribute, Clique, Domain, as_clique


class Cliques(tuple[Clique, ...]):
    """A tuple of cliques; beside a list it is a list, as the older releases had it."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        return super().__eq__(tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __add__(self, other: object) -> object:  # type: ignore[override]
        return [*self, *other] if isinstance(other, list) else Cliques((*self, *other))  # type: ignore[misc]

    def __radd__(self, other: list[Clique]) -> list[Clique]:
        return [*other, *self]


def powerset(iterable: Iterable[Attribute]) -> Iterator[Clique]:
    """Yield all subsets of attributes, small ones first."""
    names = tuple(iterable)
    return itertools.chain.from_iterable(itertools.combinations(names, k) for k in range(len(names) + 1))


def downward_closure(cliques: Iterable[Iterable[Attribute]], include_empty: bool = False) -> list[Clique]:
    """Return all subsets of cliques, sorted by length and then by name."""
    parts = {part for clique in cliques for part in powerset(as_clique(clique))}
    return sorted((part for part in parts if part or include_empty), key=lambda part: (len(part), part))


def maximal_subset(cliques: Iterable[Iterable[Attribute]]) -> list[Clique]:
    """Return the cliques within no other, long ones first; the first of several over the same attributes."""
    maximal: list[Clique] = []
    holding: dict[Attribute, list[set[Attribute]]] = {}
    for clique in sorted(map(as_clique, cliques), key=len, reverse=True):
        members = set(clique)
        near = holding.get(clique[0], []) if clique else [set[Attribute]()] * bool(maximal)
        if not any(members <= held for held in near):
            maximal.append(clique)
            for attribute in members:
                holding.setdefault(attribute, []).append(members)
    return maximal


def clique_mapping(
    maximal_cliques: Sequence[Clique], all_cliques: Iterable[Clique], domain: Domain | None = None
) -> dict[Clique, Clique]:
    """Return the smallest maximal clique that holds each clique; cliques within none are left out."""

    def size(clique: Clique) -> int:
        return len(clique) if domain is None else domain.size(clique)

    homes = {}
    for clique in all_cliques:
        holding = [held for held in maximal_cliques if set(clique) <= set(held)]
        if holding:
            homes[clique] = min(holding, key=size)
    return homes


def reverse_clique_mapping(
    maximal_cliques: Sequence[Clique], all_cliques: Iterable[Clique], domain: Domain | None = None
) -> dict[Clique, list[Clique]]:
    """Return the cliques that `clique_mapping` sends to each maximal clique."""
    mapping: dict[Clique, list[Clique]] = {held: [] for held in maximal_cliques}
    for clique, home in clique_mapping(maximal_cliques, all_cliques, domain).items():
        mapping[home].append(clique)
    return mapping
