"""HDMM on workloads of marginals: what is spent, the noise of the strategy, answers near the records'."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import pypgm
from pypgm import workloads
from pypgm.mechanisms import hdmm
from pypgm.mechanisms.strategies import marginal_strategy
from pypgm.privacy import Budget, Privacy

DOMAIN = pypgm.Domain({"a": 2, "b": 3, "c": 4})
RNG = np.random.default_rng(3)
DATA = pypgm.Dataset({a: RNG.integers(0, DOMAIN.size((a,)), 400) for a in DOMAIN}, DOMAIN)
PAIRS = workloads.all_k_way(DOMAIN, 2)
RELATIONS = [Privacy(), Privacy("replace"), Privacy(records_per_person=3)]


@pytest.mark.parametrize("strategy", ["marginals", "contrasts"])
@pytest.mark.parametrize("privacy", RELATIONS, ids=str)
@pytest.mark.parametrize("oracle", ["exact", "region_graph"])
def test_the_whole_budget_is_spent_and_no_more(strategy, privacy, oracle):
    release = hdmm(DATA, budget=Budget(rho="1/2"), strategy=strategy, privacy=privacy, oracle=oracle)
    spent = release.ledger.spent()
    assert Fraction(999, 2000) <= spent <= Fraction(1, 2)
    assert len(release.ledger.lines) == len(release.measurements)
    assert (() in [m.clique for m in release.measurements]) == (strategy == "contrasts" and not privacy.total_is_public)
    if privacy.total_is_public:
        assert release.model.total == 400


@pytest.mark.parametrize("strategy", ["marginals", "contrasts"])
def test_with_a_huge_budget_the_workload_is_answered_exactly(strategy):
    release = hdmm(DATA, budget=Budget(rho=10**8), strategy=strategy, workload=PAIRS, oracle="exact")
    assert pypgm.evaluate(release.model, cliques=PAIRS, unsafe_data=DATA).mean < 2e-3


def test_the_noise_is_that_of_the_best_shares():
    release = hdmm(DATA, epsilon=1, delta=1e-9, workload=PAIRS)
    best = marginal_strategy(PAIRS)
    assert [m.clique for m in release.measurements] == list(best.cliques)
    rho = float(release.ledger.budget.limit)
    for m, share in zip(release.measurements, best.shares, strict=True):
        assert m.stddev == pytest.approx(math.sqrt(1 / (2 * rho * share)), rel=1e-6)


@pytest.mark.parametrize("strategy", ["marginals", "contrasts"])
@pytest.mark.parametrize("privacy", RELATIONS, ids=str)
def test_attributes_of_one_value(strategy, privacy):
    flat = pypgm.Dataset({"a": [0, 0, 0], "b": [0, 1, 1]}, pypgm.Domain({"a": 1, "b": 2}))
    assert hdmm(flat, epsilon=1, delta=1e-6, strategy=strategy, privacy=privacy).ledger.spent() > 0
    alone = pypgm.Dataset({"a": [0, 0, 0]}, pypgm.Domain({"a": 1}))
    release = hdmm(alone, epsilon=1, delta=1e-6, strategy=strategy, privacy=privacy)
    assert (not release.measurements) == privacy.total_is_public


def test_no_records():
    empty = pypgm.Dataset({a: [] for a in DOMAIN}, DOMAIN)
    release = hdmm(empty, epsilon=1, delta=1e-6, neighbours="replace")
    assert release.model.total == release.synthetic_data(rng=0).n_records == 0
    assert len(release.measurements) == 3
    assert hdmm(empty, epsilon=1, delta=1e-6).model.total > 0


def test_one_attribute_and_a_workload_of_weights():
    single = pypgm.Dataset({"a": [0, 1, 1]}, pypgm.Domain({"a": 2}))
    assert [m.clique for m in hdmm(single, epsilon=1, delta=1e-6).measurements] == [("a",)]
    heavy = workloads.Workload(DOMAIN, [("a", "b"), ("b", "c")], weights=[100, 1])
    first, second = hdmm(DATA, epsilon=1, delta=1e-6, workload=heavy).measurements[-2:]
    assert first.stddev < second.stddev


def test_a_seeded_release_is_the_same_and_says_so():
    one, two = (hdmm(DATA, epsilon=1, delta=1e-6, unsafe_seed=5) for _ in range(2))
    assert all((a.values == b.values).all() for a, b in zip(one.measurements, two.measurements, strict=True))
    assert one.not_private
    assert not hdmm(DATA, epsilon=1, delta=1e-6).not_private


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"epsilon": 1}, ValueError, "hdmm draws Gaussian noise"),
        ({}, TypeError, "needs a budget"),
        ({"epsilon": 1, "delta": 1e-6, "strategy": "prefix"}, ValueError, "strategy must be one of"),
        ({"epsilon": 1, "delta": 1e-6, "workload": workloads.all_k_way(pypgm.Domain({"z": 2}), 1)}, ValueError, "over"),
        (
            {"epsilon": 1, "delta": 1e-6, "workload": workloads.prefixes(DOMAIN, ["c"], ["c"])},
            ValueError,
            "every cell",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_spent(options, error, text):
    with pytest.raises(error, match=text):
        hdmm(DATA, **options)
