"""Marginals of any clique from the calibrated tables of a junction tree."""

from __future__ import annotations

from collections.abc import Sequence

from pypgm.domain import Clique, Domain
from pypgm.factor import Factor
from pypgm.graphs.junction_tree import TreeNode
from pypgm.inference.variable_elimination import eliminate

__all__ = ["project_tables"]


def project_tables(
    domain: Domain,
    nodes: Sequence[TreeNode],
    tables: Sequence[Factor],
    clique: Clique,
    max_bytes: float | None = None,
) -> Factor:
    """Return the marginal of any clique, given the marginals of a junction tree's cliques.

    Only the part of the tree between the clique's attributes is touched: its root's table times, for each other
    node, table / separator, everything else summed out.

    Parameters
    ----------
    domain : Domain
        All attributes.
    nodes : sequence of TreeNode
        The tree, parents before children; each attribute is in one of them at least.
    tables : sequence of Factor
        Their marginals, counts.
    clique : tuple of str
        The attributes asked for, in any order.
    max_bytes : float, optional
        Memory an intermediate table may take.

    Returns
    -------
    Factor
        The marginal, in counts, axes in the order asked.
    """
    wanted = set(clique)
    holders = [(tables[i].domain.size(), i) for i, node in enumerate(nodes) if wanted <= set(node.clique)]
    if holders:
        return tables[min(holders)[1]].project(clique)
    needed = _needed(nodes, _between(nodes, wanted), wanted)
    factors = []
    for i, kept in needed.items():
        table = tables[i].project(domain.canonical(kept))
        if nodes[i].parent in needed:
            table = table / table.project(nodes[i].separator).expand(table.domain)
        factors.append(table.log())
    return eliminate(domain, factors, domain.canonical(clique), max_bytes).exp().transpose(clique)


def _between(nodes: Sequence[TreeNode], wanted: set[str]) -> list[int]:
    """Return the smallest subtree that holds all wanted attributes, in ascending order."""
    part = set(range(len(nodes)))
    children: list[set[int]] = [set() for _ in nodes]
    for i, node in enumerate(nodes):
        if node.parent >= 0:
            children[node.parent].add(i)
    # Leaves first: a leaf goes if its parent has all that is wanted of it.
    for i in reversed(range(1, len(nodes))):
        if not children[i] and wanted & set(nodes[i].clique) <= set(nodes[i].separator):
            part.remove(i)
            children[nodes[i].parent].remove(i)
    root = 0
    while len(children[root]) == 1:
        (child,) = children[root]
        if not wanted & set(nodes[root].clique) <= set(nodes[child].separator):
            break
        part.remove(root)
        root = child
    return sorted(part)


def _needed(nodes: Sequence[TreeNode], part: Sequence[int], wanted: set[str]) -> dict[int, set[str]]:
    """Return what must stay of each node's attributes: those asked for and those its neighbours share."""
    needed = {i: wanted & set(nodes[i].clique) for i in part}
    for i in part:
        if nodes[i].parent in needed:
            needed[i] |= set(nodes[i].separator)
            needed[nodes[i].parent] |= set(nodes[i].separator)
    return needed
