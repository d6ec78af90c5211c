"""Junction trees as networkx graphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import pypgm
from pypgm.compat.mbi._engine import Bridge
from pypgm.compat.mbi.domain import Attribute, Clique, Domain, as_clique

if TYPE_CHECKING:
    import networkx


def make_junction_tree(
    domain: Domain, cliques: Iterable[object], elimination_order: Sequence[Attribute] | int | None = None
) -> tuple[networkx.Graph[Clique], list[Attribute]]:
    """Return a junction tree over cliques in the domain's order, and its elimination order.

    Every attribute is in some clique. The engine finds the order; a number of trials, as mbi takes it, is not needed.
    """
    import networkx

    graph: networkx.Graph[Clique] = networkx.Graph()
    if not len(domain):
        return graph, []
    tree = _tree(domain, cliques, None if isinstance(elimination_order, int) else elimination_order)
    back = Bridge.of(domain).attributes
    nodes = [domain.canonical(back[name] for name in node.clique) for node in tree.nodes]
    graph.add_nodes_from(nodes)
    graph.add_edges_from(
        (nodes[n.parent], members) for n, members in zip(tree.nodes, nodes, strict=True) if n.separator
    )
    return graph, [back[name] for name in tree.order]


def _tree(domain: Domain, cliques: Iterable[object], order: Sequence[Attribute] | None = None) -> pypgm.JunctionTree:
    bridge = Bridge.of(domain)
    scopes = [bridge.clique(c) for c in map(as_clique, cliques) if c]
    names = None if order is None else [bridge.names[a] for a in order]
    return pypgm.JunctionTree(bridge.engine, scopes, order=names, max_bytes=np.inf)


def maximal_cliques(junction_tree: networkx.Graph[Clique]) -> list[Clique]:
    """Return the nodes, depth first."""
    import networkx

    return list(networkx.dfs_preorder_nodes(junction_tree))


def message_passing_order(junction_tree: networkx.Graph[Clique]) -> list[tuple[Clique, Clique]]:
    """Return all messages, each after the messages that it depends on."""
    import networkx

    downward = list(networkx.dfs_edges(junction_tree))
    return [(b, a) for a, b in reversed(downward)] + downward


def greedy_order(
    domain: Domain, cliques: Iterable[object], stochastic: bool = False, elim: Iterable[Attribute] | None = None
) -> tuple[list[Attribute], int]:
    """Return a greedy elimination order, cheapest attribute next, and its number of cells."""
    scopes = {frozenset(as_clique(c)) for c in cliques}
    left, order, cells = list(domain.attributes if elim is None else elim), [], 0
    while left:
        merged = {a: frozenset({a}).union(*(s for s in scopes if a in s)) for a in left}
        costs = np.array([float(domain.size(tuple(merged[a]))) for a in left])
        if stochastic:
            chances = costs.max() - costs + 1
            chosen = left[int(np.random.choice(len(left), p=chances / chances.sum()))]  # noqa: NPY002
        else:
            chosen = left[int(costs.argmin())]
        scopes = {s for s in scopes if chosen not in s} | {merged[chosen] - {chosen}}
        cells += domain.size(tuple(merged[chosen]))
        order.append(chosen)
        left.remove(chosen)
    return order, cells


def hypothetical_model_size(domain: Domain, cliques: Iterable[object]) -> float:
    """Return the MB of the tables of a tree for cliques, even if no machine could hold it."""
    scopes = [as_clique(c) for c in cliques]
    try:
        cells = _tree(domain, scopes).cost.cells if len(domain) else 0.0
    except pypgm.ModelTooLargeError:
        cells = float(greedy_order(domain, scopes)[1])
    return cells * 8 / 2**20


class JunctionTree:
    """A junction tree, as mbi had it before 1.0."""

    def __init__(self, domain: Domain, cliques: Iterable[object], elimination_order: Any = None) -> None:
        self.domain, self.cliques = domain, [as_clique(c) for c in cliques]
        self.tree, self.elimination_order = make_junction_tree(domain, self.cliques, elimination_order)

    def maximal_cliques(self) -> list[Clique]:
        """Return the nodes, depth first."""
        return maximal_cliques(self.tree)

    def mp_order(self) -> list[tuple[Clique, Clique]]:
        """Return all messages, each after the messages that it depends on."""
        return message_passing_order(self.tree)

    def separator_axes(self) -> dict[tuple[Clique, Clique], Clique]:
        """Return the attributes that each message is about."""
        return {(a, b): tuple(sorted({*a} & {*b})) for a, b in self.mp_order()}

    def neighbors(self) -> dict[Clique, set[Clique]]:
        """Return the nodes next to each."""
        return {node: set(self.tree.neighbors(node)) for node in self.tree}
