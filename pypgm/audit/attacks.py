"""Attacks of an adversary with many runs, or with a look at the last bits of one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from pypgm.audit.finding import Finding, finding, skipped
from pypgm.audit.laws import GAUSSIAN, Noise
from pypgm.audit.pairs import Pair, table
from pypgm.audit.samplers import ALPHA, draw
from pypgm.audit.trace import Draw, Mechanism, observe
from pypgm.domain import Domain
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Sampler

Measure = Callable[[NDArray[np.int64]], Any]
Redraw = Callable[[Draw, NDArray[np.int64], int], NDArray[np.int64]]

_CONFIDENCE = 0.999999  # of each of two bounds: a mechanism as tight as its claim is accused once in 1e9 runs or less


def check_precision_of_draws(subject: str, measure: Measure, n: int = 1_000_000) -> Finding:
    """Look for released values near 0 that only a true count of 0, or only a true count of 1, can give.

    Floats are finest near 0: a released value below 1/4 in size and off the grid of 2^-54 rules out a count of 1.
    """
    events = [_telling(measure(np.full(n, x, dtype=np.int64))) for x in (0, 1)]
    defects = (
        [("precision", f"{events[0]} of {n} releases of 0 and {events[1]} of 1 tell which")] if any(events) else []
    )
    return finding("precision attack", subject, defects, f"0 and 0 telling values in {n} draws each")


def check_precision_of_releases(subject: str, mechanism: Mechanism, releases: int = 2000) -> Finding:
    """Run the same attack on all measured values of whole releases, half of them of a table with one more record."""
    pair = audit_pairs(2)[1]
    events, values = [0, 0], 0
    budget = Budget(epsilon=3, delta=Fraction(1, 10**6))
    for i in range(releases):
        release = mechanism((pair.one, pair.other)[i % 2], budget, pair.privacy)
        for measurement in release.measurements:
            values += np.size(measurement.values)
            events[i % 2] += _telling(measurement.values)
    defects = [("precision", f"{events[0]} and {events[1]} values of {releases} releases tell")] if any(events) else []
    return finding(
        "precision attack", subject, defects, f"0 telling values among {values} of {releases} whole releases"
    )


def _telling(released: ArrayLike) -> int:
    y = np.asarray(released)
    if np.issubdtype(y.dtype, np.integer):
        return 0  # an integer below 1/4 in size is 0, which lies on every grid
    return int(((np.abs(y) < 0.25) & (np.fmod(y, 2.0**-54) != 0)).sum())


def audit_pairs(k: int = 3) -> list[Pair]:
    """Return the worst pairs of at most 16 cells: one attribute, one more record among empty cells, one replaced."""
    one = Domain({"cell": 16})
    three = Domain({"a": 2, "b": 2, "c": 2})
    empty = np.zeros((0, 1), dtype=np.int64)
    pairs = [Pair("one attribute", table(empty, one), table(np.array([[3]]), one), Privacy(), neighbours=True)]
    base = np.array([[0, 0, 0]] * 4)
    more = np.vstack([base, [[1, 1, 1]]])
    pairs.append(Pair("three attributes", table(base, three), table(more, three), Privacy(), neighbours=True))
    lone, two = np.array([[0]] * 5), np.array([[0]] * 4 + [[9]])
    pairs.append(Pair("one replaced", table(lone, one), table(two, one), Privacy("replace"), neighbours=True))
    return pairs[:k]


def check_gaussian_audit(
    subject: str, mechanism: Mechanism, pair: Pair, runs: int = 200_000, redraw: Redraw | None = None
) -> Finding:
    """Distinguish neighbours by the likelihood ratio of everything a mechanism draws, many times over.

    One run shows the numbers given to the samplers on each table; each is then drawn again `runs` times a side.
    The log-likelihood ratio of all draws is compared with a threshold that was picked on one half; Clopper-Pearson
    bounds at 99.9999 % on the other half bound the mu of Gaussian differential privacy from below. The claim is
    epsilon 3 at delta 1e-6, as rho-zCDP.
    """
    budget = Budget(epsilon=3, delta=Fraction(1, 10**6))
    one = observe(mechanism, pair.one, budget, pair.privacy)
    other = observe(mechanism, pair.other, budget, pair.privacy, like=one)
    claimed = largest_mu(budget.limit)
    sides = [np.zeros(runs), np.zeros(runs)]
    for draws in zip(one.draws, other.draws, strict=True):
        if np.array_equal(draws[0].private, draws[1].private):
            continue  # whatever comes out reveals nothing
        differing = _differing(*draws)
        for side, source in enumerate(differing):
            outcomes = (redraw or _again)(source, source.private, runs)
            mine, theirs = (draw.private for draw in differing)
            sides[side] += source.law.log_ratio(mine, theirs, source.parameter, outcomes)
    bound = lower_bound(sides[0], sides[1])
    figures = f"mu >= {bound:.3f}, claimed {claimed:.3f} ({bound / claimed:.2f} of it), {runs} runs a side"
    defects = [("too little noise", figures)] if bound > claimed else []
    return finding("gaussian audit", f"{subject}, {pair.name}", defects, figures)


def _differing(one: Draw, other: Draw) -> tuple[Draw, Draw]:
    """Return both draws restricted to the numbers that differ; scores decide together, so all are kept."""
    if one.law.hides_scores:
        return one, other
    differs = one.private != other.private
    return replace(one, private=one.private[differs]), replace(other, private=other.private[differs])


def largest_mu(rho: Fraction) -> float:
    """Return the mu of the best threshold on one discrete Gaussian draw that costs rho, against a shift by 1.

    Thresholds are whole numbers, so it is a little above sqrt(2 rho), the mu of the density: 1.6 % at sigma 1.64.
    """
    variance = 1 / (2 * float(rho))
    chances = GAUSSIAN.pmf(math.sqrt(variance), int(40 * math.sqrt(variance)) + 2)[1]
    tails = np.cumsum(chances[::-1])[::-1]
    between = tails[(tails > 1e-3) & (tails < 1 - 1e-3)]
    return max(math.sqrt(2 * rho), float(np.diff(stats.norm.isf(between)).max(initial=0)))


def _again(source: Draw, private: NDArray[np.int64], runs: int) -> NDArray[np.int64]:
    """Draw again from the shipped samplers: shape (runs, numbers), or (runs,) of selected positions."""
    sampler = getattr(Sampler(), source.law.short)
    if source.law.hides_scores:
        return np.array([sampler(private, source.parameter) for _ in range(runs)])
    add = sampler(source.parameter)
    return np.stack([add(np.full(runs, x, dtype=np.int64)) for x in private.tolist()], axis=1)


def lower_bound(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return a lower bound on mu from statistics that are larger on the other side."""
    half = one.size // 2
    thresholds = np.quantile(np.concatenate([one[:half], other[:half]]), np.linspace(0.02, 0.98, 97))
    best = max(thresholds, key=lambda t: _bound(one[:half], other[:half], t))
    return _bound(one[half:], other[half:], best)


def _bound(one: NDArray[np.float64], other: NDArray[np.float64], threshold: float) -> float:
    false_alarms, misses = int((one > threshold).sum()), int((other <= threshold).sum())
    worst = (_upper(false_alarms, one.size), _upper(misses, other.size))
    return float(stats.norm.isf(worst[0]) - stats.norm.ppf(worst[1]))


def _upper(successes: int, trials: int) -> float:
    """Return the Clopper-Pearson upper bound of a probability."""
    if successes == trials:
        return 1.0
    return float(stats.beta.ppf(_CONFIDENCE, successes + 1, trials - successes))


def check_other_sampler(law: Noise, scale: Fraction, n: int = 100_000) -> Finding:
    """Compare draws with equally many of OpenDP's independent samplers, if it is installed."""
    subject = f"{law.short}, scale {float(scale):g}"
    try:
        theirs = _opendp(law, float(scale), n)
    except ImportError:
        return skipped("two samples", subject, "OpenDP is not installed")
    ours = draw(law, scale, n)
    edges = np.unique(np.quantile(np.concatenate([ours, theirs]), np.linspace(0, 1, 41)[1:-1]).astype(np.int64))
    counts = np.stack([np.bincount(np.searchsorted(edges, x), minlength=edges.size + 1) for x in (ours, theirs)])
    p = float(stats.chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue)
    defects = [("wrong law", f"p = {p:.1e} against OpenDP over {n} draws each")] if p < ALPHA else []
    return finding("two samples", subject, defects, f"p = {p:.3f} against OpenDP, n = {n:.0e}")


def _opendp(law: Noise, scale: float, n: int) -> NDArray[np.int64]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    distance = dp.l1_distance(T="i64") if law.power == 1 else dp.l2_distance(T=float)
    measurement = getattr(dp.m, f"make_{law.short}")(domain, distance, scale)
    return np.array(measurement([0] * n), dtype=np.int64)
