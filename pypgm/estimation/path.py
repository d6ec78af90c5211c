"""The iterates of an averaging method, and how long to follow them."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from pypgm.estimation.fit import Fit, Options, Status, Watch

if TYPE_CHECKING:
    from pypgm.estimation.loss import Loss
    from pypgm.estimation.problem import Answer, Problem
    from pypgm.estimation.steps import Steps

__all__ = ["CHECK_EVERY", "Path"]

CHECK_EVERY = 50  # iterations between looks at whether the tolerance is reached
_PATIENCE = 0.25  # of the iterations so far, without a better validation
_MIN_PATIENCE = 10
_RISE_EVERY = 10  # iterations between looks at whether the loss has risen
_RISE = 1e-2  # of the loss above its least: more than the ripples of an accelerated path


class Path:
    """The iterates of an averaging method by a problem's engine; its answer is their average.

    Parameters
    ----------
    problem : Problem
    options : Options
    watch : Watch
    calls : int
        Oracle calls spent before.
    steps : Steps, optional
        How far each iteration steps; measured by default.
    """

    def __init__(
        self, problem: Problem, options: Options, watch: Watch, calls: int = 0, *, steps: Steps | None = None
    ) -> None:
        self.problem = problem
        self._options = options
        self._watch = watch
        self._steps, trials = problem.steps(options) if steps is None else (steps, 0)
        self.engine = problem.engine(options.n_threads)
        self.calls = calls + trials + self.engine.calls
        self.history = [self.engine.loss()]
        self.taken = 0
        self.lower = -math.inf  # the highest bound so far that the least loss is not below
        self._gap: float | None = None
        self._since = 0  # the iteration of the last restart

    def validate(self, limit: int) -> tuple[Status, int]:
        """Run until the held-out loss has not fallen for a while; return why it ended and the best iteration.

        Only a loss that goes on falling says that noise is fitted: where both have risen the path has overshot, and
        will come back.
        """
        least, best, fitted_at_best = math.inf, 1, math.inf
        while self.calls < limit:
            if self._is_optimal():
                return "converged", best
            held_out = self._advance()
            if held_out < least:
                least, best, fitted_at_best = held_out, self.taken, self.history[-1]
            idle = self.taken - best
            if idle >= max(_MIN_PATIENCE, _PATIENCE * self.taken) and self.history[-1] < fitted_at_best:
                return "validated", best
            ended = self._watch.ended(self.calls, self.history[-1], self._gap)
            if ended is not None:
                return ended, best
        return "iterations", best

    def follow(self, limit: int, steps: float = math.inf, *, to_tolerance: bool = False) -> Status | None:
        """Run until so many oracle calls or steps are spent; return why it ended before, or None."""
        while self.calls < limit and self.taken < steps:
            if to_tolerance and self._is_optimal():
                return "converged"
            self._advance()
            ended = self._watch.ended(self.calls, self.history[-1], self._gap)
            if ended is not None:
                return ended
        return None

    def answer(self, loss: Loss, status: Status) -> Answer:
        """Return the model of the average, its loss and bound those of a loss of which the path's is a stage.

        A stage of a loss is never above it, so what bounds the stage's optimum from below bounds the loss's.
        """
        if not self.problem.held_out:  # else its bound is that of another loss
            self.look()
        options = self._options
        point = self.engine.answer(loss)
        lower = max(point.lower, self.lower)
        gap = None if lower == -math.inf else max(0.0, point.loss - lower)
        if status == "converged" and self.problem.exact and (gap is None or not options.meets(gap, point.loss)):
            status = "iterations"
        seconds = time.perf_counter() - options.started
        fit = Fit(status, point.loss, gap, self.calls, seconds, tuple(self.history))
        return point.potentials, point.marginals, fit

    def look(self) -> None:
        """Bound the least loss from where the iterates are; keep the best bound."""
        self.lower = max(self.lower, self.engine.lower_bound())
        self._gap = max(0.0, self.history[-1] - self.lower)

    def _advance(self) -> float:
        """Take one step; return the held-out loss."""
        step = self.engine.advance(*self._steps.next())
        self.calls += step.calls
        self.taken += 1
        self.history.append(step.loss)
        self._steps.learn(step.slope, step.curvature)
        if not self.problem.exact and self._has_risen():
            self.calls += self.engine.restart()
            self._steps.restart()
            self._since = self.taken
        return step.held_out

    def _has_risen(self) -> bool:
        """Return whether the path has left its valley: no step is safe for certain while messages lag."""
        taken, loss = self.taken - self._since, self.history[-1]
        if taken < _RISE_EVERY or taken % _RISE_EVERY:
            return False
        least = min(self.history[-taken:])
        return loss - least > _RISE * abs(least) or (taken % CHECK_EVERY == 0 and loss > self.history[-CHECK_EVERY])

    def _is_optimal(self) -> bool:
        """Return whether the tolerance is reached, as far as it is looked at in this iteration."""
        if self._options.tolerance == 0 or self.taken % CHECK_EVERY:
            return False
        self.look()
        loss = self.history[-1]
        if self.problem.exact:
            return self._options.meets(loss - self.lower, loss)
        # A lower bound over region graphs rises too slowly.
        return self.taken > 0 and self._options.meets(abs(self.history[-1 - CHECK_EVERY] - loss), loss)
