"""Costs in Gaussian differential privacy against the curves of exact pairs, and against an adversary who adapts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from pypgm.audit.finding import Finding, finding
from pypgm.audit.laws import DIGITS
from pypgm.privacy.budget import Budget
from pypgm.privacy.costs import gaussian_cost, gaussian_variance, pure_cost, pure_steps
from pypgm.privacy.gdp import gdp_rho
from selfcheck.losses import Losses

Found = Iterator[tuple[str, str]]
Floats = NDArray[np.float64]

_VARIANCES = [Fraction(n, 60) for n in (1, 3, 12, 20, 24, 30, 33, 36, 45, 60, 90, 120, 300, 1020, 6000, 60000)]
_REACH = 9  # standard deviations, as far as which steps are compared
_COMPARED = Decimal(10) ** -60


def check_steps_fall(cost: Callable[[Fraction, int], Fraction] = gaussian_cost) -> Finding:
    """Check that no two neighbouring atoms of discrete Gaussian noise are further apart than the first two.

    To 60 digits, for variances from 1/50 to 1000: the steps of z(m), the normal quantiles of P(Y <= m), fall, and the
    square of the first is at most what is charged, which is hardly more where the variance is at least 1/2.
    """
    defects: list[tuple[str, str]] = []
    count = 0
    for variance in _VARIANCES:
        z = _quantiles(variance)
        steps = [2 * z[0], *(after - before for before, after in itertools.pairwise(z))]
        count += len(steps)
        if any(after > before + _COMPARED for before, after in itertools.pairwise(steps)):
            defects.append(("accounting", f"steps of variance {variance} rise"))
        true, stated = Fraction(steps[0] ** 2) / 2, cost(variance, 1)
        if stated < true:
            defects.append(("accounting", f"variance {variance} costs {float(true):.12g}, {float(stated):.12g} stated"))
        if variance >= Fraction(1, 2) and stated > true * Fraction(1003, 1000):
            defects.append(("accounting", f"variance {variance} costs {float(true):.12g}, far more is stated"))
    return finding("discrete Gaussian", "mu of a change of 1", defects, f"{count} steps, to 60 digits")


def _quantiles(variance: Fraction) -> list[Decimal]:
    """Return the normal quantiles of P(Y <= m) for m from 0, to some 80 digits."""
    with localcontext(DIGITS):
        v = Decimal(variance.numerator) / Decimal(variance.denominator)
        last = math.ceil(25 * math.sqrt(variance)) + 8
        weights = [(-m * m / (2 * v)).exp() for m in range(last)]
        total = 2 * sum(weights) - 1
        tails = [sum(weights[m + 1 :], Decimal(0)) / total for m in range(math.ceil(_REACH * math.sqrt(variance)) + 1)]
        return [_quantile(tail) for tail in tails if tail > Decimal(10) ** -32]


def _quantile(tail: Decimal) -> Decimal:
    """Return the place above which a normal variable lies with this probability, by Newton's method."""
    z = Decimal(-NormalDist().inv_cdf(float(tail)))
    for _ in range(4):
        term, between, k = z, Decimal(0), 1
        while term > Decimal(10) ** -118:
            between, k = between + term, k + 2
            term = term * z * z / k
        density = (-z * z / 2).exp() / (2 * _PI).sqrt()
        z += (Decimal(1) / 2 - density * between - tail) / density
    return z


_PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651"
)


def check_inverses(points: int = 300) -> Finding:
    """Check that noise and steps bought for an amount cost no more than it, and hardly less, over random amounts."""
    rng = np.random.default_rng(0)
    defects: list[tuple[str, str]] = []
    for _ in range(points):
        squared = int(10 ** rng.uniform(0, 4))
        amount = squared * Fraction(float(10 ** rng.uniform(-8, 1.5)))
        variance = gaussian_variance(amount, squared)
        spent = gaussian_cost(variance, squared)
        # The inverse is sharp for larger variances alone.
        if not (amount * Fraction(99, 100) if variance > 2 else 0) <= spent <= amount:
            defects.append(("accounting", f"noise for {float(amount):.9g} costs {float(spent):.9g}"))
        left = amount * Fraction(float(10 ** rng.uniform(0, 4))) if rng.random() < 0.8 else amount
        steps = int(rng.integers(1, 400))
        rho = pure_steps(amount, steps, left)
        spent = pure_cost(rho, rho / steps, left)
        # Where they take more than half of what is left, the cost jumps.
        if not (amount * Fraction(999, 1000) if 2 * amount <= left else 0) <= spent <= amount:
            defects.append(("accounting", f"{steps} steps for {float(amount):.9g} cost {float(spent):.9g}"))
    return finding("inverses", "amounts", defects, f"{2 * points} amounts, none exceeded")


def curve(b: float, s: Floats) -> Floats:
    """Return the hockey-stick divergence at thresholds s of normal laws of variance 1, sqrt(b) apart."""
    if b <= 0:
        return np.maximum(0.0, -np.expm1(s))
    mu = math.sqrt(b)
    x = np.abs(s) / mu - mu / 2
    # By ratios of Mills: below the middle they may be large, and their difference is exact where it matters.
    with np.errstate(over="ignore"):
        upper = np.exp(-(x**2) / 2) * (_mills(x) - _mills(x + mu)) / math.sqrt(2 * math.pi)
    return np.where(s >= 0, upper, -np.expm1(np.minimum(s, 0)) + np.exp(np.minimum(s, 0)) * upper)


def _mills(x: Floats) -> Floats:
    return math.sqrt(math.pi / 2) * np.asarray(erfcx(x / math.sqrt(2)), dtype=np.float64)


def worst_excess(losses: Losses, left: float, cost: float) -> float:
    """Return the largest ratio of divergences, less 1: of losses followed by the noise of left - cost, and of left.

    Amounts are in rho. Thresholds run from 0 to 12 standard deviations; those below 0 are of the losses' opposite.
    """
    masses, values = losses
    s = np.linspace(0, 2 * left / 2 + 12 * math.sqrt(2 * left), 121)
    ours = sum(p * curve(2 * (left - cost), s - t) for p, t in zip(masses, values, strict=True))
    theirs = curve(2 * left, s)
    return float(((ours - 1e-14) / np.maximum(theirs, 1e-300) - 1).max())


_ROUNDING = 1e-8


def check_bounded_steps(points: int = 400) -> Finding:
    """Check that random steps of bounded loss, followed by the noise that is left, are no worse than that of all.

    Each step has losses t and t - epsilon; up to five steps of different epsilons are charged at once, with t in the
    middle or anywhere, alone or where up to a thousand times as much is left.
    """
    rng = np.random.default_rng(1)
    defects: list[tuple[str, str]] = []
    count = 0
    for _ in range(points):
        left = float(10 ** rng.uniform(-6, 1.3))
        sizes = rng.dirichlet(np.ones(int(rng.integers(1, 6))))
        terms = sizes * left * (10 ** rng.uniform(-3, 0) if rng.random() < 0.5 else rng.uniform(0.3, 0.66))
        exact = [Fraction(float(term)) for term in terms]
        cost = float(pure_cost(sum(exact, Fraction(0)), max(exact), Fraction(left)))
        if cost > left:
            continue
        count += 1
        at = 0.5 if rng.random() < 0.4 else rng.random()
        worst = worst_excess(_together([_pair(math.sqrt(8 * term), at) for term in terms]), left, cost)
        if worst > _ROUNDING:
            named = f"{len(terms)} steps of {sum(terms) / left:.4g} of {left:.4g}, losses split at {at:.3f}"
            defects.append(("accounting", f"{named}: {worst:.3g} above the noise of all"))
    return finding("steps of bounded loss", "costs", defects[:5], f"{count} groups of steps at 121 thresholds")


def _pair(epsilon: float, at: float) -> Losses:
    """Return the losses t and t - epsilon of a pair, t = at * epsilon."""
    t = at * epsilon
    p = -math.expm1(t - epsilon) / -math.expm1(-epsilon)  # so that E[exp(-loss)] is 1
    return np.array([p, 1 - p]), np.array([t, t - epsilon])


def _together(pairs: Sequence[Losses]) -> Losses:
    masses, values = np.ones(1), np.zeros(1)
    for p, loss in pairs:
        masses, values = np.outer(masses, p).ravel(), np.add.outer(values, loss).ravel()
    return masses, values


_GAMES = ((Fraction(1), Fraction(1, 10**6)), (Fraction(1), Fraction(1, 10**9)), (Fraction(1, 10), Fraction(1, 10**6)))


def check_game(units: int = 12) -> Finding:
    """Play the game of an adversary who chooses each next step by what came out, to exceed a budget's delta.

    Steps are Gaussian noise or two-valued losses of bounded range, of any number of equal parts of the budget, at the
    costs that a ledger charges. The best adversary is found by backward induction over what is left and the threshold.
    """
    defects, reached = [], []
    for epsilon, delta in _GAMES:
        most = best_delta(epsilon, Budget(epsilon=epsilon, delta=delta).limit, units) / float(delta)
        reached.append(f"{most:.4f}")
        if most > 1.0000499:
            defects.append(("accounting", f"({epsilon}, {float(delta):g}) is exceeded {most:.4f} times"))
    return finding("game", "an adaptive adversary", defects, f"{', '.join(reached)} of delta is reached, at best")


def best_delta(epsilon: Fraction, amount: Fraction, units: int) -> float:
    """Return the delta at epsilon of the best adversary who has an amount to spend, in equal parts."""
    mu = math.sqrt(2 * amount)
    s = np.linspace(-float(epsilon) - 9 * mu, float(epsilon) + 9 * mu, 1501)
    z = np.linspace(-8.5, 8.5, 171)
    weights = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    ended = np.maximum(0.0, -np.expm1(s))
    values = [ended]
    for left in range(1, units + 1):
        best = ended.copy()
        for part in range(1, left + 1):
            of_rest = _interpolated(s, values[left - part])
            b = 2 * float(amount * part / units)
            if part == left:
                noise = curve(b, s)
            else:
                noise = sum(w * of_rest(s - b / 2 - math.sqrt(b) * x) for w, x in zip(weights, z, strict=True))
            best = np.maximum(best, noise)
            size = math.sqrt(8 * _most_for(amount * part / units, amount * left / units))
            for at in (0.4, 0.5, 0.6):
                (up, down), (t, other) = _pair(size, at)
                best = np.maximum(best, up * of_rest(s - t) + down * of_rest(s - other))
        values.append(best)
    return float(_interpolated(s, values[-1])(np.array([float(epsilon)]))[0])


def _interpolated(s: Floats, values: Floats) -> Callable[[Floats], Floats]:
    """Return a function of thresholds; below all of them an event is certain, and far above them none is worth it."""
    logs = np.log(np.maximum(values, 1e-280))
    return lambda x: np.where(x < s[0], -np.expm1(np.minimum(x, 0)), np.exp(np.interp(x, s, logs)))


def _most_for(cost: Fraction, left: Fraction) -> float:
    """Return the largest rho in zCDP of a step whose cost is at most this, where an amount is left, by bisection."""
    low, high = Fraction(0), cost
    for _ in range(40):
        rho = Fraction(float(low + high) / 2)
        low, high = (rho, high) if pure_cost(rho, rho, left) <= cost else (low, rho)
    return float(low)


def check_gdp_rho(rho_of: Callable[[Fraction, Fraction], Fraction] = gdp_rho) -> Finding:
    """Compare the amount of budgets with the curve of normal laws, by ratios of Mills, from 1/100 to 30."""
    defects: list[tuple[str, str]] = []
    points = list(itertools.product(map(Fraction, ("1/100", "1/7", "1", "9/2", "30")), (-2, -6, -9, -12)))
    for epsilon, power in points:
        delta = Fraction(10) ** power
        rho = float(rho_of(epsilon, delta))
        reached, more = (float(curve(2 * r, np.array([float(epsilon)]))[0]) for r in (rho, rho * (1 + 1e-9)))
        if reached > float(delta) * (1 + 1e-10) or more < float(delta):
            defects.append(("accounting", f"({float(epsilon):g}, 1e{power}): rho {rho:.12g} has delta {reached:.12g}"))
    return finding("Gaussian budgets", "epsilon, delta to rho", defects, f"{len(points)} budgets, exact to 1e-9")
