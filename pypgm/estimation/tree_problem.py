"""A loss over the marginals of all distributions on a domain, by exact inference on a junction tree."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm.estimation.general_solvers import GeneralAcceleration, GeneralDescent
from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.loss import Loss
from pypgm.estimation.oracle import LossOracle, Oracle
from pypgm.estimation.problem import Point, Problem, Step
from pypgm.estimation.steps import MeasuredSteps
from pypgm.graphs import JunctionTree

MAX_GROWTH = 1000.0  # of a step over the safe one
_UNKNOWN = 1e6  # how far the steps of a loss of unknown smoothness may go below and above the first
_MAX_TRIALS = 39  # of a first step
_LEVEL_EVERY = 10  # iterations: potentials drift, and inference is slower where they lie far apart
_MISFIT = 1e-4  # of 1 + loss: what fitting may leave
_ROUGH_SWEEPS = 4  # of fitting for a start: errors of what starts there are those after all, with none 1 % more

_Descent = _core.Descent | GeneralDescent


@dataclass(frozen=True, kw_only=True)
class TreeProblem(Problem):
    """A loss to be minimised over the marginals of all distributions on a domain, from a start over a tree's cliques.

    Attributes
    ----------
    tree : JunctionTree
        Built for the distinct cliques the loss reads.
    """

    exact = True

    tree: JunctionTree

    def safe_step(self) -> float | None:
        """Return the step, in count space, below which mirror descent never raises the loss; None if not known."""
        smoothness = self.loss.smoothness(self.tree)
        return None if smoothness is None else 1.0 / (self.total * (smoothness or 1.0))

    def steps(self, options: SolverOptions) -> tuple[MeasuredSteps, int]:
        """Return the steps of iterations, tried out where the smoothness is not known; see `Problem`."""
        safe = self.safe_step()
        if safe is not None:
            return MeasuredSteps(safe, MAX_GROWTH, options.stop), 0
        core = self.descent(options.n_threads)
        # Potentials move by the gradient times the step: none by more than 1 in the first trial.
        gradient = self.evaluate(self.loss)(core.marginals)[1]
        alpha = 1.0 / max(1e-300, float(np.abs(gradient).max(initial=0.0)))
        first, trials, _ = permitted_step(core, alpha, 0.25, min(_MAX_TRIALS, options.iterations))
        return MeasuredSteps(first / _UNKNOWN, _UNKNOWN**2, options.stop, first), trials

    def engine(self, n_threads: int) -> TreeEngine:
        """Return the solver at its start; see `Problem`."""
        return TreeEngine(self, n_threads)

    def descent(self, n_threads: int) -> _Descent:
        """Return a solver that tries and accepts steps, compiled where the loss is weighted L2 of simple queries."""
        if self.terms is None:
            return GeneralDescent(self.oracle(n_threads), self.start.values)
        return _core.Descent(self.tree.plan, self.arrays(), self.total, self.start.values, n_threads)

    def oracle(self, n_threads: int) -> LossOracle:
        """Return exact inference on the tree, with the loss."""
        return LossOracle(self.tree, self.total, n_threads, self.evaluate(self.loss))


class TreeEngine:
    """A path by exact inference; see `Engine`."""

    restart = None

    def __init__(self, problem: TreeProblem, n_threads: int) -> None:
        self.calls = 1
        self._problem = problem
        self._n_threads = n_threads
        self._taken = 0
        self._opened = 0  # the iteration since which gradients are averaged, for the bound; 0 before
        self._core: _core.Acceleration | GeneralAcceleration
        tree, start = problem.tree.plan, problem.start.values
        if problem.terms is None:
            self._core = GeneralAcceleration(problem.oracle(n_threads), start, problem.validation())
        else:
            self._core = _core.Acceleration(tree, problem.arrays(), problem.total, start, n_threads)

    @property
    def average(self) -> NDArray[np.float64]:
        """See `Engine`."""
        return self._core.average

    def advance(self, s: float, a: float) -> Step:
        """Take one step; see `Engine`."""
        loss, held_out, slope, curvature = self._core.advance(s, a)
        self._taken += 1
        if self._taken % _LEVEL_EVERY == 0:
            self._core.level()
        return Step(loss, held_out, slope, curvature, 1)

    def loss(self) -> float:
        """Return the loss of the average."""
        return self._core.loss()

    def lower_bound(self) -> float:
        """Return the higher of the bounds from the gradients at the average and at a mean of earlier points.

        Gradients are worst in the first iterations, so the mean leaves out the first half.
        """
        bound = self._core.loss() - self._core.gap()
        if 0 < self._opened < self._taken:
            bound = max(bound, self._core.lower_bound())
        if self._taken >= 2 * self._opened:
            self._core.open_window()
            self._opened = self._taken
        return bound

    def answer(self, loss: Loss, earlier: NDArray[np.float64] | None = None, *, rough: bool = False) -> Point:
        """Fit potentials to the average until the engine's own loss equals the loss of the average; see `Engine`.

        Roughly a few sweeps do: the average of the path's potentials, where fitting begins, has nearly its marginals.
        """
        problem = self._problem
        if earlier is not None:
            self._core.join(earlier)
        average, mean, wanted = self._core.average, self._core.average_potentials, self._core.loss()
        del self._core  # its memory is that of the solvers below
        allowed = _MISFIT * (1 + abs(wanted))  # either way: a lower loss would be another answer

        def descent(loss: Loss, potentials: NDArray[np.float64]) -> _Descent:
            return replace(problem.with_loss(loss), start=problem.tables.like(potentials)).descent(self._n_threads)

        judged: list[tuple[NDArray[np.float64], _Descent]] = []  # the last potentials, and what judged them

        def misfit(fitted: NDArray[np.float64]) -> float:
            judged.clear()  # the memory of one solver is enough
            judged.append((fitted, descent(problem.loss, fitted)))
            return abs(judged[0][1].loss - wanted) / allowed

        oracle = Oracle(problem.tree, problem.total, self._n_threads)
        if rough:
            potentials = oracle.fitted(average, mean, _ROUGH_SWEEPS)
        else:
            potentials = oracle.with_marginals(average, mean, start=problem.start.values, misfit=misfit)
        known = [core for fitted, core in judged if fitted is potentials and loss is problem.loss]
        judged.clear()
        solver = known[0] if known else descent(loss, potentials)
        return Point(potentials, solver.marginals, solver.loss, solver.loss - solver.gap())


def permitted_step(core: _Descent, alpha: float, shrink: float, most: int) -> tuple[float, int, bool]:
    r"""Shrink a step until mirror descent may take it, and leave it tried.

    The Bregman model of smoothness :math:`1/\alpha` allows curvature / 2 <= total / step * KL. With KL the mean of both
    directions the right side is -slope / 2, free of differences of large logarithms.

    Returns
    -------
    step : float
        The first permitted one, or the one after the last tried.
    trials : int
        Steps tried, one oracle call each; at most `most`.
    permitted : bool
    """
    for trials in range(1, most + 1):
        core.try_step(alpha)
        slope, curvature = core.change()
        if curvature <= -slope:
            return alpha, trials, True
        alpha *= shrink
    return alpha, most, False
