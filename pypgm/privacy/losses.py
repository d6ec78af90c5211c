"""Privacy losses of single steps, as atoms with their masses; every rounding upward."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_SIGMA = 1 << 20  # wider Gaussians enter by their rho: summing their pmf would take too long
_REACH = 12  # standard deviations of a Gaussian beyond which its mass, below 2 exp(-72), counts as infinite loss


@dataclass(frozen=True, slots=True)
class Losses:
    """Atoms of a privacy loss: values, masses (together with the infinite ones at least 1)."""

    values: NDArray[np.float64]
    masses: NDArray[np.float64]
    infinite: float = 0.0

    @property
    def variance(self) -> float:
        """Variance of the finite losses."""
        mean = float(self.masses @ self.values)
        return float(self.masses @ np.square(self.values - mean))


class Dominating(NamedTuple):
    """Independent losses of one law that together dominate those of a step.

    Attributes
    ----------
    losses : callable
        Function of the parameter that makes the losses: one of this module, so that equal steps compare equal.
    parameter : Fraction
        The variance or the epsilon of the law.
    times : int
        Number of independent losses.
    """

    losses: Callable[[Fraction], Losses]
    parameter: Fraction
    times: int = 1


def gaussian_losses(variance: Fraction) -> Losses:
    """Return the losses of a discrete Gaussian: P is the law around 0, Q around 1; z loses (1 - 2 z) / (2 variance)."""
    s = float(variance)
    reach = math.ceil(_REACH * math.sqrt(s)) + 1
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-np.square(z) / (2 * s))
    masses = weights / weights.sum() * (1 + 1e-12)
    return Losses((1 - 2 * z) / (2 * s), masses, 4 * math.exp(-(_REACH**2) / 2))


def response_losses(epsilon: Fraction) -> Losses:
    """Return the losses epsilon and -epsilon at odds exp(epsilon) to 1, which dominate any epsilon-DP step."""
    e = _up(epsilon)
    higher = 1 / (1 + math.exp(-e))
    return Losses(np.array([-e, e]), np.array([(1 - higher) * (1 + 1e-12), higher * (1 + 1e-12)]))


def range_losses(epsilon: Fraction) -> Losses:
    """Return the hull over all pairs of range epsilon: P(loss <= x) = (exp((epsilon + x)/2) - 1) / (exp(epsilon) - 1).

    A pair has losses t and t - epsilon; its delta at x is largest at t = (epsilon + x) / 2, which gives
    (exp(epsilon / 2) - exp(x / 2))^2 / (exp(epsilon) - 1), the delta of this law. It is cut into cells, the mass of
    each split between the cell's ends: r / (1 + r) of it goes up, r = exp(width / 2).
    """
    e = _up(epsilon)
    ends = np.linspace(-e, e, 2049)
    r = math.exp((ends[1] - ends[0]) / 2)
    cells = np.exp((ends[:-1] - e) / 2) * math.expm1(math.log(r)) / -math.expm1(-e) * (1 + 1e-12)
    masses = np.zeros(ends.size)
    masses[:-1] += cells / (1 + r)
    masses[1:] += cells * (r / (1 + r))
    return Losses(ends, masses)


def _up(value: Fraction) -> float:
    return math.nextafter(float(value), math.inf)
