"""Which pairs of attributes are worth asking, how finely and with how much noise: forecasts from a screen."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pypgm.mechanisms.allocation import cheapest
from pypgm.mechanisms.one_way import POWER
from pypgm.mechanisms.resolution import Resolution, Values, contrasts_cost, resolutions
from pypgm.mechanisms.screening import Dependence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.domain import Clique
    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.run import Run

    Array = NDArray[np.float64]

__all__ = ["Asked", "Asking"]

# Chosen on made-up tables and on adult, titanic, fire and msnbc, epsilon .1 to 10; see bench/README.md.
_ROWS = 0.25  # of N / sigma: how many groups a pair is asked in
_MAX_CELLS = 10**6  # of a pair that may be asked for all its cells
_AT_ONCE = 1 << 16  # cells of pairs that are looked at together
_HIDING = 0.25  # of the records: noise in a sum above which it is not asked
_NOISES = 2.0 ** np.arange(-4, 1.5)  # times equal noise in all pairs, that each may have
_WITHIN_RUNS = 0.25  # of the squared dependence between values of an ordered attribute, that is within runs of them
_SINGLES = 0.5  # what the errors of single attributes count in those of pairs
_MORE = 2 ** (np.arange(60) / 8)  # times what single attributes have had, that they may get in all
_ABSOLUTE = 0.4  # of the standard deviation: half the mean absolute error, which total variation counts
_KEPT = 0.1  # of what pairs tell, that one estimate of them all keeps, below which none is asked


@dataclass(frozen=True, slots=True)
class Asked:
    """How a pair is asked.

    Attributes
    ----------
    options : list of Resolution
        What may be asked at this noise.
    resolution : Resolution
        The best by the forecast.
    stddev : float
        Of the noise in each sum, in records.
    worth : float
        What asking leaves of its error, times its weight: its part of rho is as the power 2/3 of that.
    """

    options: list[Resolution]
    resolution: Resolution
    stddev: float
    worth: float


class _Look(NamedTuple):
    """How a pair is best asked at a noise, if at all: what that costs, what noise hides and what error is left."""

    best: Resolution | None = None
    cost: float = np.inf
    hidden: float = np.inf
    left: float = np.inf


class Asking:
    """Forecasts of what asking pairs leaves of their errors, and what is best asked by them.

    Parameters
    ----------
    run : Run
    weights : mapping of clique to float
        How much the error of each pair counts.
    start : Independent
        What is known of single attributes.
    ordered : collection of str
        Attributes whose neighbouring codes are alike.
    dependence : mapping of clique to Dependence
        How far the pairs are from independence.
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

    def chosen(self, rho: float, spent: float) -> tuple[dict[Clique, Asked], float]:
        """Return what is asked for a budget, and what of it single attributes get first, that had `spent` before.

        One multiplier on costs says which pairs are asked and what single attributes get. Noise is then equal but for
        what it would hide of each pair: that is nearer to what turns out best than the multiplier's.

        One estimate explains all answers and keeps the same part of each, of what it tells as of its noise. So a pair
        of which that would be more noise than it tells is not asked, nor is any where the part is small. The others get
        its part of rho, until all are worth theirs.
        """
        pairs, more = self._within(rho, spent) if rho > 0 else ([], 0.0)  # what comes first may leave nothing
        while pairs:
            asked = self._at(pairs, rho - more)
            told, hidden, _ = self._forecasts([(p, a.resolution, a.stddev) for p, a in asked.items()])
            noise = np.square(hidden)
            all_told = math.fsum(told)
            kept = all_told / (all_told + math.fsum(noise)) if asked else 0.0
            is_worth = (kept * noise < (2 - kept) * told) & (kept > _KEPT)
            if is_worth.sum() == len(pairs):
                return asked, more
            pairs = [p for p, is_asked in zip(asked, is_worth.tolist(), strict=True) if is_asked]
        return {}, more

    def _within(self, rho: float, spent: float) -> tuple[list[Clique], float]:
        """Return the pairs that are asked, and what single attributes get, by one multiplier on costs."""
        noises = self._stddev(rho / len(self._weights)) * _NOISES
        further = spent * (_MORE[spent * _MORE <= spent + rho] - 1)
        risks, prices = np.full((2, len(self._weights) + 1, 1 + max(noises.size, further.size)), np.inf)
        pairs, weights = list(self._weights), np.fromiter(self._weights.values(), np.float64, len(self._weights))
        risks[:-1, 0] = weights * list(self._errors.values())
        prices[:, 0] = 0.0
        for j, stddev in enumerate(noises.tolist(), 1):
            if stddev <= _HIDING * self._start.total:
                looks = self._looks(pairs, stddev)
                risks[:-1, j] = weights * [look.left for look in looks]
                prices[:-1, j] = [look.cost * (self._unit / stddev) ** 2 for look in looks]
        less = np.sqrt(spent / (spent + further))
        errors = {a: self._start.error(a, less) for a in self._start.shares}
        risks[-1, : further.size] = _SINGLES * sum(w * (errors[a] + errors[b]) for (a, b), w in self._weights.items())
        prices[-1, : further.size] = further
        levels = cheapest(risks, prices, rho)
        return [p for p, k in zip(pairs, levels[:-1].tolist(), strict=True) if k > 0], float(prices[-1, levels[-1]])

    def _at(self, pairs: Sequence[Clique], rho: float) -> dict[Clique, Asked]:
        """Return how pairs are asked: each as is best at equal noise, which then follows what it leaves of each."""
        costs = (contrasts_cost(self._privacy, self._run.domain.sizes(p)) for p in pairs)
        equal = self._stddev(rho / math.fsum(costs))
        found: dict[Clique, tuple[Resolution, float, float]] = {}
        for pair, look in zip(pairs, self._looks(pairs, equal), strict=True):
            if look.best is not None:
                error = self._errors[pair]
                worth = self._weights[pair] * error * look.hidden / math.hypot(error, look.hidden)
                found[pair] = look.best, worth, worth**POWER * look.cost
        whole = math.fsum(part for *_, part in found.values())
        asked = {}
        for pair, (best, worth, _) in found.items():
            stddev = self._stddev(rho * worth**POWER / whole)
            asked[pair] = Asked(self._options(pair, stddev) or [best], best, stddev, worth)
        return asked

    def _stddev(self, rho: float) -> float:
        return self._unit / math.sqrt(rho)

    def _options(self, pair: Clique, stddev: float) -> list[Resolution]:
        first, second = (self._values[a] for a in pair)
        # More answers than cells are as many.
        rows = min(max(4.0, _ROWS * self._start.total / stddev), float(first.size * second.size))
        if (pair, rows) not in self._known:
            self._known[pair, rows] = resolutions(first, second, rows, max_cells=_MAX_CELLS)
        return self._known[pair, rows]

    def _looks(self, pairs: Sequence[Clique], stddev: float) -> list[_Look]:
        """Return how pairs are best asked at a noise: where what sums do not tell and what noise hides is least."""
        options = [self._options(p, stddev) for p in pairs]
        asked = [(p, r, stddev) for p, own in zip(pairs, options, strict=True) for r in own]
        _, hidden, left = self._forecasts(asked)
        looks, first = [], 0
        for own in options:
            look = _Look()
            if own:
                best = first + int(np.argmin(left[first : first + len(own)]))
                cost = contrasts_cost(self._privacy, own[best - first].sizes)
                look = _Look(own[best - first], cost, float(hidden[best]), float(left[best]))
            looks.append(look)
            first += len(own)
        return looks

    def _forecasts(self, asked: Sequence[tuple[Clique, Resolution, float]]) -> tuple[Array, Array, Array]:
        """Return what sums tell of each pair, a mean square, what noise hides, and the error that is left.

        Noise hides no more of a sum than twice what is in it.
        """
        found = np.empty((3, len(asked)))
        alike: dict[tuple[int, int], list[int]] = {}
        for i, (_, resolution, _) in enumerate(asked):
            alike.setdefault(resolution.sizes, []).append(i)
        for (rows, columns), every in alike.items():
            at_once = max(1, _AT_ONCE // (rows * columns))
            for some in (every[k : k + at_once] for k in range(0, len(every), at_once)):
                pairs, ways, stddevs = zip(*[asked[i] for i in some], strict=True)
                first, second = (np.stack([r.masses[k] for r in ways]) for k in (0, 1))
                noise = _ABSOLUTE * np.array(stddevs)[:, None, None] / self._start.total
                hidden = np.minimum(noise, first[:, :, None] * second[:, None, :]).sum(axis=(1, 2))
                part = np.array([[self._part(p, r)] for p, r in zip(pairs, ways, strict=True)])
                whole = np.array([[r.name == "cells"] for r in ways])
                dependence = Dependence.stacked([self._dependence[p] for p in pairs])
                told, untold = dependence.split(part, whole)
                noise = np.square(hidden)[:, None]
                left = dependence.mean(np.sqrt(untold + told * noise / (told + noise + 1e-300)))
                found[:, some] = dependence.mean(told), hidden, left
        return found[0], found[1], found[2]

    def _part(self, pair: Clique, resolution: Resolution) -> float:
        """Return what part of the squared dependence sums tell: their part of its degrees of freedom, more of runs."""
        part = 1.0
        for attribute, groups in zip(pair, resolution.sizes, strict=True):
            untold = 1 - (groups - 1) / (self._values[attribute].size - 1)
            part *= 1 - (_WITHIN_RUNS if attribute in self._ordered else 1.0) * untold
        return part
