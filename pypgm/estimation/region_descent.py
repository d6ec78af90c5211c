"""Estimates over the local polytope of a region graph: accelerated mirror descent with one sweep an iteration."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.estimation.accelerated import (
    FINE,
    STAGE_TOLERANCE,
    MeasuredSteps,
)
from pypgm.estimation.fit import Fit, Options, Status, Watch
from pypgm.estimation.path import CHECK_EVERY, Path
from pypgm.estimation.problem import Answer
from pypgm.estimation.region_problem import (
    CompiledRegionDescent,
    GeneralRegionDescent,
    RegionProblem,
    on_regions,
)
from pypgm.estimation.residual_losses import L2
from pypgm.estimation.second_average import SecondAverage
from pypgm.estimation.thinning import answers_to_fit, further, left_to_validate, validates

__all__ = ["region_descent"]

_MAX_GROWTH = 100.0  # of the step over the safe one
_LOOSE = 1e-3  # feasibility above which an iteration takes more sweeps
_LOOK_EVERY = 10  # iterations between looks at whether the loss has risen
_RISE = 1e-2  # of the loss above its least: more than the ripples of an accelerated path
_REFIT = 30  # sweeps at most
_WINDOW = 100  # iterations between certificates
_FEASIBILITY = 1e-8  # of the answer
_POLISH = 1000  # sweeps at most
_LEAST = 1e-30  # of a belief to go on from


def region_descent(problem: RegionProblem, options: Options) -> Answer:
    r"""Minimise a smooth convex loss over locally consistent marginals.

    Potentials move against the gradient, messages follow by one sweep of convex generalised belief propagation,
    extrapolated by their last change so that they do not lag, and the answer is an average of the path, made
    consistent at the end. Steps are as long as the last move shows that they may be. Where to end is as in
    `accelerated`, but a relative change of the loss by less than the tolerance over 50 iterations is the optimum.

    Parameters
    ----------
    problem : RegionProblem
        The loss, the total, the region graph and the start.
    options : Options
        Where to end, limits, tolerance, callback, and when the work began. A step size is not taken.

    Returns
    -------
    Answer
        Potentials (natural logs, with which `convex_gbp` gives the marginals), marginals over the regions (counts),
        and how it ended. The bound of the loss over its optimum is that over the local polytope.

    References
    ----------
    McKenna, Pradhan, Sheldon, Miklau: Relaxed marginal consistency for differentially private query answering,
    NeurIPS 2021, Algorithm 1.
    """
    watch = Watch(options)
    loss = problem.loss
    rests = bool(loss.measurements) and loss.refitted(loss.measurements) is not None
    try:
        if validates(options) and rests:
            run, status = _validated(problem, options, watch)
        else:
            run, status = _to_the_optimum(problem, options, watch, 0)
    finally:
        watch.close()
    return run.answer(problem, status)


class _Made:
    """What a path asks of a problem, where its loop is made already."""

    def __init__(self, core: CompiledRegionDescent | GeneralRegionDescent) -> None:
        self._core = core

    def acceleration(self, *_: object) -> CompiledRegionDescent | GeneralRegionDescent:
        """Return the loop."""
        return self._core


class _RegionPath(Path):
    """The iterates, which count sweeps as oracle calls and gather a bound of the optimum."""

    core: CompiledRegionDescent | GeneralRegionDescent  # type: ignore[assignment]

    def __init__(
        self,
        core: CompiledRegionDescent | GeneralRegionDescent,
        safe: float,
        options: Options,
        watch: Watch,
        calls: int,
        *,
        bounded: bool,
        twice: bool,
    ) -> None:
        steps = MeasuredSteps(safe, *FINE, _MAX_GROWTH)
        super().__init__(_Made(core), steps, options, watch, calls, twice=twice)  # type: ignore[arg-type]
        self.calls = calls + core.sweeps
        self._bounded = bounded
        self.bound = -math.inf
        self._safe = safe
        self._last = 0.0
        self._since = 0
        if bounded:
            core.core.open_window()

    def _advance(self) -> float:
        s, a = self._steps.next()
        stretch = s / self._last if self._last > 0 else 0.0
        self._last = s
        loss, held_out, slope, curvature, sweeps = self.core.advance(s, a, self._share(s, a), stretch, _LOOSE)
        self.calls += sweeps
        self._taken += 1
        self.history.append(loss)
        self._steps.learn(slope, curvature)
        if self._has_risen():
            self._begin_anew()
        elif self._taken % CHECK_EVERY == 0:
            self._restart()
        if self._bounded and self._taken % _WINDOW == 0:
            self._close_window()
            self.core.core.open_window()
        return held_out

    def _has_risen(self) -> bool:
        """Return whether the path has left its valley: no step is safe for certain while messages lag."""
        taken, loss = self._taken - self._since, self.history[-1]
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
        self._last, self._since = 0.0, self._taken
        if self._bounded:
            core.open_window()

    def follow_steps(self, steps: int, limit: int) -> Status | None:
        """Take some steps, within so many oracle calls; return why it ended before, None if it did not."""
        try:
            while self._taken < steps and self.calls < limit:
                self._advance()
                ended = self._watched()
                if ended is not None:
                    return ended
        except KeyboardInterrupt:
            return "interrupted"
        return None

    def _is_optimal(self) -> bool:
        tolerance = self._options.tolerance
        if tolerance == 0 or self._taken < CHECK_EVERY or self._taken % CHECK_EVERY:
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


def _to_the_optimum(problem: RegionProblem, options: Options, watch: Watch, calls: int) -> tuple[_RegionPath, Status]:
    """Follow the path to the tolerance; that of a loss which is not smooth from stage to stage."""
    stages = problem.loss.stages()
    rough = replace(options, tolerance=max(options.tolerance, STAGE_TOLERANCE))
    bound = -math.inf  # no stage lies above the loss itself
    history: list[float] = []
    for stage in stages:
        last = stage is stages[-1]
        problem = problem.with_loss(stage)
        run = _path(problem, options if last else rough, watch, calls, twice=False)
        run.history[:0] = history
        status = run.follow(options.iterations, to_tolerance=True)
        calls, history = run.calls, run.history
        run.bound = bound = max(bound, run.bound)
        if last or status != "converged":
            break
        problem = replace(problem, start=run.position(problem))
    return run, status or "iterations"


def _validated(problem: RegionProblem, options: Options, watch: Watch) -> tuple[_RegionPath, Status]:
    """Find on thinned measurements how far to go, then go there."""
    stages = problem.loss.stages()
    smooth = problem.with_loss(stages[min(1, len(stages) - 1)])
    run = _thinned_path(smooth, options, watch)
    status, best = run.validate(options.iterations // 2)
    calls = run.calls
    if status in {"time", "callback", "interrupted"}:
        return run, status
    del run  # its tables make room for the next ones
    if status == "converged":
        # Noise too small to be fitted: the measurements' own end is the tolerance.
        return _to_the_optimum(problem, options, watch, calls)
    run = _path(smooth, options, watch, calls, twice=True)
    return run, run.follow_steps(further(best), options.iterations) or status


def _path(problem: RegionProblem, options: Options, watch: Watch, calls: int, *, twice: bool) -> _RegionPath:
    solver = CompiledRegionDescent if problem.compiles() else GeneralRegionDescent
    core = solver(problem, options.n_threads)
    return _RegionPath(core, problem.safe_step(), options, watch, calls, bounded=problem.loss.convex, twice=twice)


def _thinned_path(problem: RegionProblem, options: Options, watch: Watch) -> _RegionPath:
    answers = answers_to_fit(problem.domain, problem.loss.measurements, options.rng)
    core: CompiledRegionDescent | GeneralRegionDescent
    if problem.compiles():
        core = CompiledRegionDescent(problem, options.n_threads, answers)
    else:
        measurements = problem.loss.measurements
        fitted = [m.answered(y) for m, y in zip(measurements, answers, strict=True)]
        validation = L2(left_to_validate(measurements, fitted))
        loss = problem.loss.refitted(fitted)
        core = GeneralRegionDescent(problem if loss is None else problem.with_loss(loss), options.n_threads, validation)
    return _RegionPath(core, problem.safe_step(), options, watch, 0, bounded=False, twice=True)
