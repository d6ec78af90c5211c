"""Amplification of epsilon by Poisson sampling: each record is kept by a coin of its own."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

from pypgm.privacy.digits import as_decimal, with_own_digits
from pypgm.privacy.rational import round_up

_RATE_BITS = 48
_EPSILON_BITS = 62


@with_own_digits
def amplified_epsilon(rate: Fraction, epsilon: Fraction) -> Fraction:
    """Return log(1 + rate (exp(epsilon) - 1)), rounded up to a rational of at most 62 bits.

    Raises
    ------
    ValueError
        If the rate is not in (0, 1] or its denominator is 2^48 or more, or epsilon is not positive or above 10^6.

    Examples
    --------
    >>> round(float(amplified_epsilon(Fraction(1, 100), Fraction(1))), 4)
    0.017
    """
    if not 0 < rate <= 1 or rate.denominator >= 1 << _RATE_BITS:
        raise ValueError(f"a sampling rate must be a rational in (0, 1] with a denominator below 2^48, got {rate}")
    if not 0 < epsilon <= 10**6:
        raise ValueError(f"epsilon of a sample must lie in (0, 10^6], got {epsilon}")
    if rate == 1:
        return epsilon
    inside = 1 + as_decimal(rate) * (as_decimal(epsilon).exp() - 1)
    # An argument near 1 keeps fewer digits; 1e-40 covers what is lost down to epsilons of 1e-15.
    upper = inside.ln() * (1 + Decimal("1e-20")) + Decimal("1e-40")
    return min(epsilon, round_up(Fraction(upper.quantize(Decimal("1e-45"), ROUND_CEILING)), _EPSILON_BITS))
