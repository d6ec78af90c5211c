"""Quantiles and bounds of a numeric column, among the points of a public grid."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.privacy.charged_noise import charge_noise
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.noise import unsafe_words
from pypgm.privacy.rational import Number, as_fraction
from pypgm.privacy.relation import Privacy
from pypgm.privacy.selection import drawable_rate, select_exponential, selection_epsilon
from pypgm.privacy.unknown_keys import noise_threshold
from pypgm.queries import Identity

__all__ = ["private_bounds", "private_quantiles", "rank_scores"]

_DENOMINATOR_LIMIT = 1 << 18  # times any number of records below 2^44 a score stays in int64


def private_quantiles(
    values: ArrayLike,
    quantiles: Sequence[Number],
    grid: ArrayLike,
    ledger: Ledger,
    privacy: Privacy,
    *,
    rho: Fraction | None = None,
    epsilon: Fraction | None = None,
    unsafe_seed: int | None = None,
) -> NDArray[np.float64]:
    """Select quantiles of a numeric column among the points of a grid, each by an exponential mechanism.

    Parameters
    ----------
    values : array_like of float, shape (records,)
        The column; infinities are larger or smaller than any point.
    quantiles : sequence of number
        Each in [0, 1]; a float means its shortest decimal.
    grid : array_like of float, shape (points,)
        The candidates, strictly rising, chosen without looking at the data.
    ledger : Ledger
        Charged before the values are looked at.
    privacy : Privacy
        The neighbour relation.
    rho, epsilon : Fraction
        Exactly one, of all quantiles together, of which each costs an equal part.
    unsafe_seed : int, optional
        Draw from this number: private for nobody, and the ledger says so.

    Returns
    -------
    ndarray of float64, shape (quantiles,)
        Points of the grid, in the order asked, made to rise with the quantile.

    Raises
    ------
    BudgetError
        If the charge does not fit; then nothing was read or charged.
    ValueError
        If the values hold NaN, the grid does not rise or is empty, or a quantile is out of range.

    References
    ----------
    Smith 2011, "Privacy-preserving statistical estimation with optimal convergence rates" (the rank as a score).

    Examples
    --------
    >>> from pypgm import Budget
    >>> ledger = Ledger(Budget(epsilon=100))
    >>> private_quantiles(range(1001), [0.5], [0, 250, 500, 750], ledger, Privacy(), epsilon=Fraction(1)).tolist()
    [500.0]
    """
    column, points = _numbers("values", values), _points(grid)
    wanted = [_quantile(q) for q in quantiles]
    if not wanted:
        raise ValueError("at least one quantile is needed")
    words = unsafe_words(unsafe_seed)
    if words is not None:
        ledger.mark_not_private("drawn from a seed")
    count = len(wanted)
    share = selection_epsilon(None if rho is None else rho / count, None if epsilon is None else epsilon / count, 8)
    ranges = [privacy.quantile_score_range(q) for q in wanted]
    rates = [drawable_rate(share / r) for r in ranges]
    used = [rate * r for rate, r in zip(rates, ranges, strict=True)]
    with ledger.allocate("quantiles", amount=sum(ledger.cost_of_range(e) for e in used)) as part:
        for q, r, e in zip(wanted, ranges, used, strict=True):
            part.charge_exponential("select", f"quantile {q} on {points.size} points", epsilon=e, score_range=r)
    found = [
        points[select_exponential(rank_scores(column, q, points), rate, words)]
        for q, rate in zip(wanted, rates, strict=True)
    ]
    in_order = np.empty(count)
    in_order[np.argsort(np.array(wanted, dtype=np.float64), kind="stable")] = np.sort(np.array(found))
    return in_order


def private_bounds(
    values: ArrayLike,
    grid: ArrayLike,
    ledger: Ledger,
    privacy: Privacy,
    *,
    scale: Fraction | None = None,
    variance: Fraction | None = None,
    unsafe_seed: int | None = None,
) -> tuple[float, float]:
    """Return points of a grid between which a numeric column lies, but for values too few to be seen in the noise.

    The records between successive points are counted with noise; the bounds are the outer ends of the first and last
    cell whose count noise alone would reach in no cell but with probability 1/1000. Without one, they are those of
    the grid. Cells that widen like powers of 2 find the magnitude of a column of unknown unit.

    Parameters
    ----------
    values : array_like of float, shape (records,)
        The column; values beyond the grid count to its outer cells.
    grid : array_like of float, shape (points,)
        Strictly rising, at least two, chosen without looking at the data.
    ledger : Ledger
        Charged before the values are looked at.
    privacy : Privacy
        The neighbour relation.
    scale, variance : Fraction
        Exactly one: of discrete Laplace, or the parameter of discrete Gaussian noise.
    unsafe_seed : int, optional
        Draw from this number: private for nobody, and the ledger says so.

    Raises
    ------
    BudgetError
        If the charge does not fit; then nothing was read or charged.
    ValueError
        If the values hold NaN, or the grid does not rise or has fewer than two points.

    References
    ----------
    Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo and Gipson 2020, "Differentially Private SQL with Bounded User
    Contribution" (approximate bounds).

    Examples
    --------
    >>> from pypgm import Budget
    >>> ledger = Ledger(Budget(epsilon=1))
    >>> powers = [-(2.0**i) for i in range(9, -1, -1)] + [2.0**i for i in range(10)]
    >>> private_bounds(np.linspace(-3, 30, 5000), powers, ledger, Privacy(), scale=Fraction(2))
    (-4.0, 32.0)
    """
    column, points = _numbers("values", values), _points(grid)
    if points.size < 2:
        raise ValueError("a grid for bounds needs two points or more")
    words = unsafe_words(unsafe_seed)
    if words is not None:
        ledger.mark_not_private("drawn from a seed")
    cells = points.size - 1
    on = f"{cells} cells"
    noise = charge_noise(ledger, privacy, Identity(cells), "bounds", on, scale=scale, variance=variance, words=words)
    places = np.clip(np.searchsorted(points, column, side="right") - 1, 0, cells - 1)
    counts = noise.add(np.bincount(places, minlength=cells).astype(np.int64))
    filled = np.flatnonzero(counts >= noise_threshold(noise, Fraction(1, 1000 * cells)))
    if filled.size == 0:
        return float(points[0]), float(points[-1])
    return float(points[filled[0]]), float(points[filled[-1] + 1])


def rank_scores(values: NDArray[np.float64], quantile: Fraction, points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for every point minus b times the records it is away from being the quantile a / b: 0 for a quantile.

    A point is one if at most a / b of the records are below it and at most 1 - a / b above. Sensitivity and range:
    `Privacy.quantile_score_range`.
    """
    a, b = quantile.numerator, quantile.denominator
    column = np.sort(values)
    less = np.searchsorted(column, points, side="left").astype(np.int64)
    more = column.size - np.searchsorted(column, points, side="right").astype(np.int64)
    too_many_below = (b - a) * less - a * (column.size - less)
    too_many_above = a * more - (b - a) * (column.size - more)
    scores: NDArray[np.int64] = -np.maximum(0, np.maximum(too_many_below, too_many_above))
    return scores


def _numbers(name: str, given: ArrayLike) -> NDArray[np.float64]:
    numbers = np.asarray(given, dtype=np.float64)
    if numbers.ndim != 1 or np.isnan(numbers).any():
        raise ValueError(f"{name} need one dimension and no NaN, got shape {numbers.shape}")
    return numbers


def _points(grid: ArrayLike) -> NDArray[np.float64]:
    points = _numbers("grid", grid)
    if points.size == 0 or not np.isfinite(points).all() or (np.diff(points) <= 0).any():
        raise ValueError("grid needs finite points that rise strictly, at least one")
    return points


def _quantile(given: Number) -> Fraction:
    quantile = as_fraction("quantile", given)
    if not 0 <= quantile <= 1 or quantile.denominator >= _DENOMINATOR_LIMIT:
        raise ValueError(f"a quantile must be a rational in [0, 1] with a denominator below 2^18, got {given}")
    return quantile
