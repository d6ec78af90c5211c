"""How far the iterations of an averaging method step."""

from __future__ import annotations

import math
from collections import deque
from typing import Protocol

__all__ = ["FINE", "MeasuredSteps", "Steps"]

_CAUTION = 0.9  # of the step the last move would have permitted
FINE = (1.2, 1)  # growth and memory of steps that are validated one by one: none may skip the best of the path
_MAX_GROWTH = 1000.0  # of the step over the safe one


class Steps(Protocol):
    """How far each iteration of an averaging method steps."""

    def next(self) -> tuple[float, float]:
        """Return the length of the step, in count space, and the weight of its end in the average."""

    def learn(self, slope: float, curvature: float) -> None:
        """Take note of slope and curvature of the loss over the step."""

    def forget(self, share: float, /) -> None:
        """Take note that a share of the average is left out of it; of all of it, that the next step's end is it."""


class MeasuredSteps:
    """Steps as long as the last ones show that they may be, and weights that make the average converge fast.

    Parameters
    ----------
    safe : float
        The step that always may be, in count space.
    growth : float
        By how much a step may be longer than the one before.
    memory : int
        How many of the last moves have to permit it.
    most : float
        How many times as long as the safe one a step may become.
    first : float, optional
        The first step, if not the safe one.
    """

    def __init__(
        self, safe: float, growth: float, memory: int, most: float = _MAX_GROWTH, *, first: float | None = None
    ) -> None:
        self._safe = safe
        self._growth = growth
        self._longest = most * safe
        self._alpha = safe if first is None else first
        self._weight = 0.0
        self._last = 0.0
        self._permitted: deque[float] = deque(maxlen=memory)

    def next(self) -> tuple[float, float]:
        """Return the length of the step and the weight of its end; see `Steps`."""
        alpha = self._alpha
        self._last = (alpha + math.sqrt(alpha * alpha + 4 * alpha * self._weight)) / 2
        self._weight += self._last
        return self._last, self._last / self._weight

    def learn(self, slope: float, curvature: float) -> None:
        """Measure the step that the last move would have permitted; see `Steps`."""
        self._permitted.append(-self._last * slope / curvature if curvature > 0 else self._alpha)
        longest = min(self._growth * self._alpha, self._longest)
        self._alpha = min(max(_CAUTION * min(self._permitted), self._safe), longest)

    def forget(self, share: float) -> None:
        """Leave a share out of the average; see `Steps`."""
        self._weight *= 1 - share
