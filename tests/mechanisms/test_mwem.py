"""MWEM: what it spends, asks and measures, against rounds written down by hand; multiplicative weights alone."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import pypgm
from pypgm import Budget, Dataset, Domain, Ledger, LinearMeasurement, workloads
from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import neighbour_pairs
from pypgm.audit.tiers import followed
from pypgm.mechanisms import mwem
from pypgm.queries import Partition, Prefix
from pypgm.reconstruction import multiplicative_weights
from pypgm.reconstruction.marginals import on_simplex

DOMAIN = Domain({"a": 2, "b": 3, "c": 4, "d": 2})
RNG = np.random.default_rng(3)
CODES = np.repeat(np.arange(4), 500)
DATA = Dataset(
    {"a": RNG.integers(0, 2, 2000), "b": CODES % 3, "c": CODES, "d": (CODES + RNG.integers(0, 2, 2000)) % 2}, DOMAIN
)
PURE, RHO = Budget(epsilon=1), Budget(rho=1)


@pytest.mark.parametrize("budget", [PURE, RHO])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("asks", ["marginals", "cells"])
def test_all_of_the_budget_is_spent_and_no_more(budget, neighbours, asks):
    release = mwem(DATA, budget=budget, neighbours=neighbours, asks=asks)
    assert 0.999 * budget.limit < release.ledger.spent() <= budget.limit
    assert len(release.log) == 4


def test_a_round_costs_as_published():
    first = mwem(DATA, budget=PURE, neighbours="replace").measurements[0]
    # b = D / (epsilon / 2 T) with D = 2
    assert first.stddev == pytest.approx(math.sqrt(2) * 2 / (1 / 8), rel=1e-3)
    release = mwem(DATA, budget=RHO)
    total, first = release.measurements[:2]
    assert total.stddev == pytest.approx(math.sqrt(50), rel=1e-3)
    # sigma = sqrt(T / (2 alpha rho)), a selection costs (1 - alpha) rho / T
    assert first.stddev == pytest.approx(math.sqrt(4 / (2 * 0.9 * 0.99)), rel=1e-3)
    selections = [float(line.cost) for line in release.ledger.lines if line.what == "select"]
    assert selections == pytest.approx([0.1 * 0.99 / 4] * 4, rel=1e-3)


@pytest.mark.parametrize("estimator", ["model", "weights"])
def test_with_a_huge_budget_the_worst_pair_comes_first_and_all_are_exact(estimator):
    release = mwem(DATA, budget=Budget(rho=10**7), rounds=6, estimator=estimator)
    errors = {}
    for clique in itertools.combinations(DOMAIN, 2):
        true = DATA.project(clique).values
        errors[clique] = np.abs(true - true.sum() / true.size).sum()
    assert release.log[0]["clique"] == max(errors, key=errors.get)
    assert {row["clique"] for row in release.log} == set(errors)
    for clique in errors:
        # Multiplicative weights come near in a hundred sweeps.
        most = 1 if estimator == "model" else 60
        np.testing.assert_allclose(release.project(clique).values, DATA.project(clique).values, atol=most)


def test_the_worst_cell_comes_first():
    release = mwem(DATA, budget=Budget(rho=10**7), asks="cells", rounds=1)
    errors = {
        c: np.abs(DATA.project(c).datavector() - 2000 / DOMAIN.size(c)) for c in itertools.combinations(DOMAIN, 2)
    }
    row = release.log[0]
    assert errors[row["clique"]][row["cell"]] == max(e.max() for e in errors.values())
    assert release.measurements[1].values == pytest.approx(DATA.project(row["clique"]).datavector()[row["cell"]], abs=1)


def test_one_marginal_in_one_round_is_the_noisy_marginal_on_the_simplex():
    work = workloads.Workload(DOMAIN, [("b", "c")])
    release = mwem(DATA, epsilon="1/100", neighbours="replace", workload=work, unsafe_seed=4)
    assert [m.clique for m in release.measurements] == [("b", "c")]
    noisy = release.measurements[0].values
    nearest = on_simplex(noisy.astype(float), 2000)
    np.testing.assert_allclose(release.project(("b", "c")).datavector(), nearest, atol=20)
    optimum = pypgm.estimate(DOMAIN, release.measurements, 2000, stop="optimum", tolerance=1e-9)
    np.testing.assert_allclose(optimum.project(("b", "c")).datavector(), nearest, atol=1)
    assert noisy.min() < 0 <= release.project(("b", "c")).values.min()


def test_what_was_measured_is_answered_as_well_as_its_noise_allows():
    errors, noise = [], []
    for seed in range(20):
        release = mwem(DATA, budget=Budget(rho="1/2"), rounds=2, unsafe_seed=seed)
        for m in release.measurements[1:]:
            error = np.abs(release.project(m.clique).values - DATA.project(m.clique).values).sum()
            errors.append(error)
            noise.append(math.sqrt(2 / math.pi) * m.stddev * m.values.size)
    assert 0.5 < np.mean(errors) / np.mean(noise) < 1.1


def test_on_a_tree_regions_and_junction_trees_take_the_same_rounds():
    work = workloads.Workload(DOMAIN, [("a", "b"), ("b", "c"), ("c", "d")])
    tree, regions = (
        mwem(DATA, budget=RHO, workload=work, oracle=oracle, unsafe_seed=2) for oracle in ("exact", "region_graph")
    )
    assert tree.log == regions.log
    for one, other in zip(tree.measurements, regions.measurements, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
    for clique in work:
        np.testing.assert_allclose(tree.project(clique).values, regions.project(clique).values, atol=2)


def test_sums_over_groups_are_asked_as_they_are():
    groups = Partition([0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1])
    work = workloads.Workload(DOMAIN, [("b", "c"), ("a", "d")], [groups, None], weights=[3, "1/2"])
    release = mwem(DATA, budget=RHO, workload=work)
    assert {m.clique: m.values.size for m in release.measurements} == {(): 1, ("b", "c"): 2, ("a", "d"): 4}


@pytest.mark.filterwarnings("ignore:no further marginal fits", "ignore:mwem never measures 1 of 3")
@pytest.mark.parametrize(
    ("own", "most", "widest"),
    [({}, 700, 1), ({"oracle": "region_graph"}, 700, 2), ({"estimator": "weights"}, 95, 1)],
)
def test_what_would_make_the_tables_large_waits(own, most, widest):
    work = workloads.Workload(DOMAIN, ["b", "c", ("b", "c")])
    release = mwem(DATA, budget=RHO, workload=work, tree_bytes=most, rounds=10, **own)
    assert len(release.log) == widest + 1
    assert max(len(m.clique) for m in release.measurements) == widest


@pytest.mark.parametrize("budget", [Budget(epsilon=2), Budget(rho=2)])
@pytest.mark.parametrize("own", [{"asks": "cells"}, {"estimator": "weights"}])
def test_the_audit_finds_nothing(budget, own):
    def mechanism(data, budget, privacy, **more):
        return mwem(data, budget=budget, privacy=privacy, iterations=2, rounds=2, **own, **more)

    found = followed("mwem", "mwem", [run_pairs("mwem", mechanism, budget, neighbour_pairs()[::3])])
    assert (found.result, found.detail if found.result == "failed" else "") == ("ok", "")


def test_the_log_is_kept_in_the_file(tmp_path):
    release = mwem(DATA, epsilon=1, asks="cells", rounds=2)
    release.save(tmp_path / "release.pgm")
    kept = pypgm.load(tmp_path / "release.pgm")
    assert kept.log == release.log
    assert kept.options["asks"] == "cells"


def test_a_callback_that_ends_an_estimate_ends_the_rounds():
    release = mwem(DATA, epsilon=1, delta=1e-9, callback=lambda state: True)
    assert len(release.log) == 1
    assert release.ledger.spent() < release.ledger.budget.limit


def test_nothing_to_ask():
    data = Dataset({"a": [0] * 5}, Domain({"a": 1}))
    release = mwem(data, epsilon=1, neighbours="replace")
    assert (release.measurements, release.ledger.spent()) == ((), 0)
    assert release.project("a").values.tolist() == [5]
    empty = mwem(Dataset({"a": []}, Domain({"a": 2})), epsilon=1, neighbours="replace", estimator="weights")
    assert empty.project("a").values.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"asks": "queries"}, ValueError, "asks must be one of"),
        ({"estimator": "tables"}, ValueError, "estimator must be one of"),
        ({"rounds": 0}, ValueError, "rounds must be at least 1"),
        ({"tree_bytes": -1}, ValueError, "tree_bytes must be positive"),
        ({"estimator": "weights", "oracle": "exact"}, ValueError, "multiplicative weights rest on"),
        ({"workload": workloads.Workload(Domain({"z": 2}), ["z"])}, ValueError, "the workload is over"),
        ({"workload": workloads.Workload(DOMAIN, ["c"], [Prefix(4)])}, ValueError, "cells or sums over groups"),
        (
            {"workload": workloads.Workload(DOMAIN, ["c"], [Partition([0, 0, 1, 1])]), "asks": "cells"},
            ValueError,
            "whole",
        ),
        ({"workload": workloads.Workload(DOMAIN, ["ab", ("b", "a")][1:] * 2)}, ValueError, "more than once"),
    ],
)
def test_refused_before_anything_is_spent(monkeypatch, options, error, match):
    monkeypatch.setattr(Ledger, "charge", lambda *_: pytest.fail("something was charged"))
    with pytest.raises(error, match=match):
        mwem(DATA, epsilon=1, **options)


def test_multiplicative_weights_end_where_least_squares_on_the_simplex_do():
    domain = Domain({"a": 2, "b": 3, "c": 4, "e": 2})
    rng = np.random.default_rng(0)
    measurements = [
        LinearMeasurement(rng.poisson(30, (2, 3)).astype(float), ("a", "b")),
        LinearMeasurement(rng.poisson(15, (4, 3)).astype(float), ("c", "b")),
    ]
    found = multiplicative_weights(domain, measurements, 180.0, iterations=3000)
    best = pypgm.estimate(domain, measurements, 180.0, stop="optimum", tolerance=1e-9, iterations=20_000)
    assert found.cliques == (("a", "b", "c"), ("e",))
    for clique in (("a", "b"), ("b", "c"), ("a", "c"), ("a", "e")):
        np.testing.assert_allclose(found.project(clique).values, best.project(clique).values, atol=0.2)


def test_an_update_is_the_published_one():
    domain = Domain({"a": 2, "b": 2})
    found = multiplicative_weights(domain, [LinearMeasurement([30.0, 10.0], "a")], 40.0, iterations=1)
    cells = np.array([1, 1, 1, 1]) * np.exp(np.array([10, 10, -10, -10]) / 80)
    np.testing.assert_allclose(found.project(("a", "b")).datavector(), 40 * cells / cells.sum())


def test_joint_tables_that_do_not_fit_are_refused():
    domain = Domain({f"x{i}": 10 for i in range(12)})
    chain = [LinearMeasurement(np.ones((10, 10)), pair) for pair in itertools.pairwise(domain)]
    with pytest.raises(pypgm.ModelTooLargeError, match="12 attributes that were measured together"):
        multiplicative_weights(domain, chain)


def test_weights_end_in_time():
    domain = Domain({f"x{i}": 10 for i in range(5)})
    chain = [LinearMeasurement(np.ones((10, 10)), pair) for pair in itertools.pairwise(domain)]
    assert multiplicative_weights(domain, chain, iterations=10**9, time_limit=0.01).total == 100
