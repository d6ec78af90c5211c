"""What dependence that was not measured adds to expected errors."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypgm
from pypgm import LinearMeasurement
from pypgm._base.clock import Clock
from pypgm.models.expected_error import expected_total_variation, hidden_dependence, hiding_noise, room
from pypgm.queries import Contrasts
from pypgm.reporting.quality import quality_of


def measured(clique, stddev, query=None):
    size = 4 if query is None else query.shape[0]
    return LinearMeasurement(np.zeros(size), tuple(clique), stddev, query)


def test_noise_of_a_clique_is_that_of_all_its_answers():
    assert hiding_noise([measured("ab", 6.0)]) == 6
    assert hiding_noise([measured("ab", 6.0), measured("ab", 6.0)]) == pytest.approx(6 / math.sqrt(2))
    assert hiding_noise([measured("ab", 6.0), measured("bc", 8.0), measured("ac", 20.0), measured("a", 1.0)]) == 8


@given(st.lists(st.floats(1, 100), min_size=6, max_size=6), st.floats(1, 1e3))
def test_larger_cliques_hide_no_more_than_pairs_within_them_show(of_pairs, coarser):
    pairs = [measured(p, stddev) for p, stddev in zip(itertools.combinations("abcd", 2), of_pairs, strict=True)]
    triples = [measured(t, coarser * max(of_pairs)) for t in itertools.combinations("abcd", 3)]
    assert hiding_noise([*pairs, *triples]) <= hiding_noise(pairs) * (1 + 1e-12)
    assert hiding_noise(triples) == pytest.approx(coarser * max(of_pairs))


def test_only_single_attributes_hide_any_dependence():
    assert hiding_noise([measured("a", 1.0)]) == math.inf
    np.testing.assert_allclose(hidden_dependence(np.array([10.0]), math.inf), [4])


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (4, 5)])
def test_contrasts_hide_as_much_as_sums_with_the_noise_they_leave(sizes):
    """The noise that an interaction leaves in a direction it tells of, as least squares reads it off the answers."""
    query = Contrasts(sizes)
    matrix = query.to_sparse().toarray()
    told = np.linalg.svd(matrix, compute_uv=False)
    np.testing.assert_allclose(told[told > 1e-9] ** 2, query.squared_singular_value)
    assert hiding_noise([measured("ab", 3.0, query)]) == pytest.approx(3 / told[0])


@given(st.floats(0, 1e12), st.floats(1e-3, 1e12))
def test_it_is_at_most_a_part_of_the_count_and_of_the_noise(count, noise):
    (own,) = hidden_dependence(np.array([count]), noise)
    assert 0 <= own <= 0.4 * min(count, noise)
    assert own >= 0.2 * min(count, noise) * (1 - 1e-12)


def test_counts_below_zero_hide_nothing():
    np.testing.assert_array_equal(hidden_dependence(np.array([-3.0, 0.0]), 5.0), [0, 0])


@given(st.lists(st.integers(0, 9), min_size=12, max_size=12), st.integers(0, 11), st.integers(0, 11))
def test_no_table_with_the_same_margins_is_farther_than_there_is_room(counts, first, second):
    """Two cells swap records with the other corners of their rectangle: all margins stay."""
    table = np.reshape(counts, (3, 4)).astype(float)
    (i, j), (k, m) = divmod(first, 4), divmod(second, 4)
    other = table.copy()
    if i != k and j != m:
        moved = min(table[i, j], table[k, m])
        for cell, step in (((i, j), -1), ((k, m), -1), ((i, m), 1), ((k, j), 1)):
            other[cell] += step * moved
    assert (abs(other - table) <= room(table, [True, True]) + 1e-9).all()
    assert (room(table, [True, False]) >= room(table, [True, True])).all()


def test_constant_columns_hide_nothing():
    """Nothing was asked of their pair, and there is one table with such margins."""
    domain = pypgm.Domain({"a": 3, "b": 2})
    counts = [LinearMeasurement([5000, 0, 0], "a", 10.0), LinearMeasurement([5000, 0], "b", 10.0)]
    model = pypgm.estimate(domain, counts)
    assert model.expected_error(("a", "b")).values.max() < 100
    (pair,) = expected_total_variation(model, [("a", "b")], 3, Clock())
    assert pair < 0.02


def test_no_distance_is_above_all_records():
    domain = pypgm.Domain({"a": 20, "b": 20})
    model = pypgm.estimate(domain, [LinearMeasurement(np.zeros(20), a, 30.0) for a in "ab"], 1)
    pair, alone = expected_total_variation(model, [("a", "b"), ("a",)], 3, Clock())
    assert max(pair, alone) <= 1
    quality = quality_of(model)
    assert quality.tables.max() <= 1


def test_it_is_added_where_cells_were_not_measured_each():
    domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
    counts = 1000 * np.array([[0.4, 0.1], [0.1, 0.4]])
    model = pypgm.estimate(domain, [LinearMeasurement(counts, tuple(pair), 20.0) for pair in ("ab", "bc")], 1000)
    apart, together = (model.expected_error(tuple(pair)).values for pair in ("ac", "ab"))
    hidden = hidden_dependence(model.project(("a", "c")).datavector(), 20.0).reshape(2, 2)
    assert (apart > hidden).all()
    assert (together < 25).all()
    pair, measured_pair = expected_total_variation(model, [("a", "c"), ("a", "b")], 3, Clock())
    assert pair > 0.5 * math.sqrt(2 / math.pi) * hidden.sum() / 1000 > measured_pair / 2
