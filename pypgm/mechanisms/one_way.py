"""Denoised counts of one attribute: the independent model that pairs are compared with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import as_generator
from pypgm.clique_vector import CliqueVector
from pypgm.estimation.independence import nearest
from pypgm.estimation.measurement import LinearMeasurement, joined_marks
from pypgm.estimation.total import estimate_total
from pypgm.mechanisms.resolution import contrasts_cost
from pypgm.models import GraphicalModel
from pypgm.queries import Contrasts

if TYPE_CHECKING:
    from fractions import Fraction

    from pypgm.domain import Clique, Domain
    from pypgm.mechanisms.run import Run

__all__ = ["POWER", "Independent", "denoised", "independent", "measure_singles", "nearest", "smoothed", "total_of"]

Array = NDArray[np.float64]

POWER = 2 / 3  # of the number of cells: the shares of rho that minimise the sum of errors
_SHIFTS = 8
_SIGNALS = np.array([0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512])[:, None, None]  # standard deviations, in noise's
_RATES = np.array([0.05, 0.2, 0.5, 0.8, 1.0])[:, None]  # of coefficients that are not zero
_MOST_FITTED = 1 << 12  # most details to which a mixture is fitted one by one
_GROUPS = 64  # groups of details for each factor of e
_PENALTY = 0.5  # of the log-likelihood: chance gain from fitting rate and deviation
_ABSOLUTE = 0.4  # of a standard deviation: half the mean absolute error, which total variation counts
_AGAIN, _SEED = 4, 0x73696E67  # draws of fresh noise that tell the error of denoising, and their seed
_AT_ONCE = 1 << 16  # cells of pairs that are listed together
_FLOOR = 0.03  # of the standard deviation: least count of a value in the independent model


def smoothed(counts: Array, stddev: float) -> Array:
    """Return noisy counts with the Haar coefficients along their codes shrunk, averaged over shifts.

    Coefficients of each level are shrunk to their posterior means under a mixture of zero and a normal distribution,
    fitted to that level: hardly at all where neighbouring codes have nothing in common. Ends are reflected. Each row of
    counts is smoothed by itself.
    """
    n = counts.shape[-1]
    if n < 4:
        return counts
    length = 1 << int(np.ceil(np.log2(n + _SHIFTS)))
    there_and_back = np.concatenate([counts, counts[..., ::-1]], axis=-1).reshape(-1, 2 * n)
    before = _SHIFTS // (2 * n) + 1  # periods of the reflected counts
    long = np.tile(there_and_back, before + 1 + length // (2 * n) + 1)
    first, mean = 2 * n * before, np.zeros((len(long), n))
    shifted = itertools.product(range(len(long)), range(_SHIFTS))
    while some := list(itertools.islice(shifted, max(1, _MOST_FITTED // length))):
        rows = _haar(np.stack([long[i, first - k : first - k + length] for i, k in some]), stddev)
        for (i, k), row in zip(some, rows, strict=True):
            mean[i] += row[k : k + n]
    mean /= _SHIFTS
    return mean.reshape(counts.shape)


def _haar(signals: Array, stddev: float) -> Array:
    """Shrink the details of each level of an orthonormal Haar transform of each row; a power of two of values."""
    details = []
    while signals.shape[1] > 1:
        even, odd = signals[:, 0::2], signals[:, 1::2]
        details.append(_shrunk((even - odd) / np.sqrt(2), stddev))
        signals = (even + odd) / np.sqrt(2)
    for detail in reversed(details):
        signals = (np.stack([signals + detail, signals - detail], axis=2) / np.sqrt(2)).reshape(len(signals), -1)
    return signals


def _shrunk(details: Array, stddev: float) -> Array:
    """Return posterior means under (1 - rate) zero + rate Normal(0, (signal stddev)^2), of each row's best fit."""
    half_squares = 0.5 * np.square(details / stddev)
    variances = 1 + np.square(_SIGNALS)
    values, times = _grouped(half_squares)
    fits = (_log_densities(values[:, None, None], variances) * times).sum(axis=-1) - _PENALTY
    signal, rate = np.unravel_index(fits.reshape(len(fits), -1).argmax(axis=1), fits.shape[1:])
    variance = variances[signal, 0]
    zero, normal = _logs(half_squares, _RATES[rate], variance)
    odds = np.minimum(zero - normal, 700.0)
    better = fits[np.arange(len(fits)), signal, rate] > -half_squares.sum(axis=1)
    return np.asarray(np.where(better[:, None], details * (1 - 1 / variance) / (1 + np.exp(odds)), 0.0))


def _logs(half_squares: Array, rates: Array, variances: Array) -> tuple[Array, Array]:
    """Return the log-densities of both parts of the mixture."""
    with np.errstate(divide="ignore"):
        zero = np.log1p(-rates) - half_squares  # -inf at rate 1
    return zero, np.log(rates) - 0.5 * np.log(variances) - half_squares / variances


def _log_densities(half_squares: Array, variances: Array) -> Array:
    """Return the log-densities of the mixture at all rates, as many exponentials as there are variances.

    The wider part is factored out: its share is never 0, and what is left of the narrower one is at most 1.
    """
    zero = np.exp(-half_squares * (1 - 1 / variances))
    return np.asarray(np.log((1 - _RATES) * zero + _RATES / np.sqrt(variances)) - half_squares / variances)


def _grouped(half_squares: Array) -> tuple[Array, Array | float]:
    """Return values to fit the mixture to, and their frequencies; many values become means of similar ones.

    As only two numbers are fitted, details that differ by a 64th of the noise, or of their size, count as equal.
    """
    if half_squares.size <= _MOST_FITTED:
        return half_squares, 1.0  # more are one row
    group = np.rint(_GROUPS * np.arcsinh(np.sqrt(half_squares[0]))).astype(np.int64)
    times = np.bincount(group)
    sums = np.bincount(group, half_squares[0])
    return (sums[times > 0] / times[times > 0])[None], times[times > 0].astype(np.float64)


def measure_singles(
    run: Run, rho: Fraction, among: Sequence[Clique] | None = None, *, contrasts: bool = False
) -> list[LinearMeasurement]:
    """Measure attributes, by default all, with the shares of rho that minimise the sum of their errors.

    If the number of records is known, `contrasts` are as informative as counts, and cost less if one more record
    changes them less.
    """
    domain = run.domain
    singles = [(a,) for a in domain] if among is None else among
    cliques = [c for c in singles if domain.size(c) > 1 or run.total is None]
    cost_of = contrasts_cost if contrasts else lambda *_: 1.0
    costs = [cost_of(run.table.privacy, domain.sizes(c)) if domain.size(c) > 1 else 1.0 for c in cliques]
    queries = [Contrasts(domain.sizes(c)) if cost < 1 else None for c, cost in zip(cliques, costs, strict=True)]
    weights = [domain.size(c) ** POWER * cost ** (1 - POWER) for c, cost in zip(cliques, costs, strict=True)]
    return run.table.measure_many(cliques, queries, rho=rho, weights=weights) if cliques else []


def denoised(start: Independent, singles: Sequence[LinearMeasurement]) -> list[LinearMeasurement]:
    """Return the denoised counts of measured attributes for the estimate, with the noise they had.

    Denoising knows more of an attribute's noise than the estimate does, which would follow it again.
    """
    marks = joined_marks(singles)
    return [
        LinearMeasurement(start.total * start.shares[a], (a,), stddev, not_private=marks)
        for a, stddev in start.stddevs.items()
    ]


def total_of(run: Run, singles: Sequence[LinearMeasurement]) -> float:
    """Return the number of records, at least 1."""
    return estimate_total(run.domain, singles)[0] if run.total is None else max(1.0, float(run.total))


@dataclass(frozen=True, slots=True, eq=False)
class Independent:
    """Independent model, which pairs are compared with and the estimate starts from.

    Attributes
    ----------
    shares : mapping of str to ndarray
        Shares of the records of each attribute's values; positive.
    total : float
        Number of records.
    stddevs : mapping of str to float
        Noise of the counts of each measured attribute.
    """

    shares: Mapping[str, Array]
    total: float
    stddevs: Mapping[str, float] = field(default_factory=dict)

    def counts(self, pair: Clique) -> Array:
        """Return the cells of a pair."""
        first, second = (self.shares[a] for a in pair)
        return self.total * np.multiply.outer(first, second).ravel()

    def stacked(self, pairs: Sequence[Clique]) -> Iterator[tuple[NDArray[np.int64], Array]]:
        """Return the cells of many pairs, those of equally many values as rows of one array, with their positions."""
        of_shape: dict[tuple[int, int], list[int]] = {}
        for i, (a, b) in enumerate(pairs):
            of_shape.setdefault((self.shares[a].size, self.shares[b].size), []).append(i)
        for (rows, columns), every in of_shape.items():
            at_once = max(1, _AT_ONCE // (rows * columns))
            for some in (every[k : k + at_once] for k in range(0, len(every), at_once)):
                first, second = (np.array([self.shares[pairs[i][k]] for i in some]) for k in (0, 1))
                cells = self.total * (first[:, :, None] * second[:, None, :])
                yield np.array(some), cells.reshape(len(some), -1)

    def error(self, attribute: str, less: Array, groups: NDArray[np.int64] | None = None) -> Array:
        """Return a forecast of an attribute's total variation, or its groups', at several parts of the noise it has."""
        if attribute not in self.stddevs:
            return np.zeros_like(less)
        shares = self.shares[attribute]
        groups = np.arange(shares.size) if groups is None else groups
        most = 2 * self.total * np.bincount(groups, shares)
        noise = less[:, None] * self.stddevs[attribute] * np.sqrt(np.bincount(groups))
        return np.asarray(_ABSOLUTE * np.minimum(noise, most).sum(axis=1) / self.total)

    def denoising_error(self, attribute: str) -> float:
        """Return the total variation error that remains after denoising an attribute's own counts with fresh noise."""
        if attribute not in self.stddevs:
            return 0.0
        rng, shares, stddev = as_generator(_SEED), self.shares[attribute], self.stddevs[attribute]
        noise = stddev * rng.standard_normal((_AGAIN, shares.size))  # of released numbers: it protects nobody
        counts = self.total * shares + noise
        again = map(partial(_kept, stddev=stddev, total=self.total), counts, smoothed(counts, stddev))
        return float(np.mean([0.5 * np.abs(a - shares).sum() for a in again]))

    def model(self, domain: Domain) -> GraphicalModel:
        """Return it as a model."""
        logs = np.log(np.concatenate([self.shares[a] for a in domain]))
        return GraphicalModel(CliqueVector(domain, [(a,) for a in domain], logs), self.total)


def independent(run: Run, singles: Sequence[LinearMeasurement], *, alone: bool = False) -> Independent:
    """Return the independent model from measurements of attributes, denoised.

    The estimate of an attribute is the mean of the counts nearest to the answers and of those nearest to smoothed
    answers: each is better on some attributes, and the mean is hardly worse than either. If only attributes are
    measured, `alone`, and all answers together are about as near to uniform counts as noise would leave them, the
    model is the uniform one.
    """
    total = total_of(run, singles)
    noisy: dict[str, tuple[Array, float]] = {}
    for m in singles:
        noisy[m.clique[0]] = _combined(noisy.get(m.clique[0]), *_counts(m))
    shares = {a: np.full(n, 1 / n) for a, n in zip(run.domain.attributes, run.domain.shape, strict=True)}
    if not alone or _stand_out(noisy.values()):
        shares |= {a: _denoised(counts, stddev, total) for a, (counts, stddev) in noisy.items()}
    return Independent(shares, total, {a: stddev for a, (_, stddev) in noisy.items()})


def _counts(m: LinearMeasurement) -> tuple[Array, float]:
    """Return the counts of an attribute from a measurement, up to their mean, and the noise in each."""
    values, stddev, query = m.values.astype(np.float64), float(m.stddev), m.linear_map
    if not isinstance(query, Contrasts):
        return values, stddev
    return query.rmatvec(values) / query.squared_singular_value, stddev / math.sqrt(query.squared_singular_value)


def _combined(known: tuple[Array, float] | None, counts: Array, stddev: float) -> tuple[Array, float]:
    """Return the mean of noisy counts of one attribute, weighted by precision, and its noise."""
    if known is None:
        return counts, stddev
    precisions = known[1] ** -2, stddev**-2
    return np.average([known[0], counts], axis=0, weights=precisions), math.fsum(precisions) ** -0.5


def _stand_out(noisy: Collection[tuple[Array, float]]) -> bool:
    """Return whether counts differ more from uniform ones than noise alone does, by one standard deviation."""
    squares = math.fsum(float(np.square(c - c.mean()).sum()) / stddev**2 for c, stddev in noisy)
    degrees = sum(c.size - 1 for c, _ in noisy)
    return squares > degrees + math.sqrt(2 * degrees)


def _denoised(counts: Array, stddev: float, total: float) -> Array:
    """Return the share of the records of each value of an attribute."""
    return _kept(counts, smoothed(counts, stddev), stddev, total)


def _kept(counts: Array, smooth: Array, stddev: float, total: float) -> Array:
    """Return shares of the records from noisy counts and from smoothed ones."""
    kept = 0.5 * (nearest(counts, total) + nearest(smooth, total))
    kept = np.maximum(kept, _FLOOR * stddev)
    return np.asarray(kept / kept.sum())
