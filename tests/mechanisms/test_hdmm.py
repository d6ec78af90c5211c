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
from pypgm.queries import Partition, Prefix

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
        variance = 1 / (2 * rho * share)
        assert m.stddev == pytest.approx(math.sqrt(variance + 1 / 12), rel=1e-4)


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


ORDERED = pypgm.Domain({"age": 64, "income": 50, "sex": 2})


def aged(n=2000):
    rng = np.random.default_rng(1)
    age = np.clip(rng.normal(30, 12, n), 0, 63).astype(int)
    income = np.clip(age * 0.5 + rng.exponential(6, n), 0, 49).astype(int)
    return pypgm.Dataset({"age": age, "income": income, "sex": rng.integers(0, 2, n)}, ORDERED)


@pytest.mark.parametrize("privacy", RELATIONS, ids=str)
@pytest.mark.parametrize("kind", [workloads.prefixes, workloads.ranges])
def test_ranges_are_measured_in_runs_of_codes(kind, privacy):
    work = kind(ORDERED, [("income", "sex"), "age"], ["age", "income"])
    release = hdmm(aged(), budget=Budget(rho="1/2"), workload=work, privacy=privacy, iterations=30)
    assert Fraction(999, 2000) <= release.ledger.spent() <= Fraction(1, 2)
    asked = {m.query.shape[0] for m in release.measurements if m.clique == ("age",) and m.query is not None}
    assert asked >= {4, 8, 16, 32}
    for m in release.measurements:
        assert m.query is None or isinstance(m.query, Partition)
    if privacy.total_is_public:
        assert release.model.total == 2000
        assert all(m.values.size > 1 for m in release.measurements)


def test_prefixes_err_less_than_those_of_measured_cells():
    data = aged()
    work = workloads.prefixes(ORDERED, [("age", "sex"), "income"], ["age", "income"])

    def error(workload, seed):
        model = hdmm(data, budget=Budget(rho="1/50"), workload=workload, unsafe_seed=seed).model
        return np.mean(
            [
                np.abs(query.matvec(model.project(c).datavector() - data.project(c).datavector())).mean()
                for c, query in zip(work, work.queries, strict=True)
            ]
        )

    cells = workloads.Workload(ORDERED, work.cliques)
    own, others = ([error(w, seed) for seed in range(5)] for w in (work, cells))
    assert np.mean(own) < 0.8 * np.mean(others)


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
            {
                "epsilon": 1,
                "delta": 1e-6,
                "strategy": "contrasts",
                "workload": workloads.prefixes(DOMAIN, ["c"], ["c"]),
            },
            ValueError,
            "every cell",
        ),
        (
            {
                "epsilon": 1,
                "delta": 1e-6,
                "workload": workloads.from_queries(DOMAIN, [(("a", "b"), Prefix(6))]),
            },
            ValueError,
            "product of queries",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_spent(options, error, text):
    with pytest.raises(error, match=text):
        hdmm(DATA, **options)
