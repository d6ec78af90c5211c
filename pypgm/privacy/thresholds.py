"""Thresholds: counts that noise alone reaches with at most a given probability."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from pypgm.privacy.digits import MARGIN, as_decimal, with_own_digits


@with_own_digits
def laplace_threshold(scale: Fraction, probability: Fraction) -> int:
    """Return a threshold t >= 1, the least but for rounding, with P(Z >= t) <= probability, Z discrete Laplace noise.

    With q = exp(-1 / scale), P(Z >= t) = q^t / (1 + q).
    """
    q = as_decimal(-1 / scale).exp()
    excess = -as_decimal(probability).ln() - (1 + q).ln()
    return max(1, math.ceil((excess + MARGIN) * as_decimal(scale)))


@with_own_digits
def gaussian_threshold(variance: Fraction, probability: Fraction) -> int:
    """Return a threshold t >= 1, the least for this bound, with P(Z >= t) <= probability, Z discrete Gaussian noise.

    From t on, successive probabilities fall by at least the factor r = exp(-(2 t + 1) / (2 variance)), and the
    normaliser is at least max(1, sqrt(2 pi variance)): P(Z >= t) <= exp(-t^2 / (2 variance)) / (normaliser (1 - r)).
    """
    s = as_decimal(variance)
    normaliser = max(Decimal(1), (s * Decimal("6.28318530717958")).sqrt())
    goal = as_decimal(probability).ln() - MARGIN

    def log_tail(t: int) -> Decimal:
        r = (Decimal(-(2 * t + 1)) / (2 * s)).exp()
        return Decimal(-t * t) / (2 * s) - normaliser.ln() - (1 - r).ln()

    low, high = 0, 1
    while log_tail(high) > goal:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if log_tail(middle) <= goal else (middle, high)
    return high
