"""Sensitivities of queries against brute force over neighbours, and budgets against what random runs charge."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from pypgm.audit.budgets import allowed
from pypgm.audit.finding import Finding, finding
from pypgm.audit.pairs import PRIVACIES, table
from pypgm.audit.trace import Mechanism, draws_of, observe
from pypgm.domain import Domain
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy
from pypgm.queries import AllRange, Identity, Kronecker, Matrix, Neighbours, Partition, Prefix, total

__all__ = ["QUERIES", "check_conservation", "check_query_sensitivity"]

QUERIES: tuple[Any, ...] = (
    *(Identity(n) for n in (1, 2, 5)),
    *(Partition(list(groups)) for groups in itertools.product(range(3), repeat=4)),
    Partition([0, 0, 0]),
    total(4),
    *(Prefix(n) for n in (1, 2, 5)),
    *(AllRange(n) for n in (1, 3, 4)),
    Matrix([[1, -1, 0]]),
    Matrix([[2, 0, -3, 1], [1, 1, 1, -1]]),
    Kronecker([Prefix(2), Identity(3)]),
    Kronecker([total(3), Matrix([[1, -1]])]),
    Kronecker([Matrix([[1, -2], [0, 1]]), Prefix(3)]),
    Partition([1, 1], n_groups=4),
)
"""Queries that are looked at: all with few cells; each is a linear map with integer columns."""


def check_query_sensitivity(queries: Sequence[Any] = QUERIES, privacies: Sequence[Privacy] = PRIVACIES) -> Finding:
    """Compare the sensitivities that a relation states for queries with the worst pair of neighbours, exactly."""
    found, count = [], 0
    for query, privacy in itertools.product(queries, privacies):
        l1, squared = _worst(query, privacy)
        for norm, stated, true in (
            ("L1", privacy.l1_sensitivity(query), l1),
            ("squared L2", privacy.squared_l2_sensitivity(query), squared),
        ):
            count += 1
            if stated != true:
                name = "lost user bound" if stated * privacy.records_per_person >= true else "sensitivity"
                name = name if privacy.records_per_person > 1 else "sensitivity"
                found.append((name, f"{norm} of {query!r} under {privacy}: {stated} is stated, {true} is true"))
    return finding("query sensitivity", f"{len(queries)} queries", found, f"{count} equal brute force")


def _worst(query: Any, privacy: Privacy) -> tuple[int, int]:
    """Return the largest L1 and squared L2 change of the answers over all that k records can do."""
    cells = query.shape[1]
    columns = [query.matvec(row) for row in np.eye(cells, dtype=np.int64)]
    steps = columns if privacy.neighbours == "add-remove" else [a - b for a, b in itertools.product(columns, repeat=2)]
    k = privacy.records_per_person
    every = [k * s for s in steps]
    if k == 2:  # two records may also do two different things; that is never worse, as norms are convex
        every += [a + b for a, b in itertools.combinations(steps, 2)]
    return max(int(np.abs(c).sum()) for c in every), max(int((c * c).sum()) for c in every)


def check_conservation(subject: str, mechanism: Mechanism, configurations: int = 250) -> Finding:
    """Run random configurations of a mechanism: what all ledgers charge sums to at most the budget, in rationals."""
    found, fullest = [], Fraction(0)
    for number in range(configurations):
        data, budget, privacy = _configuration(number)
        trace = observe(mechanism, data, budget, privacy, seed=number)
        spent = trace.spent
        fullest = max(fullest, spent / budget.limit)
        where = f"{len(data.domain)} attributes, {budget!r}, {privacy}"
        if trace.error:
            found.append(("no release", f"{where}: {trace.error}"))
        if spent > allowed(budget):
            found.append(("overspent", f"{where}: {float(spent):.6g} of {float(allowed(budget)):.6g}"))
        ledger = getattr(trace.release, "ledger", None)
        if ledger is not None and ledger.spent() != spent:
            found.append(("uncharged draw", f"{where}: the release's ledger shows {float(ledger.spent()):.6g} of it"))
        charged = sum(map(draws_of, trace.charges))
        if len(trace.draws) > charged:
            found.append(("uncharged draw", f"{where}: {len(trace.draws)} draws, {charged} are charged"))
    figures = f"{configurations} configurations, at most {float(fullest):.12f} of the budget"
    return finding("conservation", subject, found, figures)


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
