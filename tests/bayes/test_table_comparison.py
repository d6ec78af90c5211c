"""Distances of conditional tables: by hand, under other orders of parents, without support, every refusal."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pypgm import Domain
from pypgm.bayes import BayesianNetwork, compare_tables

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})


def network(seed, parents=("a", "b")):
    rng = np.random.default_rng(seed)
    shape = DOMAIN.sizes(parents)
    tables = {"a": rng.dirichlet([1, 1]), "b": rng.dirichlet([1] * 3), "c": rng.dirichlet([1, 1], shape)}
    return BayesianNetwork(DOMAIN, {"c": parents}, tables)


def test_distances_of_each_table():
    first, second = network(0), network(1)
    found = compare_tables(first, second)
    p, q = (net.tables["c"].values.reshape(6, 2) for net in (first, second))
    assert found.l1["c"] == pytest.approx(np.abs(p - q).sum(), rel=1e-14)
    assert found.mean_l1["c"] == pytest.approx(found.l1["c"] / 6, rel=1e-14)
    assert found.mean_kl["c"] == pytest.approx(stats.entropy(q, p, axis=1).mean(), rel=1e-12)
    assert set(found.unsupported.values()) == {0}


def test_the_order_of_parents_is_nothing():
    first = network(0)
    turned = BayesianNetwork(DOMAIN, {"c": ("b", "a")}, dict(first.tables))
    found = compare_tables(first, turned)
    for distances in (found.l1, found.mean_l1, found.mean_kl):
        assert distances == {"a": 0.0, "b": 0.0, "c": 0.0}


def test_probability_where_the_reference_has_none_is_counted():
    domain = Domain({"a": 3})
    sure = BayesianNetwork(domain, {}, {"a": [1, 0, 0]})
    even = BayesianNetwork(domain, {}, {"a": [0.5, 0.5, 0]})
    found = compare_tables(sure, even)
    assert (found.mean_kl["a"], found.unsupported["a"], found.l1["a"]) == (math.inf, 1, 1.0)
    assert compare_tables(even, sure).mean_kl["a"] == pytest.approx(math.log(2), rel=1e-15)


def test_refused_comparisons():
    with pytest.raises(ValueError, match="over one domain"):
        compare_tables(network(0), BayesianNetwork(Domain({"a": 2}), {}, {"a": [0.5, 0.5]}))
    with pytest.raises(ValueError, match="'c' must have the same parents"):
        compare_tables(network(0), network(0, ("a",)))
