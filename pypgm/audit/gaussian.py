"""Gaussian differential privacy in floats, by the audit's own code: conversions, discrete noise, steps of bounded loss.

Amounts are in rho, half of the square of mu. docs/gdp.md proves what is computed here.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from statistics import NormalDist

_HALVINGS = 200
_BY_INTEGRAL = 50  # variance, from which on a sum is its integral


def delta_of(rho: float, epsilon: float) -> float:
    """Return the delta of sqrt(2 rho)-GDP at an epsilon; digits are lost where mu is far below epsilon."""
    mu = math.sqrt(2 * rho)
    x = epsilon / mu - mu / 2
    return _upper_tail(x) - math.exp(epsilon) * _upper_tail(x + mu)


def _upper_tail(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


@functools.cache
def gdp_rho_of(epsilon: Fraction, delta: Fraction) -> float:
    """Return the largest rho for which sqrt(2 rho)-GDP implies (epsilon, delta)-DP, by bisection."""
    low, high = 0.0, float(epsilon) + 50  # delta_of is above 1 - 1e-9 here
    for _ in range(_HALVINGS):
        rho = (low + high) / 2
        low, high = (rho, high) if delta_of(rho, float(epsilon)) <= delta else (low, rho)
    return low


@functools.cache
def squared_mu(variance: Fraction) -> float:
    """Return the square of the mu of discrete Gaussian noise for a change of 1, from the probability of 0."""
    v = float(variance)
    # From variances of some tens on, the sum of the weights is that of the integral, to more digits than there are.
    beyond = math.sqrt(math.pi * v / 2) - 0.5
    if v < _BY_INTEGRAL:
        beyond = math.fsum(math.exp(-m * m / (2 * v)) for m in range(1, int(40 * math.sqrt(v)) + 2))
    chance = 1 / (1 + 2 * beyond)
    if chance > 0.5:
        tail = beyond * chance
        return 1 / v if tail == 0 else (2 * NormalDist().inv_cdf(tail)) ** 2
    x = NormalDist().inv_cdf((1 + chance) / 2) / math.sqrt(2)
    for _ in range(3):  # of erf(x) = P(Y = 0), whose digits (1 + P(Y = 0)) / 2 does not hold
        x -= (math.erf(x) - chance) * math.sqrt(math.pi) / 2 * math.exp(x * x)
    return 8 * x * x


def bounded_cost(rho: float, largest: float, left: float) -> float:
    """Return the cost of steps of bounded loss where an amount is left, by bisection on what stays after them.

    What stays, a, must have a + rho + rho largest / (4 a) <= left; pi / 2 rho is always enough.
    """
    alone = math.pi / 2 * rho
    worst = math.sqrt(rho * largest) / 2  # of a + rho largest / (4 a) the lowest place
    if rho == 0 or 2 * worst + rho > left:
        return alone
    low, high = worst, left
    for _ in range(_HALVINGS):
        after = (low + high) / 2
        low, high = (after, high) if after + rho + rho * largest / (4 * after) <= left else (low, after)
    return min(alone, rho + rho * largest / (4 * low))
