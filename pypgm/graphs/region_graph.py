"""Region graphs: which marginals must agree, where all of them together have no tractable joint distribution."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm._base.constraints import AtLeast
from pypgm._base.html import Shown
from pypgm._base.memory import check_fits, check_sizes, short
from pypgm._base.signatures import checked
from pypgm.domain import Clique, Domain, check_domain, listed
from pypgm.errors import ModelTooLargeError
from pypgm.graphs.counting_numbers import CountingNumbers, counting_numbers
from pypgm.graphs.junction_tree import JunctionTree

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes


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
        If there are more regions than this, they are returned without edges, and perhaps not all of them.

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
    """Return the edges except the edges that add no constraint: the local polytope stays the same.

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


Cliques = Sequence[str | Iterable[str]]
_MAX_REGIONS = 1_000_000
_TABLES = 7  # numbers held for each region cell while an estimate runs
_MESSAGES = 2  # and for each message cell


class RegionGraph(Shown):
    """Regions, and edges from a region to smaller ones inside it whose marginals it has to agree with.

    Made by `saturated`, `factor_graph`, `junction_tree` or `from_edges`. The same input gives the same graph, regions
    and edges in the same order, in any process.

    Attributes
    ----------
    domain : Domain
        All attributes; those in no region are in no constraint.
    cliques : tuple of cliques
        The cliques the graph was made for, distinct, in the order given; a region holds each.
    regions : tuple of cliques
        Largest regions first; those of equal size by their position in the domain.
    edges : tuple of (int, int)
        Positions of parent and child in `regions`; the child is a proper part of the parent.
    plan
        The graph compiled for sweeps.

    Examples
    --------
    >>> domain = Domain({"a": 2, "b": 3, "c": 4, "d": 5})
    >>> graph = RegionGraph.saturated(domain, [("a", "b", "c"), ("b", "c", "d"), ("a", "d")])
    >>> graph.regions
    (('a', 'b', 'c'), ('b', 'c', 'd'), ('a', 'd'), ('b', 'c'), ('a',), ('d',))
    >>> graph.edges
    ((0, 3), (0, 4), (1, 3), (1, 5), (2, 4), (2, 5))
    """

    __slots__ = ("_position", "cliques", "domain", "edges", "plan", "regions")

    domain: Domain
    cliques: tuple[Clique, ...]
    regions: tuple[Clique, ...]
    edges: tuple[Edge, ...]

    def __init__(
        self,
        domain: Domain,
        cliques: Iterable[Indices],
        regions: Sequence[Indices],
        edges: Sequence[Edge],
        *,
        max_bytes: float | None = None,
    ) -> None:
        check_sizes(domain)
        self.domain = domain
        self.cliques = tuple(map(domain.names, cliques))
        self.regions = tuple(map(domain.names, regions))
        self.edges = tuple(edges)
        self._position = {r: i for i, r in enumerate(self.regions)}
        self.plan = _core.RegionGraph(domain.shape, regions, edges)
        needed = 8 * (_TABLES * self.plan.cells + _MESSAGES * self.plan.message_cells)
        check_fits(needed, max_bytes, self._size_in_words, way_out="fewer or smaller cliques, or max_bytes")

    def _size_in_words(self) -> str:
        largest = max(self.regions, key=self.domain.size)
        return (
            f"{len(self.regions)} regions have {short(self.plan.cells)} cells and {len(self.edges)} edges "
            f"{short(self.plan.message_cells)}; the largest region ({listed(largest)}) has "
            f"{short(self.domain.size(largest))} cells"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        indices = self.domain.indices
        return RegionGraph, (self.domain, [*map(indices, self.cliques)], [*map(indices, self.regions)], self.edges)

    @classmethod
    @checked()
    def saturated(
        cls,
        domain: Domain,
        cliques: Cliques,
        *,
        extra: Cliques = (),
        minimal: bool = False,
        max_regions: Annotated[int, AtLeast(1)] = _MAX_REGIONS,
        max_bytes: float | None = None,
    ) -> RegionGraph:
        """Return the closure of cliques under intersection, with the edges of its covering relation.

        Every agreement between two cliques that local constraints can require is required.

        Parameters
        ----------
        domain : Domain
            All attributes.
        cliques : sequence of cliques
            The measured cliques; they may repeat and nest. Empty ones add nothing.
        extra : sequence of cliques
            Further regions that no measurement needs: an over-saturated graph is tighter, and slower.
        minimal : bool
            Leave out edges that add no constraint: less memory, but about twice as many sweeps.
        max_regions : int
            More regions than this are refused.
        max_bytes : float, optional
            Memory an estimate on the graph may take; half of the available memory by default.

        Raises
        ------
        ModelTooLargeError
            If there are too many regions, or their tables do not fit.
        ValueError
            If a clique does not fit the domain, or none has an attribute.

        References
        ----------
        Koller, Friedman: Probabilistic Graphical Models, 2009, Algorithm 11.3.
        """
        given = _checked(domain, cliques)
        scopes = {*given, *_checked(domain, extra, least=0)}
        regions, edges = saturate(scopes, max_regions)
        if len(regions) > max_regions:
            raise ModelTooLargeError(
                f"{len(scopes)} cliques need more than {max_regions} regions: "
                "pass max_regions, fewer cliques, or RegionGraph.factor_graph"
            )
        if minimal:
            edges = minimal_edges(domain.shape, regions, edges)
        return cls(domain, given, regions, edges, max_bytes=max_bytes)

    @classmethod
    def factor_graph(cls, domain: Domain, cliques: Cliques, *, max_bytes: float | None = None) -> RegionGraph:
        """Return the graph of the cliques and their single attributes: cliques agree only on one-way marginals."""
        given = _checked(domain, cliques)
        scopes = {c for c in given if c}
        pairs = [(scope, (i,)) for scope in scopes if len(scope) > 1 for i in scope]
        return cls(domain, given, *_ordered(scopes, pairs), max_bytes=max_bytes)

    @classmethod
    def junction_tree(cls, domain: Domain, cliques: Cliques, *, max_bytes: float | None = None) -> RegionGraph:
        """Return the cliques and separators of a junction tree: its local constraints make all marginals exact."""
        given = _checked(domain, cliques)
        tree = JunctionTree(domain, [domain.names(c) for c in given], max_bytes=max_bytes)
        scopes = [domain.indices(node.clique) for node in tree.nodes]
        pairs = [(s, domain.indices(n.separator)) for s, n in zip(scopes, tree.nodes, strict=True) if n.separator]
        pairs += [(scopes[n.parent], domain.indices(n.separator)) for n in tree.nodes if n.separator]
        return cls(domain, given, *_ordered(scopes, pairs), max_bytes=max_bytes)

    @classmethod
    def from_edges(
        cls,
        domain: Domain,
        regions: Cliques,
        edges: Iterable[tuple[str | Iterable[str], str | Iterable[str]]],
        *,
        cliques: Cliques | None = None,
        max_bytes: float | None = None,
    ) -> RegionGraph:
        """Return the graph of given regions and edges.

        Parameters
        ----------
        domain : Domain
            All attributes.
        regions : sequence of cliques
            The regions; those that edges name are added.
        edges : iterable of (clique, clique)
            Parent and child, the child a proper part of the parent.
        cliques : sequence of cliques, optional
            The cliques a region has to hold; the regions themselves by default.

        Raises
        ------
        ValueError
            If a child is not inside its parent, edges form a cycle, or no region holds a clique; by name.
        ModelTooLargeError
            If the tables do not fit.
        """
        pairs = [(domain.canonical(p), domain.canonical(c)) for p, c in edges]
        _check_edges(pairs)
        links = [(domain.indices(p), domain.indices(c)) for p, c in pairs]
        named = list(dict.fromkeys(itertools.chain(_checked(domain, regions, least=0), *links)))
        if not any(named):
            raise ValueError("a region graph needs a region with an attribute")
        given = named if cliques is None else _checked(domain, cliques)
        graph = cls(domain, given, *_ordered(filter(None, named), [k for k in links if k[1]]), max_bytes=max_bytes)
        for clique in graph.cliques:
            graph.region_of(clique)
        return graph

    def region_of(self, clique: str | Iterable[str]) -> int:
        """Return the position of the smallest region that holds a clique; ``ValueError`` if none does."""
        wanted = self.domain.canonical(clique)
        if wanted in self._position:
            return self._position[wanted]
        held = set(wanted)
        holders = [(self.domain.size(r), i) for i, r in enumerate(self.regions) if held <= set(r)]
        if not holders:
            raise ValueError(f"no region holds clique {wanted}; the regions are {listed(self.regions, 4)}")
        return min(holders)[1]

    def __contains__(self, clique: object) -> bool:
        return clique in self._position

    @property
    def cells(self) -> int:
        """Cells of the tables of all regions."""
        return int(self.plan.cells)

    @property
    def bytes(self) -> int:
        """Bytes of the tables of all regions; an estimate holds about seven such sets at once."""
        return 8 * self.cells

    def counting_numbers(self, kind: CountingNumbers) -> NDArray[np.float64]:
        """Return the counting number of each region, the weight of its entropy, shape (regions,).

        "ones" counts each once; "bethe" and "tree_reweighted" come closer to the joint entropy, are not all positive,
        and are exact on a junction tree. `convex_gbp` takes each of them by name.
        """
        return counting_numbers(self.regions, self.edges, kind)

    def to_networkx(self) -> networkx.DiGraph[Clique]:
        """Return the graph: nodes are regions with their ``cells``, edges go from parent to child."""
        import networkx

        graph: networkx.DiGraph[Clique] = networkx.DiGraph()
        graph.add_nodes_from((r, {"cells": self.domain.size(r)}) for r in self.regions)
        graph.add_edges_from((self.regions[p], self.regions[c]) for p, c in self.edges)
        return graph

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the regions with the cells of their tables, each region above the regions that it holds.

        Raises
        ------
        ImportError
            If matplotlib, the extra ``plot``, is not installed.
        """
        from pypgm.graphs.pictures import draw_graph, names_and_cells

        texts = [names_and_cells(r, self.domain.size(r)) for r in self.regions]
        return draw_graph(texts, self.edges, ax, arrows=False)

    def __str__(self) -> str:
        widths = [f"{len(list(g))} of {w}" for w, g in itertools.groupby(self.regions, len)]
        return (
            f"RegionGraph of {len(self.regions)} regions over {len(self.domain)} attributes\n"
            f"  attributes  {', '.join(widths)}\n"
            f"  edges       {len(self.edges)}\n"
            f"  cells       {self.cells:.4g}\n"
            f"  messages    {self.plan.message_cells:.4g} cells\n"
            f"  tables      {self.bytes / 2**20:.4g} MiB"
        )

    def __repr__(self) -> str:
        return f"RegionGraph({len(self.regions)} regions, {len(self.edges)} edges, {self.cells:.4g} cells)"


def _checked(domain: Domain, cliques: Cliques, least: int = 1) -> list[Indices]:
    """Return distinct cliques, ascending; ``ValueError`` unless one of them has an attribute."""
    check_domain(domain)
    given = list(dict.fromkeys([tuple(sorted(domain.indices(c))) for c in cliques]))
    if sum(map(bool, given)) < least:
        raise ValueError(f"a region graph needs a clique with an attribute, got {listed(given)}")
    return given


def _ordered(scopes: Iterable[Indices], links: Sequence[tuple[Indices, Indices]]) -> tuple[list[Indices], list[Edge]]:
    """Return the regions in their order, and the edges between parents and children."""
    regions = sorted({*scopes, *itertools.chain(*links)}, key=lambda r: (-len(r), r))
    position = {r: i for i, r in enumerate(regions)}
    return regions, sorted({(position[p], position[c]) for p, c in links})


def _check_edges(pairs: Sequence[tuple[Clique, Clique]]) -> None:
    bad = next(((p, c) for p, c in pairs if not set(c) < set(p)), None)
    if bad is None:
        return
    import networkx

    try:
        cycle = networkx.find_cycle(networkx.DiGraph(pairs))
    except networkx.NetworkXNoCycle:
        raise ValueError(f"a child must lie inside its parent: {bad[1]} is not a proper part of {bad[0]}") from None
    raise ValueError(f"the edges {' -> '.join(str(p) for p, _ in cycle)} -> {cycle[-1][1]} form a cycle")
