"""Distances of answers: against the joint table, what is impossible, agreement of most probable values, refusals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pypgm import Domain
from pypgm.bayes import BayesianNetwork, compare_answers, map_agreement

DOMAIN = Domain({"a": ["x", "y"], "b": 3, "c": 2})
PARENTS = {"b": ("a",), "c": ("b",)}


def network(seed):
    rng = np.random.default_rng(seed)
    tables = {a: rng.dirichlet([1] * DOMAIN.size(a), DOMAIN.sizes(PARENTS.get(a, ()))) for a in DOMAIN}
    return BayesianNetwork(DOMAIN, PARENTS, tables)


def joint(net):
    t = [net.tables[a].values for a in DOMAIN]
    return np.einsum("a,ab,bc->abc", *t)


def test_conditional_queries_against_the_joint_table():
    first, second = network(0), network(1)
    found = compare_answers(first, second, [("c", ["a"]), ("c", {"a": "y"}), ("a", "c"), "b"])
    p, q = (joint(n).sum(axis=1) / joint(n).sum(axis=(1, 2))[:, None] for n in (first, second))
    pair, row = np.abs(p - q).sum(), np.abs(p - q)[1].sum()
    both = np.abs(joint(first).sum(axis=1) - joint(second).sum(axis=1)).sum()  # ("a", "c") are two targets
    alone = np.abs(joint(first).sum(axis=(0, 2)) - joint(second).sum(axis=(0, 2))).sum()
    np.testing.assert_allclose(found.l1, [pair, row, both, alone], rtol=1e-12)
    np.testing.assert_allclose(found.mean_l1, [pair / 2, row, both, alone], rtol=1e-12)
    kl = [(q * np.log(q / p)).sum() / 2, (q * np.log(q / p))[1].sum()]
    np.testing.assert_allclose(found.kl[:2], kl, rtol=1e-12)
    np.testing.assert_allclose(found.smoothed_kl[:2], kl, rtol=1e-6)
    assert found.map_agreement[0] == np.mean(p.argmax(1) == q.argmax(1))
    assert not found.skipped.any()
    assert not found.unsupported.any()


def test_a_network_agrees_with_itself():
    net = network(2)
    found = compare_answers(net, net, [("a", ["b", "c"]), ("b", {"c": 1}), ["c", "a"]])
    for distances in (found.l1, found.mean_l1, found.kl, found.smoothed_kl, 1 - found.map_agreement):
        assert distances.tolist() == [0.0, 0.0, 0.0]


def test_probability_where_the_reference_has_none_is_counted_and_smoothed():
    domain = Domain({"a": 3})
    sure, even = (BayesianNetwork(domain, {}, {"a": row}) for row in ([1, 0, 0], [0.5, 0.5, 0]))
    found = compare_answers(sure, even, ["a"])
    assert (found.kl[0], found.unsupported[0]) == (math.inf, 1)
    assert found.smoothed_kl[0] == pytest.approx(0.5 * math.log(0.5) + 0.5 * math.log(0.5 / (1e-12 / 3)), rel=1e-9)
    assert compare_answers(even, sure, ["a"]).kl[0] == pytest.approx(math.log(2), rel=1e-15)


def test_what_is_impossible_is_skipped_and_counted():
    domain = Domain({"a": 2, "b": 2})
    tables = {"a": [1.0, 0.0], "b": [[0.25, 0.75], [0.5, 0.5]]}
    sure = BayesianNetwork(domain, {"b": ["a"]}, tables)
    other = BayesianNetwork(domain, {"b": ["a"]}, {**tables, "a": [0.5, 0.5]})
    for pair in ((sure, other), (other, sure)):
        found = compare_answers(*pair, [("b", ["a"]), ("b", {"a": 1})])
        assert found.skipped.tolist() == [1, 1]
        assert found.l1[0] < 1e-15
        assert np.isnan(found.l1[1])
        assert np.isnan(found.map_agreement[1])
        assert map_agreement(*pair, [{"a": 1}, {"a": 0}], "b") == 1
        assert math.isnan(map_agreement(*pair, [{"a": 1}]))


def test_agreement_is_that_of_joint_values():
    first, second = network(4), network(7)
    known = [{"a": a, "c": c} for a, c in itertools.product("xy", range(2))]
    p, q = joint(first), joint(second)
    same = [p[a, :, c].argmax() == q[a, :, c].argmax() for a, c in itertools.product(range(2), repeat=2)]
    assert 0 < np.mean(same) < 1
    assert map_agreement(first, second, known) == map_agreement(first, second, known, ["b"]) == np.mean(same)
    assert map_agreement(first, second) == float(p.argmax() == q.argmax())


def test_no_queries_and_no_refused_ones():
    net = network(0)
    assert compare_answers(net, net, []).l1.shape == (0,)
    alone = BayesianNetwork(Domain({"a": 2}), {}, {"a": [0.5, 0.5]})
    for function in (map_agreement, lambda one, other: compare_answers(one, other, [])):
        with pytest.raises(ValueError, match="over one domain"):
            function(net, alone)
    with pytest.raises(ValueError, match=r"a target cannot be given: \['b'\]"):
        compare_answers(net, net, [("b", ["b"])])
    with pytest.raises(ValueError, match="'z'"):
        compare_answers(net, net, ["z"])
