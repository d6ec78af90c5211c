"""A small adaptive mechanism, sound as it stands, with a place for each thing that can be broken."""

from __future__ import annotations

import dataclasses

import numpy as np

import pypgm
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import PrivateTable
from pypgm.release import Release

PAIRS = [("a", "b"), ("b", "c"), ("a", "c")]


@dataclasses.dataclass(frozen=True)
class Parts:
    """Parts of `adaptive`; a mutant replaces one of them."""

    enter: object = lambda data, privacy, budget, **more: PrivateTable(data, privacy, Ledger(budget), **more)
    first: object = lambda data, table, rho: [table.measure("a", rho=rho)]
    select: object = lambda data, table, selector, among, rho: selector.select(among, rho=rho)
    measure: object = lambda data, table, clique, rho: table.measure(clique, rho=rho)
    total: object = lambda data, measurements: None
    finish: object = lambda data, table, release: release


def adaptive(data, budget, privacy, *, parts=Parts(), unsafe_seed=None):
    """Measure an attribute, then twice select the pair that is explained worst and measure it."""
    more = {} if unsafe_seed is None else {"unsafe_seed": unsafe_seed}
    table = parts.enter(data, privacy, budget, **more)
    rho = budget.limit / 5
    measurements = list(parts.first(data, table, rho))
    selector = table.l1_selector(PAIRS, lambda pair: np.full(data.domain.size(pair), 2.5))
    left = [0, 1, 2]
    for _ in range(2):
        chosen = parts.select(data, table, selector, left, rho)
        left = [i for i in left if i != chosen] or left
        measurements.append(parts.measure(data, table, PAIRS[chosen], rho))
    model = pypgm.estimate(data.domain, measurements, parts.total(data, measurements), iterations=2)
    release = Release(model, tuple(measurements), table.ledger, "adaptive")
    return parts.finish(data, table, release)


def mutant(**replaced):
    """Return `adaptive` with one part replaced."""
    parts = Parts(**replaced)

    def mechanism(data, budget, privacy, *, unsafe_seed=None):
        return adaptive(data, budget, privacy, parts=parts, unsafe_seed=unsafe_seed)

    return mechanism
