"""Pairs of the attributes to be predicted, for few records or little budget: the strongest finely, all in halves."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
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

# Chosen on made-up tables and on adult, fire and msnbc epsilon .1, .3 and 1; see bench/README.md.
_PICKS = 3
_PICKING = Fraction(3, 100)  # of rho, for all picks
_PICKED = Fraction(15, 100)  # of rho, for the measurements of picked pairs
_SEEN = 0.05  # of the records: noise in a distance of the screen up to which it shows the strongest pairs itself
_BLIND = 0.1  # of the records: scale of the noise in a pick above which it would be chance
_ROWS = 1.0  # of N / sigma: number of groups in which a picked pair is measured
_MAX_CELLS = 10**6  # of a picked pair measured cell by cell


def measure_strongest(
    run: Run, pairs: Sequence[Clique], start: Independent, ordered: Collection[str], seen: float
) -> list[LinearMeasurement]:
    """Pick the pairs of targets that are furthest from independence, and measure them finely.

    A target may follow from one attribute. Noise in all distances together hides which, but one exponential mechanism
    for each pick finds it for little, however many pairs there are. Distances are compared in the sums that would be
    measured, beyond what is expected of independent attributes. Nothing is picked where the noise `seen` in the
    distances of a screen, a share of the records, is low, or where picks would be chance.
    """
    privacy, total = run.table.privacy, start.total
    scale = privacy.l1_score_range / math.sqrt(8 * run.rho * _PICKING / _PICKS) / (2 * total)
    if len(pairs) <= _PICKS or seen <= _SEEN or scale > _BLIND:
        return []
    rows = max(4.0, _ROWS * total / run.stddev(run.rho * _PICKED / _PICKS))
    values = {a: Values(start.shares[a], a in ordered) for pair in pairs for a in pair}
    looks = {p: _finest(values[p[0]], values[p[1]], rows) for p in pairs}
    sums = {p: look.query.matvec(start.counts(p)) for p, look in looks.items()}
    offsets = [-2 * total * _expected(start, p, looks[p], sums[p]) for p in pairs]
    selector = run.table.l1_selector(pairs, sums.__getitem__, lambda pair: looks[pair].query)
    places = selector.select_top(None, _PICKS, rho=run.rho * _PICKING, offsets=offsets)
    picked = [pairs[i] for i in places]
    return run.table.measure_many(picked, [looks[p].measured_query() for p in picked], rho=run.rho * _PICKED)


def _finest(first: Values, second: Values, rows: float) -> Resolution:
    """Return about `rows` groups of both attributes, or all cells if there are no more."""
    options = resolutions(first, second, rows, max_cells=_MAX_CELLS)
    return options[min(1, len(options) - 1)]


def _expected(start: Independent, pair: Clique, look: Resolution, sums: NDArray[np.float64]) -> float:
    """Return the total variation to be expected in sums of independent attributes: by chance, and of their noise."""
    of_noise = (start.error(a, np.ones(1), groups)[0] for a, groups in zip(pair, look.groups, strict=True))
    return math.hypot(by_chance(sums, start.total), *of_noise)


def measure_halves(
    run: Run, pairs: Sequence[Clique], start: Independent, ordered: Collection[str], rho: Fraction
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
