"""The stop rule: an estimate ends where fitting further would fit noise, as the part of answers held out says.

A path is first run on thinned measurements and validated with the rest, the held-out answers (`thinned`,
`left_to_validate`), until `Validation` ends it; it is then run on the measurements themselves for the best number of
iterations and a few more (`to_the_end` in `accelerated.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from pypgm._base.numeric import as_generator
from pypgm.estimation.fit import Status
from pypgm.estimation.measurement import LinearMeasurement

_THINNING = 0.5  # how the noise is shared between what is fitted and what validates
BEYOND = _THINNING**-2  # multiple of the noise added to a fitted answer that is subtracted from its validation
_SEED = 0x7468696E  # far from the seeds of simulations, whose own noise would come again as the noise that thins


def thinned(
    measurements: Sequence[LinearMeasurement], rng: np.random.Generator | int | None
) -> list[LinearMeasurement]:
    """Return measurements with answers to fit: y + c xi, where xi ~ Normal(0, v) and v is the variance of y.

    The rest, left to validate, has the same mean; for Gaussian noise it is independent, for any noise of that variance
    uncorrelated. Without a source of noise it is a fixed one.
    """
    source = as_generator(_SEED if rng is None else rng)
    return [m.answered(m.values + _THINNING * (m.stddev * source.normal(size=m.values.size))) for m in measurements]


def left_to_validate(
    measurements: Sequence[LinearMeasurement], fitted: Sequence[LinearMeasurement]
) -> list[LinearMeasurement]:
    """Return the answers that validate a fit to thinned measurements: y - xi / c, where y + c xi were fitted."""
    pairs = zip(measurements, fitted, strict=True)
    return [m.answered(np.asarray(m.values + BEYOND * (m.values - f.values), dtype=np.float64)) for m, f in pairs]


def noise_left(measurements: Sequence[LinearMeasurement]) -> float:
    """Return the expected loss of the truth against the part of measurements left to validate."""
    return (1 + BEYOND) / 2 * sum(m.values.size for m in measurements)


def unthinned_count(best: int) -> int:
    """Return the number of iterations to take, given the best number on thinned measurements.

    Thinned answers have sqrt(1 + c^2) times the noise, and the best count falls with about the root of the noise: on
    pairs of the adult table 56, 110, 205, 375 and 735 for epsilon 1, 3.2, 10, 32 and 100. Rounded down, short paths
    would get none of the iterations more, and the last one is a good part of them.
    """
    return math.ceil(best * math.sqrt(math.hypot(1, _THINNING)))


_PATIENCE = 0.25  # of the iterations so far, without a better validation
_MIN_PATIENCE = 10  # iterations
_FAR = 1.5  # times the held-out loss that noise alone leaves
_FAR_PATIENCE = 2  # times the patience: what explains answers worse than that may swing past the truth and back


Stop = Literal["validated", "optimum"]
"""End of an estimate: by validation on answers held out, or at the least loss."""

StopRule = Callable[[int, float, float], Status | None]
"""Steps taken, loss and held-out loss to the reason why a path ends, apart from limits and tolerance; None for none."""


class Validation:
    """Patience-based early stopping: ends a path when its held-out loss has not fallen for a while.

    Only a fitted loss that keeps falling shows that noise is fitted: where both losses have risen the path has
    overshot, and will come back.

    Parameters
    ----------
    noise : float
        The held-out loss that noise alone leaves, in the mean.

    Attributes
    ----------
    least : float
        The least held-out loss.
    best : int
        The iteration that had it.
    fitted_at_best : float
        The loss there.
    """

    def __init__(self, noise: float) -> None:
        self.best = 1
        self._noise = noise
        self.least = self.fitted_at_best = math.inf

    def ended(self, taken: int, loss: float, held_out: float) -> Status | None:
        """Return "validated" once patience is exhausted; see `StopRule`."""
        if held_out < self.least:
            self.least, self.best, self.fitted_at_best = held_out, taken, loss
        patience = max(_MIN_PATIENCE, _PATIENCE * taken) * (_FAR_PATIENCE if self.least > _FAR * self._noise else 1)
        return "validated" if taken - self.best >= patience and loss < self.fitted_at_best else None
