r"""Conversions between Gaussian and approximate differential privacy, exact, and rounded to the safe side.

A mechanism is :math:`\mu`-GDP if telling two neighbouring tables apart by its answers is no easier than telling a
normal variable from the same shifted by :math:`\mu` standard deviations (Dong, Roth and Su 2022, "Gaussian
Differential Privacy"). It is then (epsilon, delta)-DP with

.. math:: \delta = \Phi(\tfrac{\mu}{2} - \tfrac{\epsilon}{\mu})
    - e^{\epsilon} \Phi(-\tfrac{\mu}{2} - \tfrac{\epsilon}{\mu}) = \varphi(x) (m(x) - m(y)),
    \quad x, y = \tfrac{\epsilon}{\mu} \mp \tfrac{\mu}{2},

m the ratio of Mills: the upper tail of a standard normal variable by its density. Amounts here are
:math:`\rho = \mu^2 / 2`, as :math:`\mu`-GDP implies :math:`\rho`-zCDP. Newton's method finds a candidate, and delta is
then computed at the candidate itself with 200 decimal digits, whose error is far below the margin.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache

from pypgm.privacy.rational import MARGIN, Number, as_decimal, significant_down, with_digits
from pypgm.privacy.zcdp import at_least_zero, checked_delta, zcdp_delta, zcdp_epsilon, zcdp_rho

_DIGITS = 200  # the series of `_mills` cancels at most 90 of them, the difference of two ratios 30
_RHO_BITS = 44  # as in `zcdp_rho`
_ASYMPTOTIC = 20  # from here on the asymptotic series is exact to 80 digits
_EPSILONS = Fraction(1, 10**12), Fraction(10**6)  # beyond them, and below this delta, zCDP is used: a weaker promise
_LEAST_DELTA = Fraction(1, 10**400)
_STEPS = 60  # of Newton's method; six are enough


@with_digits(_DIGITS)
def gdp_delta(rho: Number, epsilon: Number) -> float:
    """Return a delta for which sqrt(2 rho)-GDP implies (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    rho : number
        Half of the square of mu, at least 0.
    epsilon : number
        At least 0.

    Examples
    --------
    >>> round(gdp_delta(0.5, 1), 4)
    0.1269
    """
    exact_rho, exact_epsilon = at_least_zero("rho", rho), at_least_zero("epsilon", epsilon)
    if exact_rho == 0:
        return 0.0
    if exact_epsilon > _EPSILONS[1] or exact_rho > _EPSILONS[1] or exact_rho < _EPSILONS[0] ** 2:
        return zcdp_delta(exact_rho, exact_epsilon)
    return min(1.0, math.nextafter(float(_log_delta(exact_rho, exact_epsilon).exp()), 1.0))


@with_digits(_DIGITS)
def gdp_epsilon(rho: Number, delta: Number) -> float:
    """Return an epsilon for which sqrt(2 rho)-GDP implies (epsilon, delta)-DP, rounded up by at most 1e-12 of it.

    Parameters
    ----------
    rho : number
        Half of the square of mu, at least 0.
    delta : number
        In [0, 1); 0 gives infinity unless `rho` is 0.

    Examples
    --------
    >>> round(gdp_epsilon(0.05, 1e-6), 3)
    1.368
    """
    exact_rho, exact_delta = at_least_zero("rho", rho), checked_delta(delta)
    above = zcdp_epsilon(exact_rho, exact_delta)
    low, high = _EPSILONS
    if exact_delta < _LEAST_DELTA or not low <= above <= high or exact_rho < low**2:
        return above
    target, epsilon = as_decimal(exact_delta).ln() - MARGIN, Decimal(above)
    if _log_delta(exact_rho, Fraction(0)) <= target:
        return 0.0
    for _ in range(_STEPS):
        log_delta = _log_delta(exact_rho, Fraction(epsilon))
        mu = (2 * as_decimal(exact_rho)).sqrt()
        falls = (_log_density(epsilon / mu - mu / 2) - log_delta).exp() * _mills(epsilon / mu + mu / 2)
        step = (log_delta - target) / falls
        # From an epsilon at which delta is tiny, a step may lead below 0.
        epsilon = max(epsilon + step, epsilon / 16)
        if abs(step) <= epsilon * Decimal("1e-15"):
            break
    least = float(epsilon)
    grows = max(least * 1e-15, 1e-300)
    while _log_delta(exact_rho, Fraction(least)) > target:
        least, grows = least + grows, 2 * grows
    return min(least, above)


@cache
@with_digits(_DIGITS)
def gdp_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho with which sqrt(2 rho)-GDP implies (epsilon, delta)-DP: 44 significant bits, rounded down.

    Parameters
    ----------
    epsilon : Fraction
        More than 0.
    delta : Fraction
        In (0, 1).

    Examples
    --------
    >>> round(float(gdp_rho(Fraction(1), Fraction(1, 10**6))), 7)
    0.0280145
    """
    below = zcdp_rho(epsilon, delta)
    low, high = _EPSILONS
    if delta < _LEAST_DELTA or not low <= epsilon <= high:
        return below
    target, exact = as_decimal(delta).ln() - MARGIN, as_decimal(epsilon)
    mu = (2 * as_decimal(below)).sqrt()  # below the root, from where Newton's steps rise to it
    for _ in range(_STEPS):
        log_delta = _log_delta(Fraction(mu * mu / 2), epsilon)
        step = (target - log_delta) / (_log_density(exact / mu - mu / 2) - log_delta).exp()
        mu += step
        if abs(step) <= mu * Decimal("1e-20"):
            break
    rho = significant_down(Fraction(mu * mu / 2), _RHO_BITS)
    shrinks = Fraction(1, 1 << (_RHO_BITS - 1))
    while _log_delta(rho, epsilon) > target:
        rho, shrinks = significant_down(rho * (1 - shrinks), _RHO_BITS), 2 * shrinks
    return max(rho, below)


def _log_delta(rho: Fraction, epsilon: Fraction) -> Decimal:
    """Return log delta, rounded up."""
    mu = (2 * as_decimal(rho)).sqrt()
    x = as_decimal(epsilon) / mu - mu / 2
    return _log_density(x) + (_mills(x) - _mills(x + mu)).ln() + MARGIN


def _log_density(x: Decimal) -> Decimal:
    return -x * x / 2 - _half_log_circle()


@cache
def _half_log_circle() -> Decimal:
    """Return log(2 pi) / 2, pi by Machin's formula."""
    pi = 4 * (4 * _inverse_tangent(5) - _inverse_tangent(239))
    return (2 * pi).ln() / 2


def _inverse_tangent(of: int) -> Decimal:
    """Return arctan(1 / of)."""
    power, total, k = Decimal(1) / of, Decimal(0), 0
    while abs(power) > Decimal(10) ** -_DIGITS:
        total += power / (2 * k + 1)
        power, k = -power / (of * of), k + 1
    return total


def _mills(x: Decimal) -> Decimal:
    """Return the upper tail of a standard normal variable at x by its density there."""
    if x < 0:
        return (-_log_density(x)).exp() - _mills(-x)
    square = x * x
    small = Decimal(10) ** -_DIGITS
    if x < _ASYMPTOTIC:
        # Half the mass is above 0, and between 0 and x is the density times x + x^3 / 3 + x^5 / (3 5) + ...
        term, total, k = x, Decimal(0), 1
        while term > small:
            total, k = total + term, k + 2
            term = term * square / k
        return (-_log_density(x)).exp() / 2 - total
    # 1/x - 1/x^3 + 3/x^5 - ...: what is left out is less than the first term that is.
    term, total, k = 1 / x, Decimal(0), 1
    while abs(term) > small and k < square:
        total, term = total + term, -term * k / square
        k += 2
    return total
