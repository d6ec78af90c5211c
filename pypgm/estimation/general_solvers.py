"""Solvers for any loss: what the compiled ones do for weighted L2, with the loss evaluated once or twice a step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm.estimation.loss import Evaluate
from pypgm.estimation.oracle import Evaluated, LossOracle, dot


class GeneralDescent:
    """Mirror descent for any loss; see the compiled ``Descent``."""

    def __init__(self, oracle: LossOracle, potentials: NDArray[np.float64]) -> None:
        self._oracle = oracle
        self._candidate = oracle.at(np.array(potentials))
        self.accept()

    def try_step(self, alpha: float) -> float:
        """Return the loss a step leads to. One propagation."""
        self._candidate = self._oracle.at(self._point.potentials - alpha * self._point.gradient)
        return self._candidate.loss

    def change(self) -> tuple[float, float]:
        """Return slope and curvature of the loss over the last step tried: it changed by slope + curvature / 2."""
        here, there = self._point, self._candidate
        moved = there.marginals - here.marginals
        slope = dot(here.gradient, moved)
        curvature = 2 * (there.loss - here.loss - slope)
        if abs(curvature) <= 1e-9 * abs(there.loss):
            # Differences of losses say nothing here; those of gradients do, and are never less if it is convex.
            curvature = dot(there.gradient - here.gradient, moved)
        return slope, curvature

    def accept(self) -> None:
        """Make the last step tried the current point."""
        self._point = self._candidate
        self.potentials, self.marginals, self.loss, _ = self._point

    def gap(self) -> float:
        """Return a bound on the loss above the optimum."""
        return self._oracle.gap(self._point)


class GeneralAcceleration:
    """Accelerated mirror descent for any loss; see the compiled ``Acceleration``."""

    def __init__(self, oracle: LossOracle, potentials: NDArray[np.float64], validate: Evaluate | None = None) -> None:
        self._oracle = oracle
        self._validate = validate
        self._at_average = oracle.at(np.array(potentials))  # the potentials of the last point, the loss of the average
        self._last = self._at_average.marginals
        self.average_potentials = self.potentials
        self._window, self._window_steps = np.zeros(0), 0.0  # sum of the points stepped from, times the steps

    @property
    def potentials(self) -> NDArray[np.float64]:
        """Potentials of the last point, natural logs."""
        return self._at_average.potentials

    @property
    def average(self) -> NDArray[np.float64]:
        """The average of the points, counts."""
        return self._at_average.marginals

    def advance(self, s: float, a: float) -> tuple[float, float, float, float]:
        """Take one step; return loss and validation loss of the average, slope and curvature."""
        _, gradient, moved = self.try_step(s, a)
        self.accept()
        there = self._at_average
        held_out = 0.0 if self._validate is None else self._validate(there.marginals)[0]
        # The average moved from where the gradient was taken by a times what the last point moved.
        return there.loss, held_out, dot(gradient, moved), dot(there.gradient - gradient, moved) / a

    def join(self, earlier: NDArray[np.float64]) -> None:
        """Make the average the mean of itself and of an earlier one; only a fit may follow."""
        average = (self.average + earlier) / 2
        self._at_average = Evaluated(self.potentials, average, *self._oracle.evaluate(average))

    def try_step(self, s: float, a: float) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Return loss and gradient where a step is taken from, and how it would move the last point."""
        here = self._at_average
        at = here.marginals + a * (self._last - here.marginals)
        loss, gradient = self._oracle.evaluate(at)
        potentials = here.potentials - s * gradient
        last = self._oracle.marginals(potentials)
        average = here.marginals + a * (last - here.marginals)
        self._tried = Evaluated(potentials, average, *self._oracle.evaluate(average)), last, s, a, at
        return loss, gradient, last - self._last

    def accept(self) -> None:
        """Take the last step tried."""
        self._at_average, self._last, s, a, at = self._tried
        finite = np.isfinite(self.potentials) & np.isfinite(self.average_potentials)
        mean = np.where(finite, self.average_potentials, 0.0)
        self.average_potentials = np.where(finite, (1 - a) * mean + a * self.potentials, self.potentials)
        if self._window.size:
            self._window += s * at
            self._window_steps += s

    def tried_loss(self) -> float:
        """Return the loss of the average that the last step tried leads to."""
        return self._tried[0].loss

    def gap(self) -> float:
        """Return a bound on the loss above the optimum."""
        return self._oracle.gap(self._at_average)

    def level(self) -> None:
        """Write the potentials in smaller numbers."""
        self._at_average = self._at_average._replace(potentials=_core.levelled(self._oracle.tree.plan, self.potentials))

    def open_window(self) -> None:
        """Begin to average the points at which gradients are taken, weighted by their steps."""
        self._window, self._window_steps = np.zeros(self.potentials.size), 0.0

    def lower_bound(self) -> float:
        """Return a bound from below of the least loss, from the steps since the window was opened."""
        mean = self._window / self._window_steps
        point = Evaluated(self.potentials, mean, *self._oracle.evaluate(mean))
        return point.loss - self._oracle.gap(point)

    def loss(self) -> float:
        """Return the loss of the average."""
        return self._at_average.loss
