"""What noise hides, and an allocation against every other one that costs no more."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypgm.mechanisms.pair_allocation import allocate, hidden, hidden_each

shares = st.floats(0, 1)


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=9), st.lists(st.floats(0, 1e7), min_size=1, max_size=5))
def test_a_cell_is_off_by_the_noise_or_by_twice_what_is_expected(expected, stddevs):
    mean = math.sqrt(2 / math.pi)
    found = hidden(np.array(expected), np.array(stddevs))
    naive = [sum(min(mean * s, 2 * e) for e in expected) / (2 * sum(expected)) for s in stddevs]
    np.testing.assert_allclose(found, naive, rtol=1e-9, atol=1e-15)
    assert (found <= 1 + 1e-12).all()
    of_many = hidden_each(np.tile(expected, (len(stddevs), 1)), np.array(stddevs))
    np.testing.assert_allclose(of_many, found, rtol=1e-9, atol=1e-15)


@given(
    st.lists(st.tuples(shares, shares, shares, st.floats(0.01, 10)), min_size=1, max_size=5),
    st.lists(st.floats(0.01, 3), min_size=2, max_size=2, unique=True),
)
def test_no_allocation_that_costs_as_little_leaves_less_risk(marginals, costs):
    unasked, first, more, weights = np.array(marginals).T
    asked = np.stack([first + 1e-3, first + more + 2e-3], axis=1)
    prices = np.array(sorted(costs, reverse=True))
    levels, risks = allocate(unasked, asked, prices, weights)

    def cost(chosen):
        return sum(prices[level] for level in chosen if level >= 0)

    def risk(i, level):
        if level < 0 or unasked[i] < 1e-9:
            return weights[i] * unasked[i]
        return weights[i] / math.sqrt(unasked[i] ** -2 + asked[i, level] ** -2)

    own = [risk(i, level) for i, level in enumerate(levels)]
    np.testing.assert_allclose(risks, own, rtol=1e-9, atol=1e-8)
    assert cost(levels) <= 1
    for other in itertools.product((-1, 0, 1), repeat=len(marginals)):
        if cost(other) <= cost(levels):
            assert sum(own) <= sum(risk(i, level) for i, level in enumerate(other)) + 1e-7


def test_the_budget_goes_where_errors_are_and_noise_hides_least():
    costs = 0.5 ** np.arange(12)
    noise = np.outer([0.01, 0.01, 0.3], np.sqrt(1 / costs))
    levels, _ = allocate(np.array([0.5, 0.05, 0.5]), noise, costs, np.ones(3))
    assert 0 <= levels[0] < levels[1]
    assert sum(costs[level] for level in levels if level >= 0) > 0.5
    heavy, _ = allocate(np.array([0.5, 0.05, 0.5]), noise, costs, np.array([1.0, 100.0, 1.0]))
    assert heavy[1] < heavy[0]


@pytest.mark.parametrize("error", [0.0, 0.2])
def test_nothing_is_asked_that_costs_more_than_there_is_or_saves_nothing(error):
    levels, risks = allocate(np.full(2, error), np.full((2, 1), 0.1), np.array([1.5 if error else 0.1]), np.ones(2))
    assert levels.tolist() == [-1, -1]
    np.testing.assert_array_equal(risks, error)
