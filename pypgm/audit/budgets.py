"""Budgets recomputed from epsilon and delta by the formula itself, and compared with the charges of random runs."""

from __future__ import annotations

import functools
import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from pypgm.audit.finding import Finding, finding
from pypgm.audit.gaussian import gdp_rho_of
from pypgm.audit.pairs import table
from pypgm.audit.trace import Mechanism, draws_of, observe
from pypgm.domain import Domain
from pypgm.privacy.budget import Accounting, Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.relation import Privacy
from pypgm.queries import Neighbours

_EXACT = 1e-9  # floats minimise to about 1e-12


@functools.cache
def rho_of(epsilon: Fraction, delta: Fraction) -> float:
    """Return the largest rho for which rho-zCDP implies (epsilon, delta)-DP, to about 1e-12, by two nested searches.

    delta(rho, a) = exp((a - 1)(a rho - epsilon)) / (a - 1) (1 - 1/a)^a. Its logarithm is convex in log(a - 1) near its
    minimum: ternary search finds the best order a, bisection finds rho.
    """
    slack, epsilon_float = math.log(delta), float(epsilon)
    low, high = 0.0, epsilon_float + 1
    for _ in range(60):
        rho = (low + high) / 2
        low, high = (rho, high) if _log_delta(rho, epsilon_float) <= slack else (low, rho)
    return low


def _log_delta(rho: float, epsilon: float) -> float:
    def at(log_excess: float) -> float:
        excess = math.exp(log_excess)
        a = 1 + excess
        return excess * (a * rho - epsilon) + excess * math.log(excess) - a * math.log(a)

    low, high = -20.0, math.log((epsilon + 1) / (2 * rho) + 2)
    for _ in range(45):
        one, other = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, other) if at(one) < at(other) else (one, high)
    return at(low)


def allowed(budget: Budget) -> Fraction:
    """Return the limit of a budget in its unit, from the epsilon and delta requested."""
    if budget.epsilon is None:
        return budget.limit
    if not budget.delta:
        return budget.epsilon
    return Fraction(rho_in(budget.accounting, budget.epsilon, budget.delta - budget.reserved_delta) * (1 + _EXACT))


def rho_in(accounting: Accounting, epsilon: Fraction, delta: Fraction) -> float:
    """Return the largest rho of an accounting that implies (epsilon, delta)-DP."""
    return (gdp_rho_of if accounting == "gdp" else rho_of)(epsilon, delta)


def check_budgets() -> Finding:
    """Compare the limits of budgets, given as numbers of any type, and the guarantees of ledgers with the formula."""
    defects: list[tuple[str, str]] = []
    count = 0
    parts = (Fraction(0), Fraction(1, 2), Fraction(9, 10))
    kinds: tuple[Accounting | None, ...] = (None, "zcdp")
    for (epsilon, delta), reserved, kind in itertools.product(_points(), parts, kinds):
        count += 1
        budget = Budget(epsilon=epsilon, delta=delta, reserved_delta=reserved * delta, accounting=kind)
        rho = rho_in(kind or "gdp", epsilon, delta * (1 - reserved))
        if budget.unit != "rho" or not abs(float(budget.limit) / rho - 1) < _EXACT:
            defects.append(("wrong budget", f"{budget!r} allows {float(budget.limit):.9g}, the formula {rho:.9g}"))
        if not Ledger(budget).epsilon() >= epsilon:
            defects.append(("wrong budget", f"{budget!r} states a guarantee of {Ledger(budget).epsilon()}"))
    for spelled in _spelled():
        count += 1
        if spelled.limit != Fraction(1, 10):
            defects.append(("wrong budget", f"a tenth is read as {spelled.limit}"))
    for unit, pure in (("epsilon", Budget(epsilon="7/3")), ("rho", Budget(rho="7/3"))):
        if (pure.unit, pure.limit) != (unit, Fraction(7, 3)) or Ledger(pure).remaining() != Fraction(7, 3):
            defects.append(("wrong budget", f"7/3 in {unit} is read as {pure.limit} in {pure.unit}"))
    return finding("budgets", "Budget", defects, f"{count + 2} budgets, each that of the formula")


def _points() -> list[tuple[Fraction, Fraction]]:
    epsilons = [Fraction(e) for e in ("1/100", "1/7", "1", "4", "9/2", "22/7", "30")]
    return list(itertools.product(epsilons, [Fraction(1, 10**3), Fraction(1, 10**9), Fraction(1, 7**5)]))


def _spelled() -> list[Budget]:
    tenths: list[Any] = [0.1, "0.1", "1/10", Fraction(1, 10), Decimal("0.1")]
    return [Budget(**{name: tenth}) for tenth in tenths for name in ("rho", "epsilon")]


def check_conservation(subject: str, mechanism: Mechanism, configurations: int = 250) -> Finding:
    """Run random configurations of a mechanism: the charges of all ledgers sum to at most the budget, in rationals."""
    defects, fullest = [], Fraction(0)
    for number in range(configurations):
        data, budget, privacy = _configuration(number)
        trace = observe(mechanism, data, budget, privacy, seed=number)
        spent = trace.spent
        fullest = max(fullest, spent / budget.limit)
        where = f"{len(data.domain)} attributes, {budget!r}, {privacy}"
        if trace.error:
            defects.append(("no release", f"{where}: {trace.error}"))
        if spent > allowed(budget):
            defects.append(("overspent", f"{where}: {float(spent):.6g} of {float(allowed(budget)):.6g}"))
        ledger = getattr(trace.release, "ledger", None)
        if ledger is not None and ledger.spent() != spent:
            defects.append(("uncharged draw", f"{where}: the release's ledger shows {float(ledger.spent()):.6g} of it"))
        charged = sum(map(draws_of, trace.charges))
        if len(trace.draws) > charged:
            defects.append(("uncharged draw", f"{where}: {len(trace.draws)} draws, {charged} are charged"))
    figures = f"{configurations} configurations, at most {float(fullest):.12f} of the budget"
    return finding("conservation", subject, defects, figures)


def _configuration(number: int) -> tuple[Any, Budget, Privacy]:
    rng = np.random.default_rng(number)
    sizes = rng.integers(1, 5, size=rng.integers(1, 5))
    domain = Domain([f"x{i}" for i in range(sizes.size)], [int(n) for n in sizes])
    records = rng.integers(0, sizes, size=(rng.integers(0, 12), sizes.size))
    epsilon = Fraction(int(rng.integers(1, 20)) ** 2, 100)
    delta = Fraction(1, 10 ** int(rng.integers(3, 12)))
    budget = Budget(rho=epsilon / 3) if rng.random() < 0.5 else _budget(epsilon, delta)
    neighbours: Neighbours = "replace" if rng.random() < 0.5 else "add-remove"
    return table(records, domain), budget, Privacy(neighbours, records_per_person=int(rng.integers(1, 4)))


@functools.cache
def _budget(epsilon: Fraction, delta: Fraction) -> Budget:
    return Budget(epsilon=epsilon, delta=delta)
