"""The regions of cliques, closed under intersection, and the edges between them that suffice."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set

import numpy as np
from numpy.typing import NDArray

Indices = tuple[int, ...]
Edge = tuple[int, int]

_NARROW = 8  # attributes of a region whose subsets are listed; wider ones are compared with all others
_WORD = 64


def saturate(cliques: Iterable[Indices], max_regions: int) -> tuple[list[Indices], list[Edge]]:
    """Return the closure of cliques under intersection, with the edges of its covering relation.

    Parameters
    ----------
    cliques : iterable of tuple of int
        Ascending attribute indices; empty cliques add nothing.
    max_regions : int
        If there are more regions, they come without edges, and perhaps not all.

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
    if not wide:
        return closed
    masks = set(map(_mask, closed))
    for clique in map(_mask, wide):
        if len(masks) <= max_regions:
            masks |= {clique, *map(clique.__and__, masks)}
    return {_members(mask) for mask in masks if mask}


def _mask(region: Indices) -> int:
    """Return attributes as bits."""
    return sum(1 << i for i in region)


def _members(mask: int) -> Indices:
    positions = []
    while mask:
        last = mask & -mask
        positions.append(last.bit_length() - 1)
        mask ^= last
    return tuple(positions)


def _covering_edges(regions: Sequence[Indices]) -> list[Edge]:
    position = {r: i for i, r in enumerate(regions)}
    bits = _as_bits(regions) if any(len(r) > _NARROW for r in regions) else np.empty((0, 0), np.uint64)
    edges: list[Edge] = []
    for parent, region in enumerate(regions):
        if len(region) <= _NARROW:
            children = sorted([position[r] for r in _maximal_parts(region, position.keys())])
        else:
            children = _largest_inside(bits, parent)
        edges += [(parent, child) for child in children]
    return edges


def _as_bits(regions: Sequence[Indices]) -> NDArray[np.uint64]:
    """Return regions as bits, shape (words, regions)."""
    bits = np.zeros((max(r[-1] for r in regions) // _WORD + 1, len(regions)), dtype=np.uint64)
    for i, region in enumerate(regions):
        for a in region:
            bits[a // _WORD, i] |= np.uint64(1 << a % _WORD)
    return bits


def _largest_inside(bits: NDArray[np.uint64], region: int) -> list[int]:
    """Return the regions after one that lie inside it, each in no other that does; larger ones come first."""
    left = region + 1 + np.flatnonzero(~(bits[:, region + 1 :] & ~bits[:, region, None]).any(axis=0))
    largest_ones = []
    while left.size:
        largest = int(left[0])
        largest_ones.append(largest)
        left = left[(bits[:, left] & ~bits[:, largest, None]).any(axis=0)]
    return largest_ones


def _maximal_parts(region: Indices, regions: Set[Indices]) -> list[Indices]:
    """Return the maximal regions that lie inside one, of a set of regions."""
    maximal: list[Indices] = []
    covered: set[Indices] = set()
    for size in range(len(region) - 1, 0, -1):
        parts = set(itertools.combinations(region, size)) - covered
        present = parts & regions
        maximal += present
        if len(present) == len(parts):  # all smaller ones lie inside these
            break
        covered.update(_parts(*present))
    return maximal


def _parts(*regions: Indices) -> Iterator[Indices]:
    """Return the subsets of each region, without the empty one."""
    sizes = range(1, 1 + max(map(len, regions), default=0))
    return itertools.chain.from_iterable(itertools.combinations(r, k) for k in sizes for r in regions)


def minimal_edges(sizes: Sequence[int], regions: Sequence[Indices], edges: Iterable[Edge]) -> list[Edge]:
    """Return the edges without those that add no constraint: the local polytope stays the same.

    Among the parents of a region that are connected through common ancestors, only the one with the smallest table is
    kept.
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
