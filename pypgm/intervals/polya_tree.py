r"""Polya tree over the values of an attribute: the distribution of their counts given a noisy answer about each.

The prior is a Polya tree: the values, neighbours next to each other, are halved again and again, and the part f of a
node's count in its first half has a mixture of beta distributions about the even one, some parts being near none.
All values must be in it: noise that made values small decided which ones an estimate read as one group, so their
answers sum to less than their true counts.

Below a node all follows from its count. So the likelihood of the answers below each node is summed up from the leaves,
for each count it may have, and counts are then drawn from the top.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Codes = NDArray[np.intp]

_CONCENTRATIONS = np.array([1 / 8, 1 / 4, 1 / 2, 1, 2])  # of beta distributions, about Jeffreys' 1/2
_DRAWS = 60  # of the counts, made once
_POINTS = (np.arange(32) + 0.5) / 32  # of the angle whose squared sine a part is, where the answers leave it
_COUNTS = 16  # of a node for which the likelihood of the answers below it is tabulated
_MAX_POINTS = 1 << 20  # points at once
_WIDE = 6.0  # standard deviations to either side


class PolyaTree:
    """The distribution of the counts of an attribute's values given an answer of each.

    Parameters
    ----------
    answers, variances : ndarray of float
        Noisy count of each value, and the variance of its noise.
    ranks : ndarray of int
        Place of each value in an order in which neighbours are alike.
    total : float
        Sum of the counts.

    Examples
    --------
    >>> tree = PolyaTree(np.array([90.0, 6.0, -4.0, 8.0]), np.full(4, 25.0), np.arange(4), 100.0)
    >>> drawn = tree.drawn(np.random.default_rng(0))
    >>> round(float(drawn.sum()), 6), bool(drawn[0] > 70)
    (100.0, True)
    """

    def __init__(self, answers: Array, variances: Array, ranks: Codes, total: float) -> None:
        k = answers.size
        levels = math.ceil(math.log2(k))
        places = ranks * 2**levels // k  # the others of a power of two are empty
        leaves = np.zeros((3, 2**levels))
        leaves[:, places] = answers, variances, np.ones(k)
        halves: list[_Halves] = []
        below = _Likelihood(np.zeros((2, 2**levels)), np.zeros(2**levels), np.ones(2**levels))
        for level in reversed(range(levels)):
            halves.insert(0, _Halves(leaves.reshape(3, 2**level, 2, -1).sum(axis=3), below))
            below = halves[0].likelihood(total)
        rng, counts = np.random.default_rng(0), np.full((_DRAWS, 1), total)
        for level_halves in halves:
            first = level_halves.drawn(counts, rng)
            counts = np.stack([first, counts - first], axis=2).reshape(_DRAWS, -1)
        self._counts = counts[:, places]

    def drawn(self, rng: np.random.Generator) -> Array:
        """Return counts of the values, drawn given the answers."""
        return np.asarray(self._counts[rng.integers(len(self._counts))])


class _Likelihood(NamedTuple):
    """Log-likelihoods of the answers below each node, for counts whose roots are evenly spaced."""

    values: Array
    first: Array
    step: Array

    def of(self, nodes: Codes, counts: Array) -> Array:
        """Return log-likelihoods for other counts of some of the nodes, along the second of three axes."""
        values, first, step = self.values[:, nodes], self.first[nodes, None], self.step[nodes, None]
        at = np.clip((np.sqrt(counts) - first) / step, 0, len(values) - 1)
        low = np.minimum(at.astype(np.intp), len(values) - 2)
        node = np.arange(values.shape[1])[:, None]
        return np.asarray(values[low, node] + (at - low) * (values[low + 1, node] - values[low, node]))


class _Halves:
    """Nodes of a level, each with two halves: answers, variances, numbers of values, and the likelihoods below."""

    def __init__(self, halves: Array, below: _Likelihood) -> None:
        answers, variances, sizes = halves
        self._middle, self._reach, self._below = answers.sum(axis=1), _WIDE * np.sqrt(variances.sum(axis=1)), below
        self._is_first, self._cut = sizes[:, 0] > 0, np.flatnonzero((sizes > 0).all(axis=1))
        self._answers = answers[self._cut, 0]
        v, w = variances[self._cut].T
        # The part of both answers that is their sum says nothing about the split, given the node's count.
        self._share, self._stddev = v / (v + w), np.sqrt(v * w / (v + w))
        self._even = sizes[self._cut, 0] / sizes[self._cut].sum(axis=1)

    def likelihood(self, total: float) -> _Likelihood:
        """Return the log-likelihoods of the answers of halves and all below, apart from that of their sum."""
        low, high = (np.sqrt(np.clip(self._middle + end * self._reach, 0, total)) for end in (-1, 1))
        step = np.maximum((high - low) / (_COUNTS - 1), 1e-9)
        counts = np.square(low + step * np.arange(_COUNTS)[:, None])
        values = np.zeros_like(counts)
        for rows in self._at_once(_COUNTS):
            _, width, logs = self._parts(counts[rows])
            highest = logs.max(axis=-1)
            values[rows, self._cut] = highest + np.log(np.exp(logs - highest[..., None]).sum(axis=-1) * width)
        return _Likelihood(values, low, step)

    def drawn(self, counts: Array, rng: np.random.Generator) -> Array:
        """Return drawn counts of the first halves, a row for each draw."""
        first = np.where(self._is_first, counts, 0.0)
        for rows in self._at_once(len(counts)):
            low, width, logs = self._parts(counts[rows])
            below = np.exp(logs - logs.max(axis=-1, keepdims=True)).cumsum(axis=-1)
            at = (below < rng.random(low.shape)[..., None] * below[..., -1:]).sum(axis=-1)
            angle = low + width * (np.minimum(at, _POINTS.size - 1) + rng.random(low.shape)) / _POINTS.size
            first[rows, self._cut] *= np.sin(angle) ** 2
        return first

    def _at_once(self, n: int) -> Iterator[slice]:
        each = max(1, _MAX_POINTS // (_POINTS.size * max(1, self._cut.size)))
        return (slice(i, i + each) for i in range(0, n, each))

    def _parts(self, counts: Array) -> tuple[Array, Array, Array]:
        """Return for rows of counts the least angle, the range of angles, and the log-density of points in it."""
        from scipy.special import beta  # heavy: imported where it is used

        counts = np.maximum(counts[:, self._cut], 1e-9)
        off = self._answers - (self._middle[self._cut] - counts) * self._share
        middle, half = np.clip(off / counts, 0, 1), _WIDE * self._stddev / counts
        low, high = (np.arcsin(np.sqrt(np.clip(end, 0, 1))) for end in (middle - half, middle + half))
        angle = low[..., None] + (high - low)[..., None] * _POINTS
        sine, cosine = np.sin(angle), np.cos(angle)
        # A beta density of the angle is a power of one function over sine times cosine.
        base = 4 * (self._even[:, None] * np.log(sine) + (1 - self._even[:, None]) * np.log(cosine))
        prior = np.zeros_like(angle)
        for concentration in _CONCENTRATIONS:
            parts = 2 * concentration * np.array([self._even, 1 - self._even])
            prior += np.exp(concentration * base) / beta(*parts)[:, None]
        first = counts[..., None] * sine**2
        logs = np.log(prior / (sine * cosine)) - 0.5 * np.square((off[..., None] - first) / self._stddev[:, None])
        logs += self._below.of(2 * self._cut, first) + self._below.of(2 * self._cut + 1, counts[..., None] * cosine**2)
        return low, high - low, logs
