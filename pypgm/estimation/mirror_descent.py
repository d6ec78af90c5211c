"""Mirror descent on the marginal polytope, with a line search that needs no step size and a certificate."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pypgm.estimation.fit import Fit, Options, Status, Watch
from pypgm.estimation.problem import Answer, Problem
from pypgm.estimation.subgradient import subgradient_descent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pypgm import _core
    from pypgm.estimation.general import GeneralDescent

__all__ = ["mirror_descent"]

_GAP_EVERY = 10  # iterations between certificates: each costs half a propagation
_MAX_HALVINGS = 30
_MAX_IDLE = 20  # steps without descent after which rounding must be what hides it
_GROWTH = 1.5
_MAX_GROWTH = 1000.0  # of the step over the safe one


def mirror_descent(problem: Problem, options: Options) -> Answer:
    r"""Minimise a loss over the marginals of distributions on a domain, going down step by step.

    The step :math:`\theta \leftarrow \theta - \alpha \nabla L(\mu)` is accepted if the loss falls at least as the
    Bregman model of smoothness :math:`1/\alpha` says, with the symmetric divergence; a rejected step is halved, an
    accepted one grows. A loss that is not smooth goes to `subgradient_descent`.

    Parameters
    ----------
    problem : Problem
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
    core = problem.descent(options.n_threads)
    run = _Run(core, problem.safe_step() or 1.0 / problem.total, options)
    status = run.to_the_end()
    potentials, marginals, loss = run.best()
    gap = max(0.0, run.gap) if run.gap is not None and problem.loss.convex else None
    fit = Fit(status, loss, gap, run.calls, time.perf_counter() - options.started, tuple(run.history))
    return problem.vector(potentials), problem.vector(marginals), fit


class _Run:
    """One descent: where it stands, and the best point it has seen."""

    def __init__(self, core: _core.Descent | GeneralDescent, safe: float, options: Options) -> None:
        self.core = core
        self.options = options
        self.safe_step = safe
        self.step = 2 * safe
        self.calls = 1
        self.steps = 0
        self.idle = 0
        self.gap: float | None = None
        self.lowest = core.loss
        self.history = [core.loss]
        self._best: tuple[NDArray[np.float64], NDArray[np.float64], float] | None = None

    def to_the_end(self) -> Status:
        watch = Watch(self.options)
        try:
            status = self._loop(watch)
        except KeyboardInterrupt:
            status = "interrupted"
        finally:
            watch.close()
        if self.options.tolerance == 0 or self.gap is None:
            # Where an earlier point was better, the bound at the last one holds for it all the more.
            self.gap = self.core.gap()
        return status

    def best(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        if self._best is not None and self._best[2] < self.core.loss:
            return self._best
        return self.core.potentials, self.core.marginals, self.core.loss

    def _loop(self, watch: Watch) -> Status:
        options = self.options
        while self.calls < options.iterations:
            if options.tolerance > 0 and self.steps % _GAP_EVERY == 0:
                self.gap = self.core.gap()
                if self.gap <= options.tolerance * (1 + abs(self.core.loss)):
                    return "converged"
            if not self._advance():
                self.gap = self.core.gap()
                return "converged"
            ended = watch.ended(self.calls, self.core.loss, self.gap)
            if ended is not None:
                return ended
        return "iterations"

    def _advance(self) -> bool:
        """Take one step; return whether there may be more to gain."""
        alpha = self.options.step(self.steps + 1)
        found = self._search() if alpha is None else self._fixed(alpha)
        self.steps += 1
        self.idle = 0 if self.core.loss < self.lowest else self.idle + 1
        self.lowest = min(self.lowest, self.core.loss)
        self.history.append(self.core.loss)
        exhausted = not found or (self.idle >= _MAX_IDLE and self.options.stepsize is None)
        # A tolerance of 0 runs all iterations, whatever rounding leaves of them.
        return not exhausted or self.options.tolerance == 0

    def _search(self) -> bool:
        for _ in range(_MAX_HALVINGS):
            self.core.try_step(self.step)
            self.calls += 1
            slope, curvature = self.core.change()
            # The Bregman model of this step allows curvature / 2 <= total / step * KL. With KL the mean of both
            # directions the right side is -slope / 2, free of differences of large logarithms.
            if curvature <= -slope:
                self.core.accept()
                self.step = min(self.step * _GROWTH, _MAX_GROWTH * self.safe_step)
                return True
            self.step /= 2
            if self.calls >= self.options.iterations:
                return True
        # Rounding hides any descent that is left.
        return False

    def _fixed(self, alpha: float) -> bool:
        new_loss = self.core.try_step(alpha)
        self.calls += 1
        if new_loss > self.core.loss and (self._best is None or self.core.loss < self._best[2]):
            self._best = self.core.potentials, self.core.marginals, self.core.loss
        self.core.accept()
        return True
