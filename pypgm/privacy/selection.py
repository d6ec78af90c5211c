"""Rates at which selections can be drawn exactly, and the epsilon that a cost buys."""

from __future__ import annotations

from fractions import Fraction

from pypgm import _core
from pypgm.privacy.rational import Number, as_fraction, isqrt_down, round_down

_EPSILON_BITS = 32


def drawable_rate(rate: Fraction) -> Fraction:
    """Return the rate itself if the sampler can take it, else one just below; ``ValueError`` if that is 0."""
    drawable = round_down(rate, _core.RATE_BITS)
    if drawable <= 0:
        raise ValueError(f"a selection needs a rate of at least 2^-{_core.RATE_BITS - 1}, got {float(rate):.3g}")
    return drawable


def selection_epsilon(rho: Number | None, epsilon: Number | None, divisor: int, count: int = 1) -> Fraction:
    """Return the epsilon of each of `count` selections that together cost `epsilon`, or `rho`.

    A rho buys selections of epsilon^2 / divisor each; the epsilon is then rounded down.

    Raises
    ------
    ValueError
        Unless exactly one of both is given, and is positive.
    """
    if (rho is None) == (epsilon is None):
        raise ValueError("a selection takes exactly one of rho and epsilon")
    if epsilon is not None:
        exact = as_fraction("epsilon", epsilon)
        if exact <= 0:
            raise ValueError(f"a selection needs a rate of at least 2^-{_core.RATE_BITS - 1}, got epsilon {epsilon}")
        return exact / count
    exact = as_fraction("rho", rho if rho is not None else 0)
    if exact <= 0:
        raise ValueError(f"a selection needs a rho above 0, got {rho}")
    return isqrt_down(divisor * exact / count, _EPSILON_BITS)
