"""Estimates over the local polytope of a region graph: accelerated mirror descent with one sweep an iteration."""

from __future__ import annotations

import math
from dataclasses import replace

from pypgm.estimation.accelerated import (
    STAGE_TOLERANCE,
)
from pypgm.estimation.fit import Options, Status, Watch
from pypgm.estimation.path import Averaging
from pypgm.estimation.problem import Answer
from pypgm.estimation.region_path import RegionPath
from pypgm.estimation.region_problem import (
    CompiledRegionDescent,
    GeneralRegionDescent,
    RegionProblem,
)
from pypgm.estimation.residual_losses import L2
from pypgm.estimation.thinning import answers_to_fit, left_to_validate, unthinned_count, validates

__all__ = ["region_descent"]


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


def _to_the_optimum(problem: RegionProblem, options: Options, watch: Watch, calls: int) -> tuple[RegionPath, Status]:
    """Follow the path to the tolerance; that of a loss which is not smooth from stage to stage."""
    stages = problem.loss.stages()
    rough = replace(options, tolerance=max(options.tolerance, STAGE_TOLERANCE))
    bound = -math.inf  # no stage lies above the loss itself
    history: list[float] = []
    for stage in stages:
        last = stage is stages[-1]
        problem = problem.with_loss(stage)
        run = _path(problem, options if last else rough, watch, calls, "restarted")
        run.history[:0] = history
        status = run.follow(options.iterations, to_tolerance=True)
        calls, history = run.calls, run.history
        run.bound = bound = max(bound, run.bound)
        if last or status != "converged":
            break
        problem = replace(problem, start=run.position(problem))
    return run, status or "iterations"


def _validated(problem: RegionProblem, options: Options, watch: Watch) -> tuple[RegionPath, Status]:
    """Find on thinned measurements how far to go, then go there."""
    stages = problem.loss.stages()
    smooth = problem.with_loss(stages[min(1, len(stages) - 1)])
    run = _thinned_path(smooth, options, watch)
    status, best, averaging = run.validate(options.iterations // 2)
    calls = run.calls
    if status in {"time", "callback", "interrupted"}:
        return run, status
    del run  # its tables make room for the next ones
    if status == "converged":
        # Noise too small to be fitted: the measurements' own end is the tolerance.
        return _to_the_optimum(problem, options, watch, calls)
    run = _path(smooth, options, watch, calls, averaging)
    taken = unthinned_count(best)
    return run, run.follow(options.iterations, until=lambda: run.taken >= taken) or status


def _path(problem: RegionProblem, options: Options, watch: Watch, calls: int, averaging: Averaging) -> RegionPath:
    solver = CompiledRegionDescent if problem.compiles() else GeneralRegionDescent
    core = solver(problem, options.n_threads)
    return RegionPath(
        core, problem.safe_step(), options, watch, calls, averaging=averaging, bounded=problem.loss.convex
    )


def _thinned_path(problem: RegionProblem, options: Options, watch: Watch) -> RegionPath:
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
    return RegionPath(core, problem.safe_step(), options, watch, 0, averaging="twice", bounded=False)
