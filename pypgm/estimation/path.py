"""The iterates of an averaging method, and how long to follow them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal

from pypgm.estimation.fit import Options, Status, Watch
from pypgm.estimation.second_average import SecondAverage
from pypgm.estimation.steps import Steps

__all__ = ["CHECK_EVERY", "Averaging", "Path"]

Averaging = Literal["plain", "twice", "restarted", "shed"]
"""What a path answers: the average of its points; an average of the averages, see `SecondAverage`; the average, begun
anew wherever the last point has the lower loss; the average without its first points, or all but the last one, where
that lowers the loss, see `Suffix`."""

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
    averaging : Averaging
    """

    def __init__(
        self, steps: Steps, options: Options, watch: Watch, calls: int, *, loss: float, averaging: Averaging
    ) -> None:
        self.calls = calls
        self.history = [loss]
        self.taken = 0
        self._steps = steps
        self._averaging = averaging
        self._second = SecondAverage() if averaging == "twice" else None
        self._gap: float | None = None
        self._options = options
        self._watch = watch

    def validate(self, limit: int) -> tuple[Status, int, Averaging]:
        """Run until no held-out loss has fallen for a while; return why it ended, the best iteration and average.

        Only a loss that goes on falling says that noise is fitted: where both have risen the path has overshot, and
        will come back.
        """
        least: dict[Averaging, tuple[float, int]] = {"plain": (math.inf, 1), "twice": (math.inf, 1)}
        fitted_at_best = math.inf
        status: Status | None = None
        try:
            while status is None and self.calls < limit:
                if self._is_optimal():
                    status = "converged"
                    break
                for averaging, held_out in zip(least, self._advance(), strict=True):
                    if held_out < least[averaging][0]:
                        least[averaging] = held_out, self.taken
                        fitted_at_best = self.history[-1]
                idle = self.taken - max(taken for _, taken in least.values())
                if idle >= max(_MIN_PATIENCE, _PATIENCE * self.taken) and self.history[-1] < fitted_at_best:
                    status = "validated"
                else:
                    status = self._watched()
        except KeyboardInterrupt:
            status = "interrupted"
        best = min(least, key=lambda averaging: least[averaging][0])
        return status or "iterations", least[best][1], best

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
    def _advance(self) -> tuple[float, float]:
        """Take one step; return the held-out losses of the average and of the average of averages."""

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

    def _watched(self) -> Status | None:
        return self._watch.ended(self.calls, self.history[-1], self._gap)
