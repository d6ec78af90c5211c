"""Laws of noise, selections and steps, with the audit's own arithmetic: what draws hide, cost and come out as."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.audit.gaussian import bounded_cost, squared_mu
from pypgm.privacy.budget import Unit

Parameters = Mapping[str, Fraction]
Integers = NDArray[np.int64]
Probabilities = NDArray[np.float64]

_ROUNDING = 1e-11  # of costs in floats

DIGITS = Context(prec=120, Emin=-(10**9), Emax=10**9)
"""Twice the digits that pypgm computes with."""


class Law:
    """Law of a charged step; a pure step where the class does not say more."""

    name: str
    """Name on the lines of a ledger."""

    range_divisor = 2
    """A pure step of epsilon costs epsilon^2 / range_divisor in rho: 8 where the loss has a range of epsilon."""

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__

    def cost(self, p: Parameters, unit: Unit) -> Fraction | float:
        """Return the cost of a line with these parameters."""
        epsilon = p["epsilon"]
        return p.get("composed", 1) * (epsilon if unit == "epsilon" else epsilon**2 / self.range_divisor)

    def owed(self, p: Parameters, unit: Unit, left: Fraction | None) -> Fraction | float:
        """Return the least cost of a line: in Gaussian differential privacy, if it says what was left before it."""
        if left is None:
            return self.cost(p, unit)
        return self._gdp_cost(p, float(left)) * (1 - _ROUNDING)

    def _gdp_cost(self, p: Parameters, left: float) -> float:
        rho, largest = self._bounded(p)
        return bounded_cost(float(rho), float(largest), left)

    def _bounded(self, p: Parameters) -> tuple[Fraction | float, Fraction | float]:
        """Return the sum of the costs in zCDP of steps of bounded loss, and the largest."""
        rho = self.cost(p, "rho")
        return rho, rho / p.get("composed", 1)


class Drawn(Law, ABC):
    """Law of a sampler of the core."""

    short: str
    """Name in the names of samplers and makers, and of a measurement's noise."""

    samplers: tuple[str, ...]
    """Functions of the core that draw from it."""

    parameter = ""
    """Parameter of a line that its draws have, if there is one."""

    charged: str
    """Parameter of a line that bounds the change of the hidden numbers."""

    hides_scores = False
    """Whether the hidden numbers are scores of candidates, which decide together."""

    @abstractmethod
    def change(self, changes: Sequence[int], parameter: Fraction) -> Fraction:
        """Return how much the hidden numbers change, in the unit of a line."""

    @abstractmethod
    def log_ratio(self, one: Integers, other: Integers, parameter: Fraction, outcomes: Integers) -> Probabilities:
        """Return log P_other / P_one of each outcome, P_one and P_other the laws that hide these numbers."""

    def is_of(self, p: Parameters, parameter: Fraction) -> bool:
        """Return whether a line with parameters `p` can be that of a draw."""
        of_many = "draws" not in p or p["epsilon"] == parameter * p["score_range"]
        return of_many and (not self.parameter or p[self.parameter] == parameter)

    def n_lines(self, outcome: Any) -> int:  # noqa: ARG002 (numbers of one draw share a line)
        """Return how many lines a draw is charged on."""
        return 1


class Noise(Drawn):
    """Discrete noise on integers, of probability proportional to exp(-|z|^power / ...)."""

    power: int
    """1 if changes add up by size, 2 if by square."""

    enumerated: tuple[tuple[Fraction, float], ...]
    """Parameters for which the branches of the sampler are followed, and the least probability of a branch followed."""

    @abstractmethod
    def stddev(self, parameter: Fraction) -> float:
        """Return the standard deviation of the noise."""

    @abstractmethod
    def scale(self, parameter: Fraction) -> Fraction:
        """Return the scale; of a Gaussian its sigma."""

    @abstractmethod
    def tail(self, parameter: Fraction, least: int) -> float:
        """Return P(Z >= least)."""

    @abstractmethod
    def exponents(self, z: Integers, scale: float) -> Probabilities:
        """Return log weights of integers; their probabilities are proportional to exp of these."""

    def change(self, changes: Sequence[int], parameter: Fraction) -> Fraction:  # noqa: ARG002 (a line bounds numbers)
        """Return the sum of sizes or of squares."""
        return Fraction(sum(abs(change) ** self.power for change in changes))

    def pmf(self, scale: float, reach: int) -> tuple[Integers, Probabilities]:
        """Return the integers as far as `reach` and the probability of each; a Gaussian's scale is its sigma."""
        z = np.arange(-reach, reach + 1)
        weights = np.exp(self.exponents(z, scale))
        return z, weights / weights.sum()

    def log_ratio(self, one: Integers, other: Integers, parameter: Fraction, outcomes: Integers) -> Probabilities:
        """Return the sum of the log ratios of numbers, a column of outcomes each."""
        scale = math.sqrt(parameter) if self.power == 2 else float(parameter)
        shifts = (outcomes - one, outcomes - other)
        mine, theirs = (self.exponents(shift, scale).sum(axis=1) for shift in shifts)
        return np.asarray(theirs - mine, dtype=np.float64)


class DiscreteGaussian(Noise):
    """Law with P(z) proportional to exp(-z^2 / (2 variance))."""

    name, short, samplers = "discrete Gaussian", "gaussian", ("add_discrete_gaussian",)
    parameter, charged, power = "variance", "squared_sensitivity", 2
    enumerated = ((Fraction(1, 2), 1e-6), (Fraction(1), 1e-6), (Fraction(7, 3), 1e-6))

    def cost(self, p: Parameters, unit: Unit) -> Fraction:  # noqa: ARG002 (has no epsilon)
        """Return the rho of a line."""
        return p["squared_sensitivity"] / (2 * p["variance"])

    def _gdp_cost(self, p: Parameters, left: float) -> float:
        del left
        return float(p["squared_sensitivity"]) * squared_mu(p["variance"]) / 2

    def stddev(self, parameter: Fraction) -> float:
        """Return sigma."""
        return math.sqrt(parameter)

    def scale(self, parameter: Fraction) -> Fraction:
        """Return sigma."""
        return Fraction(math.sqrt(parameter))

    def exponents(self, z: Integers, scale: float) -> Probabilities:
        """Return -z^2 / (2 sigma^2)."""
        return np.asarray(-np.square(z.astype(np.float64)) / (2 * scale**2), dtype=np.float64)

    def tail(self, parameter: Fraction, least: int) -> float:
        """Return P(Z >= least), summed term by term."""
        if least <= 0:
            return 1 - self.tail(parameter, 1 - least)
        s = float(parameter)
        reach = int(40 * math.sqrt(s)) + 40
        z = np.arange(reach + 1, dtype=np.float64)
        weights = np.exp(-np.square(z) / (2 * s))
        beyond = np.exp(-np.square(np.arange(least, least + reach, dtype=np.float64)) / (2 * s))
        return math.fsum(beyond) / (2 * math.fsum(weights) - 1)


class DiscreteLaplace(Noise):
    """Law with P(z) proportional to exp(-|z| / scale)."""

    name, short, samplers = "discrete Laplace", "laplace", ("add_discrete_laplace",)
    parameter, charged, power = "scale", "sensitivity", 1
    enumerated = (
        (Fraction(1), 1e-9),
        (Fraction(1, 2), 1e-8),
        (Fraction(2), 1e-8),
        (Fraction(3, 2), 1e-7),
        (Fraction(5), 1e-7),
    )

    def cost(self, p: Parameters, unit: Unit) -> Fraction:
        """Return the cost of a line: epsilon is sensitivity / scale, and rho half of its square."""
        epsilon = p["sensitivity"] / p["scale"]
        return epsilon if unit == "epsilon" else epsilon**2 / 2

    def _bounded(self, p: Parameters) -> tuple[Fraction | float, Fraction | float]:
        """Return those of a step for each answer: changes of at most c, D together, have squares of at most c D."""
        change = min(p.get("largest_change", p["sensitivity"]), p["sensitivity"])
        if change == 0:
            return 0.0, 0.0
        return change * p["sensitivity"] / (2 * p["scale"] ** 2), change**2 / (2 * p["scale"] ** 2)

    def stddev(self, parameter: Fraction) -> float:
        """Return sqrt(2 q) / (1 - q), q = exp(-1 / scale)."""
        rate = float(1 / parameter)
        return math.sqrt(2 * math.exp(-rate)) / -math.expm1(-rate)

    def scale(self, parameter: Fraction) -> Fraction:
        """Return the parameter."""
        return parameter

    def exponents(self, z: Integers, scale: float) -> Probabilities:
        """Return -|z| / scale."""
        return np.asarray(-np.abs(z) / scale, dtype=np.float64)

    def tail(self, parameter: Fraction, least: int) -> float:
        """Return P(Z >= least): q^least / (1 + q) with q = exp(-1 / scale), for least > 0."""
        if least <= 0:
            return 1 - self.tail(parameter, 1 - least)
        rate = DIGITS.divide(Decimal(parameter.denominator), Decimal(parameter.numerator))
        tail = DIGITS.exp(DIGITS.multiply(-rate, Decimal(least)))
        return float(DIGITS.divide(tail, DIGITS.add(Decimal(1), DIGITS.exp(-rate))))


class Selection(Drawn):
    """Law of a candidate selected by its score; the parameter is the rate of scores."""

    charged = "epsilon"
    hides_scores = True

    @abstractmethod
    def probabilities(self, scores: Sequence[int], rate: Fraction) -> Probabilities:
        """Return the probability of each candidate."""

    def outcomes(self, scores: Sequence[int], rate: Fraction, outcome: Any) -> list[float]:  # noqa: ARG002
        """Return the probabilities of all outcomes of a draw's kind."""
        return [float(p) for p in self.probabilities(scores, rate)]

    def change(self, changes: Sequence[int], parameter: Fraction) -> Fraction:
        """Return the epsilon that the changes of scores have.

        log p_i = rate s_i - log sum exp(rate s): it changes by rate (c_i - c) with c between the extreme changes.
        """
        return parameter * (max(changes) - min(changes))

    def log_ratio(self, one: Integers, other: Integers, parameter: Fraction, outcomes: Integers) -> Probabilities:
        """Return the log ratio of each selected candidate."""
        mine, theirs = (np.log(self.probabilities(scores.tolist(), parameter)) for scores in (one, other))
        return np.asarray((theirs - mine)[outcomes], dtype=np.float64)

    def n_lines(self, outcome: Any) -> int:
        """Return the number of candidates, which are drawn one after the other in one call, a line each."""
        return int(np.size(outcome))


class Exponential(Selection):
    """Exponential mechanism: P(i) proportional to exp(rate * score_i)."""

    name, short, samplers = "exponential mechanism", "select", ("select_exponential", "select_top")
    range_divisor = 8

    def probabilities(self, scores: Sequence[int], rate: Fraction) -> Probabilities:
        """Return the probability of each candidate: in proportion to exp(rate * score)."""
        weights = _coins(scores, rate)
        return weights / math.fsum(weights)

    def outcomes(self, scores: Sequence[int], rate: Fraction, outcome: Any) -> list[float]:
        """Return the probabilities of all candidates, or of all sequences of the selected length."""
        if isinstance(outcome, list):
            return list(self.top(scores, rate, len(outcome)).values())
        return super().outcomes(scores, rate, outcome)

    def top(self, scores: Sequence[int], rate: Fraction, count: int) -> dict[tuple[int, ...], float]:
        """Return the probability of each sequence of `count` candidates drawn one after the other from those left."""
        law: dict[tuple[int, ...], float] = {}
        for chosen in itertools.permutations(range(len(scores)), count):
            left, chance = list(range(len(scores))), 1.0
            for i in chosen:
                chance *= float(self.probabilities([scores[j] for j in left], rate)[left.index(i)])
                left.remove(i)
            law[chosen] = chance
        return law

    def log_ratio(self, one: Integers, other: Integers, parameter: Fraction, outcomes: Integers) -> Probabilities:
        """Return the log ratio of each selected candidate, of any rate."""
        logs = [float(parameter) * (scores - scores.max()) for scores in (one, other)]
        mine, theirs = (log - np.logaddexp.reduce(log) for log in logs)
        return np.asarray((theirs - mine)[outcomes], dtype=np.float64)


class PermuteAndFlip(Selection):
    """Permute-and-flip: the first candidate, in random order, to pass its coin."""

    name, short, samplers = "permute-and-flip", "permute_and_flip", ("permute_and_flip",)

    def probabilities(self, scores: Sequence[int], rate: Fraction) -> Probabilities:
        r"""Return the probability of each candidate to be the first, in random order, to pass its coin.

        With a uniform time for every candidate, the one at time t is first if no earlier one passes:
        :math:`p_i \int_0^1 \prod_{j \ne i} (1 - p_j t)\,dt`, a polynomial that Gauss' nodes integrate exactly.
        """
        p = _coins(scores, rate)
        nodes, weights = np.polynomial.legendre.leggauss(p.size // 2 + 1)
        fails = 1 - p[:, None] * (nodes + 1) / 2
        others = np.array([np.prod(np.delete(fails, i, axis=0), axis=0) for i in range(p.size)])
        return np.asarray(p * (others @ weights) / 2, dtype=np.float64)


class PoissonSample(Law):
    """Pure step on a Poisson sample of the records."""

    name = "Poisson sample"

    def cost(self, p: Parameters, unit: Unit) -> Fraction | float:
        """Return the cost; infinity where the stated epsilon is below log(1 + rate (exp(inner epsilon) - 1))."""
        amplified = math.log1p(float(p["rate"]) * math.expm1(float(p["inner_epsilon"])))
        return math.inf if float(p["epsilon"]) < amplified * (1 - 1e-12) else super().cost(p, unit)


class Stated(Law):
    """Step whose cost its caller states."""

    name = "stated"

    def cost(self, p: Parameters, unit: Unit) -> Fraction | float:
        """Return the rho that is stated, or the cost of the epsilon."""
        return p["rho"] if "rho" in p else super().cost(p, unit)

    def _gdp_cost(self, p: Parameters, left: float) -> float:
        """Return that of an epsilon; of a step of which a rho is known, nothing is."""
        return math.inf if p.get("rho") else super()._gdp_cost(p, left)


GAUSSIAN, LAPLACE = DiscreteGaussian(), DiscreteLaplace()
EXPONENTIAL, PERMUTE_AND_FLIP = Exponential(), PermuteAndFlip()

NOISES: tuple[Noise, ...] = (LAPLACE, GAUSSIAN)
"""Laws of noise."""

_DRAWN: tuple[Drawn, ...] = (*NOISES, EXPONENTIAL, PERMUTE_AND_FLIP)

LAWS: dict[str, Law] = {law.name: law for law in (*_DRAWN, PoissonSample(), Stated())}
"""Laws by their names on the lines of a ledger."""

SAMPLERS: dict[str, Drawn] = {sampler: law for law in _DRAWN for sampler in law.samplers}
"""Laws by the samplers of the core that draw from them."""


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
