"""Exact laws of noise and selections, their tails and privacy losses, worked out without the samplers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Law = Literal["laplace", "gaussian"]
Probabilities = NDArray[np.float64]
Losses = tuple[Probabilities, NDArray[np.float64]]
"""Masses and values of a privacy loss; infinity is a value."""

DIGITS = Context(prec=120, Emin=-(10**9), Emax=10**9)
"""Twice the digits that pypgm computes with."""


def pmf(law: Law, scale: float, reach: int) -> tuple[NDArray[np.int64], Probabilities]:
    """Return the integers as far as `reach` and the probability of each; a Gaussian's scale is its sigma."""
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(z) / scale if law == "laplace" else -np.square(z.astype(np.float64)) / (2 * scale**2))
    return z, weights / weights.sum()


def shift_loss(variance: Fraction, times: int = 1, change: int = 1) -> Losses:
    """Return the loss of discrete Gaussian noise on some answers that each change by `change`.

    It depends on the sum of the draws alone, whose law is a convolution.
    """
    s = float(variance)
    reach = int(16 * math.sqrt(s)) + 4
    masses = reduce(np.convolve, [pmf("gaussian", math.sqrt(s), reach)[1]] * times).astype(np.float64)
    sums = np.arange(masses.size) - times * reach
    return masses, np.asarray((times * change**2 - 2 * change * sums) / (2 * s), dtype=np.float64)


def laplace_loss(scale: Fraction, change: int) -> Losses:
    """Return the loss of discrete Laplace noise on one answer that changes by `change`."""
    z, masses = pmf("laplace", float(scale), int(45 * scale) + 9 + change)
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


def exponential_law(scores: Sequence[int], rate: Fraction) -> Probabilities:
    """Return the probability of each candidate: in proportion to exp(rate * score)."""
    weights = _coins(scores, rate)
    return weights / math.fsum(weights)


def permute_and_flip_law(scores: Sequence[int], rate: Fraction) -> Probabilities:
    r"""Return the probability of each candidate to be the first, in random order, to pass its coin.

    With a uniform time for every candidate, the one at time t is first if no earlier one passes:
    :math:`p_i \int_0^1 \prod_{j \ne i} (1 - p_j t)\,dt`, a polynomial that Gauss' nodes integrate exactly.
    """
    p = _coins(scores, rate)
    nodes, weights = np.polynomial.legendre.leggauss(p.size // 2 + 1)
    fails = 1 - p[:, None] * (nodes + 1) / 2
    others = np.array([np.prod(np.delete(fails, i, axis=0), axis=0) for i in range(p.size)])
    return np.asarray(p * (others @ weights) / 2, dtype=np.float64)


def top_law(scores: Sequence[int], rate: Fraction, count: int) -> dict[tuple[int, ...], float]:
    """Return the probability of each sequence of `count` candidates drawn one after the other from those left."""
    law: dict[tuple[int, ...], float] = {}
    for chosen in itertools.permutations(range(len(scores)), count):
        left, chance = list(range(len(scores))), 1.0
        for i in chosen:
            chance *= float(exponential_law([scores[j] for j in left], rate)[left.index(i)])
            left.remove(i)
        law[chosen] = chance
    return law


def _coins(scores: Sequence[int], rate: Fraction) -> Probabilities:
    best = max(scores)
    return np.array([math.exp(rate * (int(s) - int(best))) for s in scores])


def renyi(one: Iterable[float], other: Iterable[float], order: float) -> float:
    """Return the Rényi divergence of two laws on the same outcomes; of order infinity the largest log ratio."""
    p, q = np.array(list(one)), np.array(list(other))
    ratios = np.log(p) - np.log(q)
    if math.isinf(order):
        return float(ratios.max())
    most = (order - 1) * float(ratios.max())
    return (math.log(math.fsum(p * np.exp((order - 1) * ratios - most))) + most) / (order - 1)


def laplace_tail(scale: Fraction, least: int) -> float:
    """Return P(Z >= least) of discrete Laplace noise: with q = exp(-1 / scale), q^t / (1 + q) for t > 0."""
    if least <= 0:
        return 1 - laplace_tail(scale, 1 - least)
    rate = DIGITS.divide(Decimal(scale.denominator), Decimal(scale.numerator))
    tail = DIGITS.exp(DIGITS.multiply(-rate, Decimal(least)))
    return float(DIGITS.divide(tail, DIGITS.add(Decimal(1), DIGITS.exp(-rate))))


def gaussian_tail(variance: Fraction, least: int) -> float:
    """Return P(Z >= least) of discrete Gaussian noise, summed term by term."""
    if least <= 0:
        return 1 - gaussian_tail(variance, 1 - least)
    s = float(variance)
    reach = int(40 * math.sqrt(s)) + 40
    z = np.arange(reach + 1, dtype=np.float64)
    weights = np.exp(-np.square(z) / (2 * s))
    beyond = np.exp(-np.square(np.arange(least, least + reach, dtype=np.float64)) / (2 * s))
    return math.fsum(beyond) / (2 * math.fsum(weights) - 1)
