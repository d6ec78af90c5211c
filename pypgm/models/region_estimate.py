"""Pseudo-marginals from noisy measurements: estimates over a region graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation.independence import independent_potentials
from pypgm.estimation.region_problem import RegionProblem
from pypgm.graphs.region_graph import RegionGraph

if TYPE_CHECKING:
    from pypgm.estimation.constraint import Masks
    from pypgm.estimation.loss import Loss
    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.models.model import GraphicalModel
    from pypgm.models.region_model import RegionGraphModel

__all__ = ["REGION_TOLERANCE", "RegionOracle", "region_problem"]

RegionOracle = Literal["region_graph", "factor_graph"] | RegionGraph

REGION_TOLERANCE = 1e-6  # of the loss, over 50 iterations
_LEAST = 1e-30  # of a probability of a model to start from: nothing is ruled out that it merely found very rare


def region_problem(
    domain: Domain,
    loss: Loss,
    measurements: Sequence[LinearMeasurement],
    total: float,
    oracle: RegionOracle,
    *,
    masks: Masks = (),
    prior: GraphicalModel | RegionGraphModel | CliqueVector | None = None,
    max_bytes: float | None = None,
) -> RegionProblem:
    """Return the problem of a loss over locally consistent marginals; see `pypgm.estimate`.

    Parameters
    ----------
    domain : Domain
        The attributes that inference runs on.
    loss : Loss
        Of the marginals, counts; convex.
    measurements : sequence of LinearMeasurement
        What suggests the independent model that the search starts from.
    total : float
        Number of records, counts.
    oracle : {"region_graph", "factor_graph"} or RegionGraph
        The graph, or how to make it from the cliques.
    masks : sequence of (clique, bool array)
        Structural zeros.
    prior : model, or CliqueVector of natural logs, optional
        Start from its marginals instead. Regions that none of its own hold start from what it answers for them if they
        are measured cliques, else from the product of its one-way marginals.
    max_bytes : float, optional
        Memory the tables may take.

    Raises
    ------
    ValueError
        If a graph is not over the domain, no region holds a clique, or the loss is not convex.
    ModelTooLargeError
        If the tables do not fit.
    """
    if not loss.convex:
        raise ValueError(
            f"an estimate over a region graph needs a convex loss, {loss!r} is not; oracle='exact' takes it"
        )
    scopes = (*loss.cliques, *(m.clique for m in measurements), *(clique for clique, _ in masks))
    graph = _graph(domain, list(dict.fromkeys(map(domain.canonical, scopes))), oracle, max_bytes)
    start = (
        prior
        if isinstance(prior, CliqueVector)
        else independent_potentials(domain, [(a,) for a in domain], measurements, total)
    )
    if prior is not None and not isinstance(prior, CliqueVector):
        start = _start(graph, prior, start)
    if masks:
        start = _ruled_out(graph, start, masks)
    return RegionProblem(loss=loss, total=total, start=start, graph=graph, counting_numbers=np.ones(len(graph.regions)))


def _ruled_out(graph: RegionGraph, start: CliqueVector, masks: Masks) -> CliqueVector:
    """Return the start with -inf in all cells that masks rule out, of every region that holds a mask's clique."""
    held = [r for r in graph.regions if any(set(c) <= set(r) for c, _ in masks)]
    wider = CliqueVector(graph.domain, list(dict.fromkeys([*start.cliques, *held])))
    for i, scope in enumerate(wider.cliques):
        for known in [scope] if scope in start else [(a,) for a in scope]:
            wider.add(i, known, start[known].datavector())
        for clique, mask in masks:
            if set(clique) <= set(scope):
                wider.add(i, clique, np.where(mask, 0.0, -np.inf))
    return wider


def _graph(domain: Domain, cliques: Sequence[Clique], oracle: RegionOracle, max_bytes: float | None) -> RegionGraph:
    if oracle == "region_graph":
        return RegionGraph.saturated(domain, cliques, max_bytes=max_bytes)
    if oracle == "factor_graph":
        return RegionGraph.factor_graph(domain, cliques, max_bytes=max_bytes)
    if isinstance(oracle, RegionGraph):
        if oracle.domain != domain:
            raise ValueError(f"the region graph is over {oracle.domain}, the estimate over {domain}")
        for clique in cliques:
            oracle.region_of(clique)
        return oracle
    raise ValueError(f"oracle must be 'exact', 'region_graph', 'factor_graph' or a RegionGraph, got {oracle!r}")


def _start(graph: RegionGraph, prior: GraphicalModel | RegionGraphModel, independent: CliqueVector) -> CliqueVector:
    """Return logs of a model's marginals of the regions, of single attributes for those it does not know."""
    domain = graph.domain
    if prior.folding.inner != domain:
        raise ValueError(f"a model to start from must be over {domain}, got one over {prior.folding.inner}")
    known = [frozenset(c) for c in prior.marginals.cliques]
    holders: dict[str, set[int]] = {a: set() for a in domain}
    for i, clique in enumerate(known):
        for attribute in clique:
            holders[attribute].add(i)
    tables = {}
    measured = set(graph.cliques)
    for region in graph.regions:
        held = set.intersection(*(holders[a] for a in region))
        if held or (region in measured and all(holders[a] for a in region)):
            tables[region] = _logarithms(prior, region)
    for attribute in domain:
        if (attribute,) not in tables:
            own = _logarithms(prior, (attribute,)) if holders[attribute] else independent[attribute].datavector()
            tables[attribute,] = own
    return CliqueVector(domain, list(tables), np.concatenate(list(tables.values())))


def _logarithms(
    prior: GraphicalModel | RegionGraphModel, clique: Clique
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.log(np.maximum(prior.project(clique).datavector() / prior.total, _LEAST))
