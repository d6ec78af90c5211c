"""Parameters of integer noise that can be drawn with exactly, and its standard deviation."""

from __future__ import annotations

import math
from fractions import Fraction

from pypgm import _core
from pypgm.numeric import shown
from pypgm.privacy.rational import round_up

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
