"""The iterates of an averaging method, and how long to follow them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

from pypgm.estimation.fit import Options, Status, Watch
from pypgm.estimation.second_average import SecondAverage
from pypgm.estimation.steps import Steps

__all__ = ["CHECK_EVERY", "Path"]

CHECK_EVERY = 50  # iterations between certificates and between looks at where the average begins
_PATIENCE = 0.25  # of the iterations so far, without a better validation
_MIN_PATIENCE = 10


class Path(ABC):
    """The iterates of an averaging method, by a solver that a subclass knows, and how long to follow them.

    Parameters
    ----------
    steps : Steps
    options : Options
    watch : Watch
    calls : int
        Oracle calls spent, with those of the first point.
    loss : float
        That of the first point.
    twice : bool
        Whether the answer is an average of the averages; see `SecondAverage`.
    """

    def __init__(self, steps: Steps, options: Options, watch: Watch, calls: int, loss: float, *, twice: bool) -> None:
        self.calls = calls
        self.history = [loss]
        self.taken = 0
        self._steps = steps
        self._second = SecondAverage() if twice else None
        self._gap: float | None = None
        self._options = options
        self._watch = watch

    def validate(self, limit: int) -> tuple[Status, int]:
        """Run until the held-out loss has not fallen for a while; return why it ended and the best iteration.

        Only a loss that goes on falling says that noise is fitted: where both have risen the path has overshot, and
        will come back.
        """
        best, best_loss, fitted_at_best = 1, math.inf, math.inf
        try:
            while self.calls < limit:
                if self._is_optimal():
                    return "converged", best
                held_out = self._advance()
                if held_out < best_loss:
                    best, best_loss, fitted_at_best = self.taken, held_out, self.history[-1]
                idle = self.taken - best
                if idle >= max(_MIN_PATIENCE, _PATIENCE * self.taken) and self.history[-1] < fitted_at_best:
                    return "validated", best
                ended = self._watched()
                if ended is not None:
                    return ended, best
        except KeyboardInterrupt:
            return "interrupted", best
        return "iterations", best

    def follow(
        self, limit: int, *, to_tolerance: bool = False, until: Callable[[], bool] | None = None
    ) -> Status | None:
        """Run until so many oracle calls are spent, or something is so; return why it ended before, or None."""
        try:
            while self.calls < limit:
                if to_tolerance and self._is_optimal():
                    return "converged"
                if until is not None and until():
                    return None
                self._advance()
                ended = self._watched()
                if ended is not None:
                    return ended
        except KeyboardInterrupt:
            return "interrupted"
        return None

    @abstractmethod
    def _advance(self) -> float:
        """Take one step; return the held-out loss."""

    @abstractmethod
    def _is_optimal(self) -> bool:
        """Return whether the tolerance is reached, as far as it is looked at in this iteration."""

    def _share(self, s: float, a: float) -> float:
        """Return the share in the answer of the average that a step leads to."""
        return 1.0 if self._second is None else self._second.share(s, a)

    def _note(self, calls: int, loss: float, slope: float, curvature: float) -> None:
        """Take note of a step: the oracle calls it took, the loss of the answer, slope and curvature on the way."""
        self.calls += calls
        self.taken += 1
        self.history.append(loss)
        self._steps.learn(slope, curvature)

    def _begin_average(self) -> None:
        """Take note that the solver averages anew from its last point on."""
        self._steps.forget(1.0)
        if self._second is not None:
            self._second.restart()

    def _watched(self) -> Status | None:
        return self._watch.ended(self.calls, self.history[-1], self._gap)
