"""A loss over the marginals of all distributions on a domain, by exact inference on a junction tree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pypgm import _core
from pypgm.estimation.compiled import Compiled, compiled_measurements, is_compiled
from pypgm.estimation.fit import Options
from pypgm.estimation.general import GeneralAcceleration, GeneralDescent, Oracle, SteadyDescent
from pypgm.estimation.objective import Objective, Term
from pypgm.estimation.problem import Answer, Point, Problem, Step
from pypgm.estimation.residual_losses import L2
from pypgm.estimation.steps import MeasuredSteps, Pace
from pypgm.estimation.thinning import left_to_validate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.clique_vector import CliqueVector
    from pypgm.domain import Domain
    from pypgm.estimation.loss import Loss
    from pypgm.graphs import JunctionTree

__all__ = ["Estimator", "Searching", "TreeEngine", "TreeProblem"]

Searching = _core.Descent | GeneralDescent

_MAX_GROWTH = 1000.0  # of a step over the safe one
_UNKNOWN = 1e6  # how far the steps of a loss of unknown smoothness may go below and above the first
_MAX_TRIALS = 40  # of a first step
_LEVEL_EVERY = 10  # iterations: potentials drift, and inference is slower where they lie far apart
_SWEEPS = 10  # of fitting at most: the marginals then miss the average by less than 1e-5 a clique
_MISFIT = 1e-4  # of 1 + loss: what fitting may leave


@dataclass(frozen=True, kw_only=True)
class TreeProblem(Problem):
    """A loss to be minimised over the marginals of all distributions on a domain."""

    exact = True

    tree: JunctionTree
    """Built for the distinct cliques the loss reads."""

    @property
    def domain(self) -> Domain:
        """All attributes."""
        return self.tree.domain

    def safe_step(self) -> float | None:
        """Return the step, in count space, below which mirror descent never raises the loss; None if not known."""
        smoothness = self.loss.smoothness(self.tree)
        if smoothness is None:
            return None
        return 1.0 / (self.total * smoothness) if smoothness > 0 else 1.0 / self.total

    def steps(self, options: Options) -> tuple[MeasuredSteps, int]:
        """Return how far iterations step, tried where the smoothness is not known; see `Problem`."""
        pace = Pace.towards(options.stop)
        safe = self.safe_step()
        if safe is not None:
            return MeasuredSteps(safe, _MAX_GROWTH, pace), 0
        first, trials = self._permitted_step(options)
        return MeasuredSteps(first / _UNKNOWN, _UNKNOWN**2, pace, first), trials

    def engine(self, n_threads: int) -> TreeEngine:
        """Return the solver at its start; see `Problem`."""
        return TreeEngine(self, n_threads)

    def descent(self, n_threads: int) -> Searching:
        """Return a solver that tries and accepts steps, compiled where the loss is weighted L2 of simple queries."""
        arrays = self.arrays()
        if arrays is None:
            return GeneralDescent(self.oracle(n_threads), self.loss, self.start.values)
        return _core.Descent(self.tree.plan, arrays, self.total, self.start.values, n_threads)

    def steady_descent(self, first: float, n_threads: int) -> SteadyDescent:
        """Return a solver that takes steps known beforehand, of which this is the first."""
        return SteadyDescent(self.descent(n_threads), first)

    def oracle(self, n_threads: int) -> Oracle:
        """Return exact inference on the tree."""
        return Oracle(self.tree, self.total, n_threads)

    def vector(self, values: NDArray[np.float64]) -> CliqueVector:
        """Return flat tables of the tree's cliques with their names."""
        return self.start.like(values)

    def arrays(self) -> list[Compiled] | None:
        """Return the loss as the compiled solvers take it, with its answers; None if they do not."""
        if self.objective is None:
            return None
        own = self.loss.measurements
        rest = left_to_validate(self.held_out, own) if self.held_out else ()
        held_out = [y for _, y in self.objective.answered(rest)] if rest else [np.empty(0)] * len(own)
        pairs = zip(self.objective.answered(own), held_out, strict=True)
        return [(t.place, t.rows, y, t.weights, held, t.runs) for (t, y), held in pairs]

    def _lowered(self) -> Objective | None:
        own = self.loss.measurements
        if type(self.loss) is not L2 or not all(map(is_compiled, own)):
            return None
        arrays = compiled_measurements(self.tree, own)
        return Objective(self.domain, [Term(place, rows, weights, runs) for place, rows, _, weights, _, runs in arrays])

    def _permitted_step(self, options: Options) -> tuple[float, int]:
        """Return a first step for a loss of unknown smoothness, and how many oracle calls it took to find it."""
        core = self.descent(options.n_threads)
        # Potentials move by the gradient times the step: none by more than 1 in the first trial.
        gradient = self.loss.on(self.domain, self.tree.cliques)(core.marginals)[1]
        alpha = 1.0 / max(1e-300, float(np.abs(gradient).max(initial=0.0)))
        for trials in range(1, _MAX_TRIALS):
            core.try_step(alpha)
            slope, curvature = core.change()
            if curvature <= -slope or trials >= options.iterations:
                break
            alpha /= 4
        return alpha, trials


class TreeEngine:
    """A path by exact inference; see `Engine`."""

    def __init__(self, problem: TreeProblem, n_threads: int) -> None:
        self.calls = 1
        self._problem = problem
        self._n_threads = n_threads
        self._taken = 0
        self._opened = 0  # the iteration since which gradients are averaged, for the bound; 0 before
        self._core = self._started(problem)
        self._end: Point | None = None

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
        """Return the higher bound of those from the gradients at the average and at a mean of the points stepped from.

        Gradients are worst in the first iterations, and so those of the first half are left out of the mean.
        """
        if self._end is not None:
            return self._end.lower
        bound = self._core.loss() - self._core.gap()
        if 0 < self._opened < self._taken:
            bound = max(bound, self._core.lower_bound())
        if self._taken >= 2 * self._opened:
            self._core.open_window()
            self._opened = self._taken
        return bound

    def restart(self) -> int:
        """Go on from potentials fitted to the average; see `Engine`."""
        oracle = self._problem.oracle(self._n_threads)
        potentials = oracle.settled(self._core.potentials, self._core.average, 1, misfit=lambda _: 0.0)
        self._core = self._started(self._problem.started(self._problem.vector(potentials)))
        self._taken = self._opened = 0
        return 1

    def answer(self, loss: Loss, *, rough: bool = False) -> Point:
        """Fit potentials to the average; see `Engine`."""
        del rough
        if self._end is None:
            self._end = self._fitted(loss)
        return self._end

    def _fitted(self, loss: Loss) -> Point:
        """Return the model whose loss in the engine's problem is nearest that of the average; frees the solver."""
        own = self._problem
        average, last, wanted = self._core.average, self._core.potentials, self._core.loss()
        del self._core
        nearest = math.inf
        found: Searching

        def misfit(potentials: NDArray[np.float64]) -> float:
            nonlocal nearest, found
            point = own.started(own.vector(potentials)).descent(self._n_threads)
            left = abs(point.loss - wanted) / (_MISFIT * (1 + abs(wanted)))  # a lower loss would be another answer
            if left < nearest:
                nearest, found = left, point
            return left

        oracle = own.oracle(self._n_threads)
        potentials = oracle.settled(last, average, _SWEEPS, start=own.start.values, misfit=misfit)
        if loss is not own.loss:
            found = own.with_loss(loss).started(own.vector(potentials)).descent(self._n_threads)
        model = own.vector(found.potentials)
        return Point(model, own.vector(found.marginals), found.loss, found.loss - found.gap(), model)

    def _started(self, problem: TreeProblem) -> _core.Acceleration | GeneralAcceleration:
        arrays, start = problem.arrays(), problem.start.values
        if arrays is None:
            validation = L2(left_to_validate(problem.held_out, problem.loss.measurements)) if problem.held_out else None
            return GeneralAcceleration(problem.oracle(self._n_threads), problem.loss, start, validation)
        return _core.Acceleration(problem.tree.plan, arrays, problem.total, start, self._n_threads)


Estimator = Callable[[TreeProblem, Options], Answer]
"""An algorithm: what all of `pypgm.estimate`'s methods are."""
