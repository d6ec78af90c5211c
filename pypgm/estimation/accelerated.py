"""Accelerated mirror descent with a measured step, ended where the measurements say that noise begins to be fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pypgm.estimation.fit import Options, Status, Watch
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.path import Averaging
from pypgm.estimation.problem import Answer, Problem
from pypgm.estimation.steps import FINE, MeasuredSteps
from pypgm.estimation.thinning import answers_to_fit, left_to_validate, unthinned_count, validates
from pypgm.estimation.tree_path import TreePath, settled_answer

__all__ = [
    "STAGE_TOLERANCE",
    "accelerated",
]

_FAST = (2.0, 5)  # on the way to the optimum: a third to two thirds of the iterations that the fine ones take
_UNKNOWN = 1e6  # how far the steps of a loss of unknown smoothness may go below and above the first
_MAX_TRIALS = 40  # of a first step
STAGE_TOLERANCE = 1e-2  # of the smooth stages before the last


def accelerated(problem: Problem, options: Options) -> Answer:
    r"""Minimise a smooth convex loss over the marginals of distributions on a domain.

    The answer is an average of marginals along the path, to which potentials are fitted at the end. With
    ``stop="validated"``, where the loss rests on measurements alone, the path is first run on measurements to which
    further noise was added, and compared with independent ones that noise taken away leaves; it then runs on the
    measurements themselves for as many iterations as were best, and a few more as their noise is less. Its answer is
    the average it has come to, or the mean of its averages on the way, whichever validates better. On the way to the
    optimum the average leaves out its first iterates where that lowers the loss. A loss that is not smooth is
    approached through its smooth stages, each starting where the last one ended.

    Parameters
    ----------
    problem : Problem
        The loss, the total and the start.
    options : Options
        Where to end, limits, tolerance, callback, and when the work began.

    Returns
    -------
    Answer
        Potentials, marginals, and how it ended.

    References
    ----------
    Auslender and Teboulle: Interior gradient and proximal methods for convex and conic optimization, 2006 (the
    path); Oliveira, Lei, Tibshirani: Unbiased risk estimation via coupled bootstrap, 2021, and Neufeld, Dharamshi,
    Gao, Witten: Data thinning for convolution-closed distributions, 2024 (the stop).
    """
    watch = Watch(options)
    try:
        parts = _thinned(_smoothed(problem), options.rng) if validates(options) else None
        if parts is None:
            run, status = _to_the_optimum(problem, options, watch, 0)
        else:
            run, status = _validated(problem, *parts, options, watch)
    finally:
        watch.close()
    return settled_answer(problem, run, status, options)


def _smoothed(problem: Problem) -> Problem:
    """Return the problem with the second smooth stage of its loss: near the loss where noise is, and easy to follow."""
    stages = problem.loss.stages()
    return problem.with_loss(stages[min(1, len(stages) - 1)])


def _to_the_optimum(problem: Problem, options: Options, watch: Watch, calls: int) -> tuple[TreePath, Status]:
    """Follow the path to the tolerance; that of a loss which is not smooth from stage to stage."""
    stages = problem.loss.stages()
    rough = replace(options, tolerance=max(options.tolerance, STAGE_TOLERANCE))
    here = problem
    for stage in stages:
        here = here.with_loss(stage)
        last = stage is stages[-1]
        run = _path(here, options if last else rough, watch, calls, "shed")
        status = run.follow(options.iterations, to_tolerance=True)
        calls = run.calls
        if last or status != "converged":
            break
        here = here.started(problem.vector(run.settled()))
        loss = here.with_loss(problem.loss).descent(options.n_threads).loss
        if loss - run.lower <= options.tolerance * (1 + abs(loss)):
            break
    return run, status or "iterations"


def _validated(
    problem: Problem, fitted: Problem, validation: Sequence[LinearMeasurement], options: Options, watch: Watch
) -> tuple[TreePath, Status]:
    """Find on thinned measurements how far to go, then go there."""
    run = _path(fitted, options, watch, 0, "twice", held_out=validation)
    status, best, averaging = run.validate(options.iterations // 2)
    calls = run.calls
    if status == "converged":
        # Noise too small to be fitted: the tolerance is where the measurements themselves end.
        del run  # the memory of one solver is enough
        return _to_the_optimum(problem, options, watch, calls)
    if status in {"validated", "iterations"}:
        del run
        run = _path(_smoothed(problem), options, watch, calls, averaging)
        status = run.follow(min(run.calls + unthinned_count(best), options.iterations)) or status
    return run, status


def _path(
    problem: Problem,
    options: Options,
    watch: Watch,
    calls: int,
    averaging: Averaging,
    *,
    held_out: Sequence[LinearMeasurement] = (),
) -> TreePath:
    pace = _FAST if averaging == "shed" else FINE
    safe = problem.safe_step()
    if safe is not None:
        steps = MeasuredSteps(safe, *pace)
    else:
        first, trials = _permitted_step(problem, options)
        steps = MeasuredSteps(first / _UNKNOWN, *pace, _UNKNOWN**2, first=first)
        calls += trials
    return TreePath(problem, steps, options, watch, calls, averaging=averaging, held_out=held_out)


def _permitted_step(problem: Problem, options: Options) -> tuple[float, int]:
    """Return a first step for a loss of unknown smoothness, and how many oracle calls it took to find it."""
    core = problem.descent(options.n_threads)
    # Potentials move by the gradient times the step: none by more than 1 in the first trial.
    gradient = problem.loss.on(problem.tree.domain, problem.tree.cliques)(core.marginals)[1]
    alpha = 1.0 / max(1e-300, float(np.abs(gradient).max(initial=0.0)))
    for trials in range(1, _MAX_TRIALS):
        core.try_step(alpha)
        slope, curvature = core.change()
        if curvature <= -slope or trials >= options.iterations:
            break
        alpha /= 4
    return alpha, trials


def _thinned(problem: Problem, rng: np.random.Generator | int | None) -> tuple[Problem, list[LinearMeasurement]] | None:
    """Return the problem that thinned measurements pose, and those held out; None if the loss rests on more."""
    own = problem.loss.measurements
    fitted = [m.answered(y) for m, y in zip(own, answers_to_fit(problem.tree.domain, own, rng), strict=True)]
    # What is fitted starts from its own answers: a start that knew the held-out ones would look too good on them.
    rest = problem.refitted(fitted) if fitted else None
    if rest is None:
        return None
    return rest, left_to_validate(own, fitted)
