"""Parameters with which noise and selections are drawn exactly, and the standard deviation and tails of noise."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from pypgm import _core
from pypgm._base.numeric import shown
from pypgm.privacy.rational import (
    MARGIN,
    as_decimal,
    round_down,
    round_up,
    with_own_digits,
)


def drawable_rate(rate: Fraction) -> Fraction:
    """Return the rate itself if the sampler can take it, else one just below; ``ValueError`` if that is 0."""
    drawable = round_down(rate, _core.RATE_BITS)
    if drawable <= 0:
        raise ValueError(f"a selection needs a rate of at least 2^-{_core.RATE_BITS - 1}, got {float(rate):.3g}")
    return drawable


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


_RATE_LIMIT = 10_000  # exp(-5000) is 0 as a float


def drawable_variance(variance: Fraction) -> Fraction:
    """Return the variance parameter itself if the sampler can take it, else the next larger one that it can."""
    return round_up(_positive("variance", variance), _core.VARIANCE_BITS)


def drawable_scale(scale: Fraction) -> Fraction:
    """Return the Laplace scale itself if the sampler can take it, else the next larger one that it can."""
    return round_up(_positive("scale", scale), _core.SCALE_BITS)


def laplace_stddev(scale: Fraction) -> float:
    """Return the standard deviation of discrete Laplace noise: sqrt(2 q) / (1 - q), q = exp(-1 / scale).

    The value is 0 if the float underflows, at scales below 1/1490.
    """
    rate = float(min(1 / scale, Fraction(_RATE_LIMIT)))
    return math.sqrt(2) * math.exp(-rate / 2) / -math.expm1(-rate)


def _positive(name: str, value: Fraction) -> Fraction:
    if value <= 0:
        raise ValueError(f"{name} must be more than 0, got {shown(value)}")
    return value
