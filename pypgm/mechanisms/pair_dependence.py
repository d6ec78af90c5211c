"""Distances of pairs from an independent model, screened with noise, and the dependence inferred from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pypgm.domain import Clique
from pypgm.estimation.pair_screen import DISTANCES, PairScreen
from pypgm.privacy.counts import batches

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.run import Run

    Array = NDArray[np.float64]
_MEAN = 0.8  # of the standard deviation: the mean absolute value of a normal variable
_CHANCE = 0.45  # half of an L1 distance, and a little less: shares are fitted to the records


def chances(pairs: Sequence[Clique], start: Independent) -> Array:
    """Return the total variation of each pair to be expected by chance if its attributes are independent."""
    found = np.empty(len(pairs))
    for places, counts in start.stacked(pairs):
        found[places] = by_chance(counts, start.total)
    return found


def by_chance(counts: Array, total: float) -> Array:
    """Return the total variation to be expected by chance of records that follow some counts, the last axis."""
    return np.asarray(_CHANCE * np.minimum(_MEAN * np.sqrt(counts), 2 * counts).sum(axis=-1) / total)


def screened(run: Run, pairs: Sequence[Clique], start: Independent, chance: Array, rho: Fraction) -> PairScreen:
    """Return the L1 distances of pairs from an independent model, in records, with noise; the run keeps them."""
    scores = []
    for first, last in batches([run.domain.size(p) for p in pairs]):
        part = pairs[first:last]
        # Parts of rho in proportion to their pairs: the noise is that of one screen of all.
        distances = run.table.l1_selector(part, start.counts).screen(rho=rho * len(part) / len(pairs))
        scores.append(distances.scores)
        stddev = distances.stddev
    first, second = np.array([start.denoising_error(a) for a in start.shares])[_places(pairs, start)] ** 2
    known = np.sqrt(chance**2 + (first + second))
    screen = PairScreen(tuple(pairs), np.concatenate(scores), 2 * start.total * known, stddev, start.total)
    run.screen = screen.rounded()
    return screen


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
        distances = np.clip(DISTANCES, self._least[places, None], 1.0)
        return Dependence(distances, self._likely[places], self._chance[places, None])


def dependence(screen: PairScreen, chance: Array, start: Independent) -> Dependences:
    """Return the dependence of each pair inferred from screened distances, only from released numbers.

    Causes of a common effect are independent, but a model that knows them to depend on the effect alone makes them
    depend: so a pair's distance is at least the one through the most informative third attribute, ``2 x_ac x_bc``, less
    its own mean. The former is exact for even binary attributes.
    """
    likely = screen.likely()
    means = likely @ DISTANCES
    first, second = _places(screen.pairs, start)
    through = np.zeros((len(start.shares), len(start.shares)))
    through[first, second] = through[second, first] = means
    least = np.array([2 * (through * row).max(axis=1) for row in through])[first, second] - means
    return Dependences(screen.pairs, least, likely, chance)


def _places(pairs: Sequence[Clique], start: Independent) -> NDArray[np.int64]:
    """Return the positions of the first and of the second attributes of pairs, shape (2, pairs)."""
    place = {a: i for i, a in enumerate(start.shares)}
    return np.asarray(np.array([[place[a], place[b]] for a, b in pairs], np.int64).T)
