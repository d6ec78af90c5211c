"""Estimate from the better of two starts: the independent model, or a junction tree of the most dependent pairs."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pypgm.errors import ModelTooLargeError
from pypgm.estimation.fit import warn_of_the_end
from pypgm.estimation.stop_rule import thinned
from pypgm.graphs import JunctionTree
from pypgm.inference.bounded_tree import joined_within, mutual_information
from pypgm.models import GraphicalModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.domain import Clique
    from pypgm.estimation import LinearMeasurement
    from pypgm.estimation.steps import Pace
    from pypgm.mechanisms.run import Run
    from pypgm.models import RegionGraphModel

    Estimated = GraphicalModel | RegionGraphModel

_PARTS = 0.4, 0.25, 0.4, 0.5  # of the seconds left, at most, for each estimate but the last
_ENDED = {"validated", "converged"}
_TREE_CELLS = 1e6  # of the junction tree of those pairs, unless their spanning forest needs more; see bench/README.md
_TREE_WORK = 1.6e7  # of that tree, cells times attributes: its marginals of all pairs take about as many operations
MAX_PAIRS = 10_000  # above it there is one start and one measurement: further estimates would take minutes


def estimate_from_better_start(
    run: Run, measured: Sequence[LinearMeasurement], independent: GraphicalModel
) -> Estimated:
    """Return the model that explains measurements best, from the start that explains held-out answers better.

    An estimate keeps the parts of its start that the answers do not contradict. Where noise is small, an exact
    estimate from the pairs that depend most, as many as a small junction tree holds, has little of it and predicts the
    other pairs better than their own answers; if noise is large, worse. Each estimate first fits measurements with
    further noise, the same for all, and ends by validation on the rest: the better start is the one that comes nearer
    to it. An estimate that a callback, Ctrl-C or the time ended is the last one.

    Parameters
    ----------
    run : Run
    measured : sequence of LinearMeasurement
        Measurements of this run; those it was given are added.
    independent : GraphicalModel
        Independent model of the attributes.
    """
    everything = [*run.given, *measured]
    first = run.fit(everything, independent, _PARTS[0])
    if not _can_have_a_tree(run, everything) or not _ended(first):
        return first
    try:
        better = _from_tree(run, everything, independent, first)
    except KeyboardInterrupt:  # between two estimates
        mark_interrupted(first)
        return first
    return first if better is None or not _ended(better) else better


def mark_interrupted(model: Estimated) -> None:
    """Mark a model as interrupted by the user, with a warning: everything paid for is kept."""
    if model.fit is not None:
        model.fit = replace(model.fit, status="interrupted")
        warn_of_the_end(model.fit)


def _can_have_a_tree(run: Run, measurements: Sequence[LinearMeasurement]) -> bool:
    """Return whether there are records, and more pairs than a tree holds but not too many."""
    pairs = {frozenset(m.clique) for m in measurements if len(m.clique) == 2}
    return run.total != 0 and len(run.domain) <= len(pairs) <= MAX_PAIRS


def _ended(model: Estimated) -> bool:
    """Return whether an estimate ended by itself."""
    return model.fit is not None and model.fit.status in _ENDED


def is_small(run: Run, measurements: Sequence[LinearMeasurement]) -> bool:
    """Return whether a small junction tree holds all measured cliques."""
    try:
        return JunctionTree(run.domain, [m.clique for m in measurements]).cost.cells <= _TREE_CELLS
    except ModelTooLargeError:
        return False


def estimate_from_exact(run: Run, measurements: Sequence[LinearMeasurement], independent: GraphicalModel) -> Estimated:
    """Return an estimate on a region graph that starts from the exact one, where a small junction tree holds all.

    Marginals of a region graph constrain each other less than those of a tree. Where not all fit on one, the start is
    the independent model: the search would end before the rest were as near as the tree's, see
    `estimate_from_better_start`.
    """
    if not is_small(run, measurements):
        return run.fit(measurements, independent)
    try:
        exact = run.fit(measurements, independent, 0.5, oracle="exact")
    except ModelTooLargeError:
        return run.fit(measurements, independent)
    return run.fit(measurements, exact) if isinstance(exact, GraphicalModel) and not run.ended(exact) else exact


def _from_tree(
    run: Run, measurements: Sequence[LinearMeasurement], independent: GraphicalModel, first: Estimated
) -> Estimated | None:
    """Return the estimate that starts from an exact one of the pairs that depend most; None unless that is better."""
    on_it = _on_tree(run, measurements, first)
    fitted = thinned(measurements, None)
    held, held_fitted = [measurements[i] for i in on_it], [fitted[i] for i in on_it]
    try:
        start = run.fit(held, independent, _PARTS[1], oracle="exact", is_start=True, trial=held_fitted)
        if run.ended(start) or not isinstance(start, GraphicalModel):
            return None
        second = run.fit(measurements, start, _PARTS[2], trial=fitted)
        if not _ended(second) or not _held_out(second) < _held_out(first):
            return None
        tree = run.fit(held, independent, _PARTS[3], oracle="exact", is_start=True, pace=pace_of(start))
    except ModelTooLargeError:
        return None
    if run.ended(tree) or not isinstance(tree, GraphicalModel):
        return None
    # The start that won keeps dependence as it is: going further would add noise alone.
    return run.fit(measurements, tree, pace=pace_of(second))


def pace_of(model: Estimated) -> Pace | None:
    """Return the pace at which an estimate ends as far as a model on thinned measurements did, if it has one."""
    return None if model.validated is None else model.validated.pace()


def _held_out(model: Estimated) -> float:
    """Return the held-out error of a model fitted to thinned measurements; 0 if nothing was held out."""
    return 0.0 if model.validated is None else model.validated.held_out


def _on_tree(run: Run, measurements: Sequence[LinearMeasurement], model: Estimated) -> list[int]:
    """Return the positions of the measurements that a small junction tree of the most dependent pairs holds."""
    cliques = [run.domain.canonical(m.clique) for m in measurements]
    pairs = list(dict.fromkeys(p for c in cliques for p in itertools.combinations(c, 2)))
    of_shape: dict[tuple[int, ...], dict[Clique, NDArray[np.float64]]] = defaultdict(dict)
    for pair, table in zip(pairs, model.project_many(pairs), strict=True):
        of_shape[table.domain.shape][pair] = table.datavector()
    information: dict[Clique, float] = {}
    for (rows, _), tables in of_shape.items():
        information |= zip(tables, mutual_information(np.array([*tables.values()]), rows).tolist(), strict=True)
    ranked = sorted(pairs, key=lambda p: -information[p])
    held = joined_within(run.domain, ranked, min(_TREE_CELLS, _TREE_WORK / len(run.domain)))
    if len(held) == len(pairs) and isinstance(model, GraphicalModel):  # no other estimate: a spanning forest alone
        held = joined_within(run.domain, ranked, 1)
    kept = set(held)
    return [i for i, c in enumerate(cliques) if kept.issuperset(itertools.combinations(c, 2))]
