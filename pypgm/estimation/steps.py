"""How far the iterations of an averaging method step."""

from __future__ import annotations

import math
from collections import deque
from typing import Protocol

__all__ = ["MeasuredSteps", "Steps"]

_CAUTION = 0.9  # of the step the last move would have permitted
_GROWTH = 2.0  # of a step over the one before
_MEMORY = 5  # of the last moves have to permit a step
_FORGOTTEN = 0.5  # of the share that the last step has in the average, of the weight of what came before


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
    first : float, optional
        The first step, if not the safe one.

    References
    ----------
    Chambolle and Dossal: On the convergence of the iterates of the fast iterative shrinkage/thresholding algorithm,
    2015.
    """

    def __init__(self, safe: float, most: float, first: float | None = None) -> None:
        self._safe = safe
        self._longest = most * safe
        self._first = safe if first is None else first
        self.restart()

    def restart(self) -> None:
        """Begin with the first step again; see `Steps`."""
        self._alpha = self._first
        self._weight = self._last = self._share = 0.0
        self._permitted: deque[float] = deque(maxlen=_MEMORY)

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
        longest = min(_GROWTH * self._alpha, self._longest)
        self._alpha = min(max(_CAUTION * min(self._permitted), self._safe), longest)
