"""Pseudo-marginals from noisy measurements: estimates over a region graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_fits, short
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain, other_labels
from pypgm.estimation.constraint import Masks
from pypgm.estimation.region_problem import RegionProblem
from pypgm.graphs.region_graph import RegionGraph
from pypgm.inference._convex_gbp import checked_counting_numbers, counting_numbers_of
from pypgm.inference.region_index import RegionIndex
from pypgm.models.estimated_model import EstimatedModel
from pypgm.models.request import Request

RegionOracle = Literal["region_graph", "factor_graph"] | RegionGraph

REGION_TOLERANCE = 1e-6  # of the loss, over 50 iterations
_START_BYTES = 16  # a cell: the start, and the start after values are ruled out
_WAY_OUT = "fewer values, or max_bytes"
_LEAST_PROBABILITY = 1e-30  # in a model to start from: nothing is ruled out that it merely found very rare


def region_problem(request: Request, oracle: RegionOracle) -> RegionProblem:
    """Return the problem of a loss over locally consistent marginals; see `pypgm.estimate`.

    The search starts from the independent model, by mirror descent from the uniform one, or from the marginals of an
    earlier one: regions that lie in none of its own start from its answers if they are measured cliques, otherwise
    from the product of its one-way marginals.

    Parameters
    ----------
    request : Request
        Request of the estimate; its loss is convex.
    oracle : {"region_graph", "factor_graph"} or RegionGraph
        The graph, or how to make it from the cliques.

    Raises
    ------
    ValueError
        If a graph is not over the domain, no region holds a clique, or the loss is not convex.
    ModelTooLargeError
        If the tables do not fit.
    """
    if not request.loss.convex:
        needed = "an estimate over a region graph needs a convex loss"
        raise ValueError(f"{needed}, {request.loss!r} is not; oracle='exact' takes it")
    graph = _graph(request.domain, request.cliques, oracle, request.options.max_bytes)
    first = request.first
    cells = sum(request.domain.shape)  # the start has a table of each attribute, also of those in no region
    check_fits(_START_BYTES * cells, request.options.max_bytes, f"the attributes have {short(cells)} values", _WAY_OUT)
    if isinstance(first, CliqueVector):
        start = first
    else:
        singles = [(a,) for a in request.domain]
        if first is not None:
            start = _start(graph, first, partial(request.independent, singles))
        elif request.method == "accelerated":
            start = request.independent(singles)
        else:
            start = CliqueVector(request.domain, singles)
    if request.masks:
        start = _ruled_out(graph, start, request.masks)
    return RegionProblem(
        loss=request.loss,
        total=request.total,
        start=start,
        graph=graph,
        counting_numbers=_counting_numbers(graph, request),
        constrained=tuple(clique for clique, _ in request.masks),
    )


def _counting_numbers(graph: RegionGraph, request: Request) -> NDArray[np.float64]:
    given = request.how.counting_numbers
    if isinstance(given, str) and given == "bethe":
        raise ValueError("the entropy of 'bethe' need not be concave; numbers above 0 and 'tree_reweighted' are")
    numbers = counting_numbers_of(graph, given)
    return numbers if request.method == "mirror_descent" else checked_counting_numbers(graph, numbers)


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
            labels = other_labels(domain, oracle.domain)
            raise ValueError(f"the estimate is over {domain}, the region graph is over {oracle.domain}{labels}")
        for clique in cliques:
            oracle.region_of(clique)
        return oracle
    raise ValueError(f"oracle must be 'exact', 'region_graph', 'factor_graph' or a RegionGraph, got {oracle!r}")


def _start(graph: RegionGraph, prior: EstimatedModel, independent: Callable[[], CliqueVector]) -> CliqueVector:
    """Return logs of a model's marginals of the regions, independent ones of the attributes that it does not know."""
    domain, index = graph.domain, RegionIndex(prior.marginals, prior.total)
    if prior.folding.inner != domain:
        inner = prior.folding.inner
        labels = other_labels(domain, inner)
        raise ValueError(f"a model to start from must be over {domain}, got one over {inner}{labels}")
    singles = [(a,) for a in domain]
    known, measured = {a for a in singles if index.holds(a)}, set(graph.cliques)
    # Regions whose attributes are independent in the model start from the product of these anyway.
    part = _components(domain, prior.marginals.cliques)
    joined = [r for r in graph.regions if len({part[a] for a in r}) < len(r)]
    answered = [r for r in joined if (r in measured and known.issuperset((a,) for a in r)) or index.holds(r)]
    start = CliqueVector(domain, list(dict.fromkeys([*answered, *singles])))
    positions = [i for i, clique in enumerate(start.cliques) if len(clique) != 1 or clique in known]
    cliques = [start.cliques[i] for i in positions]
    # Counts of no records tell nothing, the probabilities of a model of none do.
    tables = prior.project_many(cliques) if prior.total else [prior.query(c) for c in cliques]
    for i, table in zip(positions, tables, strict=True):
        start.table(i)[:] = np.log(np.maximum(table.normalize().datavector(), _LEAST_PROBABILITY))
    if len(known) < len(singles):
        suggested = independent()
        for single in [a for a in singles if a not in known]:
            start.table(start.home(single))[:] = suggested[single].datavector()
    return start


def _components(domain: Domain, cliques: Sequence[Clique]) -> dict[str, str]:
    """Return a representative of each attribute, the same for all that cliques join."""
    parts = {a: [a] for a in domain}
    for clique in cliques:
        for attribute in clique[1:]:
            fewer, more = sorted((parts[clique[0]], parts[attribute]), key=len)
            if fewer is not more:
                more += fewer
                parts |= dict.fromkeys(fewer, more)
    return {a: members[0] for a, members in parts.items()}
