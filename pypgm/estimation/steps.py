"""Step sizes of averaging methods."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from pypgm.estimation.stop_rule import Stop, unthinned_count

# For each end of an estimate: a step over the one before at most, and how many last moves have to permit it. Slow where
# each iteration is validated, so that none skips the best of the path: on adult's 32 pairs at epsilon .1 the fast pace
# has 5 % more error there; the slow one takes longer to the optimum (`bench_accuracy.py`).
_PACES: dict[Stop, tuple[float, int]] = {"validated": (1.2, 1), "optimum": (2.0, 5)}
_CAUTION = 0.9  # of the step the last move would have permitted
_FORGOTTEN = 0.5  # of the share that the last step has in the average, of the weight of what came before


def averaged_step(alpha: float, weight: float) -> tuple[float, float]:
    r"""Return the length s of a step and the share :math:`a = s / (W + s)` of its end, such that :math:`s a = \alpha`.

    :math:`\alpha` is the longest step a method without averaging may take, W the weight of all that came before.
    """
    s = (alpha + math.sqrt(alpha * alpha + 4 * alpha * weight)) / 2
    return s, s / (weight + s)


class FixedSteps:
    """Steps known beforehand.

    Parameters
    ----------
    pairs : iterator of (float, float)
        Lengths and shares.
    """

    def __init__(self, pairs: Iterator[tuple[float, float]]) -> None:
        self.next = pairs.__next__

    def learn(self, slope: float, curvature: float) -> None:
        """Learn nothing."""

    def restarted(self) -> FixedSteps:
        """Return the steps that are left."""
        return self


class MeasuredSteps:
    r"""Steps as long as the last moves permit, and shares that make the average converge fast.

    A step of length s whose end has the share a in the average is that of `averaged_step`. After each step the weight
    of earlier points shrinks by half the share a, so that equal steps have the shares 4 / (t + 4) instead of 2 / (t +
    2): distant points weigh less, and the average oscillates less.

    Parameters
    ----------
    safe : float
        A step that is always permitted, in count space.
    most : float
        Largest step, in multiples of the safe one.
    stop : {"validated", "optimum"}
        End of the path: towards the optimum steps grow faster.
    first : float, optional
        The first step, if not the safe one.

    References
    ----------
    Chambolle and Dossal: On the convergence of the iterates of the fast iterative shrinkage/thresholding algorithm,
    2015.
    """

    def __init__(self, safe: float, most: float, stop: Stop, first: float | None = None) -> None:
        self._given = safe, most, stop, first
        self._safe = safe
        self._growth, memory = _PACES[stop]
        self._longest = most * safe
        self._alpha = safe if first is None else first
        self._weight = self._last = self._share = 0.0
        self._permitted: deque[float] = deque(maxlen=memory)

    def restarted(self) -> MeasuredSteps:
        """Return the steps of a path that starts afresh, over a loss of the same smoothness."""
        return MeasuredSteps(*self._given)

    def next(self) -> tuple[float, float]:
        """Return the length of the step, in count space, and the share of its end in the average."""
        before = self._weight * (1 - _FORGOTTEN * self._share)
        self._last, self._share = averaged_step(self._alpha, before)
        self._weight = before + self._last
        return self._last, self._share

    def learn(self, slope: float, curvature: float) -> None:
        """Measure the step that the last move would have permitted, by slope and curvature of the loss over it."""
        self._permitted.append(-self._last * slope / curvature if curvature > 0 else self._alpha)
        longest = min(self._growth * self._alpha, self._longest)
        self._alpha = min(max(_CAUTION * min(self._permitted), self._safe), longest)


Steps = FixedSteps | MeasuredSteps
"""Step of each iteration of an averaging method, and the share of its end in the average."""


class Pace(NamedTuple):
    """End of a path that is not validated itself, taken from an earlier one.

    Attributes
    ----------
    iterations : float
        Number after which it may end.
    loss : float
        The loss that it must reach by then, unless it has taken several times as many.
    steps : Steps, optional
        Its steps; measured by default.
    further : float
        Multiple of the iterations that the path goes on to; its answer is the mean of both points.
    """

    iterations: float
    loss: float = math.inf
    steps: Steps | None = None
    further: float = 1.0


class Validated(NamedTuple):
    """Best point of a path on thinned measurements, judged by the answers held out.

    Attributes
    ----------
    held_out : float
        Loss of the point against the answers held out.
    best : int
        Number of iterations to the point.
    fitted : float
        Loss of the point against the thinned measurements.
    steps : Steps
        Steps of the path on the measurements themselves.
    """

    held_out: float
    best: int
    fitted: float
    steps: Steps

    def pace(self, further: float = 1.0) -> Pace:
        """Return the end of a path on the measurements themselves, which may go on to `further` times as far."""
        return Pace(unthinned_count(self.best), self.fitted, self.steps, further)
