"""Budgets compared with the charges of random runs."""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import numpy as np

from pypgm.audit.budgets import allowed
from pypgm.audit.finding import Finding, finding
from pypgm.audit.pairs import table
from pypgm.audit.trace import Mechanism, draws_of, observe
from pypgm.domain import Domain
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy
from pypgm.queries import Neighbours


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
