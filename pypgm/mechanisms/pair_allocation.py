"""Allocation of a budget to marginals and pairs by a forecast: which to measure, how finely, with how much noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pypgm.mechanisms.one_way import POWER
from pypgm.mechanisms.pair_forecasts import PairForecasts, Places, Requests
from pypgm.mechanisms.resolution import Resolution, contrasts_cost
from pypgm.mechanisms.strategies import is_every_cell
from pypgm.workloads import check_listable

if TYPE_CHECKING:
    from pypgm.domain import Clique
    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.pair_dependence import Dependences
    from pypgm.mechanisms.run import Run
    from pypgm.workloads import WorkloadLike


Array = NDArray[np.float64]

_MEAN = math.sqrt(2 / math.pi)  # of a standard deviation of normal noise: its mean absolute value
_MAX_LOG = 60.0  # logarithm of a multiplier at which nothing is worth its cost
_HALVINGS = 60


def hidden(expected: Array, stddevs: Array) -> Array:
    """Return the total variation that noise leaves of a table, as a share of its sum, at several standard deviations.

    The error of a cell is the mean absolute noise, and at most twice its expected count: answers below 0 are not
    believed, and counts missing elsewhere are too many here.

    Parameters
    ----------
    expected : ndarray, shape (cells,)
        Positive counts, of a released model.
    stddevs : ndarray, shape (levels,)
        Standard deviations of the noise of a cell, in counts.

    Returns
    -------
    ndarray, shape (levels,)

    Examples
    --------
    >>> hidden(np.array([50.0, 50.0]), np.array([1.0, 1000.0])).round(3)
    array([0.008, 1.   ])
    """
    most = np.sort(2 * expected)
    noise = _MEAN * stddevs
    small = np.searchsorted(most, noise)  # how many cells are off by twice what is expected in them
    off = np.concatenate([[0.0], np.cumsum(most)])[small] + noise * (most.size - small)
    return np.asarray(off / most.sum())


def hidden_each(expected: Array, stddevs: Array) -> Array:
    """Return what noise hides of each of many tables, rows of an array, at one standard deviation each: see `hidden`.

    Examples
    --------
    >>> hidden_each(np.array([[50.0, 50.0], [50.0, 50.0]]), np.array([1.0, 1000.0])).round(3)
    array([0.008, 1.   ])
    """
    most = 2 * expected
    return np.asarray(np.minimum(most, _MEAN * stddevs[:, None]).sum(axis=-1) / most.sum(axis=-1))


def allocate(unmeasured: Array, measured: Array, costs: Array, weights: Array) -> tuple[NDArray[np.int64], Array]:
    """Choose the noise level of each marginal, if it is measured at all, at a total cost of at most 1.

    The weighted sum of risks is minimised with one multiplier on costs. A marginal whose `unmeasured`
    error is e and of which noise hides h leaves ``(e^-2 + h^-2)^(-1/2)``: less than either.

    Parameters
    ----------
    unmeasured : ndarray, shape (marginals,)
        Error of each marginal if it is not measured.
    measured : ndarray, shape (marginals, levels)
        Error that noise hides in each marginal at each level, from the least noise to the most; above 0.
    costs : ndarray, shape (levels,)
        Share of the budget that a marginal costs at each level.
    weights : ndarray, shape (marginals,)
        Weight of the error of each marginal.

    Returns
    -------
    levels : ndarray of int64, shape (marginals,)
        Noise level of each marginal, -1 if it is not measured.
    risks : ndarray, shape (marginals,)
        Weighted error that is left of each marginal.

    Examples
    --------
    >>> unmeasured, measured = np.array([0.3, 0.0]), np.array([[0.1], [0.1]])
    >>> levels, risks = allocate(unmeasured, measured, np.array([0.6]), np.array([1.0, 1.0]))
    >>> levels, risks.round(3)
    (array([ 0, -1]), array([0.095, 0.   ]))
    """
    error = unmeasured[:, None]
    risks = np.hstack([error, error * measured / np.hypot(error, measured)]) * weights[:, None]
    chosen = cheapest(risks, np.broadcast_to([0.0, *costs], risks.shape), 1.0)
    return chosen - 1, risks[np.arange(len(chosen)), chosen]


def cheapest(risks: Array, prices: Array, budget: float) -> NDArray[np.int64]:
    """Choose one column of each row, by one multiplier: the least sum of risks within a budget for the prices.

    Parameters
    ----------
    risks, prices : ndarray, shape (rows, choices)
        Risk and price of each choice; infinite for a missing one. The cheapest ones together cost no more than the
        budget.
    budget : float
        Above 0.

    Examples
    --------
    >>> cheapest(np.array([[0.3, 0.1], [0.1, 0.05]]), np.array([[0.0, 0.6], [0.0, 0.6]]), 1.0)
    array([1, 0])
    """
    rows, parts = np.arange(len(risks)), prices / budget
    low, high = -_MAX_LOG, _MAX_LOG
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        chosen = np.argmin(risks + math.exp(middle) * parts, axis=1)
        low, high = (low, middle) if parts[rows, chosen].sum() <= 1 else (middle, high)
    return np.asarray(np.argmin(risks + math.exp(high) * parts, axis=1), np.int64)


def asked_pairs(run: Run, workload: WorkloadLike | None) -> dict[Clique, float]:
    """Return the pairs of attributes that a workload's marginals hold, with how much each counts.

    Pairs with an attribute of one value are left out: single attributes determine them. Without a workload all pairs
    count the same.

    Raises
    ------
    ValueError
        If the workload is over another domain, or has queries other than whole marginals.
    TypeError
        If the argument is not a workload.
    ModelTooLargeError
        If all pairs are more than memory can list.
    """
    domain = run.domain
    if workload is None:
        check_listable(domain, min(2, len(domain)))
        weighted: list[tuple[Clique, float]] = [(domain.attributes, 1.0)]
    elif not all(map(is_every_cell, (checked := run.checked_workload(workload)).queries)):
        raise ValueError(f"{run.name} answers marginals cell by cell; the workload asks other queries")
    else:
        weighted = [(domain.canonical(c), float(w)) for c, w in zip(checked, checked.weights, strict=True)]
    pairs: dict[Clique, float] = {}
    for clique, weight in weighted:
        for pair in itertools.combinations(clique, 2):
            if min(domain.sizes(pair)) > 1:
                pairs[pair] = pairs.get(pair, 0.0) + weight
    return pairs


def with_targets(pairs: Mapping[Clique, float], targets: Collection[str]) -> dict[Clique, float]:
    """Return pairs with how much each counts where some attributes are to be predicted from the others.

    The pairs of the targets count as much together as all other pairs, and never less than without targets.

    Examples
    --------
    >>> with_targets({("a", "b"): 1.0, ("a", "c"): 1.0, ("b", "c"): 1.0}, ["c"])
    {('a', 'b'): 1.0, ('a', 'c'): 1.0, ('b', 'c'): 1.0}
    >>> with_targets({("a", "b"): 3.0, ("a", "c"): 1.0, ("b", "c"): 1.0}, ["c"])
    {('a', 'b'): 3.0, ('a', 'c'): 1.5, ('b', 'c'): 1.5}
    """
    chosen = {pair for pair in pairs if not set(pair).isdisjoint(targets)}
    of_others = math.fsum(weight for pair, weight in pairs.items() if pair not in chosen)
    of_targets = math.fsum(weight for pair, weight in pairs.items() if pair in chosen)
    times = max(1.0, of_others / of_targets) if chosen else 1.0
    return {pair: weight * times if pair in chosen else weight for pair, weight in pairs.items()}


# Chosen on made-up tables and on adult, titanic, fire and msnbc, epsilon .1 to 10; see bench/README.md.
_HIDING = 0.25  # of the records: noise above which a sum is not measured
_NOISES = 2.0 ** np.arange(-4, 1.5)  # possible noise of a pair, as a multiple of equal noise in all pairs
_SINGLES = 0.5  # weight of the errors of single attributes in those of pairs
_MORE = 2 ** (np.arange(60) / 8)  # possible totals for single attributes, as multiples of their first budget
_KEPT = 0.1  # share of the signal kept by one estimate of all pairs, below which no pair is measured


@dataclass(frozen=True, slots=True)
class Question:
    """Question to a pair: its possible resolutions and its noise.

    Attributes
    ----------
    options : list of Resolution
        Resolutions possible at this noise.
    resolution : Resolution
        The best of them by the forecast.
    stddev : float
        Standard deviation of the noise in each sum, in records.
    worth : float
        Error left after measuring, times the weight of the pair; its share of rho is proportional to the power 2/3.
    """

    options: list[Resolution]
    resolution: Resolution
    stddev: float
    worth: float


class PairAllocation:
    """Allocation of a budget to pairs, by a forecast of the errors left after measuring them.

    Parameters
    ----------
    run : Run
    weights : mapping of clique to float
        Weight of the error of each pair.
    start : Independent
        Model of single attributes.
    ordered : collection of str
        Attributes whose neighbouring codes are alike.
    dependence : Dependences
        Distances of the pairs from independence.
    """

    def __init__(
        self,
        run: Run,
        weights: Mapping[Clique, float],
        start: Independent,
        ordered: Collection[str],
        dependence: Dependences,
    ) -> None:
        self._privacy, self._start = run.table.privacy, start
        self._pairs, self._weights = list(weights), np.fromiter(weights.values(), np.float64, len(weights))
        self._forecasts = PairForecasts(self._pairs, start, ordered, dependence, self._privacy)
        self._unit = run.stddev(1.0)

    def chosen(self, rho: float, spent: float) -> tuple[dict[Clique, Question], float]:
        """Return the questions for a budget, and the part of it for single attributes, which had `spent` before.

        One multiplier on costs determines which pairs are measured and the budget of single attributes. Noise is then
        equal except for the part that it would hide of each pair, which is nearer to the best noise found than the
        multiplier's.

        One estimate explains all answers and keeps the same part of each, of its signal as of its noise. So a pair
        with more noise than signal is not measured, nor is any pair if that part is small. The others get its part of
        rho, until all are worth theirs.
        """
        pairs, more = self._within(rho, spent) if rho > 0 else (np.empty(0, np.int64), 0.0)  # nothing may be left
        while pairs.size:
            requests, stddevs, worths = self._at(pairs, rho - more)
            signal, noise_error = self._forecasts.of(requests, stddevs)
            noise = np.square(noise_error)
            whole = math.fsum(signal)
            kept = whole / (whole + math.fsum(noise)) if signal.size else 0.0
            is_worth = (kept * noise < (2 - kept) * signal) & (kept > _KEPT)
            if is_worth.sum() == pairs.size:
                return self._questions(requests, stddevs.tolist(), worths.tolist()), more
            pairs = requests.pairs[is_worth]
        return {}, more

    def spared(self, questions: Mapping[Clique, Question], loss: float) -> float:
        """Return the part of the budget of questions without which the error of all pairs grows by `loss` at most.

        By the forecast, only the part of that error that noise leaves in the measured pairs grows: without a part f of
        the budget, by ``1 / sqrt(1 - f) - 1`` at most.
        """
        of_noise = math.fsum(question.worth for question in questions.values())
        weighted = (self._weights * self._forecasts.errors).tolist()
        others = math.fsum(e for pair, e in zip(self._pairs, weighted, strict=True) if pair not in questions)
        return 1 - (1 + loss * (1 + others / of_noise)) ** -2 if of_noise > 0 else 1.0

    def _within(self, rho: float, spent: float) -> tuple[Places, float]:
        """Return the pairs to be measured and the budget of single attributes, by one multiplier on costs."""
        count = len(self._pairs)
        noises = self._stddev(rho / count) * _NOISES
        further = spent * (_MORE[spent * _MORE <= spent + rho] - 1)
        risks, prices = np.full((2, count + 1, 1 + max(noises.size, further.size)), np.inf)
        risks[:-1, 0] = self._weights * self._forecasts.errors
        prices[:, 0] = 0.0
        low = noises[noises <= _HIDING * self._start.total].tolist()
        for j, (stddev, best) in enumerate(zip(low, self._forecasts.best(np.arange(count), low), strict=True), 1):
            risks[best.pairs, j] = self._weights[best.pairs] * best.left
            prices[best.pairs, j] = best.costs * (self._unit / stddev) ** 2
        less = np.sqrt(spent / (spent + further))
        times = np.bincount(self._forecasts.sides.ravel(), np.tile(self._weights, 2), len(self._start.shares))
        errors = np.array([self._start.error(a, less) for a in self._start.shares])
        risks[-1, : further.size] = _SINGLES * (times @ errors)
        prices[-1, : further.size] = further
        levels = cheapest(risks, prices, rho)
        return np.flatnonzero(levels[:-1] > 0), float(prices[-1, levels[-1]])

    def _at(self, pairs: Places, rho: float) -> tuple[Requests, Array, Array]:
        """Return pairs at their best resolutions for equal noise, the noise of each by its worth, and that worth."""
        shapes = map(tuple, self._forecasts.sizes_of(pairs).T.tolist())
        equal = self._stddev(rho / math.fsum(contrasts_cost(self._privacy, shape) for shape in shapes))
        (best,) = self._forecasts.best(pairs, [equal])
        errors = self._forecasts.errors[best.pairs]
        worths = self._weights[best.pairs] * errors * best.noise_errors / np.hypot(errors, best.noise_errors)
        parts = worths**POWER
        return best, self._unit / np.sqrt(rho * parts / math.fsum(parts * best.costs)), worths

    def _questions(
        self, requests: Requests, stddevs: Sequence[float], worths: Sequence[float]
    ) -> dict[Clique, Question]:
        """Return the questions to pairs, each with all resolutions that are possible at its noise."""
        questions = {}
        for i, scheme, stddev, worth in zip(requests.pairs.tolist(), requests.schemes, stddevs, worths, strict=True):
            options, best = self._forecasts.resolutions(i, scheme, stddev)
            questions[self._pairs[i]] = Question(options, best, stddev, worth)
        return questions

    def _stddev(self, rho: float) -> float:
        return self._unit / math.sqrt(rho)
