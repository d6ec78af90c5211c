"""Marginals over cliques that no region of a region graph holds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pypgm._base.clock import Clock
from pypgm.domain import Clique
from pypgm.graphs.region_graph import RegionGraph
from pypgm.inference._convex_gbp import convex_gbp
from pypgm.inference.bounded_tree import BoundedTree, mutual_information
from pypgm.inference.local_answers import LocalAnswer, local_answers
from pypgm.inference.region_index import RegionIndex

if TYPE_CHECKING:
    import networkx
    from numpy.typing import NDArray

_VIOLATED = 1e-6  # mean L1 distance, for a total of 1, at which zeros of a prior are doubted
_FLOOR = 1e-12
_SUBMODEL_CELLS = 1e5


def combined_answers(
    index: RegionIndex, tree: BoundedTree, cliques: Sequence[Clique], clock: Clock
) -> list[LocalAnswer]:
    """Answer from a bounded tree, corrected to violate the regions least: the nearest of all such tables.

    The tree carries dependence from region to region, the correction makes the answer agree with each region that
    shares attributes with it. Cliques stand in the domain's order.
    """
    priors = tree.marginals(cliques, n_threads=clock.n_threads)
    answers = local_answers(index, cliques, clock, priors)
    # A cell the tree rules out may be one that the regions need.
    doubted = [i for i, a in enumerate(answers) if a.violation > _VIOLATED and not priors[i].all()]
    if doubted and not clock.over:
        floored = [priors[i] + _FLOOR for i in doubted]
        again = local_answers(index, [cliques[i] for i in doubted], clock, floored)
        for i, answer in zip(doubted, again, strict=True):
            if answer.violation < answers[i].violation:
                answers[i] = answer
    return answers


def submodel_answers(index: RegionIndex, cliques: Sequence[Clique], clock: Clock) -> list[LocalAnswer]:
    """Answer each clique from the table of largest entropy over a few more attributes, given all regions say of it.

    The attributes added are those on the paths between the clique's attributes along which regions depend most, then
    the ones that depend most on these, while the table has at most 100,000 cells.
    """
    graph = _dependence(index)
    wider = [_widened(index, graph, c) for c in cliques]
    answers = local_answers(index, wider, clock)
    summed = []
    for clique, scope, answer in zip(cliques, wider, answers, strict=True):
        values = index.summed(answer.values, scope, clique)
        violation = violation_of(index, clique, values)
        summed.append(replace(answer, values=values, violation=violation))
    return summed


def violation_of(index: RegionIndex, clique: Clique, values: NDArray[np.float64]) -> float:
    """Return the mean L1 distance between a table's marginals and the regions', over the maximal intersections."""
    distances = []
    for part in index.intersections(clique):
        sums = index.summed(values, clique, part)
        distances.append(float(np.abs(sums - index.probabilities(part)).sum()))
    return float(np.mean(distances)) if distances else 0.0


def _dependence(index: RegionIndex) -> networkx.Graph[str]:
    """Return the graph of attributes that regions hold together: their mutual information, and the length it gives."""
    import networkx

    graph: networkx.Graph[str] = networkx.Graph()
    graph.add_nodes_from(index.domain.attributes)
    for a, b in dict.fromkeys(p for r in index.marginals.cliques for p in itertools.combinations(r, 2)):
        gain = max(float(mutual_information(index.probabilities((a, b)), index.domain.size(a))), 0.0)
        graph.add_edge(a, b, gain=gain, length=gain**-0.5 if gain > 0 else 1e9)
    return graph


def _widened(index: RegionIndex, graph: networkx.Graph[str], clique: Clique) -> Clique:
    import networkx

    domain = index.domain
    chosen = set(clique)
    cells = domain.size(clique)
    for a, b in itertools.combinations(clique, 2):
        path = networkx.shortest_path(graph, a, b, weight="length") if networkx.has_path(graph, a, b) else []
        new = [x for x in path if x not in chosen]
        size = domain.size(new)
        if cells * size <= _SUBMODEL_CELLS:
            chosen.update(new)
            cells *= size
    while True:
        ties = {
            x: sum(graph.edges[x, y]["gain"] for y in chosen if graph.has_edge(x, y))
            for x in domain.attributes
            if x not in chosen and cells * domain.size(x) <= _SUBMODEL_CELLS
        }
        best = max(ties, key=lambda x: ties[x], default=None)
        if best is None or ties[best] <= 0:
            return domain.canonical(chosen)
        chosen.add(best)
        cells *= domain.size(best)


def expanded_answers(
    graph: RegionGraph, index: RegionIndex, cliques: Sequence[Clique], clock: Clock, *, counting_number: float = 1e-2
) -> list[LocalAnswer]:
    """Answer each clique by convex belief propagation on the graph with the clique as one more region.

    The regions have the potentials log of their marginals, which give these back; the new ones have potential 0 and a
    small counting number, so that they hardly move the others. As it goes to 0 the answers become those of
    `local_answers`. Convergence is slow.
    """
    logs = (index.marginals / index.total).log()
    answers = []
    for clique in cliques:
        wider = with_region(graph, index, clique)
        result = convex_gbp(
            logs,
            wider,
            [1.0 if r in graph else counting_number for r in wider.regions],
            tolerance=1e-9,
            iterations=5000,
            callback=lambda sweep, distance: clock.tick(lambda: f"{sweep} sweeps, regions {distance:.2g} apart"),
            n_threads=clock.n_threads,
        )
        values = np.array(result.marginals[clique].datavector())
        answers.append(LocalAnswer(values, violation_of(index, clique, values), result.gap, result.iterations))
    return answers


def with_region(graph: RegionGraph, index: RegionIndex, clique: Clique) -> RegionGraph:
    """Return a graph with a clique as one more region, tied to what its maximal intersections with regions are."""
    edges = [(graph.regions[p], graph.regions[c]) for p, c in graph.edges]
    for part in index.intersections(clique):
        if part not in graph:
            edges.append((graph.regions[index.holders(part)[0]], part))
        edges.append((clique, part))
    return RegionGraph.from_edges(graph.domain, [*graph.regions, clique], edges)
