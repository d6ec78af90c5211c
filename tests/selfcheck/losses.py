"""Exact privacy losses of single steps, worked out without the accounting of the package."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from pypgm.audit.laws import GAUSSIAN, LAPLACE, Probabilities

Losses = tuple[Probabilities, NDArray[np.float64]]
"""Masses and values of a privacy loss; infinity is a value."""


def shift_loss(variance: Fraction, times: int = 1, change: int = 1) -> Losses:
    """Return the loss of discrete Gaussian noise on some answers that each change by `change`.

    It depends on the sum of the draws alone, whose law is a convolution.
    """
    s = float(variance)
    reach = int(16 * math.sqrt(s)) + 4
    masses = reduce(np.convolve, [GAUSSIAN.pmf(math.sqrt(s), reach)[1]] * times).astype(np.float64)
    sums = np.arange(masses.size) - times * reach
    return masses, np.asarray((times * change**2 - 2 * change * sums) / (2 * s), dtype=np.float64)


def laplace_loss(scale: Fraction, change: int) -> Losses:
    """Return the loss of discrete Laplace noise on one answer that changes by `change`."""
    z, masses = LAPLACE.pmf(float(scale), int(45 * scale) + 9 + change)
    return masses, (np.abs(z - change) - np.abs(z)) / float(scale)


def response_loss(epsilon: Fraction) -> Losses:
    """Return the loss of a randomised response."""
    e = float(epsilon)
    higher = 1 / (1 + math.exp(-e))
    return np.array([higher, 1 - higher]), np.array([e, -e])


def exceeding(losses: Losses, epsilon: float) -> float:
    """Return E[(1 - exp(epsilon - loss))_+], the delta that a loss has at epsilon."""
    masses, values = losses
    over = values > epsilon
    return math.fsum(masses[over] * -np.expm1(epsilon - values[over]))
