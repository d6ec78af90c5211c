r"""Conversions between zero-concentrated and approximate differential privacy, tight and rounded to the safe side.

A mechanism that satisfies rho-zCDP satisfies (epsilon, delta)-DP with

.. math:: \delta = \frac{\exp((a - 1)(a\rho - \epsilon))}{a - 1} \left(1 - \frac{1}{a}\right)^a

for every a > 1 (Canonne, Kamath and Steinke 2020, "The Discrete Gaussian for Differential Privacy"). Floats only search
for a good a and a good candidate; the result is then checked with 60 decimal digits, whose error is far below the
margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from pypgm.privacy.rational import MARGIN, Number, as_decimal, as_fraction, significant_down, with_own_digits

_RHO_BITS = 44  # few enough that the variances made from it are exact in the sampler, 62 bits


@with_own_digits
def zcdp_delta(rho: Number, epsilon: Number) -> float:
    """Return a delta for which rho-zCDP implies (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    rho : number
        At least 0.
    epsilon : number
        At least 0.

    Examples
    --------
    >>> zcdp_delta(0.05, 1.472) < 1e-6
    True
    """
    exact_rho, exact_epsilon = at_least_zero("rho", rho), at_least_zero("epsilon", epsilon)
    if exact_rho == 0:
        return 0.0
    log_delta = _log_delta_bound(exact_rho, exact_epsilon)
    if log_delta >= 0:
        return 1.0
    return math.nextafter(float(log_delta.exp()), 1.0)


@with_own_digits
def zcdp_epsilon(rho: Number, delta: Number) -> float:
    """Return an epsilon for which rho-zCDP implies (epsilon, delta)-DP, rounded up by at most about 1e-12 of it.

    Parameters
    ----------
    rho : number
        At least 0.
    delta : number
        In [0, 1); 0 gives infinity unless `rho` is 0.

    Examples
    --------
    >>> round(zcdp_epsilon(0.05, 1e-6), 3)
    1.472
    """
    exact_rho, exact_delta = at_least_zero("rho", rho), checked_delta(delta)
    if exact_rho == 0:
        return 0.0
    if exact_delta == 0:
        return math.inf
    slack = _safe_log(exact_delta)
    target = float(slack)
    least = _bisect(lambda epsilon: _log_delta(float(exact_rho), epsilon) <= target, rising=True)
    epsilon, step = least, max(least * 1e-13, 1e-300)
    while _log_delta_bound(exact_rho, Fraction(epsilon)) > slack:
        epsilon, step = epsilon + step, 2 * step
    return epsilon


@with_own_digits
def zcdp_rho(epsilon: Number, delta: Number) -> Fraction:
    """Return a rho whose zCDP implies (epsilon, delta)-DP: a rational of 44 significant bits, rounded down.

    Parameters
    ----------
    epsilon : number
        More than 0.
    delta : number
        In (0, 1).

    Examples
    --------
    >>> round(float(zcdp_rho(1, 1e-6)), 5)
    0.02436
    """
    exact_epsilon, exact_delta = at_least_zero("epsilon", epsilon), checked_delta(delta)
    if exact_epsilon == 0 or exact_delta == 0:
        raise ValueError("zCDP implies (epsilon, delta)-DP only for epsilon > 0 and delta > 0")
    slack = _safe_log(exact_delta)
    target, epsilon_float = float(slack), float(exact_epsilon)
    most = _bisect(lambda rho: _log_delta(rho, epsilon_float) <= target, rising=False)
    rho = significant_down(Fraction(most), _RHO_BITS)
    step = Fraction(1, 1 << (_RHO_BITS - 1))
    while _log_delta_bound(rho, exact_epsilon) > slack:
        rho, step = significant_down(rho * (1 - step), _RHO_BITS), 2 * step
    return rho


def _order(rho: float, epsilon: float) -> float:
    """Return a - 1 for the best a: the root of (2 a - 1) rho - epsilon + log(1 - 1/a), which rises with a."""
    low, high = math.log(1e-300), math.log((epsilon + 1) / (2 * rho) + 2)
    while low < (middle := (low + high) / 2) < high:
        excess = math.exp(middle)
        # log(1 - 1/a) = log(excess) - log1p(excess), exact near a = 1.
        if (2 * excess + 1) * rho - epsilon + middle - math.log1p(excess) > 0:
            high = middle
        else:
            low = middle
    return math.exp(low)


def _log_delta(rho: float, epsilon: float) -> float:
    excess = _order(rho, epsilon)
    a = excess + 1
    return excess * (a * rho - epsilon) + excess * math.log(excess) - a * math.log1p(excess)


def _log_delta_bound(rho: Fraction, epsilon: Fraction) -> Decimal:
    """Return an upper bound of log delta, which holds for any rounding of the order."""
    excess = Decimal(_order(float(rho), float(epsilon)))
    a = excess + 1
    exponent = excess * (a * as_decimal(rho) - as_decimal(epsilon))
    # a log(1 - 1/a) - log(a - 1) = (a - 1) log(a - 1) - a log(a)
    return exponent + excess * excess.ln() - a * a.ln() + MARGIN


def _safe_log(delta: Fraction) -> Decimal:
    return as_decimal(delta).ln() - MARGIN


def _bisect(holds: Callable[[float], bool], *, rising: bool) -> float:
    """Return the positive float at which `holds` turns true (rising) or false, on the side at which it holds."""
    low = high = 1.0
    while holds(low) == rising and low > 1e-300:
        low /= 2
    while holds(high) != rising and high < 1e300:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        if holds(middle) == rising:
            high = middle
        else:
            low = middle
    return high if rising else low


def at_least_zero(name: str, value: Number) -> Fraction:
    """Return a number exactly; ``ValueError`` below 0."""
    exact = as_fraction(name, value)
    if exact < 0:
        raise ValueError(f"{name} must be at least 0, got {value}")
    return exact


def checked_delta(delta: Number) -> Fraction:
    """Return a delta exactly; ``ValueError`` outside of [0, 1)."""
    exact = as_fraction("delta", delta)
    if not 0 <= exact < 1:
        raise ValueError(f"delta must lie in [0, 1), got {delta}")
    return exact
