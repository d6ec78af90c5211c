"""Privacy losses of single steps, as atoms with their masses; every rounding upward."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_REACH = 12  # standard deviations of a Gaussian beyond which its mass, below exp(-72), counts as infinite loss
_GAUSSIAN_CELLS = 1 << 15


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


def gaussian_losses(rho: Fraction) -> Losses:
    """Return the losses of a normal variable and the same shifted by sqrt(2 rho): normal, mean rho, variance 2 rho.

    They are cut into cells, the mass of each at its upper end.
    """
    from scipy.special import ndtr

    mean = _up(rho)
    mu = math.nextafter(math.sqrt(2 * mean), math.inf)
    z = np.linspace(-_REACH, _REACH, _GAUSSIAN_CELLS + 1)
    # Differences of tails, of the upper ones above the middle, where the lower ones are all but 1.
    masses = np.where(z[1:] <= 0, np.diff(ndtr(z)), -np.diff(ndtr(-z))) * (1 + 1e-12)
    tail = 2 * math.exp(-(_REACH**2) / 2)
    masses[0] += tail
    return Losses((mean + mu * z[1:]) * (1 + 1e-15 * np.sign(mean + mu * z[1:])), masses, tail)


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
