"""The thin junction tree of a region-graph model: dependence beyond a single region."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from pypgm._base.clock import Clock
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique
from pypgm.estimation.accelerated import accelerated
from pypgm.estimation.fit import FitState
from pypgm.estimation.independence import independent_potentials
from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.residual_losses import L2
from pypgm.estimation.tree_problem import TreeProblem
from pypgm.inference.bounded_tree import BoundedTree, fit_proportionally, plan_bounded_tree
from pypgm.inference.region_index import RegionIndex

_NEAR_ENOUGH = 2e-3  # mean L1 distance of the constraints, for a total of 1, that fitting may leave: noise leaves more
_NOISE = 0.1  # of the noise that counts as many as a constraint's were measured with, which fitting may leave ...
_MOST_NOISE = 1e-2  # ... at most
_ITERATIONS = 200
_TOLERANCE = 1e-3


def bounded_tree(
    index: RegionIndex,
    measured: Iterable[Clique],
    *,
    max_cells: float,
    previous: BoundedTree | None = None,
    noise: float = 0.0,
    clock: Clock,
) -> BoundedTree:
    """Return a junction tree of at most about `max_cells` cells, fitted to the regions.

    Fitting is proportional; where the constraints are at odds with each other, by least squares.

    Parameters
    ----------
    index : RegionIndex
        The pseudo-marginals.
    measured : iterable of cliques
        The measured regions, in the order of measurement.
    max_cells : float
        Cells of the tree's cliques; a spanning forest of the measured pairs is kept whatever it needs.
    previous : BoundedTree, optional
        The tree of the model before the last measurement: its pairs are kept, pairs are ranked in the order of
        measurement, and the fit starts from it. Without one pairs are ranked by mutual information.
    noise : float
        Standard deviation of the counts that the regions were estimated from.
    clock : Clock
        Shows the fit, and ends it once its time is over.
    """
    kept = None if previous is None else previous.pairs
    plan = plan_bounded_tree(index, measured, max_cells=max_cells, kept=kept, clock=clock)
    cells = plan.targets.values.size / max(1, len(plan.targets.cliques))
    enough = min(_MOST_NOISE, _NOISE * noise * cells / index.total)
    tree, realisable = fit_proportionally(plan, previous, clock, enough=enough)
    if realisable or tree.distance <= _NEAR_ENOUGH or clock.over:
        return tree
    return _least_squares(tree, index, clock)


def _least_squares(tree: BoundedTree, index: RegionIndex, clock: Clock) -> BoundedTree:
    """Fit the targets, in counts of equal variance, with the exact estimator: some steps from independence.

    The optimum would fit the noise best: at the boundary, with possible cells ruled out.
    """
    domain, total = index.domain, index.total
    stddev = float(np.sqrt(total))
    goals = [LinearMeasurement(total * tree.targets.table(i), c, stddev) for i, c in enumerate(tree.targets.cliques)]
    start = independent_potentials(domain, tree.targets.cliques, goals, total)
    ruled_out = CliqueVector(domain, start.cliques, np.where(tree.targets.values == 0, -np.inf, start.values))
    if tree.tree.log_partition(ruled_out) > -np.inf:
        start = ruled_out

    def watch(state: FitState) -> bool:
        return clock.tick(lambda: f"{state.iteration} iterations of the junction tree, loss {state.loss:.3g}")

    options = SolverOptions(
        iterations=_ITERATIONS, tolerance=_TOLERANCE, callback=watch, n_threads=clock.n_threads, keeps=False
    )
    problem = TreeProblem(tree=tree.tree, loss=L2(goals), total=total, start=start)
    potentials, marginals, *_ = accelerated(problem, options)
    tables = tree.tree.tables(potentials, 1.0, n_threads=clock.n_threads)
    distance = np.abs(marginals.values / total - tree.targets.values).sum() / max(1, len(goals))
    return replace(tree, potentials=potentials, tables=tables, distance=float(distance))
