"""Pairs of the attributes to be predicted, for few records or little budget: the strongest finely, all in halves."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pypgm.mechanisms.pair_dependence import by_chance
from pypgm.mechanisms.resolution import Resolution, Values, resolutions
from pypgm.queries import Contrasts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.domain import Clique
    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.run import Run

# A half: pairs of targets count as much as all other answers together. A quarter predicts less on made-up tables; .7
# predicts more on two of five and less on three, and other pairs err more: see bench/README.md.
TARGETS_SHARE = 0.5  # of rho, at least, for pairs where there are targets

# Chosen on made-up tables and on adult, fire and msnbc epsilon .1; see bench/README.md.
_PICKS = 2
_PICKING = Fraction(6, 100)  # of rho, for all picks
_PICKED = Fraction(16, 100)  # of rho, for the measurements of picked pairs
_SEEN = 0.05  # of the records: noise in a distance of the screen up to which it shows the strongest pairs itself
_BLIND = 0.1  # of the records: scale of the noise in a pick above which it would be chance
_ROWS = 1.0  # of N / sigma: number of groups in which a picked pair is measured
_MAX_CELLS = 10**6  # of a picked pair measured cell by cell
_GRID = 1 << 10  # of a target's shares: distances are integers in units of 2^-10 records
_COUNT_LIMIT = 1 << 36  # of records, below which int64 holds the distances


def measure_strongest(
    run: Run, pairs: Mapping[Clique, str], start: Independent, ordered: Collection[str], seen: float
) -> list[LinearMeasurement]:
    """Pick the pairs of targets that are furthest from independence, and measure them finely.

    A target may follow from one attribute. Noise in all distances together hides which, but one exponential mechanism
    for each pick finds it for little, however many pairs there are. Distances are those of the sums that would be
    measured, beyond chance. Nothing is picked where the noise `seen` in the distances of a screen, a share of the
    records, is low, or where picks would be chance.
    """
    if len(pairs) <= _PICKS or seen <= _SEEN:
        return []
    privacy, total = run.table.privacy, start.total
    rows = max(4.0, _ROWS * total / run.stddev(run.rho * _PICKED / _PICKS))
    values = {a: Values(start.shares[a], a in ordered) for pair in pairs for a in pair}
    looks = {p: _finest(values[p[0]], values[p[1]], rows) for p in pairs}
    axes = {pair: pair.index(target) for pair, target in pairs.items()}
    shares = {p: _on_grid(look.masses[axes[p]]) for p, look in looks.items()}
    change = max(2 * (_GRID - min(of.tolist())) for of in shares.values())  # see `distance`
    scale = privacy.l1_score_range * change / _GRID / math.sqrt(8 * run.rho * _PICKING / _PICKS) / (2 * total)
    if scale > _BLIND:
        return []

    cliques = list(pairs)

    def score(number: int, counts: NDArray[np.int64]) -> int:
        pair = cliques[number]
        return distance(counts, looks[pair], axes[pair], shares[pair])

    selector = run.table.selector(cliques, score, sensitivity=change * (2 if privacy.total_is_public else 1))
    offsets = [-2 * total * _GRID * float(by_chance(looks[p].query.matvec(start.counts(p)), total)) for p in pairs]
    places = selector.select_top(None, _PICKS, rho=run.rho * _PICKING, offsets=offsets)
    picked = [cliques[i] for i in places]
    return run.table.measure_many(picked, [looks[p].measured_query() for p in picked], rho=run.rho * _PICKED)


def _on_grid(masses: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return shares in units of 1 / `_GRID`, whole numbers whose sum is `_GRID`."""
    return np.asarray(np.diff(np.rint(_GRID * np.cumsum(masses) / masses.sum()), prepend=0), np.int64)


def distance(counts: NDArray[np.int64], look: Resolution, axis: int, shares: NDArray[np.int64]) -> int:
    """Return the L1 distance of a pair's sums from those in which each group of one side has the target's shares.

    With c_gh for the sums, c_g for those of the other attribute alone and q_h for the shares, of sum G, it is
    ``sum_gh |G c_gh - q_h c_g|``: the other attribute's counts are the records' own, so no noise in them counts. One
    record more in c_gh changes the terms of its g alone, that of h by ``G - q_h`` at most and each other one by its q:
    by ``2 (G - min q)`` in all. In integers this holds exactly. The counts are secret, and so is the result.

    Parameters
    ----------
    counts : ndarray of int64, shape (cells,)
        Counts of the records.
    look : Resolution
        Groups of both attributes.
    axis : int
        Side of the target in the pair.
    shares : ndarray of int64, shape (groups of the target,)
        Released shares of its groups.
    """
    secret = counts if float(counts.sum(dtype=np.float64)) < _COUNT_LIMIT else counts.astype(object)
    sums = np.zeros(look.query.shape[0], secret.dtype)
    np.add.at(sums, look.query.groups, secret)
    table = np.moveaxis(sums.reshape(look.sizes), axis, -1)
    return int(np.abs(_GRID * table - shares * table.sum(axis=1, keepdims=True)).sum())


def _finest(first: Values, second: Values, rows: float) -> Resolution:
    """Return about `rows` groups of both attributes, or all cells if there are no more."""
    options = resolutions(first, second, rows, max_cells=_MAX_CELLS)
    return options[min(1, len(options) - 1)]


def measure_halves(
    run: Run, pairs: Collection[Clique], start: Independent, ordered: Collection[str], rho: Fraction
) -> list[LinearMeasurement]:
    """Measure the interaction of the halves of both attributes of each pair, with equal parts of rho.

    One number each tells most of a dependence where noise would hide it in more. Halves follow from released counts:
    those of an ordered attribute are cut at its median, of another one its most frequent values are one half.
    """
    values = {a: Values(start.shares[a], a in ordered) for pair in pairs for a in pair}
    halves = {a: v.groups(2)[0] for a, v in values.items()}
    telling = [p for p in pairs if all(halves[a].max() == 1 for a in p)]
    queries = [Contrasts([2, 2], [halves[a] for a in p]) for p in telling]
    return run.table.measure_many(telling, queries, rho=rho) if telling else []
