"""Distances of pairs from an independent model, screened with noise, and the dependence inferred from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pypgm.estimation.pair_screen import DISTANCES, PairScreen
from pypgm.privacy.counts import batches

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from pypgm.domain import Clique
    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.run import Run

    Array = NDArray[np.float64]

_MEAN = 0.8  # of the standard deviation: the mean absolute value of a normal variable
_CHANCE = 0.45  # half of an L1 distance, and a little less: shares are fitted to the records


def chances(pairs: Sequence[Clique], start: Independent) -> Array:
    """Return the total variation of each pair to be expected by chance if its attributes are independent."""
    found = np.empty(len(pairs))
    for i, pair in enumerate(pairs):
        counts = start.counts(pair)
        found[i] = _CHANCE * np.minimum(_MEAN * np.sqrt(counts), 2 * counts).sum() / start.total
    return found


def screened(run: Run, pairs: Sequence[Clique], start: Independent, chance: Array, rho: Fraction) -> PairScreen:
    """Return the L1 distances of pairs from an independent model, in records, with noise; the run keeps them."""
    scores = []
    for first, last in batches([run.domain.size(p) for p in pairs]):
        part = pairs[first:last]
        # Parts of rho in proportion to their pairs: the noise is that of one screen of all.
        distances = run.table.l1_selector(part, start.counts).screen(rho=rho * len(part) / len(pairs))
        scores.append(distances.scores)
        stddev = distances.stddev
    wrong = {a: start.denoising_error(a) for a in start.shares}
    known = np.sqrt(chance**2 + np.array([wrong[a] ** 2 + wrong[b] ** 2 for a, b in pairs]))
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


def dependence(screen: PairScreen, chance: Array, start: Independent) -> dict[Clique, Dependence]:
    """Return the dependence of each pair inferred from screened distances, only from released numbers.

    Causes of a common effect are independent, but a model that knows them to depend on the effect alone makes them
    depend: so a pair's distance is at least the one through the most informative third attribute, ``2 x_ac x_bc``, less
    its own mean. The former is exact for even binary attributes.
    """
    names, likely = list(start.shares), screen.likely()
    means = likely @ DISTANCES
    place = {a: i for i, a in enumerate(names)}
    first, second = np.array([[place[a], place[b]] for a, b in screen.pairs]).T
    through = np.zeros((len(names), len(names)))
    through[first, second] = through[second, first] = means
    least = np.array([2 * (through * row).max(axis=1) for row in through])[first, second] - means
    return {
        pair: Dependence(np.clip(DISTANCES, max(0.0, low), 1.0), probabilities, by_chance)
        for pair, low, probabilities, by_chance in zip(
            screen.pairs, least.tolist(), likely, chance.tolist(), strict=True
        )
    }
