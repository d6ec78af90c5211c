"""Which pairs of attributes are worth asking, how finely and with how much noise: forecasts from a screen."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pypgm.mechanisms.allocation import cheapest
from pypgm.mechanisms.one_way import POWER
from pypgm.mechanisms.resolution import Resolution, Values, contrasts_cost, resolutions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.domain import Clique
    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.run import Run
    from pypgm.mechanisms.screening import Dependence

    Array = NDArray[np.float64]

__all__ = ["Asked", "Asking"]

# Chosen on made-up tables and on adult, titanic, fire and msnbc, epsilon .1 to 10; see bench/README.md.
_ROWS = 0.25  # of N / sigma: how many groups a pair is asked in
_MAX_CELLS = 10**6  # of a pair that may be asked for all its cells
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
            told = {p: self._told(p, a.resolution) for p, a in asked.items()}
            noise = {p: self._hidden(a.resolution, a.stddev) ** 2 for p, a in asked.items()}
            all_told = math.fsum(told.values())
            kept = all_told / (all_told + math.fsum(noise.values())) if asked else 0.0
            worth = [p for p in asked if kept * noise[p] < (2 - kept) * told[p]] if kept > _KEPT else []
            if len(worth) == len(pairs):
                return asked, more
            pairs = worth
        return {}, more

    def _within(self, rho: float, spent: float) -> tuple[list[Clique], float]:
        """Return the pairs that are asked, and what single attributes get, by one multiplier on costs."""
        noises = self._run.stddev(rho / len(self._weights)) * _NOISES
        further = spent * (_MORE[spent * _MORE <= spent + rho] - 1)
        risks, prices = np.full((2, len(self._weights) + 1, 1 + max(noises.size, further.size)), np.inf)
        prices[:, 0] = 0.0
        for i, (pair, weight) in enumerate(self._weights.items()):
            risks[i, 0] = weight * self._dependence[pair].error
            for j, stddev in enumerate(noises.tolist(), 1):
                if stddev <= _HIDING * self._start.total and (options := self._options(pair, stddev)):
                    best, left = self._best(pair, options, stddev)
                    risks[i, j] = weight * left
                    prices[i, j] = contrasts_cost(self._privacy, best.sizes) * self._run.stddev(1.0) ** 2 / stddev**2
        less = np.sqrt(spent / (spent + further))
        errors = {a: self._start.error(a, less) for a in self._start.shares}
        risks[-1, : further.size] = _SINGLES * sum(w * (errors[a] + errors[b]) for (a, b), w in self._weights.items())
        prices[-1, : further.size] = further
        levels = cheapest(risks, prices, rho)
        return [p for p, k in zip(self._weights, levels[:-1], strict=True) if k > 0], float(prices[-1, levels[-1]])

    def _at(self, pairs: Sequence[Clique], rho: float) -> dict[Clique, Asked]:
        """Return how pairs are asked: each as is best at equal noise, which then follows what it leaves of each."""
        costs = (contrasts_cost(self._privacy, self._run.domain.sizes(p)) for p in pairs)
        equal = self._run.stddev(rho / math.fsum(costs))
        found: dict[Clique, tuple[Resolution, float]] = {}
        for pair in pairs:
            if not (options := self._options(pair, equal)):
                continue
            best, _ = self._best(pair, options, equal)
            error, noise = self._dependence[pair].error, self._hidden(best, equal)
            found[pair] = best, self._weights[pair] * error * noise / math.hypot(error, noise)
        whole = math.fsum(worth**POWER * contrasts_cost(self._privacy, r.sizes) for r, worth in found.values())
        asked = {}
        for pair, (best, worth) in found.items():
            stddev = self._run.stddev(rho * worth**POWER / whole)
            asked[pair] = Asked(self._options(pair, stddev) or [best], best, stddev, worth)
        return asked

    def _options(self, pair: Clique, stddev: float) -> list[Resolution]:
        first, second = (self._values[a] for a in pair)
        return resolutions(first, second, _ROWS * self._start.total / stddev, max_cells=_MAX_CELLS)

    def _best(self, pair: Clique, options: Sequence[Resolution], stddev: float) -> tuple[Resolution, float]:
        """Return how a pair is best asked, and the error that is left: what sums do not tell and what noise hides."""
        found: list[float] = []
        for resolution in options:
            told, untold = self._dependence[pair].split(self._part(pair, resolution), resolution.name == "cells")
            noise = self._hidden(resolution, stddev) ** 2
            found.append(self._dependence[pair].mean(np.sqrt(untold + told * noise / (told + noise + 1e-300))))
        best = int(np.argmin(found))
        return options[best], found[best]

    def _told(self, pair: Clique, resolution: Resolution) -> float:
        """Return the mean square of what sums tell of a pair."""
        told, _ = self._dependence[pair].split(self._part(pair, resolution), resolution.name == "cells")
        return self._dependence[pair].mean(told)

    def _part(self, pair: Clique, resolution: Resolution) -> float:
        """Return what part of the squared dependence sums tell: their part of its degrees of freedom, more of runs."""
        part = 1.0
        for attribute, groups in zip(pair, resolution.sizes, strict=True):
            untold = 1 - (groups - 1) / (self._values[attribute].size - 1)
            part *= 1 - (_WITHIN_RUNS if attribute in self._ordered else 1.0) * untold
        return part

    def _hidden(self, resolution: Resolution, stddev: float) -> float:
        """Return the total variation that noise hides of sums: of none more than twice what is in it."""
        return float(np.minimum(_ABSOLUTE * stddev / self._start.total, np.multiply.outer(*resolution.masses)).sum())
