"""The regions of cliques, closed under intersection, and the edges between them that suffice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

__all__ = ["Edge", "Indices", "minimal_edges", "saturate"]

Indices = tuple[int, ...]
Edge = tuple[int, int]

_NARROW = 8  # attributes of a region whose subsets are listed; wider ones are compared with all others


def saturate(cliques: Iterable[Indices], max_regions: int) -> tuple[list[Indices], list[Edge]]:
    """Return the closure of cliques under intersection, with the edges of its covering relation.

    Parameters
    ----------
    cliques : iterable of tuple of int
        Ascending attribute indices; empty cliques add nothing.
    max_regions : int
        Where there are more regions they come without edges, and perhaps not all.

    Returns
    -------
    regions : list of tuple of int
        More attributes first, those with as many in ascending order.
    edges : list of (int, int)
        Positions of parent and child, ascending: the parent contains the child, and no region lies between them.
    """
    regions = sorted(sorted(_closure({c for c in cliques if c}, max_regions)), key=len, reverse=True)
    return regions, _covering_edges(regions) if len(regions) <= max_regions else []


def _closure(cliques: set[Indices], max_regions: int) -> set[Indices]:
    # A part of a narrow clique is in the closure if it is all that the narrow cliques around it have in common.
    common: dict[Indices, frozenset[int]] = {}
    for clique in cliques:
        if len(clique) <= _NARROW:
            whole = frozenset(clique)
            for part in _parts(clique, len(clique)):
                common[part] = common[part] & whole if part in common else whole
    closed = {part for part, shared in common.items() if len(part) == len(shared)}
    for clique in cliques:
        if len(clique) > _NARROW and len(closed) <= max_regions:
            inside = set(clique).__contains__
            closed |= {clique, *(tuple(filter(inside, region)) for region in closed)} - {()}
    return closed


def _covering_edges(regions: Sequence[Indices]) -> list[Edge]:
    position = {r: i for i, r in enumerate(regions)}
    below: list[tuple[int, ...]] = [()] * len(regions)
    edges: list[Edge] = []
    for parent in range(len(regions) - 1, -1, -1):
        region = regions[parent]
        narrow = len(region) <= _NARROW
        parts = _parts(region, len(region) - 1) if narrow else filter(set(region).issuperset, regions[parent + 1 :])
        inside = [position[part] for part in parts if part in position]  # larger ones first
        covered: set[int] = set()
        for child in inside:
            if child not in covered:
                edges.append((parent, child))
                covered.update(below[child])
        below[parent] = tuple(inside)
    return sorted(edges)


def _parts(region: Indices, largest: int) -> list[Indices]:
    """Return the subsets of a region with at most so many attributes, larger ones first."""
    return [part for size in range(largest, 0, -1) for part in itertools.combinations(region, size)]


def minimal_edges(sizes: Sequence[int], regions: Sequence[Indices], edges: Iterable[Edge]) -> list[Edge]:
    """Return the edges without those that add no constraint: the local polytope stays the same.

    Of the parents of a region that are connected through common ancestors only the one with the smallest table is kept.
    """
    parents: list[list[int]] = [[] for _ in regions]
    for parent, child in edges:
        parents[child].append(parent)
    cells = [math.prod([sizes[a] for a in region]) for region in regions]
    roots: list[set[int]] = []  # above each region, or the region itself
    kept: list[Edge] = []
    for child, above in enumerate(parents):
        roots.append({child} if not above else set().union(*[roots[p] for p in above]))
        groups: dict[int, set[int]] = {}  # the smallest of parents that are connected -> the roots above them
        for parent in sorted(above, key=cells.__getitem__):
            joined = [p for p, others in groups.items() if not others.isdisjoint(roots[parent])]
            together = roots[parent].union(*[groups[p] for p in joined])
            groups[joined[0] if joined else parent] = together
            for p in joined[1:]:
                del groups[p]
        kept += [(parent, child) for parent in groups]
    return sorted(kept)
