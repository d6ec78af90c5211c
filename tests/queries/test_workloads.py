"""Workloads: which marginals, in which order, with which weights."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypgm
from pypgm import Budget, Dataset, Domain, Ledger, ModelTooLargeError, Privacy, PrivateTable, mechanisms, workloads
from pypgm.queries import Identity, Kronecker, Prefix
from pypgm.workloads import Workload, all_k_way

DOMAIN = pypgm.Domain({"a": 2, "b": 3, "c": 4, "d": 5})


def test_all_of_a_size_are_the_combinations_in_the_domains_order():
    assert list(workloads.all_k_way(DOMAIN, 3)) == list(itertools.combinations("abcd", 3))
    assert len(workloads.up_to_k_way(DOMAIN, 4)) == 15
    assert max(DOMAIN.size(c) for c in workloads.up_to_k_way(DOMAIN, 3, max_cells=24)) == 24


def test_random_ones_are_those_of_published_scripts():
    # numpy.random.RandomState's stream is frozen: these three are the first that seed 0 gives of six.
    pairs = list(itertools.combinations("abcd", 2))
    drawn = workloads.random_k_way(DOMAIN, 2, 3, rng=0)
    assert list(drawn) == [pairs[i] for i in (5, 2, 1)]
    assert list(workloads.random_k_way(DOMAIN, 2, 6, rng=1)) != pairs
    assert set(workloads.random_k_way(DOMAIN, 2, 6, rng=1)) == set(pairs)


def test_a_target_is_in_every_marginal():
    work = workloads.with_target(DOMAIN, ("d", "a"), 3)
    assert list(work) == [("a", "b", "d"), ("a", "c", "d")]


@given(st.data())
def test_weights_of_the_closure_are_the_sum_over_the_workload(data):
    cliques = data.draw(st.lists(st.permutations("abcd").map(lambda p: tuple(p[:2])), min_size=1, max_size=5))
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(cliques), max_size=len(cliques)))
    closure = Workload(DOMAIN, cliques, weights=weights).closure()
    subsets = {r for k in (1, 2) for c in cliques for r in itertools.combinations(DOMAIN.canonical(c), k)}
    assert set(closure) == subsets
    for r, weight in closure.items():
        assert weight == sum(w * len(set(r) & set(c)) for c, w in zip(cliques, weights, strict=True))
    assert [len(r) for r in closure] == sorted(len(r) for r in closure)


def test_effects_are_computed_from_all_three_together():
    assert list(workloads.causal(DOMAIN, "d", "b", ["c", "a"])) == [("b", "c", "d"), ("a", "b", "d")]
    assert list(workloads.causal(DOMAIN, "d", "b", "a")) == [("a", "b", "d")]
    assert list(workloads.causal(DOMAIN, "d", "b", [])) == [("b", "d")]


def test_ordered_attributes_are_asked_in_running_sums():
    counts = np.arange(6).reshape(2, 3)
    (both, other) = workloads.prefixes(DOMAIN, [("a", "b"), ("a", "d")], ["b"]).queries
    assert both.matvec(counts.ravel()).tolist() == np.cumsum(counts, axis=1).ravel().tolist()
    assert other is None
    assert workloads.ranges(DOMAIN, ["b"], ["b"]).queries[0].shape == (6, 3)


def test_queries_and_weights_stay_beside_their_cliques():
    query = Kronecker([Identity(2), Prefix(3)])
    work = workloads.from_queries(DOMAIN, [(("a", "b"), query), ("c", None), ("c", None)])
    assert work.cliques == (("a", "b"), ("c",), ("c",))
    assert work.queries == (query, None, None)
    assert work.weights == (1, 1, 1)
    assert Workload(DOMAIN, ["a"], weights=[0.1]).weights == (Fraction(1, 10),)
    assert work.cells() == 14
    assert work.answers() == 14
    assert workloads.ranges(DOMAIN, ["b"], ["b"]).answers() == 6
    assert repr(work) == "Workload(3 marginals, 14 cells)"


def test_a_workload_is_what_errors_are_measured_on():
    records = pypgm.Dataset({"a": [0, 1], "b": [0, 2], "c": [1, 1], "d": [4, 0]}, DOMAIN)
    found = pypgm.evaluate(records, records, cliques=workloads.all_k_way(DOMAIN, 2))
    assert found.values.tolist() == [0.0] * 6


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: workloads.all_k_way(DOMAIN, 0), ValueError, "k must be 1..4"),
        (lambda: workloads.all_k_way(DOMAIN, 5), ValueError, "got 5"),
        (lambda: workloads.all_k_way(DOMAIN, 2.0), TypeError, "k must be an int"),
        (lambda: workloads.all_k_way(DOMAIN, 2, max_cells=5), ValueError, "at most 5 cells"),
        (lambda: workloads.all_k_way({"a": 2}, 1), TypeError, "needs a pypgm.Domain"),
        (lambda: workloads.random_k_way(DOMAIN, 2, 7), ValueError, "count must be 1..6"),
        (lambda: workloads.with_target(DOMAIN, "z", 2), ValueError, "z"),
        (lambda: workloads.with_target(DOMAIN, ("a", "b"), 1), ValueError, "has all of"),
        (lambda: Workload(DOMAIN, []), ValueError, "at least one clique"),
        (lambda: Workload(DOMAIN, "ab"), TypeError, "need a list"),
        (lambda: Workload(DOMAIN, [("a", "z")]), ValueError, "z"),
        (lambda: Workload(DOMAIN, ["a"], weights=[0]), ValueError, "more than 0"),
        (lambda: Workload(DOMAIN, ["a"], weights=[1, 2]), ValueError, "got 1 and 2"),
        (lambda: Workload(DOMAIN, ["a"], [Identity(3)]), ValueError, "has 2 cells, its query is on 3"),
        (lambda: workloads.prefixes(DOMAIN, ["a"], ["z"]), ValueError, "z"),
        (lambda: workloads.causal(DOMAIN, "a", "b", ["z"]), ValueError, "z"),
        (lambda: workloads.causal(DOMAIN, "a", "b", ["a"]), ValueError, "a"),
    ],
)
def test_what_cannot_be_a_workload_says_why(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_more_marginals_than_memory_can_list_are_refused_at_once_unspent(monkeypatch):
    monkeypatch.setattr(workloads, "_MARGINAL_BYTES", 1 << 40)
    domain = Domain({f"x{i}": 2 for i in range(1000)})
    with pytest.raises(ModelTooLargeError, match=r"1,000 attributes have 5e\+05 marginals of 2"):
        all_k_way(domain, 2)
    data = Dataset({a: [0] for a in domain}, domain)
    for mechanism in (mechanisms.wide, mechanisms.mst, mechanisms.adaptive_grid, mechanisms.screen, mechanisms.aim):
        table = PrivateTable(data, Privacy(), Ledger(Budget(epsilon=1, delta=1e-9)))
        with pytest.raises(ModelTooLargeError, match="drop attributes, or pass a workload"):
            mechanism(table)
        assert table.ledger.spent() == 0
