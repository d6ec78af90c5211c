r"""How records are shared among an attribute's values, whose answers the estimate read in sums alone.

The prior is a Polya tree: the values, neighbours next to each other, are halved again and again, and the part f of a
node's count in its first half has a mixture of beta distributions about the even one, some parts being near none.
All values have to be in it: which of them noise made small decided which were added up, so that the answers of those
that were sum to less than there is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Codes = NDArray[np.intp]

__all__ = ["Sharing"]

_CONCENTRATIONS = np.array([1 / 8, 1 / 4, 1 / 2, 1, 2])  # of beta distributions, about Jeffreys' 1/2
_DRAWS = 200  # from the top, to take by what the answers further down say
_POINTS = (np.arange(32) + 0.5) / 32  # of the angle whose squared sine a part is, where the answers leave it
_WIDE = 6.0  # standard deviations of a part to either side


class Sharing:
    """The distribution of the counts of an attribute's values given an answer of each.

    Parameters
    ----------
    answers, variances : ndarray of float
        Of each value: its noisy count, the variance of the noise.
    ranks : ndarray of int
        Where each value stands in an order in which neighbours are alike.
    total : float
        Of the counts.

    Examples
    --------
    >>> sharing = Sharing(np.array([90.0, 6.0, -4.0, 8.0]), np.full(4, 25.0), np.arange(4), 100.0)
    >>> drawn = sharing.drawn(np.random.default_rng(0))
    >>> round(float(drawn.sum()), 6), bool(drawn[0] > 70)
    (100.0, True)
    """

    def __init__(self, answers: Array, variances: Array, ranks: Codes, total: float) -> None:
        k = answers.size
        self._levels = math.ceil(math.log2(k))
        self._places = ranks * 2**self._levels // k  # the others of a power of two are empty
        self._leaves = np.zeros((3, 2**self._levels))
        self._leaves[:, self._places] = answers, variances, np.ones(k)
        rng = np.random.default_rng(0)
        made = [self._halved(total, rng) for _ in range(_DRAWS)]
        self._counts = np.array([counts for counts, _ in made])
        logs = np.array([missed for _, missed in made])
        self._weights = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()

    def drawn(self, rng: np.random.Generator) -> Array:
        """Return counts of the values, drawn given the answers."""
        return np.asarray(self._counts[rng.choice(_DRAWS, p=self._weights)])

    def _halved(self, total: float, rng: np.random.Generator) -> tuple[Array, float]:
        """Return counts drawn from the top, each node given its halves' answers, and the log-weight that these miss."""
        counts, missed = np.array([total]), 0.0
        for level in range(self._levels):
            answers, variances, sizes = self._leaves.reshape(3, 2**level, 2, -1).sum(axis=3)
            first = (sizes[:, 0] > 0).astype(float)
            cut = (sizes > 0).all(axis=1)
            v, other = variances[cut].T
            # Of both answers what is left of their sum by the node's count says nothing of the part.
            off = answers[cut, 0] - (answers[cut].sum(axis=1) - counts[cut]) * v / (v + other)
            even = sizes[cut, 0] / sizes[cut].sum(axis=1)
            first[cut], likelihoods = _parts(counts[cut], off, np.sqrt(v * other / (v + other)), even, rng)
            missed += float(np.log(likelihoods).sum())
            counts = np.stack([counts * first, counts * (1 - first)], axis=1).ravel()
        return counts[self._places], missed


def _parts(counts: Array, answers: Array, stddev: Array, even: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return drawn parts of counts given noisy answers of them, and the answers' densities up to a factor."""
    from scipy.special import beta  # what is heavy is imported where it is used

    counts = np.maximum(counts, 1e-9)
    middle, half = np.clip(answers / counts, 0, 1), _WIDE * stddev / counts
    low, high = (np.arcsin(np.sqrt(np.clip(end, 0, 1))) for end in (middle - half, middle + half))
    x = low[:, None] + (high - low)[:, None] * _POINTS
    sine, cosine, prior = np.log(np.sin(x)), np.log(np.cos(x)), np.zeros_like(x)
    for concentration in _CONCENTRATIONS:
        a, b = (2 * concentration * own[:, None] for own in (even, 1 - even))
        prior += np.exp((2 * a - 1) * sine + (2 * b - 1) * cosine) / beta(a, b)
    logs = -0.5 * np.square((answers[:, None] - counts[:, None] * np.sin(x) ** 2) / stddev[:, None])
    highest = logs.max(axis=1, keepdims=True)
    below = (prior * np.exp(logs - highest)).cumsum(axis=1)
    at = (below < (rng.random(counts.size) * below[:, -1])[:, None]).sum(axis=1)
    chosen = low + (high - low) * (np.minimum(at, _POINTS.size - 1) + rng.random(at.size)) / _POINTS.size
    told = np.log(below[:, -1] * (high - low) / stddev) + highest[:, 0]
    return np.sin(chosen) ** 2, np.exp(np.maximum(told, -700))
