"""Marginals over cliques that no region of a region graph holds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm._base.clock import Clock
from pypgm.domain import Clique
from pypgm.graphs.region_graph import RegionGraph
from pypgm.inference._convex_gbp import convex_gbp
from pypgm.inference.bounded_tree import BoundedTree, mutual_information
from pypgm.inference.region_index import RegionIndex

if TYPE_CHECKING:
    import networkx


_CHUNK_CELLS = 2**24  # of the tables solved for at a time


@dataclass(frozen=True, slots=True, eq=False)
class LocalAnswer:
    """A table over a clique, and how well it agrees with the regions.

    Attributes
    ----------
    values : ndarray of float64, shape (cells,)
        Probabilities, C order over the clique in the domain's order.
    violation : float
        Mean over the maximal intersections of the L1 distance between the table's marginal and the region's, for a
        total of 1.
    gap : float
        Bound on half the sum of squared differences, less its least possible value.
    iterations : int
        Sweeps of proportional fitting and steps of descent.
    """

    values: NDArray[np.float64]
    violation: float
    gap: float
    iterations: int


def local_answers(
    index: RegionIndex,
    cliques: Sequence[Clique],
    clock: Clock,
    priors: Sequence[NDArray[np.float64]] | None = None,
    *,
    iterations: int = 400,
) -> list[LocalAnswer]:
    r"""Solve, for each clique r, a small problem over the distributions t on its cells.

    Minimises :math:`\frac12 \sum_{s \in T} \lVert P_s t - \tau_s \rVert^2`, T the maximal distinct intersections of r
    with the regions and :math:`\tau_s` the marginal of the smallest region that holds s. Among all minimisers it is
    the one closest to the prior in relative entropy; the one of largest entropy if the prior is uniform. Where one
    table has all the marginals it is found by proportional fitting, else by entropic mirror descent.

    Parameters
    ----------
    index : RegionIndex
        The pseudo-marginals.
    cliques : sequence of tuple of str
        Cliques, each in the domain's order.
    clock : Clock
        Shows the sweeps; once its time is over answers are the best so far.
    priors : sequence of ndarray, optional
        Non-negative table with any positive sum for each clique; uniform by default. Zeros stay zero.
    iterations : int
        Largest number of sweeps of fitting, and half the number of steps that fitting and descent together may take;
        tables of more than 10,000 cells take fewer, 25 and 50 from 160,000 on.

    Returns
    -------
    list of LocalAnswer
        Answers in the order of the cliques.

    References
    ----------
    McKenna, Pradhan, Sheldon, Miklau: Relaxed marginal consistency for differentially private query answering,
    NeurIPS 2021, Appendix B.3 (Problem 4).
    """
    known: dict[Clique, NDArray[np.float64]] = {}
    answers: list[LocalAnswer] = []
    batch: list[tuple[list[int], NDArray[np.float64], list[tuple[list[int], NDArray[np.float64]]]]] = []
    cells = 0

    def flush() -> None:
        def tick(sweeps: int) -> bool:
            return clock.tick(lambda: f"{len(answers)}/{len(cliques)} cliques, {sweeps} sweeps over {cells:.3g} cells")

        answers.extend(LocalAnswer(*solved) for solved in _core.solve_locally(batch, iterations, clock.n_threads, tick))
        batch.clear()

    for i, clique in enumerate(cliques):
        size = index.domain.size(clique)
        targets = []
        for part in index.intersections(clique):
            if part not in known:
                known[part] = np.ascontiguousarray(index.probabilities(part))
            targets.append(([1 if a in part else 0 for a in clique], known[part]))
        prior = np.full(size, 1 / size) if priors is None else priors[i]
        batch.append((list(index.domain.sizes(clique)), prior, targets))
        cells += size
        if cells >= _CHUNK_CELLS:
            flush()
            cells = 0
    flush()
    return answers


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
    """Return a graph with a clique as one more region, tied to its maximal intersections with regions."""
    edges = [(graph.regions[p], graph.regions[c]) for p, c in graph.edges]
    for part in index.intersections(clique):
        if part not in graph:
            edges.append((graph.regions[index.holders(part)[0]], part))
        edges.append((clique, part))
    return RegionGraph.from_edges(graph.domain, [*graph.regions, clique], edges)
