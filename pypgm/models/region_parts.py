"""Parts of a region-graph model: what it checks, how wide its tree is, its joint weights, the estimate done again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pypgm.graphs.region_graph import RegionGraph
from pypgm.inference.local_answers import LocalAnswer
from pypgm.inference.out_of_model import violation_of
from pypgm.memory import check_fits, check_tables_fit, short

if TYPE_CHECKING:
    from pypgm.clique_vector import CliqueVector
    from pypgm.clock import Clock
    from pypgm.domain import Clique, Domain
    from pypgm.inference.region_index import RegionIndex
    from pypgm.models.region_model import RegionGraphModel

__all__ = ["check_answers_fit", "check_marginals", "kikuchi_potentials", "oversaturated_answers"]

_ANSWER_BYTES = 48  # for each cell of a table that is solved for
_KEPT_BYTES = 24  # for each cell of all tables asked for at a time
_SUM = 1e-3  # of the total, by which the sum of a region's table may differ from it


def check_marginals(graph: RegionGraph, marginals: CliqueVector, total: float) -> None:
    """Raise ``ValueError`` unless there is a non-negative table for each region, all with the same sum."""
    if marginals.cliques != graph.regions:
        raise ValueError(f"marginals need a table for each of {graph.regions[:6]} …, got {marginals!r}")
    if not (np.isfinite(marginals.values).all() and (marginals.values >= 0).all()):
        raise ValueError("marginals need finite entries of at least 0")
    for i, region in enumerate(graph.regions):
        mass = float(marginals.table(i).sum())
        if abs(mass - total) > _SUM * total:
            raise ValueError(f"the marginal of region {region} needs the sum {total:.6g}, got {mass:.6g}")


def check_answers_fit(domain: Domain, cliques: Sequence[Clique]) -> None:
    """Raise ModelTooLargeError, naming a clique and its largest attribute, unless tables over cliques fit."""
    check_tables_fit(domain, cliques, _ANSWER_BYTES)
    needed = sum(map(domain.size, distinct := set(cliques)))
    told = f"{len(distinct)} answers need {short(needed)} cells"
    check_fits(_KEPT_BYTES * needed, None, told, "ask for fewer at a time")


def kikuchi_potentials(graph: RegionGraph, marginals: CliqueVector, total: float) -> CliqueVector:
    r"""Return the natural logs of :math:`\prod_r \tau_r^{c_r}`, :math:`c_r` the Bethe counting numbers.

    Of all joint weights it is the one whose generalised belief propagation has these marginals for a fixed point; on
    the regions of a junction tree it is the distribution itself. Where a larger region rules a cell out, a smaller one
    of negative number need not say so too.
    """
    logs = (marginals / total).log()
    for i, number in enumerate(graph.counting_numbers("bethe")):
        cells = logs.table(i)
        held = cells > -np.inf
        cells[held] *= number
        if number <= 0:
            cells[~held] = 0.0
    return logs


def oversaturated_answers(
    model: RegionGraphModel, index: RegionIndex, cliques: Sequence[Clique], clock: Clock
) -> list[LocalAnswer]:
    """Estimate again from a model's measurements, on the saturated graph with the cliques among its regions.

    Raises
    ------
    ValueError
        If the model has no measurements.
    """
    if model.origin is None:
        raise ValueError("method 'oversaturated' needs a model with its measurements, estimated with a named loss")
    graph = RegionGraph.saturated(model.graph.domain, model.cliques, extra=cliques)
    wider = model.origin.again(model, model.origin, clock, graph)(model.origin.measurements)
    sweeps = 0 if wider.fit is None else wider.fit.iterations
    clock.over = wider.fit is not None and wider.fit.status == "time"
    answers = []
    for clique in cliques:
        values = wider.marginals[clique].datavector() / wider.total
        answers.append(LocalAnswer(values, violation_of(index, clique, values), np.inf, sweeps))
    return answers
