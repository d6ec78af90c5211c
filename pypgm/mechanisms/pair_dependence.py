"""Distances of pairs from an independent model, screened with noise, and the dependence inferred from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pypgm.domain import Clique
from pypgm.privacy.counts import batches

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.run import Run

    Array = NDArray[np.float64]

_DISTANCES = np.concatenate(
    [[0.0], np.geomspace(0.002, 1.0, 40)]
)  # possible total variation of a pair from independence
_USUAL, _APART = 0.07, 0.05  # mean distance of pairs in tables in general; spread of such means
_ROUNDS = 60  # of the search for the prior; more would only fit the noise
_PAIRS = 1 << 10  # that are looked at together
_MEAN = 0.8  # of the standard deviation: the mean absolute value of a normal variable
_CHANCE = 0.45  # half of an L1 distance, and a little less: shares are fitted to the records


def screened(run: Run, pairs: Sequence[Clique], start: Independent, rho: Fraction) -> tuple[Array, float]:
    """Return the L1 distances of pairs from an independent model, in records, with noise; and its deviation."""
    scores = []
    for first, last in batches([run.domain.size(p) for p in pairs]):
        part = pairs[first:last]
        # Parts of rho in proportion to their pairs: the noise is that of one screen of all.
        distances = run.table.l1_selector(part, start.counts).screen(rho=rho * len(part) / len(pairs))
        scores.append(distances.scores)
        stddev = distances.stddev
    return np.concatenate(scores), stddev


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


class Dependences(Mapping[Clique, Dependence]):
    """The dependence of many pairs, side by side.

    Parameters
    ----------
    pairs : sequence of clique
    least : ndarray, shape (pairs,)
        Least distance of each pair.
    likely : ndarray, shape (pairs, distances)
        Probability of each distance on the grid that all pairs share, of which smaller ones count as the least.
    chance : ndarray, shape (pairs,)
        Distances expected by chance.
    """

    def __init__(self, pairs: Sequence[Clique], least: Array, likely: Array, chance: Array) -> None:
        self._places = {pair: i for i, pair in enumerate(pairs)}
        self._least, self._likely, self._chance = np.maximum(least, 0.0), likely, chance

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Clique]:
        return iter(self._places)

    def __getitem__(self, pair: Clique) -> Dependence:
        several = self.at(np.array([self._places[pair]]))
        return Dependence(several.distances[0], several.likely[0], float(self._chance[self._places[pair]]))

    def places(self, pairs: Iterable[Clique]) -> NDArray[np.int64]:
        """Return the positions of pairs."""
        return np.array([self._places[p] for p in pairs], np.int64)

    def at(self, places: NDArray[np.int64]) -> Dependence:
        """Return the dependence of the pairs at some positions, as one."""
        distances = np.clip(_DISTANCES, self._least[places, None], 1.0)
        return Dependence(distances, self._likely[places], self._chance[places, None])


def dependence(pairs: Sequence[Clique], start: Independent, scores: Array, stddev: float) -> Dependences:
    """Return the dependence of each pair inferred from screened distances, only from released numbers.

    A score is the root of the summed squares of the pair's dependence, the error of the single attributes and chance,
    with noise. The distribution of dependence is the likeliest for all scores together (expectation-maximisation over
    a grid); with its own score, it gives the likely distances of each pair.

    Causes of a common effect are independent, but a model that knows them to depend on the effect alone makes them
    depend: so a pair's distance is at least the one through the most informative third attribute, ``2 x_ac x_bc``, less
    its own mean. The former is exact for even binary attributes.
    """
    place = {a: i for i, a in enumerate(start.shares)}
    first, second = np.array([[place[a], place[b]] for a, b in pairs]).T
    wrong = np.array([start.denoising_error(a) for a in start.shares]) ** 2
    chance = np.empty(len(pairs))
    for places, counts in start.stacked(pairs):
        chance[places] = _CHANCE * np.minimum(_MEAN * np.sqrt(counts), 2 * counts).sum(axis=1) / start.total
    known = np.sqrt(chance**2 + (wrong[first] + wrong[second]))
    likely = _posterior(scores / (2 * start.total), known, stddev / (2 * start.total))
    means = likely @ _DISTANCES
    through = np.zeros((len(place), len(place)))
    through[first, second] = through[second, first] = means
    least = np.array([2 * (through * row).max(axis=1) for row in through])[first, second] - means
    return Dependences(pairs, least, likely, chance)


def _posterior(scores: Array, known: Array, stddev: float) -> Array:
    """Return the probability of each distance for each pair, under the prior that fits all scores best.

    With noisier scores the prior is closer to that of tables in general, exponential.
    """
    away = (scores[:, None] - np.hypot(_DISTANCES, known[:, None])) / stddev
    fits = np.exp(-0.5 * (away**2 - np.square(away).min(axis=1, keepdims=True)))
    usual = np.gradient(_DISTANCES) * np.exp(-_DISTANCES / _USUAL)
    prior = usual = usual / usual.sum()
    others = (stddev / _APART) ** 2  # pairs of other tables with as much information on the mean as these
    blocks = [fits[k : k + _PAIRS] for k in range(0, len(fits), _PAIRS)]  # each stays in the cache
    for _ in range(_ROUNDS - 1):
        counts = sum(np.einsum("ij,i->j", block, 1 / np.einsum("ij,j->i", block, prior)) for block in blocks)
        prior = (prior * counts + others * usual) / (len(scores) + others)
    fits *= prior
    fits /= fits.sum(axis=1, keepdims=True)
    return np.asarray(fits)
