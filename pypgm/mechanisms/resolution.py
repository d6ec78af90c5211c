"""Resolutions of a pair of attributes at a noise level, and the risk of each in exact integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm.queries import Contrasts, Identity, Partition
from pypgm.queries.entries import ENTRY_LIMIT

if TYPE_CHECKING:
    from pypgm.privacy.relation import Privacy
    from pypgm.queries import LinearQuery

GRID = 1 << 10  # of risks: they are integers in units of 2^-10 records
RISK_SENSITIVITY = 2  # records: most that one more record raises or lowers a risk

_KEPT, _PARTS = 4, 20  # binary digits of a sum's kept part, in records, and of a cell's share of it
_FINE = _KEPT + _PARTS  # bits below a record in which risks are summed
_COUNT_LIMIT = 1 << 36  # of records, below which int64 holds the sums
_NOISE = 0.4  # of the standard deviation: the mean amount by which noise makes a sum too low
_LEAK = 3, 10  # share of the noise that an estimate keeps in a sum that agrees with the independent model

Array = NDArray[np.float64]


class Values:
    """The values of an attribute, to be put in groups of about equal mass.

    Groups are runs of codes where the attribute is ordered, else of its values from the most frequent to the rarest.

    Parameters
    ----------
    shares : ndarray
        Shares of the records that have each value; positive.
    is_ordered : bool
        Whether their codes have an order.

    Attributes
    ----------
    below : ndarray
        Share of the records before the middle of each value, in that order.
    """

    def __init__(self, shares: Array, is_ordered: bool) -> None:
        self.shares, self.size = shares, shares.size
        order = np.arange(shares.size) if is_ordered else np.argsort(-shares, kind="stable")
        along = shares[order]
        middles = (np.cumsum(along) - along / 2) / along.sum()
        self.below = np.empty(shares.size)
        self.below[order] = np.minimum(middles, 1 - 1e-9)
        self._cache: dict[float, tuple[NDArray[np.int64], Array]] = {}

    def groups(self, count: float) -> tuple[NDArray[np.int64], Array]:
        """Return the group of each value, about `count` groups, and the share of the records in each group."""
        if count not in self._cache:
            groups = np.arange(self.size, dtype=np.int64)
            if count < self.size:
                groups = np.unique(np.floor(self.below * count), return_inverse=True)[1].astype(np.int64)
            self._cache[count] = groups, np.bincount(groups, self.shares).astype(np.float64)
        return self._cache[count]


@dataclass(frozen=True)
class Resolution:
    """Sums in which a pair is measured.

    Attributes
    ----------
    name : str
        "cells", "groups" (of both attributes), "first" or "second" (all values of that one).
    groups : tuple of ndarray of int64
        The group of each value of the two attributes.
    masses : tuple of ndarray
        Shares of the records in their groups.
    """

    name: str
    groups: tuple[NDArray[np.int64], NDArray[np.int64]]
    masses: tuple[Array, Array]

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of groups of both attributes."""
        return self.masses[0].size, self.masses[1].size

    @cached_property
    def query(self) -> Partition:
        """Query of the sums."""
        first, second = self.groups
        if self.name == "cells":
            return Identity(first.size * second.size)
        return Partition(np.add.outer(first * self.sizes[1], second).ravel())

    def measured_query(self) -> LinearQuery:
        """Return the contrasts of the sums, or the sums if that query is too large."""
        if not _has_contrasts(self.sizes):
            return self.query
        return whole_contrasts(self.sizes) if self.name == "cells" else Contrasts(self.sizes, self.groups)


@lru_cache(maxsize=1 << 12)
def contrasts_cost(privacy: Privacy, sizes: tuple[int, ...]) -> float:
    """Return the cost of a group table's contrasts, as a share of the cost of its sums, for the same noise."""
    if not _has_contrasts(sizes):
        return 1.0
    contrasts = whole_contrasts(sizes)
    gain = contrasts.squared_singular_value
    return privacy.squared_l2_sensitivity(contrasts) / gain / privacy.squared_l2_sensitivity(Identity(2))


whole_contrasts = lru_cache(maxsize=1 << 12)(Contrasts)  # one for all pairs of these sizes, whose caches they share


def _has_contrasts(sizes: Sequence[int]) -> bool:
    return math.prod(n - 1 for n in sizes) < ENTRY_LIMIT


class Scheme(NamedTuple):
    """A scheme of grouping any pair: the name of a `Resolution`, and about how many groups each attribute has."""

    name: str
    counts: tuple[float, float]

    def has_sense(self, sizes: tuple[int, int], cells: int) -> bool:
        """Return whether so many groups tell something of a pair, in fewer answers than its cells."""
        return min(sizes) > 1 and (self.name == "cells" or math.prod(sizes) < cells)


def schemes(first: int, second: int, rows: float, *, max_cells: float = math.inf) -> list[Scheme]:
    """Return the ways to group a pair of attributes with so many values: see `resolutions`."""
    cells = first * second
    rows = max(4.0, min(rows, max_cells / 2) if cells > max_cells else rows)
    each = [Scheme("cells", (first, second))] if cells <= max_cells else []
    return each + (_shapes(first, second, rows) if cells > rows else [])


def resolutions(first: Values, second: Values, rows: float, *, max_cells: float = math.inf) -> list[Resolution]:
    """Return the possible resolutions of a pair: all cells, or about `rows` groups, at least two for each attribute.

    Groups are products of groups of each attribute's values.

    Parameters
    ----------
    first, second : Values
        Values of both attributes.
    rows : float
        Number of answers worth measuring at the noise.
    max_cells : float
        Largest number of cells that are measured one by one; a larger pair has at most about half as many groups.
    """
    candidates = [
        (scheme, resolution(first, second, scheme))
        for scheme in schemes(first.size, second.size, rows, max_cells=max_cells)
    ]
    return [r for scheme, r in candidates if scheme.has_sense(r.sizes, first.size * second.size)]


def resolution(first: Values, second: Values, scheme: Scheme) -> Resolution:
    """Return the resolution of a pair that is grouped in a way."""
    (of_first, masses), (of_second, other_masses) = map(Values.groups, (first, second), scheme.counts)
    return Resolution(scheme.name, (of_first, of_second), (masses, other_masses))


def _shapes(first: int, second: int, rows: float) -> list[Scheme]:
    """Return the ways to try: about equally many groups of both attributes, or all values of one."""
    side = math.sqrt(rows)
    both = (rows / second, second) if second < side else (first, rows / first) if first < side else (side, side)
    shapes = [Scheme("groups", both)]
    if second >= side and rows / second >= 1.9:
        shapes.append(Scheme("second", (rows / second, second)))
    if first >= side and rows / first >= 1.9:
        shapes.append(Scheme("first", (first, rows / first)))
    return shapes


def risk(counts: NDArray[np.int64], independent: Array, query: Partition, stddev: float) -> int:
    """Return a forecast of the L1 error of a measured pair, in units of 1 / `GRID` records.

    An estimate has the right sum: it is as much too high in some cells as it is too low in others, and the forecast is
    twice the latter. With T for the counts, M for the independent model's and s for the noise: if cells are measured,
    they are too low by ``min(.4 s, max(0, T - M) + .3 min(s, M, T))``. If groups are measured, their sums are too low
    by the same amount, and cells have the model's parts of the rest of the sums.

    One record more or less changes it by at most `RISK_SENSITIVITY`: the rest of a sum grows with it, and never
    faster. All is computed in integers, so that this holds exactly. The counts are secret, and so is the result.

    Parameters
    ----------
    counts : ndarray of int64, shape (cells,)
        Counts of the records.
    independent : ndarray, shape (cells,)
        Positive counts, the model's, of sum below 2^36.
    query : Partition
        The sums that are measured.
    stddev : float
        Standard deviation of the noise of each answer, in counts.
    """
    secret = counts if float(counts.sum(dtype=np.float64)) < _COUNT_LIMIT else counts.astype(object)
    if query.is_identity:
        return int(_twice(_too_low(secret, independent, stddev)))
    sums = np.zeros(query.shape[0], secret.dtype)
    np.add.at(sums, query.groups, secret)
    parts, models = _within(independent, query)
    kept = (sums << _KEPT) - (_too_low(sums, models, stddev) >> _PARTS)
    return int(_twice((secret << _FINE) - parts * kept[query.groups]))


def risks_of_cells(counts: NDArray[np.int64], independent: Array, stddevs: Array) -> NDArray[np.int64]:
    """Return the `risk` of each of many tables of equally many cells, rows of arrays, measured cell by cell."""
    return _twice(_too_low(counts, independent, stddevs[:, None]))


def _within(independent: Array, query: Partition) -> tuple[NDArray[np.int64], Array]:
    """Return the share of each model cell in its group, in integers, and the groups' counts.

    Rounded down, parts of a group sum to at most one: a record more makes other cells too low by at most 1 less.
    """
    models: Array = np.bincount(query.groups, independent, query.shape[0]).astype(np.float64)
    parts = np.floor(independent / models[query.groups] * ((1 << _PARTS) - 1))
    return parts.astype(np.int64), models


def _too_low(counts: NDArray[np.int64], model: Array, stddev: float | Array) -> NDArray[np.int64]:
    """Return the amount by which noise makes each sum too low; one more record adds 0 to 1."""
    there, expected = counts << _FINE, _fixed(model)
    noise = _fixed(np.minimum(np.array([stddev, _NOISE * stddev]), _COUNT_LIMIT))
    kept, of = _LEAK
    leak = np.minimum(np.minimum(there, expected), noise[0]) * kept // of
    shortfall: NDArray[np.int64] = np.minimum(np.maximum(there - expected, 0) + leak, noise[1])
    return shortfall


def _fixed(values: Array) -> NDArray[np.int64]:
    return np.rint(values * (1 << _FINE)).astype(np.int64)


def _twice(too_low: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return twice the sum of the positive values along the last axis, rounded down to `GRID`."""
    return np.asarray(np.maximum(too_low, 0).sum(axis=-1) // ((1 << _FINE) // (2 * GRID)))
