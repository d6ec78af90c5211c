"""The iterates of an averaging method over the local polytope of a region graph, and what they answer."""

from __future__ import annotations

import math
import time

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.estimation.fit import Fit, Options, Status, Watch
from pypgm.estimation.path import CHECK_EVERY, Averaging, Path
from pypgm.estimation.problem import Answer
from pypgm.estimation.region_problem import (
    CompiledRegionDescent,
    GeneralRegionDescent,
    RegionProblem,
    on_regions,
)
from pypgm.estimation.second_average import SecondAverage
from pypgm.estimation.steps import FINE, MeasuredSteps

__all__ = ["RegionPath"]

_MAX_GROWTH = 100.0  # of the step over the safe one
_LOOSE = 1e-3  # feasibility above which an iteration takes more sweeps
_LOOK_EVERY = 10  # iterations between looks at whether the loss has risen
_RISE = 1e-2  # of the loss above its least: more than the ripples of an accelerated path
_REFIT = 30  # sweeps at most
_WINDOW = 100  # iterations between certificates
_FEASIBILITY = 1e-8  # of the answer
_POLISH = 1000  # sweeps at most
_LEAST = 1e-30  # of a belief to go on from


class RegionPath(Path):
    """The iterates, which count sweeps as oracle calls and gather a bound of the optimum."""

    def __init__(
        self,
        core: CompiledRegionDescent | GeneralRegionDescent,
        safe: float,
        options: Options,
        watch: Watch,
        calls: int,
        *,
        averaging: Averaging,
        bounded: bool,
    ) -> None:
        steps = MeasuredSteps(safe, *FINE, _MAX_GROWTH)
        super().__init__(steps, options, watch, calls + core.sweeps, loss=core.loss(), averaging=averaging)
        self.core = core
        self._bounded = bounded
        self.bound = -math.inf
        self._safe = safe
        self._last = 0.0
        self._since = 0
        if bounded:
            core.core.open_window()

    def _advance(self) -> tuple[float, float]:
        s, a = self._steps.next()
        stretch = s / self._last if self._last > 0 else 0.0
        self._last = s
        step = self.core.advance(s, a, self._share(s, a), stretch, _LOOSE)
        loss, of_mean, held_out, slope, curvature, sweeps = step
        self._note(sweeps, loss, slope, curvature)
        if self._has_risen():
            self._begin_anew()
        elif self.taken % CHECK_EVERY == 0 and self._averaging == "restarted" and self.core.restart():
            self._steps.forget(1.0)
        if self._bounded and self.taken % _WINDOW == 0:
            self._close_window()
            self.core.core.open_window()
        return of_mean, held_out

    def _has_risen(self) -> bool:
        """Return whether the path has left its valley: no step is safe for certain while messages lag."""
        taken, loss = self.taken - self._since, self.history[-1]
        if taken < _LOOK_EVERY or taken % _LOOK_EVERY:
            return False
        least = min(self.history[-taken:])
        return loss - least > _RISE * abs(least) or (taken % CHECK_EVERY == 0 and loss > self.history[-CHECK_EVERY])

    def _begin_anew(self) -> None:
        """Start again at the average, with fresh messages and the safe step."""
        core = self.core.core
        if self._bounded:
            self._close_window()
        self.calls += core.settle(_LOOSE, _REFIT)[1]
        core.restart(always=True)
        self._steps = MeasuredSteps(self._safe, *FINE, _MAX_GROWTH)
        self._second = self._second and SecondAverage()
        self._last, self._since = 0.0, self.taken
        if self._bounded:
            core.open_window()

    def _is_optimal(self) -> bool:
        tolerance = self._options.tolerance
        if tolerance == 0 or self.taken < CHECK_EVERY or self.taken % CHECK_EVERY:
            return False
        loss = self.history[-1]
        return abs(self.history[-1 - CHECK_EVERY] - loss) <= tolerance * (1 + abs(loss))

    def _close_window(self) -> None:
        self.bound = max(self.bound, self.core.core.lower_bound())
        self._gap = max(0.0, self.history[-1] - self.bound)

    def position(self, problem: RegionProblem) -> CliqueVector:
        """Return natural logs of the average, made consistent; cells that are merely rare do not become zeros."""
        if self._bounded:
            self._close_window()
        self.calls += self.core.core.settle(_LOOSE, _REFIT)[1]
        beliefs = self.core.core.take_beliefs()
        logs = np.log(np.maximum(beliefs, _LEAST), out=np.full(beliefs.size, -np.inf), where=beliefs > 0)
        return CliqueVector(problem.domain, problem.graph.regions, logs)

    def answer(self, problem: RegionProblem, status: Status) -> Answer:
        """Make the average consistent, with potentials to it; loss and bound are those of the answer."""
        if self._bounded:
            self._close_window()
        core = self.core.core
        core.settle(_FEASIBILITY, _POLISH)
        loss = self.core.settled_loss()
        potentials, marginals = core.take_potentials(), core.take_beliefs()
        marginals *= problem.total
        if not problem.loss.smooth:
            loss = on_regions(problem.graph, problem.loss)(marginals)[0]
        gap = max(0.0, loss - self.bound) if self._bounded and self.bound > -math.inf else None
        regions = problem.graph.regions
        seconds = time.perf_counter() - self._options.started
        return (
            CliqueVector(problem.domain, regions, potentials),
            CliqueVector(problem.domain, regions, marginals),
            Fit(status, loss, gap, self.calls, seconds, tuple(self.history)),
        )
