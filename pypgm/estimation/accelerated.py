"""Accelerated mirror descent with a measured step, the averaging methods of textbooks, and the universal method."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pypgm.estimation.fit import Status
from pypgm.estimation.general_solvers import GeneralAcceleration
from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.oracle import dot
from pypgm.estimation.path import Path
from pypgm.estimation.problem import Point, Problem, Solution
from pypgm.estimation.solver import StepwiseSolver, Watch, solved, watched
from pypgm.estimation.steps import FixedSteps, Pace, Validated, averaged_step
from pypgm.estimation.stop_rule import Validation, noise_left
from pypgm.estimation.tree_problem import TreeProblem


def dual_averaging(problem: TreeProblem, options: SolverOptions) -> Solution:
    r"""Minimise a smooth convex loss by accelerated regularised dual averaging (RDA).

    With :math:`c_t = 2 / (t + 1)` the gradient is taken at :math:`(1 - c_t) \mu + c_t \nu`, gradients are averaged
    with the same weights, :math:`\theta = \theta_0 - \frac{t (t + 1)}{4 K N} \bar g`, and the answer :math:`\mu` is
    the average of the marginals :math:`\nu` of these potentials. K is the smoothness of the loss relative to the
    entropy of the joint distribution and N the total: with the largest eigenvalue of the queries in its place the
    method crawls, with that of a single clique it diverges.

    Parameters
    ----------
    problem : TreeProblem
        The loss, whose smoothness must be known, the total and the start.
    options : SolverOptions
        Limits, tolerance, callback, and when the work began.

    Returns
    -------
    Solution
        The average, as a model, and how it ended.

    References
    ----------
    Xiao: Dual averaging methods for regularized stochastic learning and online optimization, 2010; McKenna, Sheldon,
    Miklau: Graphical-model based estimation and inference for differential privacy, ICML 2019, Algorithm 2.
    """
    safe = _known_step(problem, "dual_averaging")
    # The gradients' weights t / 2K, taken one by one.
    steps = ((t * safe / 2, 2 / (t + 1)) for t in itertools.count(1))
    return solved(Path(problem, options, steps=FixedSteps(steps)))


def interior_gradient(problem: TreeProblem, options: SolverOptions) -> Solution:
    r"""Minimise a smooth convex loss by the interior gradient method with a constant step.

    With :math:`c_0 = 1`, :math:`a = (\sqrt{c^2 + 4 c} - c) / 2` and then :math:`c \leftarrow c (1 - a)`, the gradient
    is taken at :math:`(1 - a) x + a z`, :math:`\theta \leftarrow \theta - \frac{a}{c K N} g`, z are the marginals of
    these potentials and :math:`x \leftarrow (1 - a) x + a z` is the answer.

    Parameters
    ----------
    problem : TreeProblem
        The loss, whose smoothness K must be known, the total N and the start.
    options : SolverOptions
        Limits, tolerance, callback, and when the work began.

    Returns
    -------
    Solution
        The average, as a model, and how it ended.

    References
    ----------
    Auslender and Teboulle: Interior gradient and proximal methods for convex and conic optimization, 2006.
    """
    safe = _known_step(problem, "interior_gradient")
    return solved(Path(problem, options, steps=FixedSteps(_interior_gradient_steps(safe))))


def _interior_gradient_steps(safe: float) -> Iterator[tuple[float, float]]:
    c = 1.0
    while True:
        a = (math.sqrt(c * c + 4 * c) - c) / 2
        c *= 1 - a
        yield a / c * safe, a


def _known_step(problem: TreeProblem, method: str) -> float:
    safe = problem.safe_step()
    if safe is None:
        others = "give it lipschitz=, or use 'accelerated', 'universal' or 'mirror_descent', which measure their steps"
        raise ValueError(f"method {method!r} needs to know how smooth the loss {problem.loss!r} is: {others}")
    return safe


_MAX_HALVINGS = 50
_GROWTH = 1.2
_SLACK = 0.01  # of the loss that the tolerance leaves: the bound, of first order, needs more than the loss does


def universal(problem: TreeProblem, options: SolverOptions) -> Solution:
    r"""Minimise a convex loss of unknown smoothness, down to losses that are not smooth at all.

    A step of weight a from z to z', along the gradient g at :math:`v = (1 - a) x + a z`, is accepted if the loss at
    :math:`x' = (1 - a) x + a z'` is at most :math:`L(v) + \frac a2 \langle g, z' - z \rangle + \frac a2 \epsilon`;
    else the step is halved, and after it it grows. :math:`\epsilon` is a hundredth of the loss that the tolerance
    leaves.

    Parameters
    ----------
    problem : TreeProblem
        The loss, the total and the start.
    options : SolverOptions
        Limits, tolerance, callback, and when the work began.

    Returns
    -------
    Solution
        The average, as a model, and how it ended.

    References
    ----------
    Nesterov: Universal gradient methods for convex optimization problems, 2015.
    """
    return solved(_Universal(problem, options))


class _Universal(StepwiseSolver):
    def __init__(self, problem: TreeProblem, options: SolverOptions) -> None:
        self._oracle = problem.oracle(options.n_threads)
        self._core = GeneralAcceleration(self._oracle, problem.start.values)
        super().__init__(problem, options, self._core.loss())
        self._weight = 0.0
        steepest = np.abs(self._oracle.evaluate(self._core.average)[1]).max(initial=1e-300)
        self._step = problem.safe_step() or 1.0 / float(steepest)

    def advance(self) -> None:
        """Take the first step that is accepted, none where the calls run out before; see `Solver`."""
        core = self._core
        slack = _SLACK * self.options.tolerance * (1 + abs(core.loss()))
        for trial in range(1, min(_MAX_HALVINGS, self.options.iterations - self.calls) + 1):
            s, a = averaged_step(self._step, self._weight)
            loss, gradient, moved = core.try_step(s, a)
            allowed = loss + a / 2 * (dot(gradient, moved) + slack)
            # Rounding may hide what a step gained; it is then accepted.
            if core.tried_loss() <= allowed + 1e-13 * abs(loss) or trial == _MAX_HALVINGS:
                core.accept()
                self._weight += s
                self._step *= _GROWTH
                break
            self._step /= 2
        self.calls += trial
        self.history.append(core.loss())

    def marginals(self) -> NDArray[np.float64]:
        """Return the average; see `Solver`."""
        return np.array(self._core.average)

    def lower_bound(self) -> float:
        """Return a lower bound from the gradient at the average; see `Solver`."""
        return self._core.loss() - self._core.gap()

    def point(self) -> Point:
        """Return the model of the average; see `Solver`."""
        self.look()
        point = self._oracle.at(self._oracle.with_marginals(self._core.average, self._core.potentials))
        return Point(point.potentials, point.marginals, point.loss, point.loss - self._oracle.gap(point))


_STAGE_TOLERANCE = 1e-2  # of the smooth stages before the last
_LEAST_TO_VALIDATE = 4  # oracle calls: a start and a step of each path
_LAG = 2  # times the iterations that were best, which a path whose steps are shorter may take


def accelerated(problem: Problem, options: SolverOptions) -> Solution:
    r"""Minimise a smooth convex loss over the marginals of distributions on a domain, or those a region graph allows.

    The answer is an average of marginals along the path, to which potentials are fitted at the end. With
    ``stop="validated"``, if the loss rests only on measurements, the path is first run on measurements with further
    noise, and compared with independent ones that have that noise subtracted; it then runs on the measurements
    themselves for the best number of iterations, with a few more as their noise is less. If it is to go `further`, the
    answer is the mean of that point and the one `further` times as far along: noise at both is not the same, and
    associations are shrunk less. A loss that is not smooth is approached through its smooth stages, each starting
    where the last one ended.

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
        return self._paced(watch, smoothed, self.validated.pace(options.further), calls, status)

    def _paced(self, watch: Watch, smoothed: Problem, pace: Pace, calls: int, status: Status) -> Status:
        """Follow the path on the measurements themselves for the length of an earlier one; return why it ended."""

        def is_due(times: float, taken: int, loss: float) -> bool:
            # Measured steps differ from path to path: one that lags has not yet fitted even the noisier measurements.
            return taken >= times * pace.iterations and (loss <= pace.loss or taken >= _LAG * times * pace.iterations)

        def ended(taken: int, loss: float, _: float) -> Status | None:
            if is_due(pace.further, taken, loss):
                return status
            if not path.has_kept and is_due(1.0, taken, loss):
                path.keep()
            return None

        options = replace(self._options, tolerance=0.0)
        path = self.path = Path(smoothed, options, calls, steps=pace.steps, rule=ended, target=self._problem.loss)
        return path.follow(watch, options.iterations)

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
