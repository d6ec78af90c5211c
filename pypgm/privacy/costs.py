"""Costs of steps in Gaussian differential privacy, and what an amount buys; docs/gdp.md has the proofs.

Amounts are in rho = mu^2 / 2. Under a budget in Gaussian differential privacy with `left` unspent, a step costs x if
the step, followed by Gaussian noise of left - x, is no easier to tell apart than Gaussian noise of `left`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from pypgm.privacy.rational import isqrt_down, significant_down, significant_up

BITS = 64  # significant bits of costs: dyadic rationals, whose sums stay short
_HALF_PI = Fraction(355, 226)  # above pi / 2, by 9e-8 of it
_SLACK = 1 - Fraction(1, 1 << 56)  # of an amount, for costs that are rounded up to `BITS`
_LEAST_VARIANCE = Fraction(1, 2)  # of the sharp bound
_THREE_TERMS = Fraction(1, 1 << 20)  # for which three terms of the variance are exact to 46 bits
_STEPS = 6
_NEWTON = Fraction(1, 1 << 46)  # above the rounding of the last step
_DEAREST = Fraction(73, 30)  # at least mu^2 for a change of 1, by the sharp bound, at the least variance
_BELOW = 8 - _DEAREST  # by which mu^2 is below 4 / variance, for smaller variances


@lru_cache(maxsize=1024)
def gaussian_cost(variance: Fraction, squared_sensitivity: int) -> Fraction:
    """Return the cost of discrete Gaussian noise on integers: D / 2 times mu^2 for a change of 1.

    For a variance v of at least 1/2, mu^2 is at most 1 / v + 1 / (12 v^2) + 1 / (80 v^3); below, it is at most as much
    more than at 1/2 as 4 / v is.

    Examples
    --------
    >>> round(float(gaussian_cost(Fraction(10), 1)), 6)
    0.050423
    """
    if squared_sensitivity == 0:
        return Fraction(0)
    if variance < _LEAST_VARIANCE:
        return significant_up(squared_sensitivity * (4 / variance - _BELOW) / 2, BITS)
    squared_mu = (1 + (1 + Fraction(3, 20) / variance) / (12 * variance)) / variance
    return significant_up(squared_sensitivity * squared_mu / 2, BITS)


def gaussian_variance(amount: Fraction, squared_sensitivity: int) -> Fraction:
    """Return a variance of discrete Gaussian noise that costs an amount at most, and hardly less.

    Examples
    --------
    >>> gaussian_cost(gaussian_variance(Fraction(1, 20), 3), 3) <= Fraction(1, 20)
    True
    """
    squared_mu = 2 * amount * _SLACK / squared_sensitivity
    if squared_mu > _DEAREST:
        return 4 / (squared_mu + _BELOW)
    if squared_mu < _THREE_TERMS:
        return 1 / squared_mu + Fraction(1, 12) + squared_mu / 50
    wanted = float(squared_mu)
    x = wanted  # 1 / variance, the root of x + x^2 / 12 + x^3 / 80, which Newton's method reaches from above
    for _ in range(_STEPS):
        x -= (x * (1 + x * (1 + 0.15 * x) / 12) - wanted) / (1 + x * (1 + 0.225 * x) / 6)
    return 1 / (Fraction(x) * (1 - _NEWTON))


def pure_cost(rho: Fraction, largest: Fraction, left: Fraction) -> Fraction:
    """Return the cost of steps whose loss is bounded, where an amount is left: draws, Laplace noise.

    Parameters
    ----------
    rho : Fraction
        The cost of all steps in zCDP: the sum of epsilon^2 / 8, epsilon the length of an interval that holds the loss
        of a step.
    largest : Fraction
        The largest of the terms.
    left : Fraction
        The amount left before the first step, or less.

    Examples
    --------
    >>> small, all_of_it = Fraction(1, 100), Fraction(2, 3)
    >>> [round(float(pure_cost(rho, rho, Fraction(1))), 6) for rho in (small, all_of_it)]
    [0.010025, 1.047198]
    """
    spare = left - rho
    square = spare * spare - rho * largest
    after = (spare + isqrt_down(square, BITS)) / 2 if spare > 0 and square >= 0 else Fraction(0)
    return cost_before(after, rho, largest)


def cost_before(after: Fraction, rho: Fraction, largest: Fraction) -> Fraction:
    """Return the cost of steps whose loss is bounded, see `pure_cost`, after which an amount is still to be spent.

    Examples
    --------
    >>> one = Fraction(1, 100)
    >>> [round(float(cost_before(after, one, one)), 6) for after in (Fraction(0), Fraction(1))]
    [0.015708, 0.010025]
    """
    alone = _HALF_PI * rho
    cost = min(alone, rho + rho * largest / (4 * after)) if after else alone
    return significant_up(cost, BITS) if cost else cost


def pure_steps(amount: Fraction, steps: int, left: Fraction) -> Fraction:
    """Return the cost in zCDP of equal steps of bounded loss that cost an amount together, where an amount is left.

    Examples
    --------
    >>> half = pure_steps(Fraction(1, 2), 3, Fraction(1))
    >>> pure_cost(half, half / 3, Fraction(1)) <= Fraction(1, 2)
    True
    """
    amount *= _SLACK
    root = isqrt_down(Fraction(steps), BITS)
    largest = left * root / (1 + root)  # beyond it, steps cost pi / 2 of their cost in zCDP
    after = left - amount
    if after > (left - largest) / 2:
        largest = 2 * (isqrt_down(steps * after * (steps * after + amount), BITS) - steps * after)
    return max(amount / _HALF_PI, significant_down(largest, BITS))
