"""Mirror descent on the marginal polytope, with a line search that needs no step size and a certificate."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from pypgm.estimation.fit import Fit, Options, Status, Watch, watched
from pypgm.estimation.problem import Answer
from pypgm.estimation.subgradient import subgradient_descent
from pypgm.estimation.tree_problem import Searching, TreeProblem

if TYPE_CHECKING:
    from pypgm.estimation.general import SteadyDescent

__all__ = ["mirror_descent"]

_GAP_EVERY = 10  # iterations between certificates: each costs half a propagation
_MAX_HALVINGS = 30
_MAX_IDLE = 20  # steps without descent after which rounding must be what hides it
_GROWTH = 1.5
_MAX_GROWTH = 1000.0  # of the step over the safe one


def mirror_descent(problem: TreeProblem, options: Options) -> Answer:
    r"""Minimise a loss over the marginals of distributions on a domain, going down step by step.

    The step :math:`\theta \leftarrow \theta - \alpha \nabla L(\mu)` is accepted if the loss falls at least as the
    Bregman model of smoothness :math:`1/\alpha` says, with the symmetric divergence; a rejected step is halved, an
    accepted one grows. A loss that is not smooth goes to `subgradient_descent`.

    Parameters
    ----------
    problem : TreeProblem
        The loss, the total and the start.
    options : Options
        Limits, tolerance, step size, callback, and when the work began.

    Returns
    -------
    Answer
        The best point found, and how it ended.

    References
    ----------
    McKenna, Sheldon, Miklau: Graphical-model based estimation and inference for differential privacy, ICML 2019,
    Algorithm 1; Bauschke, Bolte, Teboulle: A descent lemma beyond Lipschitz gradient continuity, 2017.
    """
    if not problem.loss.smooth:
        return subgradient_descent(problem, options)
    first = options.step(1)
    core = problem.descent(options.n_threads) if first is None else problem.steady_descent(first, options.n_threads)
    run = _Run(core, problem, options)
    status = run.to_the_end()
    gap = max(0.0, run.gap) if run.gap is not None and problem.loss.convex else None
    if status == "converged" and gap is None:
        status = "iterations"  # a gap certifies nothing of a loss that is not convex
    fit = Fit(status, core.loss, gap, run.calls, time.perf_counter() - options.started, tuple(run.history))
    return problem.vector(core.potentials), problem.vector(core.marginals), fit


class _Run:
    """One descent and where it stands; the core keeps the best point."""

    def __init__(self, core: Searching | SteadyDescent, problem: TreeProblem, options: Options) -> None:
        self.core = core
        self.options = options
        safe = problem.safe_step()
        self.longest = math.inf if safe is None else _MAX_GROWTH * safe
        self.step = 1.0 / problem.total if safe is None else 2 * safe
        self.calls = 1
        self.steps = 0
        self.idle = 0
        self.gap: float | None = None
        self.loss = core.loss
        self.lowest = core.loss
        self.history = [core.loss]

    def to_the_end(self) -> Status:
        status = watched(self._loop, self.options)
        if self.options.tolerance == 0 or self.gap is None:
            self.gap = self.core.gap()
        return status

    def _loop(self, watch: Watch) -> Status:
        options = self.options
        while self.calls < options.iterations:
            if options.tolerance > 0 and self.steps % _GAP_EVERY == 0:
                self.gap = self.core.gap()
                if options.meets(self.gap, self.core.loss):
                    return "converged"
            if not self._advance():
                # That rounding hides any descent left certifies nothing: the gap does.
                self.gap = self.core.gap()
                return "converged" if options.meets(self.gap, self.core.loss) else "iterations"
            ended = watch.ended(self.calls, self.loss, self.gap)
            if ended is not None:
                return ended
        return "iterations"

    def _advance(self) -> bool:
        """Take one step; return whether there may be more to gain."""
        if isinstance(self.core, Searching):
            found = self._search(self.core)
            self.loss = self.core.loss
        else:
            found = True
            # The core is told the step after the one it takes, if there is one.
            self.calls += 1
            ahead = self.options.step(self.steps + 2) if self.calls < self.options.iterations else None
            self.loss = self.core.advance(ahead or 0.0)
        self.steps += 1
        self.idle = 0 if self.loss < self.lowest else self.idle + 1
        self.lowest = min(self.lowest, self.loss)
        self.history.append(self.loss)
        exhausted = not found or (self.idle >= _MAX_IDLE and self.options.stepsize is None)
        # A tolerance of 0 runs all iterations, whatever rounding leaves of them.
        return not exhausted or self.options.tolerance == 0

    def _search(self, core: Searching) -> bool:
        for _ in range(_MAX_HALVINGS):
            core.try_step(self.step)
            self.calls += 1
            slope, curvature = core.change()
            # The Bregman model of this step allows curvature / 2 <= total / step * KL. With KL the mean of both
            # directions the right side is -slope / 2, free of differences of large logarithms.
            if curvature <= -slope:
                core.accept()
                self.step = min(self.step * _GROWTH, self.longest)
                return True
            self.step /= 2
            if self.calls >= self.options.iterations:
                return True
        # Rounding hides any descent that is left.
        return False
