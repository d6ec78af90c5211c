"""Prox-PGM over a region graph as published: a step along the gradient, then messages until the regions agree."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.constraints import AtLeast, check_attributes
from pypgm.clique_vector import CliqueVector
from pypgm.estimation.fit import Status, swings
from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.oracle import Evaluated, dot
from pypgm.estimation.problem import Point, Solution
from pypgm.estimation.region_problem import RegionProblem, no_record
from pypgm.estimation.solver import StepwiseSolver, solved
from pypgm.graphs.counting_numbers import CountingNumbers
from pypgm.graphs.region_graph import RegionGraph
from pypgm.inference._convex_gbp import Propagation

_AGREED = 1e-8  # feasibility at which messages have converged
_MAX_SWEEPS = 1000  # of one step
_GROWTH = 1.5  # of a permitted step
_ROUNDING = 1e-12  # of 1 + loss: what differences of it may be wrong by
_UNKNOWN = 1e-6  # of the first step, where the smoothness of the loss is not known: it may become so short
_LEAST_BELIEF = 1e-250  # of a belief whose logarithm is taken


class SweepOptions(TypedDict, total=False):
    """The fields of `Sweeps`, as keywords of a call."""

    counting_numbers: ArrayLike | CountingNumbers | None
    inner: Annotated[int, AtLeast(1)] | None
    damping: Annotated[float, AtLeast(0, below=1)] | None


@dataclass(frozen=True, slots=True, eq=False)
class Sweeps:
    """Options of the search for marginals over a region graph; see `pypgm.estimate`.

    Attributes
    ----------
    counting_numbers : array_like, str or None
        One for each region.
    inner : int or None
        Sweeps after each step; None until the regions agree.
    damping : float or None
        Damping of messages that are all sent at once; None sends them block by block.
    """

    counting_numbers: ArrayLike | CountingNumbers | None = None
    inner: int | None = None
    damping: float | None = None

    def __post_init__(self) -> None:
        check_attributes(self, SweepOptions)

    def kept(self) -> dict[str, Any]:
        """Return the options that were given, as JSON."""
        numbers = self.counting_numbers
        named = numbers if numbers is None or isinstance(numbers, str) else np.asarray(numbers, np.float64).tolist()
        given = {"counting_numbers": named, "inner": self.inner, "damping": self.damping}
        return {name: value for name, value in given.items() if value is not None}

    def on(self, wider: RegionGraph, graph: RegionGraph) -> Sweeps:
        """Return the options for a graph with further regions, which count once."""
        numbers = self.counting_numbers
        if numbers is None or isinstance(numbers, str):
            return self
        known = dict(zip(graph.regions, np.asarray(numbers), strict=True))
        return replace(self, counting_numbers=[known.get(r, 1.0) for r in wider.regions])


def region_descent(problem: RegionProblem, options: SolverOptions, how: Sweeps) -> Solution:
    r"""Minimise a convex loss over the locally consistent marginals of a region graph by mirror descent: Prox-PGM.

    Each step is :math:`\theta \leftarrow \theta - \alpha \nabla L(\tau)`, with :math:`\tau` the beliefs of convex
    belief propagation, which goes on from the messages it has. Where it runs until the regions agree, the optimum
    depends neither on the counting numbers nor on the order of messages; where it is cut short, the messages lag. A
    step that is not given is halved until the Bregman model of the loss permits it, and grows.

    Parameters
    ----------
    problem : RegionProblem
        The loss, the total and the start.
    options : SolverOptions
        Limits, tolerance, step size, callback, and when the work began.
    how : Sweeps

    Returns
    -------
    Solution
        The last point or the best one, made consistent, with the logs of its marginals as potentials.

    References
    ----------
    McKenna, Pradhan, Sheldon, Miklau: Relaxed marginal consistency for differentially private query answering,
    NeurIPS 2021, Algorithms 1 and 2, Theorem 2; inner sweeps and damping as in its section 6.
    """
    if options.stepsize is None and not problem.loss.smooth:
        raise ValueError(
            f"mirror descent over a region graph needs a stepsize for {problem.loss!r}, which is not smooth"
        )
    return solved(_Descent(problem, options, how))


class _Descent(StepwiseSolver):
    problem: RegionProblem
    check_every: ClassVar[int] = 50

    def __init__(self, problem: RegionProblem, options: SolverOptions, how: Sweeps) -> None:
        self._evaluate = problem.evaluate(problem.loss)
        self._total = problem.total
        self._sweeps = how.inner or _MAX_SWEEPS
        start = problem.start_potentials()
        numbers = problem.counting_numbers
        self._messages = Propagation(problem.graph, start, numbers, how.damping, options.n_threads)
        if not self._messages.core.possible:
            raise no_record(problem)
        calls, _ = self._messages.sweep(_MAX_SWEEPS, _AGREED)
        self._here = self._best = self._read(start)
        super().__init__(problem, options, self._here.loss, calls)
        safe = problem.safe_step() if problem.loss.bend else None
        steepest = max(float(np.abs(self._here.gradient).max(initial=0.0)), 1e-300)
        self._step = 1.0 / steepest if safe is None else 2 * safe
        self._safe = _UNKNOWN * self._step if safe is None else safe

    def advance(self) -> Status | None:
        """Take one step, of the given length or as long as the loss permits; see `Solver`."""
        alpha = self.options.step(self.taken + 1)
        self._here = self._searched() if alpha is None else self._at(alpha)
        self.history.append(self._here.loss)
        if self._here.loss < self._best.loss:
            self._best = self._here
        return None if math.isfinite(self._here.loss) else "iterations"

    def marginals(self) -> NDArray[np.float64]:
        """Return the marginals of the current point; see `Solver`."""
        return np.array(self._here.marginals)

    def lower_bound(self) -> float:
        """Return no bound; see `Solver`."""
        return -math.inf

    def is_optimal(self) -> bool:
        """Return whether the loss has hardly changed since the last check, and does not swing."""
        before = self.history[-1 - self.check_every] if self.taken else math.inf
        return self.options.meets(abs(before - self.history[-1]), self.history[-1]) and not swings(self.history)

    def point(self) -> Point:
        """Make the last and the best point consistent, and return the one with the lower loss; see `Solver`."""
        ends = [e for e in (self._here, self._best) if math.isfinite(e.loss)]
        points = [self._consistent(e) for e in (ends[:1] if self._here is self._best else ends)]
        return min(points, key=lambda point: point.loss)

    def _at(self, alpha: float) -> Evaluated:
        """Return the point that a step leads to."""
        moved = self._here.potentials - alpha * self._here.gradient
        self._messages.move(moved)
        self.calls += self._messages.sweep(self._sweeps, _AGREED)[0]
        return self._read(moved)

    def _read(self, potentials: NDArray[np.float64]) -> Evaluated:
        marginals = self._total * self._messages.core.beliefs
        return Evaluated(potentials, marginals, *self._evaluate(marginals))

    def _searched(self) -> Evaluated:
        """Return the end of the first step that the loss permits; the present point if there is no time for one."""
        here = self._here
        while True:
            there = self._at(self._step)
            moved = there.marginals - here.marginals
            slope, curvature = dot(here.gradient, moved), dot(there.gradient - here.gradient, moved)
            permitted = curvature <= -slope
            if permitted or self._step <= self._safe or max(curvature, -slope) <= _ROUNDING * (1 + abs(here.loss)):
                self._step *= _GROWTH if permitted else 1.0
                return there
            self._step = max(self._step / 2, self._safe)
            if self.calls >= self.options.iterations:
                return here

    def _consistent(self, end: Evaluated) -> Point:
        """Return the nearest consistent beliefs, of counting numbers 1, whatever those of the search were."""
        problem = self.problem
        ruled_out = np.isneginf(self._messages.core.potentials)
        logs = np.where(ruled_out, -np.inf, np.log(np.maximum(end.marginals / problem.total, _LEAST_BELIEF)))
        start = CliqueVector(problem.graph.domain, problem.graph.regions, logs)
        once = replace(problem, start=start, counting_numbers=np.ones(len(problem.graph.regions)))
        return once.engine(self.options.n_threads).answer(problem.loss)
