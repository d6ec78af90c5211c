"""Allocation of a budget to marginals and pairs by a forecast: which to measure, how finely, with how much noise."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm.mechanisms.one_way import POWER
from pypgm.mechanisms.pair_dependence import Dependence
from pypgm.mechanisms.resolution import Resolution, Values, contrasts_cost, resolutions
from pypgm.mechanisms.strategies import is_every_cell
from pypgm.workloads import check_listable

if TYPE_CHECKING:
    from pypgm.domain import Clique
    from pypgm.mechanisms.one_way import Independent
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
_ROWS = 0.25  # of N / sigma: number of groups in which a pair is measured
_MAX_CELLS = 10**6  # of a pair measured cell by cell
_AT_ONCE = 1 << 16  # cells of pairs that are looked at together ...
_PAIRS = 1 << 12  # ... at several noises, so many pairs
_HIDING = 0.25  # of the records: noise above which a sum is not measured
_NOISES = 2.0 ** np.arange(-4, 1.5)  # possible noise of a pair, as a multiple of equal noise in all pairs
_WITHIN_RUNS = 0.25  # of the squared dependence between values of an ordered attribute: the share within runs
_SINGLES = 0.5  # weight of the errors of single attributes in those of pairs
_MORE = 2 ** (np.arange(60) / 8)  # possible totals for single attributes, as multiples of their first budget
_ABSOLUTE = 0.4  # of the standard deviation: half the mean absolute error, which total variation counts
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


class _Look(NamedTuple):
    """Best resolution of a pair at some noise, if any, with its cost, the error from noise, and the error left."""

    best: Resolution | None = None
    cost: float = np.inf
    noise_error: float = np.inf
    left: float = np.inf


class _Alike(NamedTuple):
    """Pairs with the same number of sums: their positions, and the expected contents of the sums.

    Parts of the square of each distance from independence: the signal is in the sums, the residual is not.
    """

    places: list[int]
    masses: Array
    dependence: Dependence
    signal: Array
    residual: Array


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
    dependence : mapping of clique to Dependence
        Distances of the pairs from independence.
    """

    def __init__(
        self,
        run: Run,
        weights: Mapping[Clique, float],
        start: Independent,
        ordered: Collection[str],
        dependence: Mapping[Clique, Dependence],
    ) -> None:
        self._run, self._privacy, self._weights = run, run.table.privacy, weights
        self._start, self._ordered, self._dependence = start, ordered, dependence
        self._values = {a: Values(shares, a in ordered) for a, shares in start.shares.items()}
        self._errors = {pair: float(dependence[pair].error) for pair in weights}
        self._unit = run.stddev(1.0)
        self._known: dict[tuple[Clique, float], list[Resolution]] = {}

    def chosen(self, rho: float, spent: float) -> tuple[dict[Clique, Question], float]:
        """Return the questions for a budget, and the part of it for single attributes, which had `spent` before.

        One multiplier on costs determines which pairs are measured and the budget of single attributes. Noise is then
        equal except for the part that it would hide of each pair, which is nearer to the best noise found than the
        multiplier's.

        One estimate explains all answers and keeps the same part of each, of its signal as of its noise. So a pair
        with more noise than signal is not measured, nor is any pair if that part is small. The others get its part of
        rho, until all are worth theirs.
        """
        pairs, more = self._within(rho, spent) if rho > 0 else ([], 0.0)  # what comes first may leave nothing
        while pairs:
            questions = self._at(pairs, rho - more)
            known = self._alike([(p, a.resolution) for p, a in questions.items()])
            signal, noise_error, _ = self._forecasts(known, np.array([a.stddev for a in questions.values()]))
            noise = np.square(noise_error)
            whole = math.fsum(signal)
            kept = whole / (whole + math.fsum(noise)) if questions else 0.0
            is_worth = (kept * noise < (2 - kept) * signal) & (kept > _KEPT)
            if is_worth.sum() == len(pairs):
                return questions, more
            pairs = [p for p, is_asked in zip(questions, is_worth.tolist(), strict=True) if is_asked]
        return {}, more

    def _within(self, rho: float, spent: float) -> tuple[list[Clique], float]:
        """Return the pairs to be measured and the budget of single attributes, by one multiplier on costs."""
        noises = self._stddev(rho / len(self._weights)) * _NOISES
        further = spent * (_MORE[spent * _MORE <= spent + rho] - 1)
        risks, prices = np.full((2, len(self._weights) + 1, 1 + max(noises.size, further.size)), np.inf)
        pairs, weights = list(self._weights), np.fromiter(self._weights.values(), np.float64, len(self._weights))
        risks[:-1, 0] = weights * list(self._errors.values())
        prices[:, 0] = 0.0
        low = noises[noises <= _HIDING * self._start.total].tolist()
        for j, (stddev, looks) in enumerate(zip(low, self._looks(pairs, low), strict=True), 1):
            risks[:-1, j] = weights * [look.left for look in looks]
            prices[:-1, j] = [look.cost * (self._unit / stddev) ** 2 for look in looks]
        less = np.sqrt(spent / (spent + further))
        errors = {a: self._start.error(a, less) for a in self._start.shares}
        risks[-1, : further.size] = _SINGLES * sum(w * (errors[a] + errors[b]) for (a, b), w in self._weights.items())
        prices[-1, : further.size] = further
        levels = cheapest(risks, prices, rho)
        return [p for p, k in zip(pairs, levels[:-1].tolist(), strict=True) if k > 0], float(prices[-1, levels[-1]])

    def _at(self, pairs: Sequence[Clique], rho: float) -> dict[Clique, Question]:
        """Return the questions to pairs: each at its best resolution for equal noise, then with noise by its worth."""
        costs = (contrasts_cost(self._privacy, self._run.domain.sizes(p)) for p in pairs)
        equal = self._stddev(rho / math.fsum(costs))
        worths: dict[Clique, tuple[Resolution, float, float]] = {}
        for pair, look in zip(pairs, *self._looks(pairs, [equal]), strict=True):
            if look.best is not None:
                error = self._errors[pair]
                worth = self._weights[pair] * error * look.noise_error / math.hypot(error, look.noise_error)
                worths[pair] = look.best, worth, worth**POWER * look.cost
        whole = math.fsum(part for *_, part in worths.values())
        questions = {}
        for pair, (best, worth, _) in worths.items():
            stddev = self._stddev(rho * worth**POWER / whole)
            questions[pair] = Question(self._options(pair, stddev) or [best], best, stddev, worth)
        return questions

    def _stddev(self, rho: float) -> float:
        return self._unit / math.sqrt(rho)

    def _options(self, pair: Clique, stddev: float) -> list[Resolution]:
        first, second = (self._values[a] for a in pair)
        # More answers than cells are as many.
        rows = min(max(4.0, _ROWS * self._start.total / stddev), float(first.size * second.size))
        if (pair, rows) not in self._known:
            self._known[pair, rows] = resolutions(first, second, rows, max_cells=_MAX_CELLS)
        return self._known[pair, rows]

    def _looks(self, pairs: Sequence[Clique], stddevs: Sequence[float]) -> list[list[_Look]]:
        """Return the best look at each pair and noise: where the residual and the error from noise are least."""
        looks: list[list[_Look]] = [[] for _ in stddevs]
        for first in range(0, len(pairs), _PAIRS):
            some, before = pairs[first : first + _PAIRS], list[list[Resolution]]()
            for each, stddev in zip(looks, stddevs, strict=True):
                options = [self._options(p, stddev) for p in some]
                if not (before and all(map(operator.is_, options, before))):
                    known = self._alike([(p, r) for p, ways in zip(some, options, strict=True) for r in ways])
                    before = options
                each.extend(self._best(options, known, stddev))
        return looks

    def _best(self, options: Sequence[list[Resolution]], known: Sequence[_Alike], stddev: float) -> Iterator[_Look]:
        _, noise_error, left = self._forecasts(known, np.full(sum(map(len, options)), stddev))
        first = 0
        for ways in options:
            if not ways:
                yield _Look()
                continue
            best = first if len(ways) == 1 else first + int(np.argmin(left[first : first + len(ways)]))
            chosen = ways[best - first]
            yield _Look(
                chosen, contrasts_cost(self._privacy, chosen.sizes), float(noise_error[best]), float(left[best])
            )
            first += len(ways)

    def _alike(self, questions: Sequence[tuple[Clique, Resolution]]) -> list[_Alike]:
        """Return classes of pairs with equally many sums, whatever the noise."""
        alike: dict[tuple[int, int], list[int]] = {}
        for i, (_, resolution) in enumerate(questions):
            alike.setdefault(resolution.sizes, []).append(i)
        classes = []
        for (rows, columns), every in alike.items():
            at_once = max(1, _AT_ONCE // (rows * columns))
            for some in (every[k : k + at_once] for k in range(0, len(every), at_once)):
                pairs, ways = zip(*[questions[i] for i in some], strict=True)
                first, second = (np.array([r.masses[k] for r in ways]) for k in (0, 1))
                part = np.array([[self._part(p, r)] for p, r in zip(pairs, ways, strict=True)])
                whole = np.array([[r.name == "cells"] for r in ways])
                dependence = Dependence.stacked([self._dependence[p] for p in pairs])
                split = dependence.split(part, whole)
                classes.append(_Alike(some, first[:, :, None] * second[:, None, :], dependence, *split))
        return classes

    def _forecasts(self, known: Sequence[_Alike], stddevs: Array) -> tuple[Array, Array, Array]:
        """Return the mean squared signal of each pair, the error from noise, and the error left.

        Noise hides at most twice the count of a sum.
        """
        forecasts = np.empty((3, len(stddevs)))
        for places, masses, dependence, signal, residual in known:
            noise = _ABSOLUTE * stddevs[places][:, None, None] / self._start.total
            noise_error = np.minimum(noise, masses).sum(axis=(1, 2))
            squares = np.square(noise_error)[:, None]
            left = dependence.mean(np.sqrt(residual + signal * squares / (signal + squares + 1e-300)))
            forecasts[:, places] = dependence.mean(signal), noise_error, left
        return forecasts[0], forecasts[1], forecasts[2]

    def _part(self, pair: Clique, resolution: Resolution) -> float:
        is_ordered = [a in self._ordered for a in pair]
        return share_seen([self._values[a] for a in pair], resolution.sizes, is_ordered)


def share_seen(values: Sequence[Values], groups: Sequence[int], is_ordered: Sequence[bool]) -> float:
    """Return the share of the squared dependence seen in sums: their degrees of freedom, with more for runs.

    Parameters
    ----------
    values : sequence of Values
        The attributes' values.
    groups : sequence of int
        Number of groups of each.
    is_ordered : sequence of bool
        Whether its neighbouring codes are alike.
    """
    part = 1.0
    for of_one, count, in_runs in zip(values, groups, is_ordered, strict=True):
        lost = 1 - (count - 1) / (of_one.size - 1)
        part *= 1 - (_WITHIN_RUNS if in_runs else 1.0) * lost
    return part
