r"""Epsilon from the privacy-loss distributions of the exact discrete laws, every rounding upward.

The loss of a step is log(P(y) / Q(y)) for y drawn from P, P and Q a pair that dominates all neighbouring pairs; losses
of composed steps add up, and delta at epsilon is E[(1 - exp(epsilon - loss))_+]. Here each loss is moved to a grid, the
mass of a loss between two grid points split between them such that masses and E[exp(-loss)] stay as they are. As (1 - c
u)_+ is convex in u = exp(-loss), this makes no delta smaller, whatever else is composed.

The sum's law comes from one Fourier transform of laws tilted by exp(order * loss), so that the error of float64, a
bound of which is added to every entry, is relative to the tail that decides.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pypgm.privacy.budget import Unit
from pypgm.privacy.charge import Charge, fixed_amount
from pypgm.privacy.gdp import gdp_epsilon
from pypgm.privacy.ledger_report import LedgerReport
from pypgm.privacy.losses import Losses, gaussian_losses
from pypgm.privacy.rational import Number, as_fraction
from pypgm.privacy.zcdp import zcdp_epsilon

_ULP = 2.0**-52
_MAX_GRID = 1 << 22
_MAX_ORDER = 40  # in standard deviations of the sum: beyond, masses near its mean drown in the error bound
_FINENESS = 64  # grid points a standard deviation of one step's loss


def realised_pld_epsilon(ledger: LedgerReport, delta: Number | None = None) -> float:
    """Return an epsilon for which the charges are (epsilon, delta)-DP, the least that is proven, rounded upward.

    Like `Ledger.realised_epsilon`, this figure is a guarantee if the steps were fixed beforehand. It is the least of
    that one, of what the steps cost in Gaussian differential privacy, and of numerical composition. There, discrete
    Gaussian noise enters by the normal law that dominates all of it, discrete Laplace lines whose answers each change
    by at most 1 by the exact law, exponential mechanisms by the hull over the pairs of their range, everything else
    with a pure epsilon by randomized response. Lines of which only a rho is known are converted separately, with half
    of delta.

    Parameters
    ----------
    ledger : Ledger or LedgerReport
        The charges.
    delta : number, optional
        In (0, 1), more than the probabilities of failure charged; by default the budget's own.

    Returns
    -------
    float
        An upper bound.

    Raises
    ------
    ValueError
        If no delta is named, or it is out of range.

    References
    ----------
    Koskela, Jälkö and Honkela 2020; Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, "Connect the Dots"; Zhu, Dong
    and Wang 2022 (dominating pairs); Dong, Durfee and Rogers 2020 (bounded range).

    Examples
    --------
    >>> from pypgm import Budget, Ledger
    >>> from pypgm.privacy.laws import DiscreteGaussian
    >>> ledger = Ledger(Budget(rho=1))
    >>> for _ in range(20):
    ...     _ = ledger.charge("measure", "a", DiscreteGaussian(600, squared_sensitivity=1, largest_change=1))
    >>> round(ledger.realised_epsilon(1e-9), 2), round(realised_pld_epsilon(ledger, 1e-9), 2)
    (1.06, 1.0)
    """
    wanted = ledger.budget.delta if delta is None else delta
    if wanted is None:
        raise ValueError("the budget names no delta; pass delta")
    left = as_fraction("delta", wanted) - ledger.spent_delta()
    if not 0 < left < 1:
        raise ValueError(f"delta must lie in (0, 1) and exceed what was charged in delta, got {wanted}")
    plain = min(ledger.realised_epsilon(wanted), _filtered(ledger.lines, left))
    steps, rest = _steps(ledger.lines, ledger.budget.unit)
    if not steps:
        return plain
    epsilon = 0.0
    if rest:
        left /= 2
        epsilon = zcdp_epsilon(rest, left)
    composed = _compose(steps, math.nextafter(float(left), 0.0), plain)
    return min(plain, math.nextafter(epsilon + composed, math.inf) if composed or rest else 0.0)


def _filtered(lines: Sequence[Charge], delta: Fraction) -> float:
    """Return the epsilon that the lines have together in Gaussian differential privacy; infinity if one has no cost."""
    if not all(line.law.is_gdp for line in lines):
        return math.inf
    return gdp_epsilon(fixed_amount(lines), delta)


def _steps(lines: Sequence[Charge], unit: Unit) -> tuple[list[tuple[Losses, int]], Fraction]:
    """Return losses with the number of times each occurs, and the rho of the lines that have none."""
    counted: Counter[tuple[Callable[[Fraction], Losses], Fraction]] = Counter()
    rest = gaussian = Fraction(0)
    for line in lines:
        dominating = line.law.dominating(unit)
        if dominating is not None:
            if dominating.parameter > 0 and dominating.times > 0:
                counted[dominating.losses, dominating.parameter] += dominating.times
        elif line.law.is_gdp:
            gaussian += line.law.gdp_cost(Fraction(0))
        else:
            rest += line.cost
    if gaussian:
        counted[gaussian_losses, gaussian] += 1
    return [(losses(parameter), times) for (losses, parameter), times in counted.items()], rest


def _compose(steps: Sequence[tuple[Losses, int]], delta: float, guess: float) -> float:
    """Return the least epsilon, found by bisection, at which the bound of the sum's delta is at most `delta`."""
    count = sum(times for _, times in steps)
    width = _grid(steps, count)
    laws = [(_on_grid(law, width), times) for law, times in steps]
    infinite = -math.expm1(sum(times * math.log1p(-min(law.infinite, 0.5)) for law, times in steps))
    order = _order(laws, width, guess)
    values, logs = _tilted_sum(laws, width, order, count)

    def bound(epsilon: float) -> float:
        first = int(np.searchsorted(values, epsilon, side="right"))
        above = values[first:]
        # Each factor below errs by a few units in the last place per step; the factor in front covers them.
        with np.errstate(over="ignore"):  # far below the tail the bound says nothing, and infinity says so
            tail = np.exp(logs[first:] - order * above) @ -np.expm1(epsilon - above)
        return infinite * (1 + 1e-9) + float(tail) * (1 + 1e-9 + 1e-11 * count)

    if bound(0.0) <= delta:
        return 0.0
    low, high = 0.0, min(guess, float(values[-1]))
    if bound(high) > delta:
        return math.inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        if bound(middle) <= delta:
            high = middle
        else:
            low = middle
    return high


def _grid(steps: Sequence[tuple[Losses, int]], count: int) -> float:
    """Return a grid width, a power of two: losses are its multiples without rounding."""
    variance = sum(times * law.variance for law, times in steps)
    span = sum(times * float(law.values.max() - law.values.min()) for law, times in steps)
    return 2.0 ** math.ceil(math.log2(max(math.sqrt(variance / count) / _FINENESS, span / _MAX_GRID)))


def _on_grid(law: Losses, width: float) -> tuple[int, NDArray[np.float64]]:
    """Return the first multiple of the width, and the masses on the grid from there."""
    values = law.values + 8 * _ULP * (np.abs(law.values) + width)
    cells = np.floor(values / width)
    first = int(cells.min())
    # The part that goes up keeps E[exp(-loss)]; it is rounded upward, the rest follows.
    up = np.minimum(1.0, np.expm1(cells * width - values) / math.expm1(-width) * (1 + 1e-12))
    at = (cells - first).astype(np.int64)
    masses = np.zeros(int(at.max()) + 2)
    np.add.at(masses, at, law.masses * (1 - up))
    np.add.at(masses, at + 1, law.masses * up)
    return first, masses


def _order(laws: Sequence[tuple[tuple[int, NDArray[np.float64]], int]], width: float, epsilon: float) -> float:
    """Return about the order at which the Chernoff bound of delta at `epsilon` is least; any order is valid."""
    variance = 0.0
    for (_, masses), times in laws:
        variance += times * Losses(np.arange(masses.size, dtype=np.float64) * width, masses).variance
    deviation = math.sqrt(variance)
    low, high = math.log(1e-4 / deviation), math.log(_MAX_ORDER / deviation)
    for _ in range(60):
        middle = (low + high) / 2
        order = math.exp(middle)
        slope = -epsilon
        for (first, masses), times in laws:
            values = width * (first + np.arange(masses.size))
            weights = masses * np.exp(order * (values - values[-1]))
            slope += times * float(weights @ values) / float(weights.sum())
        low, high = (low, middle) if slope > 0 else (middle, high)
    return math.exp(low)


def _tilted_sum(
    laws: Sequence[tuple[tuple[int, NDArray[np.float64]], int]], width: float, order: float, count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the grid of the sum of all losses, and upper bounds of log(mass * exp(order * loss)).

    No entry wraps around: the transform is as long as the sum's support. A transform of length N errs by at most
    8 log2(N) units of rounding times the sum of its entries, here 1, a product of n such by n times as much, and the
    inverse by as much again; four times that is added.
    """
    length = 1 + sum(times * (masses.size - 1) for (_, masses), times in laws)
    size = 1 << max(1, (length - 1).bit_length())
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    scale = 0.0
    for (first, masses), times in laws:
        values = width * (first + np.arange(masses.size))
        with np.errstate(divide="ignore"):
            logs = np.log(masses) + order * values
        log_sum = float(np.logaddexp.reduce(logs))
        spectrum *= _power(np.fft.rfft(np.exp(logs - log_sum), size), times)
        scale += times * log_sum
    start = sum(times * first for (first, _), times in laws)
    error = 4 * (count + 1) * (8 * math.log2(size) + 4) * _ULP
    sums = np.maximum(np.fft.irfft(spectrum, size)[:length], 0.0) + error
    return np.arange(start, start + length, dtype=np.float64) * width, np.log(sums).astype(np.float64) + scale


def _power(base: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    """Return the powers by repeated squaring, whose rounding is bounded, unlike that of a library's power."""
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result = result * base
        base = base * base
        exponent >>= 1
    return result
