"""What a selection costs in rho, by the exact Rényi divergence of two candidates: epsilon^2 / 8 needs the factor 2."""

import math
from fractions import Fraction

import numpy as np
import pytest

from pypgm import Dataset, Domain
from pypgm.privacy import Budget, Ledger, Privacy, PrivateTable
from pypgm.privacy.l1_selector import GRID_BITS

ORDERS = [1.0001, 1.1, 1.5, 2.0, 3.0, 8.0, 64.0]


def law(scores, rate):
    weights = np.exp(rate * (np.array(scores, dtype=float) - max(scores)))
    return weights / weights.sum()


def renyi(p, q, order):
    return math.log(np.sum(p**order * q ** (1 - order))) / (order - 1)


def divergences(one, other, rate):
    """The largest divergence over its order, in either direction: the least rho it is zCDP for."""
    p, q = law(one, rate), law(other, rate)
    return max(renyi(*pair, order) / order for pair in ((p, q), (q, p)) for order in ORDERS)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 3.0])
def test_scores_that_move_in_opposite_directions_cost_the_square_of_twice_as_much(epsilon):
    """A record that raises one score by 1 and lowers another by 1, as a difference of counts may."""
    before, after = [0, 0], [1, -1]
    with_factor, without = divergences(before, after, epsilon / 2), divergences(before, after, epsilon)
    assert with_factor <= epsilon**2 / 8 * (1 + 1e-9)
    # What is drawn at exp(epsilon s) and charged epsilon^2 / 8 spends nearly four times that: epsilon^2 / 2 at most.
    assert epsilon**2 / 8 < without <= epsilon**2 / 2 * (1 + 1e-9)
    if epsilon <= 0.1:
        assert without > 0.99 * epsilon**2 / 2


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 3.0])
def test_scores_that_all_move_one_way_need_no_factor(epsilon):
    """Counts themselves are monotone: candidates gain a record or do not."""
    for before, after in (([0, 0], [1, 0]), ([5, 4], [5, 5]), ([0, 0], [1, 1])):
        assert divergences(before, after, epsilon) <= epsilon**2 / 8 * (1 + 1e-9)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("k", [1, 2])
def test_what_a_selector_draws_with_costs_no_more_than_it_charges(monkeypatch, neighbours, k):
    """On neighbours that move two scores in opposite directions, from the scores and the rate the sampler is given."""
    domain, given = Domain({"a": 2, "b": 2}), []
    monkeypatch.setattr("pypgm._core.select_exponential", lambda scores, n, d, words: given.append((scores, n, d)) or 0)
    # Both candidates are as bad at first; a count one higher is then worse for the one and better for the other.
    estimate = {("a",): [0.0, 0.0], ("b",): [10.0, 10.0]}
    base, extra = [(0, 0)] * 10, [(1, 1)] * k
    pairs = {"add-remove": (base, base + extra), "replace": (base + [(0, 0)] * k, base + extra)}
    if neighbours == "replace":  # from a cell that is too small to one that is too large, and the other way round
        estimate = {("a",): [100.0, 0.0], ("b",): [0.0, 80.0 - 2 * k]}
    for records in pairs[neighbours]:
        columns = np.array(records).T
        data = Dataset(dict(zip("ab", columns, strict=True)), domain)
        table = PrivateTable(data, Privacy(neighbours, k), Ledger(Budget(rho=100)))
        table.l1_selector(list(estimate), estimate.get).select([0, 1], epsilon="1/10")
    (one, n, d), (other, *same) = given
    assert same == [n, d]
    changes = (other - one) / (1 << GRID_BITS)
    size = k * (2 if neighbours == "replace" else 1)
    assert changes.tolist() == [size, -size]
    charged = float(table.ledger.lines[0].cost)
    spent = divergences(one.tolist(), other.tolist(), float(Fraction(n, d)))
    assert 0.99 * charged < spent <= charged * (1 + 1e-9)
