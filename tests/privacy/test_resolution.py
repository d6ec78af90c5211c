"""What pairs may be asked, and risks: exact integers that one record changes by no more than is said."""

from __future__ import annotations

import numpy as np
import pytest

from pypgm.mechanisms.resolution import GRID, RISK_SENSITIVITY, Values, resolutions, risk
from pypgm.queries import Identity, Partition

RNG = np.random.default_rng(11)


def defined(counts, model, query, stddev):
    """Return a risk as its docstring has it, in records."""

    def too_low(t, m):
        return np.minimum(0.4 * stddev, np.maximum(0, t - m) + 0.3 * np.minimum(stddev, np.minimum(m, t)))

    if query.is_identity:
        return 2 * too_low(counts, model).sum()
    matrix = query.to_sparse().toarray()
    sums, models = matrix @ counts, matrix @ model
    parts = model * (matrix.T @ ((sums - too_low(sums, models)) / models))
    return 2 * np.maximum(0, counts - parts).sum()


def asked(cells):
    return [Identity(cells), Partition(RNG.integers(0, 3, cells)), Partition(np.arange(cells) // 4)]


@pytest.mark.parametrize("seed", range(20))
def test_risks_are_what_their_definition_says_and_change_as_little(seed):
    rng = np.random.default_rng(seed)
    counts, model = rng.poisson(3, 12), rng.gamma(0.3, 10, 12) + 1e-9
    stddev = float(rng.uniform(0.2, 9))
    for query in asked(12):
        found = risk(counts, model, query, stddev)
        assert isinstance(found, int)
        # What noise makes sums of groups too low by is known to a sixteenth of a record.
        assert found / GRID == pytest.approx(defined(counts, model, query, stddev), abs=0.01 + 2 / 16 * 4)
        for cell in np.eye(12, dtype=np.int64):
            change = risk(counts + cell, model, query, stddev) - found
            least = -RISK_SENSITIVITY if isinstance(query, Partition) and not query.is_identity else 0
            assert least * GRID <= change <= RISK_SENSITIVITY * GRID


def test_a_record_may_cost_nearly_all_that_is_said():
    most = RISK_SENSITIVITY * GRID
    for model, counts, cell, change in [
        ([1000.0, 1e-6], [0, 9], 1, most),  # one more where the records are and the model has none
        ([990.0, 10.0], [1000, 0], 1, -most),  # the first where the model has some: the sum grows, others are less low
    ]:
        before, after = (
            risk(np.array(counts) + more * np.eye(2, dtype=np.int64)[cell], np.array(model), Partition([0, 0]), 0.1)
            for more in (0, 1)
        )
        assert 0.98 < (after - before) / change <= 1


def test_counts_beyond_int64_sums_are_taken_in_whole_integers():
    counts, model = np.array([2**45, 3, 0, 2**44]), np.array([2.0**35, 1.0, 1.0, 2.0**20])
    for query in (Identity(4), Partition([0, 0, 1, 1])):
        found = risk(counts, model, query, 5.0)
        coarse = 0.01 if query.is_identity else 1e-5 * counts.sum()  # parts have 20 bits
        assert found / GRID == pytest.approx(defined(counts, model, query, 5.0), rel=1e-5, abs=coarse)
        assert abs(risk(counts + np.array([0, 1, 0, 0]), model, query, 5.0) - found) <= RISK_SENSITIVITY * GRID


def values(shares, *ordered):
    return [Values(own, is_ordered) for own, is_ordered in zip(shares, ordered, strict=True)]


def test_a_small_table_is_asked_whole():
    asked = values([np.full(6, 1 / 6), np.full(8, 1 / 8)], True, True)

    def names(rows, **more):
        return [r.name for r in resolutions(*asked, rows, **more)]

    assert names(48.0) == ["cells"]
    assert names(16.0) == ["cells", "groups", "second", "first"]
    assert names(0.0) == ["cells", "groups"]
    assert names(48.0, max_cells=40) == ["groups", "second", "first"]


def test_groups_are_two_or_more_of_each_attribute():
    one = np.r_[0.999, np.full(9, 1e-4 / 0.9)]  # ten values, of which groups of equal mass are one and the rest
    for rows in (4.0, 16.0, 64.0):
        for resolution in resolutions(*values([one, one], False, True), rows):
            assert min(resolution.sizes) > 1
            assert resolution.query.shape[0] == np.prod(resolution.sizes)


@pytest.mark.parametrize("sizes", [(100, 80), (5, 300), (300, 5), (2, 1000)])
@pytest.mark.parametrize("ordered", [True, False])
def test_groups_are_about_as_many_and_as_heavy_as_wanted(sizes, ordered):
    shares = [np.random.default_rng(n).dirichlet(np.full(n, 2.0)) for n in sizes]
    model = np.multiply.outer(*shares).ravel()
    for resolution in resolutions(*values(shares, ordered, ordered), 64.0)[1:]:
        rows = resolution.query.shape[0]
        assert 16 <= rows <= 80
        masses = np.bincount(resolution.query.groups, model)
        assert masses.min() > 0
        assert masses.max() < 40 / rows


def test_an_attribute_without_order_is_grouped_by_frequency():
    shares = [np.array([0.4, 0.05, 0.4, 0.05, 0.05, 0.05]), np.array([0.5, 0.5])]
    found = {r.name: r.query for r in resolutions(*values(shares, False, True), 5.0)}
    of_first = found["groups"].groups.reshape(6, 2)[:, 0]
    assert len(set(of_first[[1, 3, 4, 5]])) == 1
    assert of_first[0] != of_first[1]


@pytest.mark.parametrize("cells", [700, 3000, 9000])
def test_a_large_group_of_equal_parts_changes_by_no_more_than_is_said(cells):
    """Parts of a group are rounded, and must not sum to more than it."""
    model, query = np.full(cells, 1e-3), Partition(np.r_[np.zeros(cells - 1, np.int64), 1])
    counts = np.full(cells, 20, np.int64)
    counts[0] = 0
    more = counts + (np.arange(cells) == 0)
    for stddev in (1e3, 1e4, 1e5):
        change = risk(more, model, query, stddev) - risk(counts, model, query, stddev)
        assert abs(change) <= RISK_SENSITIVITY * GRID
