"""Ledgers in Gaussian differential privacy: the loss of whole runs by sampling, and the price that must not be."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mutants.gdp import MUTANTS
from mutate import Mutant, planted
from selfcheck.gdp import best_delta

from pypgm import Dataset, Domain
from pypgm.mechanisms import hdmm, mst
from pypgm.privacy import Budget, realised_pld_epsilon
from pypgm.privacy.laws import DiscreteGaussian

NAIVE = "selections cost their rho of zCDP"
EPSILON, DELTA = Fraction(1, 10), Fraction(1, 10**6)


def test_an_adversary_wins_by_far_where_selections_cost_their_rho_of_zcdp():
    amount = Budget(epsilon=EPSILON, delta=DELTA).limit
    assert best_delta(EPSILON, amount, 12) <= DELTA * 1.00005
    with planted(Mutant(NAIVE, *MUTANTS[NAIVE])):
        assert best_delta(EPSILON, amount, 12) > 1.3 * DELTA


def losses_of(lines, part):
    """Values, probabilities and number of the losses of each line, of selections split at a part of their range."""
    for line in lines:
        law = line.law
        if isinstance(law, DiscreteGaussian):  # on as many answers that each change by 1
            v = float(law.variance)
            z = np.arange(-math.ceil(12 * math.sqrt(v)), math.ceil(12 * math.sqrt(v)) + 1)
            weights = np.exp(-(z**2) / (2 * v))
            yield (1 - 2 * z) / (2 * v), weights / weights.sum(), law.squared_sensitivity
        else:
            e = float(law.epsilon)
            p = -math.expm1((part - 1) * e) / -math.expm1(-e)
            yield np.array([part * e, (part - 1) * e]), np.array([p, 1 - p]), law.composed or 1


def delta_by_sampling(lines, epsilon, part, draws=200_000):
    """Mean and standard error of delta at epsilon, from laws tilted by exp(order * loss), of mean epsilon."""
    laws = list(losses_of(lines, part))

    def tilted(order):
        for values, p, times in laws:
            weights = p * np.exp(order * (values - values.max()))
            yield values, weights / weights.sum(), times, math.log(weights.sum()) + order * values.max()

    low, high = 0.0, 1000.0
    for _ in range(50):
        order = (low + high) / 2
        mean = sum(times * float(values @ p) for values, p, times, _ in tilted(order))
        low, high = (low, order) if mean > epsilon else (order, high)
    rng, total, log_factor = np.random.default_rng(1), np.zeros(draws), 0.0
    for values, p, times, log_sum in tilted(order):
        for _ in range(times):
            total += values[np.searchsorted(p.cumsum()[:-1], rng.random(draws), side="right")]
        log_factor += times * log_sum
    over = np.where(total > epsilon, -np.expm1(epsilon - total), 0) * np.exp(log_factor - order * total)
    return over.mean(), over.std() / math.sqrt(draws)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [mst, hdmm])
def test_whole_ledgers_lose_no_more_than_delta(mechanism):
    rng = np.random.default_rng(0)
    domain = Domain({f"x{i}": 3 for i in range(7)})
    data = Dataset({a: rng.integers(0, 3, 500) for a in domain}, domain)
    ledger = mechanism(data, epsilon=EPSILON, delta=DELTA, iterations=1, unsafe_seed=0).ledger
    assert realised_pld_epsilon(ledger) <= ledger.realised_epsilon() <= ledger.epsilon() == float(EPSILON)
    reached = []
    for part in (0.5,) if mechanism is hdmm else (0.4, 0.5, 0.6):
        mean, error = delta_by_sampling(ledger.lines, float(EPSILON), part)
        assert error < 0.02 * mean
        reached.append(mean / float(DELTA))
        assert reached[-1] <= 1 + 4 * error / mean
    assert max(reached) > (0.95 if mechanism is hdmm else 0.4)
