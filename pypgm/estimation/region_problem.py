"""A loss over the locally consistent marginals of a region graph, by convex generalised belief propagation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique
from pypgm.errors import ImpossibleEvidenceError
from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.loss import Evaluate, Loss
from pypgm.estimation.oracle import dot
from pypgm.estimation.problem import Point, Problem, Step
from pypgm.estimation.steps import MeasuredSteps
from pypgm.graphs.region_graph import RegionGraph

_START_FEASIBILITY = 1e-8
_START_SWEEPS = 100
_MAX_GROWTH = 100.0  # of a step over the safe one
_LOOSE = 1e-3  # feasibility above which an iteration takes more sweeps
_REFIT = 30  # sweeps at most
_WINDOW = 100  # iterations between bounds
_FEASIBILITY = 1e-8  # of the answer
_POLISH = 1000  # sweeps at most
_LEAST_BELIEF = 1e-30  # of a belief to go on from


@dataclass(frozen=True, kw_only=True)
class RegionProblem(Problem):
    """A loss to be minimised over the locally consistent marginals of a region graph.

    It starts from tables over regions, and over single attributes, whose product starts a region without a table of
    its own; attributes without one are uniform.

    Attributes
    ----------
    graph : RegionGraph
        A region holds each clique the loss reads.
    counting_numbers : ndarray of float64, shape (regions,)
        Positive for the compiled loop.
    constrained : tuple of clique
        The cliques of the structural zeros in the start: named where these leave nothing.
    """

    exact = False  # the Lagrangian dual rises too slowly

    graph: RegionGraph
    counting_numbers: NDArray[np.float64]
    constrained: tuple[Clique, ...] = ()

    @cached_property
    def tables(self) -> CliqueVector:
        """One table for each region."""
        return CliqueVector(self.graph.domain, self.graph.regions)

    def engine(self, n_threads: int) -> RegionEngine:
        """Return the solver at its start; see `Problem`."""
        return RegionEngine(self, n_threads)

    def steps(self, options: SolverOptions) -> tuple[MeasuredSteps, int]:
        """Return the steps of iterations; see `Problem`."""
        return MeasuredSteps(self.safe_step(), _MAX_GROWTH, options.stop), 0

    def core(self, n_threads: int) -> _core.RegionAcceleration:
        """Return the compiled loop, potentials and measurements entered."""
        core = _core.RegionAcceleration(self.graph.plan, self.counting_numbers, self.total, n_threads)
        positions = {self.graph.region_of(c): i for i, c in enumerate(self.start.cliques) if c in self.graph}
        for region, i in positions.items():
            core.enter(region, self.start.table(i))
        for i, clique in enumerate(self.start.cliques):
            if len(clique) == 1:
                core.enter_elsewhere(self.graph.domain.index(clique[0]), self.start.table(i))
        for arrays in self.arrays():
            core.measure(arrays)
        return core

    def start_potentials(self) -> NDArray[np.float64]:
        """Return the potentials of the start over the regions, flat."""
        potentials = self.tables
        for i, region in enumerate(potentials.cliques):
            for scope in [region] if region in self.start else [(a,) for a in region]:
                logs = self.start[scope].datavector()
                zeros = np.isneginf(logs)
                potentials.add(i, scope, np.where(zeros, logs, self.counting_numbers[i] * np.where(zeros, 0.0, logs)))
        return potentials.values

    def safe_step(self) -> float:
        """Return the step, in count space, below which plain mirror descent never raises the loss, if that is known.

        Regions are blocks of their own: the least over regions of kappa / (total * K), K a quarter of the largest
        weighted squared distance between two columns of the queries on the region.
        """
        smoothness = np.zeros(len(self.graph.regions))
        for m, squared in zip(self.loss.measurements, self.loss.kept("distances", self._distances), strict=True):
            smoothness[self.tables.home(m.clique)] += (self.loss.bend or 0.0) * squared / 4
        measured = smoothness > 0
        if not measured.any():
            return 1.0 / self.total
        return float((self.counting_numbers[measured] / smoothness[measured]).min() / self.total)

    def _distances(self) -> list[float]:
        return [m.linear_map.largest_squared_distance(m.weights()) for m in self.loss.measurements]


def no_record(problem: RegionProblem) -> ImpossibleEvidenceError:
    """Return the error to raise where structural zeros leave nothing."""
    named = f"the constraints on {', '.join(map(str, problem.constrained))} leave no record possible"
    unnamed = "structural zeros of the start leave a region no weight"
    return ImpossibleEvidenceError(named if problem.constrained else unnamed)


class RegionEngine:
    """A path by one sweep of belief propagation an iteration, messages extrapolated so that they do not lag.

    A loss that the compiled loop does not know is evaluated two times an iteration. See `Engine`.
    """

    def __init__(self, problem: RegionProblem, n_threads: int) -> None:
        self._problem = problem
        self._core = problem.core(n_threads)
        self.calls = self._core.begin(_START_FEASIBILITY, _START_SWEEPS)
        if self.calls < 0:
            raise no_record(problem)
        self._evaluate: Evaluate | None = None
        self._validate: Evaluate | None = None
        if problem.terms is None:
            self._evaluate, self._validate = problem.evaluate(problem.loss), problem.validation()
        self._last = 0.0  # length of the step before
        self._taken = 0
        self._bound = -math.inf
        self._bounded = 0  # iterations when it was last raised

    @property
    def average(self) -> NDArray[np.float64]:
        """See `Engine`."""
        return self._core.mean(0.0)

    def advance(self, s: float, a: float) -> Step:
        """Take one step; see `Engine`."""
        stretch = s / self._last if self._last > 0 else 0.0
        self._last = s
        if self._evaluate is None:
            loss, held_out, slope, curvature, _, sweeps = self._core.advance(s, a, stretch, _LOOSE)
            step = Step(loss, held_out, slope, self._problem.total * curvature, sweeps)
        else:
            step = self._advance_along(self._evaluate, s, a, stretch)
        self._taken += 1
        if self._taken % _WINDOW == 0:
            self._close_window()
        return step

    def loss(self) -> float:
        """Return the loss of the average."""
        return self._core.loss() if self._evaluate is None else self._evaluate(self._core.mean(0.0))[0]

    def lower_bound(self) -> float:
        """Return the Lagrangian dual's highest bound; see `Engine`."""
        if self._bounded < self._taken:
            self._bounded = self._taken
            self._bound = max(self._bound, self._core.lower_bound())
        return self._bound

    def restart(self) -> int:
        """Start again at the average, with fresh messages; see `Engine`."""
        self._close_window()
        sweeps = self._core.fit_potentials(_LOOSE, _REFIT)[1]
        self._core.restart()
        self._last = 0.0
        return sweeps

    def answer(self, loss: Loss, earlier: NDArray[np.float64] | None = None, *, rough: bool = False) -> Point:
        """Make the average consistent, with potentials to it; see `Engine`."""
        problem, core = self._problem, self._core
        self._close_window()
        if earlier is not None:
            core.join(earlier)
        core.fit_potentials(_LOOSE if rough else _FEASIBILITY, _REFIT if rough else _POLISH)
        value = core.loss_of_beliefs()
        potentials, marginals = core.take_potentials(), core.take_beliefs()
        start = None
        if rough:  # cells that are merely rare do not become zeros where another path starts
            start = np.log(
                np.maximum(marginals, _LEAST_BELIEF), out=np.full(marginals.size, -np.inf), where=marginals > 0
            )
        marginals *= problem.total
        if self._evaluate is not None or loss is not problem.loss:
            value = problem.evaluate(loss)(marginals)[0]
        return Point(potentials, marginals, value, -math.inf, start)

    def _advance_along(self, evaluate: Evaluate, s: float, a: float, stretch: float) -> Step:
        core = self._core
        at = core.mean(a)
        value, gradient = evaluate(at)
        _, _, slope, _, _, sweeps = core.advance_along(gradient, s, a, stretch, _LOOSE)
        core.record(s, value - dot(gradient, at))
        mean = core.mean(0.0)
        loss, there = evaluate(mean)
        # The mean moved from `at` by a times what the last point moved.
        curvature = dot(there - gradient, mean - at) / (a * a * self._problem.total)
        held_out = 0.0 if self._validate is None else self._validate(mean)[0]
        return Step(loss, held_out, slope, curvature, sweeps)

    def _close_window(self) -> None:
        self.lower_bound()
        self._core.open_window()
