"""How far the iterations of an averaging method step."""

from __future__ import annotations

import math
from collections import deque
from typing import Literal, NamedTuple, Protocol

__all__ = ["MeasuredSteps", "Pace", "Steps"]

_CAUTION = 0.9  # of the step the last move would have permitted
_FORGOTTEN = 0.5  # of the share that the last step has in the average, of the weight of what came before


class Pace(NamedTuple):
    """How fast steps grow."""

    growth: float
    """Of a step over the one before, at most."""
    memory: int
    """Of the last moves, all of which have to permit a step."""

    @classmethod
    def towards(cls, stop: Literal["validated", "optimum"]) -> Pace:
        """Return the pace to an end: fine where each iteration is validated, so that none skips the best of the path.

        On adult's 32 pairs at epsilon .1 the fast pace has 5 % more error where the path is validated; the fine one
        takes longer to the optimum (`bench_accuracy.py`).
        """
        return cls(1.2, 1) if stop == "validated" else cls(2.0, 5)


class Steps(Protocol):
    """How far each iteration of an averaging method steps."""

    def next(self) -> tuple[float, float]:
        """Return the length of the step, in count space, and the share of its end in the average."""

    def learn(self, slope: float, curvature: float) -> None:
        """Take note of slope and curvature of the loss over the step."""

    def restart(self) -> None:
        """Begin with the first step again: the average is the last point."""


class MeasuredSteps:
    r"""Steps as long as the last ones show that they may be, and shares that make the average converge fast.

    A step of length s whose end has the share a in the average keeps :math:`s a = \alpha`, the longest step a method
    without averaging may take. Where all that came before has the weight W, :math:`a = s / (W + s)`. After each step W
    loses half the share a of itself, so that equal steps have the shares 4 / (t + 4) instead of 2 / (t + 2): points far
    back weigh less, and the average swings less about the optimum and about the way there.

    Parameters
    ----------
    safe : float
        The step that always may be, in count space.
    most : float
        How many times as long as the safe one a step may become.
    pace : Pace
        How fast steps grow.
    first : float, optional
        The first step, if not the safe one.

    References
    ----------
    Chambolle and Dossal: On the convergence of the iterates of the fast iterative shrinkage/thresholding algorithm,
    2015.
    """

    def __init__(self, safe: float, most: float, pace: Pace, first: float | None = None) -> None:
        self._safe = safe
        self._pace = pace
        self._longest = most * safe
        self._first = safe if first is None else first
        self.restart()

    def restart(self) -> None:
        """Begin with the first step again; see `Steps`."""
        self._alpha = self._first
        self._weight = self._last = self._share = 0.0
        self._permitted: deque[float] = deque(maxlen=self._pace.memory)

    def next(self) -> tuple[float, float]:
        """Return the length of the step and the share of its end; see `Steps`."""
        alpha = self._alpha
        before = self._weight * (1 - _FORGOTTEN * self._share)
        self._last = (alpha + math.sqrt(alpha * alpha + 4 * alpha * before)) / 2
        self._weight = before + self._last
        self._share = self._last / self._weight
        return self._last, self._share

    def learn(self, slope: float, curvature: float) -> None:
        """Measure the step that the last move would have permitted; see `Steps`."""
        self._permitted.append(-self._last * slope / curvature if curvature > 0 else self._alpha)
        longest = min(self._pace.growth * self._alpha, self._longest)
        self._alpha = min(max(_CAUTION * min(self._permitted), self._safe), longest)
