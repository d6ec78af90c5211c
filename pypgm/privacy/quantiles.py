"""Quantiles and bounds of a numeric column, among the points of a public grid."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.constraints import one_of
from pypgm.privacy.access import ColumnAccess, selection_epsilon
from pypgm.privacy.fixed_errors import fixed_errors
from pypgm.privacy.laws import Exponential
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.noise import drawable_rate
from pypgm.privacy.private_column import PrivateColumn
from pypgm.privacy.rational import Number, as_fraction
from pypgm.privacy.selector import SCORE_LIMIT
from pypgm.queries import Identity

_DENOMINATOR_LIMIT = 1 << 18


def private_quantiles(
    column: PrivateColumn,
    quantiles: Sequence[Number],
    grid: ArrayLike,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    parts: Sequence[Number] | None = None,
) -> NDArray[np.float64]:
    """Select quantiles of a numeric column among the points of a grid, each by an exponential mechanism.

    Parameters
    ----------
    column : PrivateColumn
        The numbers; infinities are larger or smaller than any point, nulls have no rank.
    quantiles : sequence of number
        Each in [0, 1]; a float means its shortest decimal.
    grid : array_like of float, shape (points,)
        The candidates, strictly rising, chosen without looking at the data.
    rho, epsilon : number
        Exactly one: the cost of all quantiles together.
    parts : sequence of number, optional
        Relative cost of each quantile, above 0; equal by default. A quantile near 0 or 1 needs more, as few records are
        between it and points beyond all records.

    Returns
    -------
    ndarray of float64, shape (quantiles,)
        Points of the grid, in the order of `quantiles`, made to rise with the quantile.

    Raises
    ------
    BudgetError
        If the charge does not fit; then nothing was read or charged.
    ValueError
        If the grid does not rise or is empty, or a number is out of range.

    References
    ----------
    Smith 2011, "Privacy-preserving statistical estimation with optimal convergence rates" (the rank as a score).

    Examples
    --------
    >>> from pypgm import Budget, Ledger, Privacy
    >>> column = PrivateColumn(range(1001), Privacy(), Ledger(Budget(epsilon=100)))
    >>> private_quantiles(column, [0.5], [0, 250, 500, 750], epsilon=1).tolist()
    [500.0]
    """
    access = column.trusted_access
    access.check_open()
    points = _points(grid)
    wanted = [_quantile(q) for q in quantiles]
    if not wanted:
        raise ValueError("at least one quantile is needed")
    count, ledger = len(wanted), access.ledger
    ranges = [access.privacy.quantile_score_range(q) for q in wanted]
    shares = _shares(ledger, count, parts, rho, epsilon)
    laws = [Exponential(drawable_rate(share / r) * r, r) for r, share in zip(ranges, shares, strict=True)]
    steps = [(f"quantile {q} on {points.size} points", law) for q, law in zip(wanted, laws, strict=True)]
    ledger.charge_many("select", steps, within="quantiles")
    with fixed_errors:
        drawn = _drawn(access, points, wanted, laws)
    in_order = np.empty(count)
    in_order[np.argsort(np.array(wanted, dtype=np.float64), kind="stable")] = np.sort(np.array(drawn))
    return in_order


def private_bounds(
    column: PrivateColumn,
    grid: ArrayLike,
    *,
    rho: Number | None = None,
    scale: Number | None = None,
    variance: Number | None = None,
) -> tuple[float, float]:
    """Return points of a grid between which a numeric column lies, except for values too few to be seen in the noise.

    The records between successive points are counted with noise; the bounds are the outer ends of the first and last
    cell with a noisy count that noise alone would reach in any cell with probability 1/1000 at most. Without such a
    cell, they are the ends of the grid. Cells that widen like powers of 2 find the magnitude of a column of unknown
    unit.

    Parameters
    ----------
    column : PrivateColumn
        The numbers; those beyond the grid are counted in its outer cells, nulls in none.
    grid : array_like of float, shape (points,)
        Strictly rising, at least two, chosen without looking at the data.
    rho, scale, variance : number
        Exactly one: the cost of discrete Gaussian noise, the scale of discrete Laplace, or the parameter of discrete
        Gaussian noise.

    Raises
    ------
    BudgetError
        If the charge does not fit; then nothing was read or charged.
    ValueError
        If the grid does not rise or has fewer than two points, or a number is out of range.

    References
    ----------
    Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo and Gipson 2020, "Differentially Private SQL with Bounded User
    Contribution" (approximate bounds).

    Examples
    --------
    >>> from pypgm import Budget, Ledger, Privacy
    >>> column = PrivateColumn(np.linspace(-3, 30, 5000), Privacy(), Ledger(Budget(epsilon=1)))
    >>> powers = [-(2.0**i) for i in range(9, -1, -1)] + [2.0**i for i in range(10)]
    >>> low, high = private_bounds(column, powers, scale=2)  # -4 and 32, or wider once in a thousand times
    >>> low <= -4, 32 <= high
    (True, True)
    """
    access = column.trusted_access
    access.check_open()
    points = _points(grid)
    if points.size < 2:
        raise ValueError("a grid for bounds needs two points or more")
    cells = points.size - 1
    # Nulls are a cell of their own, which is never read: a record may move between it and any other.
    charged = Identity(cells + 1)
    noise = access.charge_noise(charged, "bounds", f"{cells} cells", rho=rho, scale=scale, variance=variance)
    with fixed_errors:
        noisy = noise.add(_cell_counts(access, points))
    filled = np.flatnonzero(noisy >= noise.law.reach(Fraction(1, 1000 * cells)))
    if filled.size == 0:
        return float(points[0]), float(points[-1])
    return float(points[filled[0]]), float(points[filled[-1] + 1])


def _drawn(
    access: ColumnAccess, points: NDArray[np.float64], wanted: Sequence[Fraction], laws: Sequence[Exponential]
) -> list[float]:
    numbers, counts = access.numbers(points)
    return [
        points[law.draw(rank_scores(numbers, counts, q, points), access.sampler)]
        for q, law in zip(wanted, laws, strict=True)
    ]


def _shares(
    ledger: Ledger, count: int, parts: Sequence[Number] | None, rho: Number | None, epsilon: Number | None
) -> list[Fraction]:
    """Return the epsilon of each selection."""
    if parts is None:
        return [selection_epsilon(ledger, rho, epsilon, count)] * count
    weights = [as_fraction("parts", part) for part in parts]
    if len(weights) != count or not all(weight > 0 for weight in weights):
        raise ValueError(f"parts needs a number above 0 for each of {count} quantiles")
    one_of("a selection", rho=rho, epsilon=epsilon)
    of_all = [weight / sum(weights) for weight in weights]
    if epsilon is not None:
        return [selection_epsilon(ledger, None, as_fraction("epsilon", epsilon) * part) for part in of_all]
    whole = as_fraction("rho", rho or 0)
    if ledger.budget.unit == "epsilon" or whole <= 0:
        return [selection_epsilon(ledger, whole * part, None) for part in of_all]
    return [ledger.epsilon_of(whole * part, has_range=True, others=whole * (1 - part)) for part in of_all]


def _cell_counts(access: ColumnAccess, points: NDArray[np.float64]) -> NDArray[np.int64]:
    numbers, counts = access.numbers(points)
    cells = points.size - 1
    per_cell = np.zeros(cells, dtype=np.int64)
    np.add.at(per_cell, np.clip(np.searchsorted(points, numbers, side="right") - 1, 0, cells - 1), counts)
    return per_cell


def rank_scores(
    numbers: NDArray[np.float64], counts: NDArray[np.int64], quantile: Fraction, points: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the score of each point: minus b times its distance, in records, from being the quantile a / b.

    A point is the quantile, with score 0, if at most a / b of the records are below it and at most 1 - a / b above.
    Sensitivity and range: `Privacy.quantile_score_range`. Numbers come in rising order, each with its number of
    records. The arithmetic is on Python's integers; scores are cut off at -2^62.
    """
    a, b = quantile.numerator, quantile.denominator
    ranks = np.concatenate([[0], np.cumsum(counts)]).astype(object)
    less = ranks[np.searchsorted(numbers, points, side="left")]
    more = ranks[-1] - ranks[np.searchsorted(numbers, points, side="right")]
    too_many_below = (b - a) * less - a * (ranks[-1] - less)
    too_many_above = a * more - (b - a) * (ranks[-1] - more)
    away = np.maximum(0, np.maximum(too_many_below, too_many_above))
    scores: NDArray[np.int64] = -np.minimum(away, SCORE_LIMIT).astype(np.int64)
    return scores


def _points(grid: ArrayLike) -> NDArray[np.float64]:
    points: NDArray[np.float64] = np.array(grid, dtype=np.float64)
    if points.ndim != 1 or points.size == 0 or not np.isfinite(points).all() or (np.diff(points) <= 0).any():
        raise ValueError("grid needs finite points that rise strictly, at least one")
    return points


def _quantile(given: Number) -> Fraction:
    quantile = as_fraction("quantile", given)
    if not 0 <= quantile <= 1 or quantile.denominator >= _DENOMINATOR_LIMIT:
        raise ValueError(f"a quantile must be a rational in [0, 1] with a denominator below 2^18, got {given}")
    return quantile
