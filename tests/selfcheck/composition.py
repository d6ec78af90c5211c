"""Exact losses of whole ledgers: each line is a pair of laws with its cost, composed atom by atom."""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from pypgm.audit.finding import Finding, finding
from pypgm.audit.gaussian import squared_mu
from pypgm.errors import BudgetError
from pypgm.privacy.budget import Accounting, Budget
from pypgm.privacy.laws import DiscreteGaussian, DiscreteLaplace, Exponential, PermuteAndFlip, PoissonSample, Stated
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.ledger_report import dp_events
from pypgm.privacy.pld import realised_pld_epsilon
from pypgm.privacy.zcdp import zcdp_epsilon
from selfcheck.gdp import worst_excess
from selfcheck.losses import Losses, exceeding, laplace_loss, response_loss, shift_loss

Found = Iterator[tuple[str, str]]
_DELTAS = (Fraction(1, 10**2), Fraction(1, 10**4), Fraction(1, 10**7))


@dataclass(frozen=True)
class Case:
    """Lines of a ledger, and the loss of a mechanism on a pair of tables that has these lines."""

    name: str
    charge: Sequence[Callable[[Ledger], Any]]
    losses: Losses


def _composed(*laws: Losses) -> Losses:
    """Return the law of the sum of independent losses; sums equal to 12 digits are one atom."""
    masses, values = laws[0]
    for p, loss in laws[1:]:
        values, back = np.unique(np.round(np.add.outer(values, loss).ravel(), 12), return_inverse=True)
        masses = np.bincount(back.ravel(), np.outer(masses, p).ravel()).astype(np.float64)
    return masses, values


def _times(law: Losses, n: int) -> Losses:
    return functools.reduce(_composed, [law] * n)


def _range(epsilon: Fraction, part: float) -> Losses:
    """Return the loss of an exponential mechanism between two candidates: part * epsilon, or epsilon less."""
    e = float(epsilon)
    t = part * e
    p = -math.expm1(t - e) / -math.expm1(-e)  # so that E[exp(-loss)] is 1
    return np.array([p, 1 - p]), np.array([t, t - e])


def _fails(chance: Fraction) -> Losses:
    return np.array([float(chance), 1 - float(chance)]), np.array([math.inf, 0.0])


def _gaussian(variance: Fraction, squared: int = 1, largest: int = 1) -> Callable[[Ledger], Any]:
    return lambda ledger: ledger.charge("measure", "a", DiscreteGaussian(variance, squared, largest))


def _noise(scale: Fraction, sensitivity: int, largest: int | None) -> Callable[[Ledger], Any]:
    return lambda ledger: ledger.charge("measure", "a", DiscreteLaplace(scale, sensitivity, largest))


def _select(epsilon: Fraction) -> Callable[[Ledger], Any]:
    return lambda ledger: ledger.charge("select", "a", Exponential(epsilon, 2))


def _selections(epsilon: Fraction, draws: int, composed: int) -> Callable[[Ledger], Any]:
    return lambda ledger: ledger.charge("do", "a", Exponential(epsilon, 2, draws, composed))


def _flip(epsilon: Fraction) -> Callable[[Ledger], Any]:
    return lambda ledger: ledger.charge("select", "a", PermuteAndFlip(epsilon, 2))


def _stated(**claim: Fraction | int) -> Callable[[Ledger], Any]:
    return lambda ledger: ledger.charge("train", "a", Stated(**claim))


def _sample(rate: Fraction, inner: Fraction) -> Callable[[Ledger], Any]:
    return lambda ledger: ledger.charge("sample", "records", PoissonSample(rate, inner))


def _one(rate: Fraction, inner: Fraction) -> Losses:
    """Return the loss of randomised response on a record that is sampled with probability `rate`."""
    p = response_loss(inner)[0]
    without = p[::-1]
    there = float(rate) * p + (1 - float(rate)) * without
    return there, np.log(there / without)


@functools.cache
def _cases() -> tuple[Case, ...]:
    s, b, e, third, may = Fraction(50), Fraction(2), Fraction(3, 10), Fraction(1, 3), Fraction(9, 1000)
    some = [(1, 0.5), (1, 0.9), (15, 0.5), (40, 0.5), (40, 0.65)]
    mixed = _composed(shift_loss(s, 3), _times(_range(e, 0.6), 5), _times(laplace_loss(Fraction(9), 1), 2))
    return (
        Case("20 Gaussians", [_gaussian(s)] * 20, shift_loss(s, 20)),
        Case("a Gaussian", [_gaussian(Fraction(9, 4))], shift_loss(Fraction(9, 4))),
        Case("a Gaussian of 5 answers", [_gaussian(s, 5)], shift_loss(s, 5)),
        Case("a Gaussian of one answer by 3", [_gaussian(s, 9, 3)], shift_loss(s, change=3)),
        Case("12 Laplaces", [_noise(Fraction(7, 2), 1, 1)] * 12, _times(laplace_loss(Fraction(7, 2), 1), 12)),
        Case("a Laplace of 4 answers", [_noise(b, 4, 1)], _times(laplace_loss(b, 1), 4)),
        Case("a Laplace of one answer by 4", [_noise(b, 4, 4)], laplace_loss(b, 4)),
        Case("a Laplace of one answer, as far as is known", [_noise(b, 4, None)], laplace_loss(b, 4)),
        *(Case(f"{n} selections, {part}", [_select(e)] * n, _times(_range(e, part), n)) for n, part in some),
        Case("15 selections in one line", [_selections(e, 15, 15)], _times(_range(e, 0.5), 15)),
        Case("15 selections of 30 in one line", [_selections(e, 30, 15)], _times(_range(e / 2, 0.5), 30)),
        Case("10 permute-and-flips", [_flip(e)] * 10, _times(response_loss(e), 10)),
        Case("a stated epsilon", [_stated(epsilon=e)], response_loss(e)),
        Case("a sample", [_sample(third, Fraction(2))], _one(third, Fraction(2))),
        Case("many kinds", [_gaussian(s)] * 3 + [_select(e)] * 5 + [_noise(Fraction(9), 1, 1)] * 2, mixed),
        Case("a Gaussian and a stated rho", [_gaussian(s), _stated(rho=Fraction(1, 100))], shift_loss(s, 2)),
        Case(
            "Gaussians that may fail",
            [_gaussian(s)] * 4 + [_stated(rho=0, delta=may)],
            _composed(shift_loss(s, 4), _fails(may)),
        ),
    )


def check_composed_loss(names: Sequence[str] = ()) -> Finding:
    """Compare the epsilon of ledgers, by zCDP and by distributions, with the exact losses of possible runs.

    No exact epsilon may lie above the stated one; and the stated one of distributions not above that of zCDP. All
    cases are looked at unless some are named.
    """
    defects: list[tuple[str, str]] = []
    count = 0
    for case in _cases():
        if names and case.name not in names:
            continue
        ledger = Ledger(Budget(rho=1000, reserved_delta=Fraction(1, 10)))
        for charge in case.charge:
            charge(ledger)
        for delta in _DELTAS:
            if delta <= ledger.spent_delta():
                continue
            count += 1
            true = _epsilon(case.losses, float(delta))
            stated = ledger.realised_epsilon(delta)
            numerical = realised_pld_epsilon(ledger, delta)
            for name, epsilon in (("zCDP", stated), ("distributions", numerical)):
                if epsilon < true * (1 - 1e-9) - 1e-12:
                    defects.append(
                        ("accounting", f"{case.name}, delta {float(delta):g}: {true:.9g}, {name} {epsilon:.9g}")
                    )
            if numerical > stated:
                defects.append(("accounting", f"{case.name}: {numerical:.9g} by distributions, {stated:.9g} by zCDP"))
    defects.extend(_pure())
    defects.extend(_split())
    return finding("composed loss", "whole ledgers", defects, f"{count} exact epsilons, none above what is stated")


def _epsilon(losses: Losses, delta: float) -> float:
    """Return the least epsilon at which E[(1 - exp(epsilon - loss))_+] is at most delta, by bisection."""
    low, high = 0.0, float(losses[1][np.isfinite(losses[1])].max())
    if exceeding(losses, 0.0) <= delta:
        return 0.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if exceeding(losses, middle) <= delta else (middle, high)
    return low


def _split() -> Found:
    """Compare a ledger of known laws and a stated rho with the epsilon proven by each split of delta between them."""
    s, rest, delta = Fraction(600), Fraction(1, 10**5), Fraction(1, 10**4)
    known, both = Ledger(Budget(rho=1)), Ledger(Budget(rho=1))
    for ledger, _ in itertools.product((known, both), range(20)):
        _gaussian(s)(ledger)
    both.charge("train", "a", Stated(rho=rest))
    parts = [Fraction(n, 100) for n in (1, 10, 50, 80, 90, 95, 99)]
    proven = min(realised_pld_epsilon(known, delta * f) + zcdp_epsilon(rest, delta * (1 - f)) for f in parts)
    stated = realised_pld_epsilon(both, delta)
    if stated < proven:
        yield "accounting", f"Gaussians and a stated rho: {stated:.9g} is stated, no part of delta proves {proven:.9g}"


def _pure() -> Found:
    """Compare sums of pure steps with Python's rationals."""
    ledger = Ledger(Budget(epsilon=100))
    true = Fraction(0)
    for n in range(1, 60):
        ledger.charge("measure", "a", DiscreteLaplace(Fraction(3 * n + 1, n), 2))
        ledger.charge("select", "a", Exponential(Fraction(1, 7 * n), 1))
        true += Fraction(2 * n, 3 * n + 1) + Fraction(1, 7 * n)
        stated = Fraction(ledger.realised_epsilon())
        if ledger.spent() != true or not true <= stated <= true * (1 + Fraction(1, 2**50)):
            yield "accounting", f"{2 * n} pure steps of {float(true):.17g} are stated as {float(stated):.17g}"
            return


def check_charged_loss(names: Sequence[str] = ()) -> Finding:
    """Charge ledgers in Gaussian differential privacy, and follow the exact losses by the noise that they have left.

    At no threshold may that be worse than the noise of the whole amount. Realised epsilons, which count on no noise to
    come, must not be below the exact ones. All cases are looked at unless some are named; where only a rho is known,
    the charge must be refused.
    """
    defects: list[tuple[str, str]] = []
    count = 0
    for case, times in itertools.product(_cases(), _LEFT):
        if names and case.name not in names:
            continue
        plain = Ledger(Budget(rho=1000, reserved_delta=Fraction(1, 10)))
        for charge in case.charge:
            charge(plain)
        ledger = Ledger(Budget(rho=plain.spent() * times, accounting="gdp", reserved_delta=Fraction(1, 10)))
        try:
            for charge in case.charge:
                charge(ledger)
        except BudgetError:
            continue
        except ValueError:
            if all(line.law.is_gdp for line in plain.lines):
                defects.append(("accounting", f"{case.name} is refused"))
            continue
        count += 1
        defects.extend(_charged(case, ledger))
    return finding("charged loss", "whole ledgers", defects, f"{count} ledgers, and the noise that they have left")


_LEFT = (Fraction(17, 10), Fraction(300))
"""Amounts of ledgers, by what the steps cost in zCDP."""


def _charged(case: Case, ledger: Ledger) -> Found:
    if not all(line.law.is_gdp for line in ledger.lines):
        yield "accounting", f"{case.name} is charged, and has no cost in Gaussian differential privacy"
    kept = np.isfinite(case.losses[1]) & (case.losses[0] > 1e-17)
    losses = case.losses[0][kept], case.losses[1][kept]
    worst = worst_excess(losses, float(ledger.budget.limit), float(ledger.spent()))
    if worst > 1e-8:
        left = float(ledger.remaining() / ledger.budget.limit)
        yield "accounting", f"{case.name}, {left:.3g} left: {worst:.3g} above the noise of all"
    for delta in (Fraction(1, 20), *_DELTAS):
        if delta > ledger.spent_delta():
            true, stated = _epsilon(case.losses, float(delta)), ledger.realised_epsilon(delta)
            if stated < true * (1 - 1e-9) - 1e-12:
                yield "accounting", f"{case.name}, delta {float(delta):g}: {true:.9g}, {stated:.9g} realised"


def check_guarantees() -> Finding:
    """Spend whole budgets on Gaussian noise that may fail: its exact epsilon must not exceed them.

    Gaussian noise of many answers alone reaches the epsilon of its budget.
    """
    defects: list[tuple[str, str]] = []
    kinds: tuple[Accounting, ...] = ("gdp", "zcdp")
    budgets = [
        Budget(epsilon=epsilon, delta=delta, reserved_delta=delta * part, accounting=accounting)
        for epsilon in (Fraction(1, 2), Fraction(3))
        for delta in (Fraction(1, 10**2), Fraction(1, 10**5))
        for part in (0, Fraction(9, 10))
        for accounting in kinds
    ]
    for budget in budgets:
        ledger = Ledger(budget)
        variance = ledger.variance_of(budget.limit, 7)
        ledger.charge("measure", "a", DiscreteGaussian(variance, squared_sensitivity=7, largest_change=1))
        ledger.charge("fail", "a", Stated(rho=0, delta=budget.reserved_delta))
        if ledger.epsilon() != Ledger(budget).epsilon():
            defects.append(("accounting", f"the guarantee of {budget!r} depends on what was spent"))
        lost = _composed(shift_loss(variance, 7), _fails(budget.reserved_delta))
        true = _epsilon(lost, float(budget.delta or 0))
        if true > ledger.epsilon() or ledger.epsilon() != float(budget.epsilon or 0):
            defects.append(("accounting", f"{budget!r} loses {true:.9g}, {ledger.epsilon():.9g} is guaranteed"))
        if true > ledger.realised_epsilon():
            defects.append(("accounting", f"{budget!r} loses {true:.9g}, {ledger.realised_epsilon():.9g} is stated"))
        many = Ledger(budget)
        for _ in range(5):
            many.charge("measure", "a", DiscreteGaussian(many.variance_of(budget.limit / 5, 10**7), 10**7))
        reached = many.realised_epsilon(budget.delta - budget.reserved_delta)
        if abs(reached / float(budget.epsilon or 0) - 1) > 1e-9:
            defects.append(("accounting", f"{budget!r} is spent on noise, and {reached:.12g} is reached"))
    for delta in _DELTAS:
        plain = Ledger(Budget(rho=Fraction(7, 100)))
        true = _epsilon(shift_loss(Fraction(50), 7), float(delta))
        if plain.epsilon(delta) < true:
            defects.append(("accounting", f"{plain!r} may lose {true:.9g}, {plain.epsilon(delta):.9g} is guaranteed"))
    return finding("guarantees", "whole budgets", defects, f"{len(budgets)} budgets, spent and kept")


def check_exported_events() -> Finding:
    """Add up the export for dp-accounting, with a stand-in for that package: it must hold all that was spent."""
    events = SimpleNamespace(DiscreteLaplaceDpEvent=lambda epsilon, change: Fraction(epsilon) * change)
    package: Any = ModuleType("dp_accounting")
    package.dp_event = events
    package.GaussianDpEvent = lambda multiplier: Fraction(1) / (2 * Fraction(multiplier) ** 2)
    package.ZCDpEvent = Fraction
    package.SelfComposedDpEvent = lambda one, times: one * times
    package.ComposedDpEvent = sum
    defects = []
    for unit in ("rho", "epsilon"):
        ledger = Ledger(Budget(rho=100) if unit == "rho" else Budget(epsilon=100))
        for n in (1, 1, 1, 2, 3, 3, 7):
            ledger.charge("measure", "a", DiscreteLaplace(Fraction(n + 3, 2), 1))
            ledger.charge("select", "a", PermuteAndFlip(Fraction(1, n), 1))
            ledger.charge("select", "a", Exponential(Fraction(1, n + 1), 1))
        ledger.charge("train", "a", Stated(epsilon=Fraction(1, 3)))
        with patch.dict(sys.modules, {"dp_accounting": package}):
            exported: Any = dp_events(ledger)
        if not ledger.spent() <= exported <= ledger.spent() * (1 + Fraction(1, 2**40)):
            defects.append(
                ("accounting", f"{float(exported):.9g} {unit} is exported, {float(ledger.spent()):.9g} spent")
            )
    with patch.dict(sys.modules, {"dp_accounting": package}):
        defects.extend(_exported_gaussian())
    return finding("exported events", "dp-accounting", defects, "all lines as often as they were charged")


def _exported_gaussian() -> Found:
    """Compare the export in Gaussian differential privacy with the sums of what its events must hold."""
    ledger = Ledger(Budget(rho=100, accounting="gdp"))
    noise, selections, responses = (Fraction(0) for _ in range(3))
    for n in (1, 1, 1, 2, 3, 3, 7):
        ledger.charge("measure", "a", DiscreteGaussian(40 * n, 3))
        noise += Fraction(3) * Fraction(squared_mu(Fraction(40 * n))) / 2
        ledger.charge("select", "a", Exponential(Fraction(1, n + 1), 1))
        selections += Fraction(1, 8 * (n + 1) ** 2)
        ledger.charge("select", "a", PermuteAndFlip(Fraction(1, n), 1))
        ledger.charge("measure", "a", DiscreteLaplace(Fraction(n), 2, 1))
        responses += Fraction(3, n)
    exported: Any = dp_events(ledger)
    least, most = responses + noise + selections, responses + noise + selections * Fraction(16, 10)
    if not least * (1 - Fraction(1, 10**9)) <= exported <= most:
        yield "accounting", f"{float(exported):.9g} is exported, {float(least):.9g} to {float(most):.9g} was charged"
