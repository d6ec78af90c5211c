"""Parts of a region-graph model: what it checks, how wide its tree is, and the estimate done again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from pypgm.estimation.fit import Options
from pypgm.estimation.residual_losses import L2
from pypgm.graphs.region_graph import RegionGraph
from pypgm.inference.local import LocalAnswer
from pypgm.inference.out_of_model import violation_of
from pypgm.memory import check_fits, short
from pypgm.models.region_estimate import REGION_TOLERANCE, estimate_on_regions

if TYPE_CHECKING:
    from pypgm.clique_vector import CliqueVector
    from pypgm.clock import Clock
    from pypgm.domain import Clique, Domain
    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.inference.region_index import RegionIndex
    from pypgm.models.region_model import RegionGraphModel

__all__ = ["affordable_cells", "check_answers_fit", "check_marginals", "oversaturated_answers"]

_ANSWER_BYTES = 48  # for each cell of a table that is solved for
_KEPT_BYTES = 24  # for each cell of all tables asked for at a time
_PRIOR_CELLS = 1e6
_ITERATIONS = 5000
_CELLS_OVER_NOISE = 2.0  # times total / stddev: found best on random trees with noisy triples
_SUM = 1e-3  # of the total, by which the sum of a region's table may differ from it


def affordable_cells(measurements: Sequence[LinearMeasurement], total: float) -> float:
    """Return how many cells of a junction tree noise of that size leaves something to say of."""
    if not measurements:
        return _PRIOR_CELLS
    noise = float(np.median([np.median(m.stddev) for m in measurements]))
    return min(_PRIOR_CELLS, max(1.0, _CELLS_OVER_NOISE * total / noise))


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
    cells = {c: domain.size(c) for c in cliques}
    for clique, own in cells.items():
        largest = max(clique, key=domain.sizes, default="")
        way_out = f"leave out {largest!r} ({max(domain.sizes(clique), default=1)} values), or ask for a smaller clique"
        check_fits(_ANSWER_BYTES * own, None, f"the table over {clique} needs {short(own)} cells", way_out)
    needed = sum(cells.values())
    check_fits(
        _KEPT_BYTES * needed, None, f"{len(cells)} answers need {short(needed)} cells", "ask for fewer at a time"
    )


def oversaturated_answers(
    model: RegionGraphModel, index: RegionIndex, cliques: Sequence[Clique], *, clock: Clock, n_threads: int = 0
) -> list[LocalAnswer]:
    """Estimate again from a model's measurements, on the saturated graph with the cliques among its regions.

    Raises
    ------
    ValueError
        If the model has no measurements.
    """
    if not model.measurements:
        raise ValueError("method 'oversaturated' needs a model with its measurements; a file does not hold them")
    graph = RegionGraph.saturated(model.domain, model.cliques, extra=cliques)
    validated = model.fit is not None and model.fit.status == "validated"
    stop: Literal["validated", "optimum"] = "validated" if validated else "optimum"
    options = Options(
        _ITERATIONS,
        REGION_TOLERANCE,
        time_limit=clock.time_limit,
        progress=clock.progress,
        n_threads=n_threads,
        stop=stop,
        started=clock.started,
        keeps=False,
    )
    own = model.measurements
    _, (_, marginals, fit) = estimate_on_regions(model.domain, L2(own), own, model.total, oracle=graph, options=options)
    clock.over = fit.status == "time"
    gap = np.inf if fit.gap is None else fit.gap
    answers = []
    for clique in cliques:
        values = marginals[clique].datavector() / model.total
        answers.append(LocalAnswer(values, violation_of(index, clique, values), gap, fit.iterations))
    return answers
