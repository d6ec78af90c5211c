"""The regions of cliques, closed under intersection, and the edges between them that suffice."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set

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
    wide = {c for c in cliques if len(c) > _NARROW}
    # A part of narrow cliques is in their closure unless it has a larger part around it that is in as many of them.
    around = Counter(_parts(*(cliques - wide)))
    closed = around.keys() - {
        p for part, n in around.items() for p in itertools.combinations(part, len(part) - 1) if around[p] == n
    }
    for clique in wide:
        if len(closed) <= max_regions:
            inside = set(clique).__contains__
            closed |= {clique, *(tuple(filter(inside, region)) for region in closed)} - {()}
    return closed


def _covering_edges(regions: Sequence[Indices]) -> list[Edge]:
    position = {r: i for i, r in enumerate(regions)}
    children: list[list[int]] = [[] for _ in regions]
    below = functools.cache(lambda p: frozenset(children[p]).union(*map(below, children[p])))
    for parent in range(len(regions) - 1, -1, -1):
        region = regions[parent]
        if len(region) <= _NARROW:
            children[parent] = sorted([position[r] for r in _maximal_parts(region, position.keys())])
            continue
        covered: set[int] = set()
        for child in map(position.__getitem__, filter(set(region).issuperset, regions[parent + 1 :])):
            if child not in covered:  # larger ones come first
                children[parent].append(child)
                covered |= below(child)
    return [(parent, child) for parent, own in enumerate(children) for child in own]


def _maximal_parts(region: Indices, regions: Set[Indices]) -> list[Indices]:
    """Return those of some regions that lie inside one, each in no other that does."""
    found: list[Indices] = []
    covered: set[Indices] = set()
    for size in range(len(region) - 1, 0, -1):
        parts = set(itertools.combinations(region, size)) - covered
        own = parts & regions
        found += own
        if len(own) == len(parts):  # all smaller ones lie inside these
            break
        covered.update(_parts(*own))
    return found


def _parts(*regions: Indices) -> Iterator[Indices]:
    """Return the subsets of each region, without the empty one."""
    sizes = range(1, 1 + max(map(len, regions), default=0))
    return itertools.chain.from_iterable(itertools.combinations(r, k) for k in sizes for r in regions)


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
