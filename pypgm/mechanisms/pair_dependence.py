"""Distances of pairs from an independent model, screened with noise, and the dependence inferred from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pypgm.privacy.counts import batches

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import ArrayLike, NDArray

    from pypgm.domain import Clique
    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.run import Run
    from pypgm.queries import LinearQuery

    Array = NDArray[np.float64]

DISTANCES = np.concatenate(
    [[0.0], np.geomspace(0.002, 1.0, 40)]
)  # possible total variation of a pair from independence
_USUAL, _APART = 0.07, 0.05  # mean distance of pairs in tables in general; spread of such means
_ROUNDS = 60  # of the search for the prior; more would only fit the noise
_MEAN = 0.8  # of the standard deviation: the mean absolute value of a normal variable
_CHANCE = 0.45  # half of an L1 distance, and a little less: shares are fitted to the records


def screened(
    run: Run,
    cliques: Sequence[Clique],
    expected: Callable[[Clique], ArrayLike],
    rho: Fraction,
    query: Callable[[Clique], LinearQuery | None] = lambda _: None,
) -> tuple[Array, float]:
    """Return the L1 distances of marginals from what is expected, in records, with noise; and its deviation."""
    scores = []
    for first, last in batches([run.domain.size(p) for p in cliques]):
        part = cliques[first:last]
        # Parts of rho in proportion to their marginals: the noise is that of one screen of all.
        distances = run.table.l1_selector(part, expected, query).screen(rho=rho * len(part) / len(cliques))
        scores.append(distances.scores)
        stddev = distances.stddev
    return np.concatenate(scores), stddev


def by_chance(counts: Array, total: float) -> float:
    """Return the total variation that chance makes in a table of so many records, from expected counts."""
    return float(_CHANCE * np.minimum(_MEAN * np.sqrt(counts), 2 * counts).sum() / total)


@dataclass(frozen=True, slots=True, eq=False)
class Dependence:
    """Distribution of the total variation of a pair, or of several, from independence.

    Attributes
    ----------
    distances, likely : ndarray, shape (distances,) or (pairs, distances)
        Possible distances, and the probability of each.
    chance : float or ndarray, shape (pairs, 1)
        Distance expected by chance in a table of equally many independent records.
    """

    distances: Array
    likely: Array
    chance: float | Array

    @staticmethod
    def stacked(pairs: Sequence[Dependence]) -> Dependence:
        """Return the distributions of several pairs as one."""
        distances, likely = np.stack([p.distances for p in pairs]), np.stack([p.likely for p in pairs])
        return Dependence(distances, likely, np.array([[p.chance] for p in pairs]))

    def mean(self, values: Array) -> Array:
        """Return the mean of values given for each distance."""
        return np.asarray((self.likely * values).sum(axis=-1))

    @property
    def error(self) -> Array:
        """Expected error of the pair if it is not measured."""
        return self.mean(np.hypot(self.distances, self.chance))

    def split(self, part: float | Array, whole: bool | NDArray[np.bool_]) -> tuple[Array, Array]:
        """Return the squares of the signal and the residual for a part of the dependence; `whole` means all cells."""
        squares, chance = np.square(self.distances), np.square(self.chance)
        kept = np.where(whole, squares + chance, part * squares)
        return kept, np.where(whole, 0.0, (1 - part) * squares + chance)


def dependence(pairs: Sequence[Clique], start: Independent, scores: Array, stddev: float) -> dict[Clique, Dependence]:
    """Return the dependence of each pair inferred from screened distances, only from released numbers.

    A score is the root of the summed squares of the pair's dependence, the error of the single attributes and chance,
    with noise. The distribution of dependence is the likeliest for all scores together (expectation-maximisation over
    a grid); with its own score, it gives the likely distances of each pair.

    Causes of a common effect are independent, but a model that knows them to depend on the effect alone makes them
    depend: so a pair's distance is at least the one through the most informative third attribute, ``2 x_ac x_bc``, less
    its own mean. The former is exact for even binary attributes.
    """
    names = list(start.shares)
    wrong = {a: start.denoising_error(a) for a in names}
    chance = np.empty(len(pairs))
    for i, pair in enumerate(pairs):
        chance[i] = by_chance(start.counts(pair), start.total)
    known = np.sqrt(chance**2 + np.array([wrong[a] ** 2 + wrong[b] ** 2 for a, b in pairs]))
    likely = likely_distances(scores / (2 * start.total), known, stddev / (2 * start.total))
    means = likely @ DISTANCES
    place = {a: i for i, a in enumerate(names)}
    first, second = np.array([[place[a], place[b]] for a, b in pairs]).T
    through = np.zeros((len(names), len(names)))
    through[first, second] = through[second, first] = means
    least = np.array([2 * (through * row).max(axis=1) for row in through])[first, second] - means
    return {
        pair: Dependence(np.clip(DISTANCES, max(0.0, low), 1.0), probabilities, of_pair)
        for pair, low, probabilities, of_pair in zip(pairs, least.tolist(), likely, chance.tolist(), strict=True)
    }


def likely_distances(scores: Array, known: Array, stddev: float) -> Array:
    """Return the probability of each of `DISTANCES` for each marginal, under the prior that fits all scores best.

    With noisier scores the prior is closer to that of tables in general, exponential.
    """
    away = (scores[:, None] - np.hypot(DISTANCES, known[:, None])) / stddev
    fits = np.exp(-0.5 * (away**2 - np.square(away).min(axis=1, keepdims=True)))
    usual = np.gradient(DISTANCES) * np.exp(-DISTANCES / _USUAL)
    prior = usual = usual / usual.sum()
    others = (stddev / _APART) ** 2  # pairs of other tables with as much information on the mean as these
    for _ in range(_ROUNDS):
        likely = fits * prior
        likely /= likely.sum(axis=1, keepdims=True)
        prior = (likely.sum(axis=0) + others * usual) / (len(scores) + others)
    return np.asarray(likely)
