"""Accelerated mirror descent with a measured step, ended where the measurements say that noise begins to be fitted."""

from __future__ import annotations

import math
from dataclasses import replace

from pypgm.estimation.fit import Status
from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.path import Path
from pypgm.estimation.problem import Problem, Solution
from pypgm.estimation.solver import Watch, watched
from pypgm.estimation.steps import Pace, Validated
from pypgm.estimation.stop_rule import Validation
from pypgm.estimation.thinning import noise_left

_STAGE_TOLERANCE = 1e-2  # of the smooth stages before the last
_LEAST_TO_VALIDATE = 4  # oracle calls: a start and a step of each path
_LAG = 2  # times the iterations that were best, which a path whose steps are shorter may take


def accelerated(problem: Problem, options: SolverOptions) -> Solution:
    r"""Minimise a smooth convex loss over the marginals of distributions on a domain, or those a region graph allows.

    The answer is an average of marginals along the path, to which potentials are fitted at the end. With
    ``stop="validated"``, if the loss rests only on measurements, the path is first run on measurements with further
    noise, and compared with independent ones that have that noise subtracted; it then runs on the measurements
    themselves for the best number of iterations, with a few more as their noise is less, or `further` times that
    number if requested and nearly as good on the held-out answers: associations are then shrunk less. A loss that is
    not smooth is approached through its smooth stages, each starting where the last one ended.

    Parameters
    ----------
    problem : Problem
        The loss, the total and the start.
    options : SolverOptions
        End of the path, limits, tolerance, callback, and start of the work.

    Returns
    -------
    Solution
        Potentials, marginals, and how it ended.

    References
    ----------
    Auslender and Teboulle: Interior gradient and proximal methods for convex and conic optimization, 2006 (the
    path); McKenna, Pradhan, Sheldon, Miklau: Relaxed marginal consistency for differentially private query answering,
    NeurIPS 2021, Algorithm 1 (over region graphs); Oliveira, Lei, Tibshirani: Unbiased risk estimation via coupled
    bootstrap, 2021, and Neufeld, Dharamshi, Gao, Witten: Data thinning for convolution-closed distributions, 2024 (the
    stop).
    """
    search = _Search(problem, options)
    status = watched(search.to_the_end, options)
    # Where Ctrl-C came between two paths, the start of the next is what there is.
    path = search.path or Path(search.ahead, options, target=problem.loss)
    return path.solution(status)._replace(validated=search.validated)


class _Search:
    """The paths of an estimate, one after the other: the memory of one solver is enough."""

    def __init__(self, problem: Problem, options: SolverOptions) -> None:
        self.path: Path | None = None
        self.ahead = problem  # that of the next path
        self.validated: Validated | None = None
        self._problem = problem
        self._options = options

    def to_the_end(self, watch: Watch) -> Status:
        """Follow paths until something ends the last of them."""
        options, loss = self._options, self._problem.loss
        stages = loss.stages()
        # The second smooth stage of a loss is near it where noise is, and easy to follow.
        smoothed = self._problem.with_loss(stages[min(1, len(stages) - 1)])
        validates = options.stop == "validated" and options.iterations >= _LEAST_TO_VALIDATE
        if validates and options.pace is not None:
            return self._paced(watch, smoothed, options.pace, 0, "validated")
        # Where preparing it took all of the time, the step that is left is one on the measurements themselves.
        thinned = smoothed.thinned(options) if validates and not watch.clock.is_past_limit else None
        if thinned is None:
            return self._to_the_optimum(watch, 0)
        rule = Validation(noise_left(thinned.held_out))
        target = loss if options.trial is None else None
        path = self.path = Path(thinned, options, rule=rule.ended, target=target)
        status = path.follow(watch, options.iterations // 2)
        self.validated = Validated(rule.least, rule.best, rule.fitted_at_best, path.steps.restarted())
        if options.trial is not None or status not in {"converged", "validated", "iterations"}:
            return status
        calls = path.calls
        self.ahead, self.path = smoothed, None
        del path
        if status == "converged":
            # Noise too small to be fitted: the tolerance is where the measurements themselves end.
            return self._to_the_optimum(watch, calls)
        further = options.further if options.anyway or rule.permits(options.further) else 1.0
        return self._paced(watch, smoothed, self.validated.pace(further), calls, status)

    def _paced(self, watch: Watch, smoothed: Problem, pace: Pace, calls: int, status: Status) -> Status:
        """Follow the path on the measurements themselves for the length of an earlier one; return why it ended."""

        def ended(taken: int, loss: float, _: float) -> Status | None:
            # Measured steps differ from path to path: one that lags has not yet fitted even the noisier measurements.
            is_due = taken >= pace.iterations and (loss <= pace.loss or taken >= _LAG * pace.iterations)
            return status if is_due else None

        options = replace(self._options, tolerance=0.0)
        self.path = Path(smoothed, options, calls, steps=pace.steps, rule=ended, target=self._problem.loss)
        return self.path.follow(watch, options.iterations)

    def _to_the_optimum(self, watch: Watch, calls: int) -> Status:
        """Follow the path to the tolerance; that of a loss which is not smooth from stage to stage."""
        here, options, loss = self._problem, self._options, self._problem.loss
        rough = replace(options, tolerance=max(options.tolerance, _STAGE_TOLERANCE))
        history: list[float] = []
        lower = -math.inf
        *rougher, last = loss.stages()
        for stage in (*rougher, last):
            path = self.path = Path(here.with_loss(stage), options if stage is last else rough, calls, target=loss)
            path.history[:0], path.lower = history, lower
            status = path.follow(watch, options.iterations)
            if status != "converged" or stage is last:
                break
            calls, history, lower = path.calls, path.history, path.lower
            point = path.fitted(rough=not here.exact)
            if here.exact and options.meets(point.loss - lower, point.loss):
                break
            start = point.potentials if point.start is None else point.start
            here = replace(here, start=here.tables.like(start))
            self.ahead, self.path = here.with_loss(stage), None
            del path
        return status
