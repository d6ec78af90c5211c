"""Rounds that select the marginal a model explains worst, measure it, and explain everything again."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pypgm import Budget, Dataset, Domain, Factor, Ledger, PrivateTable
from pypgm.estimation import LinearMeasurement

SELECTING = Fraction(1, 10)  # of a round's budget
CELLS = 10_000  # of a candidate
CANDIDATES = 1_500


class Explained(Protocol):
    """A model of measurements."""

    def project(self, clique: tuple[str, ...]) -> Factor:
        """Return the table of a clique, in counts."""

    def synthetic_data(self, rows: int | None = None, rng: int | None = None) -> Dataset:
        """Draw records."""


Values = NDArray[np.float64]
Explain = Callable[[Domain, list[LinearMeasurement]], Explained]


def candidates_of(domain: Domain, order: int, seed: int) -> list[tuple[str, ...]]:
    """Return all pairs, and of larger sets up to an order as many random ones as there is time for."""
    every = [c for k in range(2, order + 1) for c in itertools.combinations(domain.attributes, k)]
    small = [c for c in every if domain.size(c) <= CELLS]
    n_pairs = sum(len(c) == 2 for c in small)
    if len(small) <= max(CANDIDATES, n_pairs):
        return small
    more = np.random.default_rng(seed).choice(len(small) - n_pairs, max(CANDIDATES - n_pairs, 0), replace=False)
    return small[:n_pairs] + [small[n_pairs + i] for i in sorted(more.tolist())]


def records(data: Dataset, budget: Budget, seed: int, explain: Explain, *, order: int, rounds: int) -> Dataset:
    """Return records of the model after the last round.

    A score is the distance of a marginal from the model's, less the noise that its cells would have.
    """
    domain, ledger = data.domain, Ledger(budget)
    candidates = candidates_of(domain, order, seed)
    with PrivateTable(data, "add-remove", ledger, unsafe_seed=seed) as table:
        each = ledger.remaining() / (rounds + 1)
        measured = list(table.measure_many([(a,) for a in domain], rho=each))
        model = explain(domain, measured)
        noise = math.sqrt(2 / math.pi) * math.sqrt(1 / (2 * float(each * (1 - SELECTING))))
        offsets = [Fraction(-noise * domain.size(c)) for c in candidates]

        def current(clique: tuple[str, ...]) -> Values:
            return model.project(clique).datavector()

        selector = table.l1_selector(candidates, current)
        for _ in range(rounds):
            chosen = candidates[selector.select(rho=each * SELECTING, offsets=offsets)]
            measured.append(table.measure(chosen, rho=each * (1 - SELECTING)))
            model = explain(domain, measured)
            selector.compare(current)
    return model.synthetic_data(len(data), rng=seed)
