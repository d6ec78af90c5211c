"""The laws that releases are drawn from: their costs, privacy losses, tails, and where each is proven.

A law is a value: its parameters, exactly as drawn with, and all that follows from them. Each line of a ledger holds
one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from pypgm._base.constraints import one_of
from pypgm.estimation.measurement import Noise as MeasuredNoise
from pypgm.privacy.budget import Budget, Unit, check_new
from pypgm.privacy.costs import gaussian_cost, pure_cost
from pypgm.privacy.losses import Dominating, range_losses, response_losses
from pypgm.privacy.noise import drawable_scale, drawable_variance, gaussian_threshold, laplace_stddev, laplace_threshold
from pypgm.privacy.rational import Number, as_decimal, as_fraction, round_up, with_own_digits
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Adder, Sampler
from pypgm.queries import LinearQuery

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "LAWS",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "Law",
    "Noise",
    "PermuteAndFlip",
    "PoissonSample",
    "Stated",
    "amplified_epsilon",
    "law_of",
    "own_law",
]


@dataclass(frozen=True, slots=True, init=False)
class Law(ABC):
    """The law that a step draws from, with its parameters: the base of all laws.

    Attributes
    ----------
    name : str
        The name in reports and files.
    guarantee : str
        The guarantee of a step that draws from the law.
    proof : str
        The heading of docs/privacy.md under which the guarantee is proven, as an anchor.
    """

    name: ClassVar[str]
    guarantee: ClassVar[str]
    proof: ClassVar[str]

    @abstractmethod
    def cost(self, unit: Unit) -> Fraction:
        """Return the cost of a step in the unit of a budget; ``ValueError`` if it has no guarantee in that unit."""

    @property
    def is_gdp(self) -> bool:
        """Whether a step has a cost in Gaussian differential privacy."""
        return True

    def gdp_cost(self, left: Fraction) -> Fraction:
        """Return the cost of a step in Gaussian differential privacy, where a rho of mu^2 / 2 is left.

        Raises
        ------
        ValueError
            If only the step's rho of zCDP is known.
        """
        return pure_cost(*self.bounded, left)

    @property
    def bounded(self) -> tuple[Fraction, Fraction]:
        """The step as steps of bounded loss: the sum of their costs in zCDP, and the largest of them."""
        rho = self.cost("rho")
        return rho, rho

    def price(self, budget: Budget, left: Fraction) -> Fraction:
        """Return the cost of a step under a budget of which an amount is left."""
        return self.gdp_cost(left) if budget.accounting == "gdp" else self.cost(budget.unit)

    def dominating(self, unit: Unit) -> Dominating | None:
        """Return losses that dominate those of a step; None if none are known, other than those of its `gdp_cost`."""
        return _pure_losses(self.cost(unit)) if unit == "epsilon" else None

    @property
    def parameters(self) -> dict[str, Fraction]:
        """Parameters of the law as files keep them, beside its name and delta."""
        given = {name: getattr(self, name) for name in _parameters(type(self))[0]}
        return {name: as_fraction(name, value) for name, value in given.items() if value is not None}

    @property
    def delta(self) -> Fraction:
        """The probability that a step fails to protect, charged beside its cost."""
        return Fraction(0)

    def _set(self, **values: object) -> None:
        check_new(self, next(iter(values)))
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[object, ...]:
        return law_of, (self.name, self.parameters, self.delta)


class Noise(Law):
    """Integer noise on counts."""

    __slots__ = ()

    measured: ClassVar[MeasuredNoise]  # its name in measurements

    largest_change: int | None
    threshold: int | None
    records_per_person: int | None
    delta: Fraction

    @classmethod
    @abstractmethod
    def for_query(cls, parameter: Number, query: LinearQuery, privacy: Privacy) -> Self:
        """Return noise that can be drawn, of this parameter or just above, charged for a query under a relation."""

    @property
    @abstractmethod
    def stddev(self) -> float:
        """Standard deviation, in counts."""

    @abstractmethod
    def adder(self, sampler: Sampler) -> Adder:
        """Return a function that adds the noise to int64 counts; ``ImportError`` if the backend is not installed."""

    @abstractmethod
    def reach(self, probability: Fraction) -> int:
        """Return a count that the noise alone reaches with at most this probability."""

    @abstractmethod
    def is_for(self, query: LinearQuery, privacy: Privacy) -> bool:
        """Return whether the noise is charged for the change of a query's answers under a relation."""

    def _with_threshold(self, given: tuple[Number | None, ...], delta: Number) -> None:
        """Set the parameters that only some charges have, and check that a threshold keeps its delta."""
        names = "largest_change", "threshold", "records_per_person"
        least = True, False, False
        values = [None if v is None else _whole(n, v, zero=z) for n, v, z in zip(names, given, least, strict=True)]
        change, threshold, k = values
        fails = _failure(delta)
        if (threshold is None) != (k is None) or (threshold is not None and change is None):
            raise ValueError(f"{self.name} with a threshold needs the parameters {sorted(names)}")
        self._set(**dict(zip(names, values, strict=True)), delta=fails)
        if threshold is None or k is None:
            if fails:
                raise ValueError(f"{self.name} does not fail; a delta is charged with a threshold or a stated step")
        elif fails == 0:
            raise ValueError("a threshold fails with a probability: its delta must be more than 0")
        # One person's k records make at most k keys of their own; each key reaches it with probability delta / k.
        elif threshold < k + self.reach(fails / k):
            raise ValueError(f"a threshold of {threshold} fails with more than delta {fails}")


@dataclass(frozen=True, slots=True, init=False)
class DiscreteGaussian(Noise):
    """Integer noise with P(z) proportional to exp(-z^2 / (2 variance)).

    Parameters
    ----------
    variance : number
        The parameter sigma^2 of the draws, more than 0.
    squared_sensitivity : number
        The square of the most that the answers change in the L2 norm; an integer.
    largest_change : number, optional
        The most that one answer changes, if it is known; numerical composition needs it.
    threshold, records_per_person, delta : number, optional
        For a histogram of unknown keys: a key that only one person has is released if its noisy count reaches the
        threshold, which happens with probability `delta` at most.

    Raises
    ------
    ValueError
        If a number is out of its range or not finite, or the threshold does not keep its delta.
    TypeError
        If a parameter is not a number.

    References
    ----------
    Canonne, Kamath and Steinke 2020, "The Discrete Gaussian for Differential Privacy".

    Examples
    --------
    >>> DiscreteGaussian(variance=2, squared_sensitivity=1).cost("rho")
    Fraction(1, 4)
    """

    name: ClassVar[str] = "discrete Gaussian"
    measured: ClassVar[MeasuredNoise] = "gaussian"
    guarantee: ClassVar[str] = (
        "integer answers whose squared L2 change is at most D are (D / (2 variance))-zCDP with this noise on each"
    )
    proof: ClassVar[str] = "discrete-gaussian"

    variance: Fraction
    squared_sensitivity: int
    largest_change: int | None = None
    threshold: int | None = None
    records_per_person: int | None = None
    delta: Fraction = Fraction(0)

    def __init__(
        self,
        variance: Number,
        squared_sensitivity: Number,
        largest_change: Number | None = None,
        *,
        threshold: Number | None = None,
        records_per_person: Number | None = None,
        delta: Number = 0,
    ) -> None:
        squared = _whole("squared_sensitivity", squared_sensitivity, zero=True)
        self._set(variance=_amount("variance", variance), squared_sensitivity=squared)
        self._with_threshold((largest_change, threshold, records_per_person), delta)

    @classmethod
    def for_query(cls, parameter: Number, query: LinearQuery, privacy: Privacy) -> Self:
        """Return noise of this variance, or just above, for the L2 change of a query's answers."""
        variance = drawable_variance(as_fraction("variance", parameter))
        return cls(variance, privacy.squared_l2_sensitivity(query), privacy.largest_change(query))

    @property
    def stddev(self) -> float:
        """Upper bound of the standard deviation, in counts."""
        return math.sqrt(self.variance)

    def adder(self, sampler: Sampler) -> Adder:
        """Return a function that adds the noise to int64 counts."""
        return sampler.gaussian(self.variance)

    def reach(self, probability: Fraction) -> int:
        """Return a count that the noise alone reaches with at most this probability."""
        return gaussian_threshold(self.variance, probability)

    def is_for(self, query: LinearQuery, privacy: Privacy) -> bool:
        """Return whether the squared sensitivity is that of a query."""
        return self.squared_sensitivity == privacy.squared_l2_sensitivity(query)

    def cost(self, unit: Unit) -> Fraction:
        """Return D / (2 variance); ``ValueError`` in epsilon."""
        if unit == "epsilon":
            raise _no_pure_guarantee("Gaussian noise")
        return self.squared_sensitivity / (2 * self.variance)

    def gdp_cost(self, left: Fraction) -> Fraction:
        """Return D / 2 times the square of mu for a change of 1, whatever is left."""
        del left
        return gaussian_cost(self.variance, self.squared_sensitivity)


@dataclass(frozen=True, slots=True, init=False)
class DiscreteLaplace(Noise):
    """Integer noise with P(z) proportional to exp(-abs(z) / scale).

    Parameters
    ----------
    scale : number
        More than 0.
    sensitivity : number
        The most that the answers change in the L1 norm; an integer.
    largest_change, threshold, records_per_person, delta : number, optional
        See `DiscreteGaussian`.

    Raises
    ------
    ValueError
        If a number is out of its range or not finite, or the threshold does not keep its delta.
    TypeError
        If a parameter is not a number.

    Examples
    --------
    >>> DiscreteLaplace(scale=2, sensitivity=1).cost("epsilon"), DiscreteLaplace(scale=2, sensitivity=1).cost("rho")
    (Fraction(1, 2), Fraction(1, 8))
    """

    name: ClassVar[str] = "discrete Laplace"
    measured: ClassVar[MeasuredNoise] = "laplace"
    guarantee: ClassVar[str] = "integer answers whose L1 change is at most D are (D / scale)-DP with this noise on each"
    proof: ClassVar[str] = "discrete-laplace"

    scale: Fraction
    sensitivity: int
    largest_change: int | None = None
    threshold: int | None = None
    records_per_person: int | None = None
    delta: Fraction = Fraction(0)

    def __init__(
        self,
        scale: Number,
        sensitivity: Number,
        largest_change: Number | None = None,
        *,
        threshold: Number | None = None,
        records_per_person: Number | None = None,
        delta: Number = 0,
    ) -> None:
        self._set(scale=_amount("scale", scale), sensitivity=_whole("sensitivity", sensitivity, zero=True))
        self._with_threshold((largest_change, threshold, records_per_person), delta)
        if self.largest_change == 0 < self.sensitivity:
            raise ValueError("answers that change have a largest_change above 0")

    @classmethod
    def for_query(cls, parameter: Number, query: LinearQuery, privacy: Privacy) -> Self:
        """Return noise of this scale, or just above, for the L1 change of a query's answers."""
        scale = drawable_scale(as_fraction("scale", parameter))
        return cls(scale, privacy.l1_sensitivity(query), privacy.largest_change(query))

    @property
    def stddev(self) -> float:
        """Standard deviation, in counts."""
        return laplace_stddev(self.scale)

    def adder(self, sampler: Sampler) -> Adder:
        """Return a function that adds the noise to int64 counts."""
        return sampler.laplace(self.scale)

    def reach(self, probability: Fraction) -> int:
        """Return a count that the noise alone reaches with at most this probability."""
        return laplace_threshold(self.scale, probability)

    def is_for(self, query: LinearQuery, privacy: Privacy) -> bool:
        """Return whether the sensitivity is that of a query, and no answer changes by more than stated."""
        most = self.largest_change
        return self.sensitivity == privacy.l1_sensitivity(query) and (
            most is None or most >= privacy.largest_change(query)
        )

    def cost(self, unit: Unit) -> Fraction:
        """Return the epsilon, D / scale, or half its square if the unit is rho."""
        return _pure_cost(self.sensitivity / self.scale, unit)

    @property
    def bounded(self) -> tuple[Fraction, Fraction]:
        """One step for each answer, if the largest change is known: the sum of their costs in zCDP, and the largest."""
        change = self.sensitivity if self.largest_change is None else min(self.largest_change, self.sensitivity)
        # Changes of at most c each, D together, have squares of at most c D together.
        of_change = change / (2 * self.scale**2)
        return self.sensitivity * of_change, change * of_change

    def dominating(self, unit: Unit) -> Dominating | None:
        """Return randomized response, with losses 1 / scale and -1 / scale, once for each unit of change."""
        del unit
        if self.largest_change != 1:
            return _pure_losses(self.sensitivity / self.scale)
        return Dominating(response_losses, 1 / self.scale, self.sensitivity)


@dataclass(frozen=True, slots=True, init=False)
class Exponential(Law):
    """Draws of a candidate r with P(r) proportional to exp(epsilon score_r / score_range), one or many.

    Parameters
    ----------
    epsilon : number
        More than 0.
    score_range : number
        Length of an interval that holds the changes of all scores; an integer above 0.
    draws, composed : number, optional
        For a line of many draws: their number, and the most of them that one person changes by the full range.

    Raises
    ------
    ValueError
        If a number is out of its range or not finite, or one of `draws` and `composed` is missing.
    TypeError
        If a parameter is not a number.

    References
    ----------
    McSherry and Talwar 2007; Cesar and Rogers 2021, "Bounding, Concentrating, and Truncating" (range).

    Examples
    --------
    >>> Exponential(epsilon="1/2", score_range=2).cost("rho")
    Fraction(1, 32)
    """

    name: ClassVar[str] = "exponential mechanism"
    guarantee: ClassVar[str] = (
        "a draw among scores whose changes lie in an interval of length score_range is epsilon-DP and, as its loss has "
        "range epsilon, (epsilon^2 / 8)-zCDP"
    )
    proof: ClassVar[str] = "exponential-mechanism"

    epsilon: Fraction
    score_range: int
    draws: int | None = None
    composed: int | None = None

    def __init__(
        self, epsilon: Number, score_range: Number, draws: Number | None = None, composed: Number | None = None
    ) -> None:
        given = {"draws": draws, "composed": composed}
        counts = {name: None if value is None else _whole(name, value) for name, value in given.items()}
        if (counts["draws"] is None) != (counts["composed"] is None):
            raise ValueError(f"{self.name} of many draws needs the parameters {sorted(counts)}")
        if (counts["composed"] or 0) > (counts["draws"] or 0):
            raise ValueError(f"{composed} draws of a charge cannot compose, there are {draws}")
        self._set(epsilon=_amount("epsilon", epsilon), score_range=_whole("score_range", score_range), **counts)

    def draw(self, scores: NDArray[np.int64], sampler: Sampler, *, steps: int = 1) -> int:
        """Return the index of one of the candidates, whose scores are in units of 1 / steps."""
        return sampler.select(scores, self.epsilon / (self.score_range * steps))

    def draw_top(self, scores: NDArray[np.int64], count: int, sampler: Sampler, *, steps: int = 1) -> list[int]:
        """Return the indices of `count` different candidates, drawn one after the other."""
        return sampler.select_top(scores, self.epsilon / (self.score_range * steps), count)

    def cost(self, unit: Unit) -> Fraction:
        """Return epsilon, or an eighth of its square as rho, times the number of draws that compose."""
        times = self.composed or 1
        return times * (self.epsilon if unit == "epsilon" else self.epsilon**2 / 8)

    @property
    def bounded(self) -> tuple[Fraction, Fraction]:
        """The draws that compose: the sum of their costs in zCDP, and that of one."""
        return self.cost("rho"), self.epsilon**2 / 8

    def dominating(self, unit: Unit) -> Dominating | None:
        """Return the hull of all losses of range epsilon, None if a person may change several draws, each by less."""
        times = self.composed or 1
        if times < (self.draws or 1):
            return Law.dominating(self, unit)
        return Dominating(range_losses, self.epsilon, times)


@dataclass(frozen=True, slots=True, init=False)
class PermuteAndFlip(Law):
    """The first candidate, in uniformly random order, that passes a coin of exp(-epsilon gap / score_range).

    Parameters
    ----------
    epsilon, score_range : number
        See `Exponential`.

    Raises
    ------
    ValueError
        If a number is out of its range or not finite.
    TypeError
        If a parameter is not a number.

    References
    ----------
    McKenna and Sheldon 2020, "Permute-and-Flip: A new mechanism for differentially private selection".

    Examples
    --------
    >>> PermuteAndFlip(epsilon="1/2", score_range=2).cost("rho")
    Fraction(1, 8)
    """

    name: ClassVar[str] = "permute-and-flip"
    guarantee: ClassVar[str] = (
        "a draw among scores whose changes lie in an interval of length score_range is epsilon-DP; its loss has no "
        "bounded range, so that it is (epsilon^2 / 2)-zCDP"
    )
    proof: ClassVar[str] = "permute-and-flip"

    epsilon: Fraction
    score_range: int

    def __init__(self, epsilon: Number, score_range: Number) -> None:
        self._set(epsilon=_amount("epsilon", epsilon), score_range=_whole("score_range", score_range))

    def draw(self, scores: NDArray[np.int64], sampler: Sampler, *, steps: int = 1) -> int:
        """Return the index of one of the candidates, whose scores are in units of 1 / steps."""
        return sampler.permute_and_flip(scores, self.epsilon / (self.score_range * steps))

    def cost(self, unit: Unit) -> Fraction:
        """Return epsilon, or half its square if the unit is rho."""
        return _pure_cost(self.epsilon, unit)

    def dominating(self, unit: Unit) -> Dominating | None:
        """Return randomized response."""
        del unit
        return _pure_losses(self.epsilon)


@dataclass(frozen=True, slots=True, init=False)
class PoissonSample(Law):
    """Sample that keeps each record independently with one probability, with a pure budget for its use.

    Parameters
    ----------
    rate : number
        The probability of keeping a record, in (0, 1].
    inner_epsilon : number
        The budget for steps on the sample.
    epsilon : number, optional
        The resulting cost of the records, `amplified_epsilon`; no other value is accepted.

    Raises
    ------
    ValueError
        If a number is out of its range or not finite, or epsilon is another one.
    TypeError
        If a parameter is not a number.

    References
    ----------
    Balle, Barthe and Gaboardi 2018, "Privacy Amplification by Subsampling".

    Examples
    --------
    >>> round(float(PoissonSample(rate="1/100", inner_epsilon=1).cost("epsilon")), 4)
    0.017
    """

    name: ClassVar[str] = "Poisson sample"
    guarantee: ClassVar[str] = (
        "what is inner_epsilon-DP on the sample is log(1 + rate (exp(inner_epsilon) - 1))-DP on records that come or go"
    )
    proof: ClassVar[str] = "poisson-samples"

    rate: Fraction
    inner_epsilon: Fraction
    epsilon: Fraction

    def __init__(self, rate: Number, inner_epsilon: Number, epsilon: Number | None = None) -> None:
        chance, inner = _amount("rate", rate), _amount("inner_epsilon", inner_epsilon)
        amplified = amplified_epsilon(chance, inner)
        if epsilon is not None and as_fraction("epsilon", epsilon) != amplified:
            raise ValueError("epsilon of a Poisson sample must be that of its rate and inner epsilon, amplified")
        self._set(rate=chance, inner_epsilon=inner, epsilon=amplified)

    def kept(self, n_records: int, sampler: Sampler) -> NDArray[np.bool_]:
        """Return a mask of the records that stay."""
        return sampler.coins(n_records, self.rate)

    def cost(self, unit: Unit) -> Fraction:
        """Return the amplified epsilon, or half its square if the unit is rho."""
        return _pure_cost(self.epsilon, unit)

    def dominating(self, unit: Unit) -> Dominating | None:
        """Return randomized response."""
        del unit
        return _pure_losses(self.epsilon)


@dataclass(frozen=True, slots=True, init=False)
class Stated(Law):
    """Step of a user, whose author states that it is rho-zCDP or epsilon-DP, up to delta.

    Parameters
    ----------
    rho, epsilon : number
        Exactly one, at least 0.
    delta : number
        The probability that the step fails to protect, in [0, 1).

    Raises
    ------
    ValueError
        If not exactly one is given, or a number is out of its range or not finite.
    TypeError
        If a parameter is not a number.

    Examples
    --------
    >>> Stated(epsilon=1, delta=1e-9).cost("rho")
    Fraction(1, 2)
    """

    name: ClassVar[str] = "stated"
    guarantee: ClassVar[str] = "the step is rho-zCDP, or epsilon-DP, but for delta, if its author is right"
    proof: ClassVar[str] = "steps-of-your-own"

    rho: Fraction | None = None
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)

    def __init__(self, *, rho: Number | None = None, epsilon: Number | None = None, delta: Number = 0) -> None:
        one_of("a stated charge", rho=rho, epsilon=epsilon)
        given = {"rho": rho, "epsilon": epsilon}
        amounts = {name: None if value is None else _amount(name, value, zero=True) for name, value in given.items()}
        self._set(**amounts, delta=_failure(delta))

    def cost(self, unit: Unit) -> Fraction:
        """Return the stated cost; ``ValueError`` for a rho in epsilon."""
        if self.epsilon is not None:
            return _pure_cost(self.epsilon, unit)
        if unit == "epsilon" or self.rho is None:
            raise _no_pure_guarantee("rho")
        return self.rho

    @property
    def is_gdp(self) -> bool:
        """Whether an epsilon is stated; of a step of which only a rho is known there is no cost."""
        return not self.rho

    def gdp_cost(self, left: Fraction) -> Fraction:
        """Return the cost of a stated epsilon; ``ValueError`` for a rho."""
        if not self.is_gdp:
            has_none = "a step that is rho-zCDP has no cost in Gaussian differential privacy"
            raise ValueError(f'{has_none}: use Budget(epsilon=…, delta=…, accounting="zcdp"), or state an epsilon')
        return Law.gdp_cost(self, left)

    def dominating(self, unit: Unit) -> Dominating | None:
        """Return randomized response for an epsilon; None for a rho."""
        del unit
        return None if self.epsilon is None else _pure_losses(self.epsilon)


LAWS: Mapping[str, type[Law]] = {
    law.name: law for law in (DiscreteGaussian, DiscreteLaplace, Exponential, PermuteAndFlip, PoissonSample, Stated)
}
"""The laws that a ledger takes, by name."""


def own_law(law: Law) -> Law:
    """Return a copy of a law; ``TypeError`` for anything else, a subclass included."""
    if type(law) not in LAWS.values():
        raise TypeError(f"a charge needs a law of pypgm.privacy.laws, got {type(law).__name__}: subclasses are refused")
    return law_of(law.name, law.parameters, law.delta)


def law_of(name: str, parameters: Mapping[str, Number], delta: Number = 0) -> Law:
    """Return the law that a file describes.

    Parameters
    ----------
    name : str
    parameters : mapping of str to number
        See `Law.parameters`.
    delta : number
        See `Law.delta`.

    Raises
    ------
    ValueError
        If the law is unknown, has other parameters, or cannot fail, or a parameter is out of its range.
    TypeError
        If a parameter is not a number.

    Examples
    --------
    >>> law_of("discrete Laplace", {"scale": "1/2", "sensitivity": 1}).cost("epsilon")
    Fraction(2, 1)
    """
    law = LAWS.get(name)
    if law is None:
        raise ValueError(f"a charge needs one of the laws {', '.join(LAWS)}, got {name!r}")
    known, needed, can_fail = _parameters(law)
    fails = {"delta": delta} if as_fraction("delta", delta) else {}
    if fails and not can_fail:
        raise ValueError(f"{name} does not fail; a delta is charged with a threshold or a stated step")
    if not needed <= parameters.keys() <= known.keys():
        raise ValueError(f"a charge of {name!r} needs the parameters {sorted(needed)}, got {sorted(parameters)}")
    return law(**parameters, **fails)


@cache
def _parameters(law: type[Law]) -> tuple[dict[str, None], set[str], bool]:
    """Return the names of a law's parameters, in order, those it needs, and whether it may fail."""
    declared = fields(law)
    known = dict.fromkeys(field.name for field in declared if field.name != "delta")
    return known, {field.name for field in declared if field.default is MISSING}, len(known) < len(declared)


def _pure_cost(epsilon: Fraction, unit: Unit) -> Fraction:
    """Return the cost of an epsilon-DP step, which is (epsilon^2 / 2)-zCDP."""
    return epsilon if unit == "epsilon" else epsilon**2 / 2


def _pure_losses(epsilon: Fraction) -> Dominating:
    """Return randomized response, which dominates any epsilon-DP step."""
    return Dominating(response_losses, epsilon)


def _no_pure_guarantee(what: str) -> ValueError:
    return ValueError(f"{what} has no pure guarantee; a budget with delta > 0 or rho is needed")


def _amount(name: str, value: Number, *, zero: bool = False) -> Fraction:
    exact = as_fraction(name, value)
    if exact < 0 or (exact == 0 and not zero):
        raise ValueError(f"{name} of a charge must be {'at least 0' if zero else 'more than 0'}, got {exact}")
    return exact


def _whole(name: str, value: Number, *, zero: bool = False) -> int:
    exact = _amount(name, value, zero=zero)
    if exact.denominator != 1:
        raise ValueError(f"{name} of a charge must be an integer, got {exact}")
    return exact.numerator


def _failure(delta: Number) -> Fraction:
    exact = as_fraction("delta", delta)
    if not 0 <= exact < 1:
        raise ValueError(f"delta of a charge must lie in [0, 1), got {exact}")
    return exact


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
