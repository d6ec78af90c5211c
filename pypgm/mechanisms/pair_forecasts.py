"""Forecasts of what is left of the errors of many pairs after measuring them in several ways, side by side."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.mechanisms.resolution import Resolution, Scheme, Values, contrasts_cost, resolution, resolutions, schemes

if TYPE_CHECKING:
    from pypgm.domain import Clique
    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.pair_dependence import Dependence, Dependences
    from pypgm.privacy.relation import Privacy

Array = NDArray[np.float64]
Places = NDArray[np.int64]

# Chosen on made-up tables and on adult, titanic, fire and msnbc, epsilon .1 to 10; see bench/README.md.
_ROWS = 0.25  # of N / sigma: number of groups in which a pair is measured
_MAX_CELLS = 10**6  # of a pair measured cell by cell
_WITHIN_RUNS = 0.25  # of the squared dependence between values of an ordered attribute: the share within runs
_ABSOLUTE = 0.4  # of the standard deviation: half the mean absolute error, which total variation counts
_AT_ONCE = 1 << 16  # cells of pairs that are looked at together ...
_PAIRS = 1 << 12  # ... at several noises, so many pairs


class _Alike(NamedTuple):
    """Pairs that are grouped in one way into equally many sums: their positions, and masses of both sides' groups."""

    scheme: Scheme
    pairs: Places
    first: Array
    second: Array

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of groups of both attributes."""
        return self.first.shape[1], self.second.shape[1]

    def noise_errors(self, noise: Array) -> Array:
        """Return the error from noise in each pair's sums: it hides at most twice what is expected in one."""
        at_once = max(1, _AT_ONCE // math.prod(self.sizes))
        parts = (slice(k, k + at_once) for k in range(0, len(noise), at_once))
        masses = ((noise[k], self.first[k, :, None] * self.second[k, None, :]) for k in parts)
        return np.concatenate([np.minimum(part[:, None, None], m).sum(axis=(1, 2)) for part, m in masses])


class _Known(NamedTuple):
    """Facts about schemes of measuring pairs, before their noise.

    Signal and residual are parts of the square of each distance from independence: the signal is in the sums, the
    residual is not.
    """

    alike: list[_Alike]
    pairs: Places
    dependence: Dependence
    signal: Array
    residual: Array


class Requests(NamedTuple):
    """Pairs, the best way to measure each at some noise, its cost, the error from noise, and the error left."""

    pairs: Places
    schemes: list[Scheme]
    costs: Array
    noise_errors: Array
    left: Array


class PairForecasts:
    """Forecasts of the errors of pairs; pairs are given by their positions.

    Parameters
    ----------
    pairs : sequence of clique
    start : Independent
        Model of single attributes.
    ordered : collection of str
        Attributes whose neighbouring codes are alike.
    dependence : Dependences
        Distances of the pairs from independence.
    privacy : Privacy
        The relation by which sums cost.

    Attributes
    ----------
    sides : ndarray of int64, shape (2, pairs)
        Positions of both attributes of each pair.
    errors : ndarray, shape (pairs,)
        Expected error of each pair if it is not measured.
    """

    def __init__(
        self,
        pairs: Sequence[Clique],
        start: Independent,
        ordered: Collection[str],
        dependence: Dependences,
        privacy: Privacy,
    ) -> None:
        self._total, self._privacy, self._dependence = start.total, privacy, dependence
        self._values = [Values(shares, a in ordered) for a, shares in start.shares.items()]
        self._sizes = np.array([values.size for values in self._values])
        self._is_ordered = np.array([a in ordered for a in start.shares], dtype=bool)
        place = {a: i for i, a in enumerate(start.shares)}
        self.sides = np.array([[place[a], place[b]] for a, b in pairs], np.int64).reshape(-1, 2).T
        self._screened = dependence.places(pairs)
        self.errors = np.concatenate([self._depends(p).error for p in _blocks(np.arange(len(pairs)))])

    def sizes_of(self, pairs: Places) -> NDArray[np.int64]:
        """Return the numbers of values of both attributes of some pairs, shape (2, pairs)."""
        return np.asarray(self._sizes[self.sides[:, pairs]])

    def resolutions(self, pair: int, scheme: Scheme, stddev: float) -> tuple[list[Resolution], Resolution]:
        """Return the resolutions of a pair that are possible at a noise, and that of a way to group it."""
        first, second = (self._values[side[pair]] for side in self.sides)
        best = resolution(first, second, scheme)
        rows = self._rows(stddev, first.size * second.size)
        return resolutions(first, second, rows, max_cells=_MAX_CELLS) or [best], best

    def best(self, pairs: Places, stddevs: Sequence[float]) -> list[Requests]:
        """Return the best way to measure each pair at each noise, of those that have one."""
        looks = [list(self._looks(block, stddevs)) for block in _blocks(pairs)]
        return [_joined(parts) for parts in zip(*looks, strict=True)]

    def _rows(self, stddev: float, cells: int) -> float:
        """Return the number of answers worth measuring at a noise; more than there are cells are as many."""
        return min(max(4.0, _ROWS * self._total / stddev), float(cells))

    def _depends(self, pairs: Places) -> Dependence:
        return self._dependence.at(self._screened[pairs])

    def _looks(self, pairs: Places, stddevs: Sequence[float]) -> Iterator[Requests]:
        """Return the best way to measure each pair at each noise: where the residual and the error are least."""
        shapes, shape_of = np.unique(self.sizes_of(pairs), axis=1, return_inverse=True)
        of_shape = [((a, b), pairs[shape_of.ravel() == k]) for k, (a, b) in enumerate(shapes.T.tolist())]
        before, known = list[tuple[int, Scheme]](), None
        for stddev in stddevs:
            tried = [
                (k, scheme)
                for k, ((a, b), _) in enumerate(of_shape)
                for scheme in schemes(a, b, self._rows(stddev, a * b), max_cells=_MAX_CELLS)
            ]
            if known is None or tried != before:
                before = tried
                known = self._known([alike for k, scheme in tried for alike in self._alike(of_shape[k][1], scheme)])
            yield self._best(known, stddev)

    def _best(self, known: _Known, stddev: float) -> Requests:
        """Return the way to measure each pair that leaves least of its error."""
        if not known.alike:
            return Requests(known.pairs, [], *np.empty((3, 0)))
        noise = np.full(len(known.pairs), _ABSOLUTE * stddev / self._total)
        first = np.cumsum([0, *(len(alike.pairs) for alike in known.alike)])
        noise_errors = np.concatenate([a.noise_errors(noise[: len(a.pairs)]) for a in known.alike])
        squares = np.square(noise_errors)[:, None]
        left = known.dependence.mean(
            np.sqrt(known.residual + known.signal * squares / (known.signal + squares + 1e-300))
        )
        ranked = np.lexsort((left, known.pairs))  # the first of equals
        best = ranked[np.flatnonzero(np.diff(known.pairs[ranked], prepend=-1))]
        group = np.searchsorted(first, best, side="right") - 1
        costs = np.array([contrasts_cost(self._privacy, alike.sizes) for alike in known.alike])
        chosen = [known.alike[k].scheme for k in group.tolist()]
        return Requests(known.pairs[best], chosen, costs[group], noise_errors[best], left[best])

    def _known(self, alike: list[_Alike]) -> _Known:
        """Return what is known of ways to measure pairs, whatever the noise."""
        pairs = np.concatenate([np.empty(0, np.int64), *(a.pairs for a in alike)])
        whole = np.repeat([a.scheme.name == "cells" for a in alike], [len(a.pairs) for a in alike])
        part = np.concatenate([np.empty(0), *map(self._part, alike)])
        dependence = self._depends(pairs)
        return _Known(alike, pairs, dependence, *dependence.split(part[:, None], whole[:, None].astype(bool)))

    def _alike(self, pairs: Places, scheme: Scheme) -> list[_Alike]:
        """Return pairs of one shape, grouped in a way, in classes with equally many sums; those that have sense."""
        sides = self.sides[:, pairs].tolist()
        masses = [
            {a: self._values[a].groups(count)[1] for a in set(side)}
            for side, count in zip(sides, scheme.counts, strict=True)
        ]
        of_sizes: dict[tuple[int, int], list[int]] = {}
        for i, (a, b) in enumerate(zip(*sides, strict=True)):
            of_sizes.setdefault((masses[0][a].size, masses[1][b].size), []).append(i)
        cells = self._values[sides[0][0]].size * self._values[sides[1][0]].size
        classes = []
        for sizes, some in of_sizes.items():
            if scheme.has_sense(sizes, cells):
                first, second = (np.array([of[side[i]] for i in some]) for side, of in zip(sides, masses, strict=True))
                classes.append(_Alike(scheme, pairs[some], first, second))
        return classes

    def of(self, requests: Requests, stddevs: Array) -> tuple[Array, Array]:
        """Return the mean squared signal of each pair, and the error from noise."""
        signal, noise_error = np.empty((2, len(stddevs)))
        place_of = np.full(len(self.errors), -1)
        place_of[requests.pairs] = np.arange(requests.pairs.size)
        of_scheme: dict[tuple[Scheme, int, int], list[int]] = {}
        sizes = self.sizes_of(requests.pairs).T.tolist()
        for pair, scheme, (a, b) in zip(requests.pairs.tolist(), requests.schemes, sizes, strict=True):
            of_scheme.setdefault((scheme, a, b), []).append(pair)
        for (scheme, *_), every in of_scheme.items():
            for block in _blocks(np.array(every)):
                known = self._known(self._alike(block, scheme))
                at = place_of[known.pairs]
                noise = _ABSOLUTE * stddevs[at] / self._total
                ends = np.cumsum([len(a.pairs) for a in known.alike])[:-1]
                parts = zip(known.alike, np.split(noise, ends), strict=True)
                signal[at] = known.dependence.mean(known.signal)
                noise_error[at] = np.concatenate([a.noise_errors(part) for a, part in parts])
        return signal, noise_error

    def _part(self, alike: _Alike) -> Array:
        sides = self.sides[:, alike.pairs]
        return share_seen(alike.sizes, self._sizes[sides], self._is_ordered[sides])


def share_seen(groups: Sequence[int], sizes: ArrayLike, is_ordered: ArrayLike) -> Array:
    """Return the share of the squared dependence seen in sums: their degrees of freedom, with more for runs.

    Parameters
    ----------
    groups : sequence of int
        Number of groups of each attribute.
    sizes : array_like of int, shape (attributes, ...)
        Number of values of each, of one or more marginals.
    is_ordered : array_like of bool, shape (attributes, ...)
        Whether its neighbouring codes are alike.
    """
    part = np.ones(np.shape(sizes)[1:])
    for count, size, in_runs in zip(groups, np.asarray(sizes), np.asarray(is_ordered), strict=True):
        part *= 1 - np.where(in_runs, _WITHIN_RUNS, 1.0) * (1 - (count - 1) / (size - 1))
    return part


def _blocks(pairs: Places) -> list[Places]:
    """Return pairs in parts that are looked at together."""
    return [pairs[k : k + _PAIRS] for k in range(0, len(pairs), _PAIRS)]


def _joined(parts: Sequence[Requests]) -> Requests:
    """Return several answers as one."""
    pairs, schemes, *numbers = zip(*parts, strict=True)
    return Requests(np.concatenate(pairs), list(itertools.chain.from_iterable(schemes)), *map(np.concatenate, numbers))
