"""An average of iterates that leaves out the first of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm import _core
    from pypgm.estimation.general import GeneralAcceleration

__all__ = ["Suffix"]

_OLD = 2  # times the iteration of the mark: before, too little of the average came after it
_TOO_OLD = 4  # likewise: a mark that was of no use for so long is set anew


class Suffix:
    """What an average leaves out: what came before a mark, wherever that lowers the loss.

    The first iterates are so far from the optimum that their share in an average, though it falls as 1/t^2, soon is
    most of what the average lacks.

    References
    ----------
    Rakhlin, Shamir, Sridharan: Making gradient descent optimal for strongly convex stochastic optimization, 2012.
    """

    def __init__(self) -> None:
        self._mark: NDArray[np.float64] | None = None  # the average when it was set
        self._marked = 0  # the iteration then
        self._before = 1.0  # the share in the average of what came before the mark
        self._out: NDArray[np.float64] | float = 0.0  # the mean of all that was left out
        self._weight_out = 0.0  # its weight, that of the average being 1

    @property
    def has_left_out(self) -> bool:
        """Whether the average is not the whole one."""
        return self._weight_out > 0

    def step(self, a: float) -> None:
        """Take note that the average has moved by a share of the way to a new point."""
        self._before *= 1 - a
        self._weight_out *= 1 - a

    def restart(self, average: NDArray[np.float64], taken: int) -> None:
        """Take note that the average was begun anew at an iteration."""
        self._weight_out = 0.0
        self._set(average, taken)

    def shed(self, core: _core.Acceleration | GeneralAcceleration, taken: int) -> float:
        """Leave out of a solver's average what came before the mark if that lowers its loss; return its share."""
        average = core.average
        share = 0.0
        if self._mark is not None and taken >= _OLD * self._marked and self._before > 0:
            loss = core.loss()
            core.set_average(np.maximum(0.0, (average - self._before * self._mark) / (1 - self._before)))
            if core.loss() < loss:
                share = self._before
                self._leave_out(share, self._mark)
                average = core.average
            else:
                core.set_average(average)
        if self._mark is None or share > 0 or taken >= _TOO_OLD * self._marked:
            self._set(average, taken)
        return share

    def whole(self, average: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the average with all that was left out of it: the gradient there bounds the optimum better."""
        return (average + self._weight_out * self._out) / (1 + self._weight_out)

    def _leave_out(self, share: float, mean: NDArray[np.float64]) -> None:
        weight = self._weight_out + share
        self._out = (self._weight_out * self._out + share * mean) / weight
        self._weight_out = weight / (1 - share)

    def _set(self, average: NDArray[np.float64], taken: int) -> None:
        self._mark, self._marked, self._before = average, taken, 1.0
