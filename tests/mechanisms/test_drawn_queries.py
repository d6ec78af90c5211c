"""DualQuery and FEM: what they spend, what they learn, and the likelihood of what was drawn."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import pypgm
from pypgm import Budget, Dataset, Domain, Ledger, workloads
from pypgm.estimation.losses import Custom, check_gradient
from pypgm.mechanisms import dualquery, fem
from pypgm.mechanisms.drawn_queries import DrawnQueries
from pypgm.reconstruction.best_records import RecordSearch
from pypgm.reconstruction.weighted_records import WeightedRecords
from pypgm.report import model_lines

DOMAIN = Domain({"a": 2, "b": 3, "c": 4, "d": 2})
PAIRS = list(itertools.combinations(DOMAIN, 2))


def records(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, n)
    first = (codes > 1) ^ (rng.random(n) < 0.1)
    return Dataset({"a": first.astype(int), "b": codes % 3, "c": codes, "d": (codes // 2)}, DOMAIN)


DATA = records()
QUICK = {"dualquery": (dualquery, {"samples": 20, "rounds": 12}), "fem": (fem, {"rounds": 12, "samples": 10})}


def error(release):
    return np.mean([np.abs(release.project(c).values - DATA.project(c).values).sum() for c in PAIRS]) / len(DATA) / 2


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("budget", [Budget(rho="1/2"), Budget(epsilon=2)])
def test_no_more_than_the_budget_is_spent(name, neighbours, budget):
    mechanism, options = QUICK[name]
    release = mechanism(DATA, budget=budget, neighbours=neighbours, unsafe_seed=0, iterations=5, **options)
    assert 0 < release.ledger.spent() <= budget.limit
    assert len(release.measurements) == (neighbours == "add-remove")
    assert len(release.log) == (12 if name == "fem" else 20 * (max(row["round"] for row in release.log)))
    assert {row["clique"] for row in release.log} <= set(PAIRS)
    rest = release.ledger.spent() - (budget.limit / 100 if neighbours == "add-remove" else 0)
    if name == "fem":
        assert float(rest) == pytest.approx(float(budget.limit) * (0.99 if neighbours == "add-remove" else 1), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_large_budget_teaches_and_the_model_is_no_worse_than_the_records(name):
    mechanism, _ = QUICK[name]
    more = {"rounds": 80} if name == "fem" else {}
    found = {
        kind: error(mechanism(DATA, budget=Budget(rho=20), estimator=kind, unsafe_seed=0, **more))
        for kind in ("records", "model")
    }
    uniform = error(pypgm.GraphicalModel(pypgm.CliqueVector(DOMAIN, PAIRS), 2000.0))
    assert found["records"] < 0.6 * uniform
    assert found["model"] < found["records"]


@pytest.mark.parametrize("law", ["exponential", "laplace"])
@pytest.mark.parametrize("optimiser", ["ascent", "exact"])
def test_fem_by_both_laws_and_optimisers(law, optimiser):
    release = fem(DATA, 50, rounds=25, samples=5, law=law, optimiser=optimiser, estimator="records", unsafe_seed=1)
    assert error(release) < 0.42


def test_a_query_that_is_answered_too_high_is_drawn_by_its_complement():
    flat = Dataset({"a": [0] * 1000, "b": [0] * 1000, "c": [0] * 1000, "d": [0] * 1000}, DOMAIN)
    work = workloads.all_k_way(DOMAIN, 1)
    release = fem(flat, 10**5, rounds=30, samples=20, perturbation=3.0, workload=work, estimator="records")
    assert all((row["cell"] == 0) != row["complement"] for row in release.log)
    other = dualquery(flat, 10**4, rounds=6, samples=10, workload=work, estimator="records")
    wrong = [row for row in other.log if (row["cell"] == 0) != row["complement"]]
    assert len(wrong) < 0.5 * len(other.log)


def test_the_likelihood_and_its_gradient():
    rng = np.random.default_rng(0)
    queries = DrawnQueries(DOMAIN, [("a", "b"), ("c",)])
    y = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(4))
    shares = np.concatenate(y)
    expected = 0.0
    for rate in (3.0, -20.0, 700.0):
        offsets = rng.normal(0, abs(rate) / 4, 10)
        drawn = [(0, 2, False), (1, 3, True), (1, 3, True)]
        queries.add(rate, offsets, drawn)
        both = np.concatenate([rate * shares + offsets, rate * (1 - shares) - rate - offsets])
        top = both.max()
        log_mass = top + np.log(np.exp(both - top).sum())
        expected -= both[2] + 2 * both[10 + 9] - 3 * log_mass
    marginals = pypgm.CliqueVector(DOMAIN, [("a", "b"), ("c",)], 50 * shares)
    value, gradient = queries.loss(marginals, 50.0)
    assert value == pytest.approx(expected)
    assert gradient.cliques == marginals.cliques
    assert check_gradient(Custom(lambda m: queries.loss(m, 50.0), queries.cliques), marginals) < 1e-4


@pytest.mark.parametrize("name", QUICK)
def test_releases_are_kept_and_resumed(name, tmp_path):
    mechanism, options = QUICK[name]
    plain = mechanism(DATA, 1, unsafe_seed=0, estimator="records", **options)
    assert isinstance(plain.model, WeightedRecords)
    plain.save(tmp_path / "release.pgm")
    again = pypgm.load(tmp_path / "release.pgm")
    np.testing.assert_array_equal(again.project(("c", "a")).values, plain.project(("c", "a")).values)
    assert again.model.not_private == plain.model.not_private != ""
    assert len(again.synthetic_data(50, rng=0)) == 50
    assert set(again.synthetic_data(50, rng=0, evidence={"a": 1}).columns["a"]) == {1}
    assert again.log == plain.log
    measured = pypgm.LinearMeasurement(DATA.project("a").values, "a", 1.0)
    known = mechanism(DATA, 1, measurements=[measured], unsafe_seed=0, **options)
    assert known.measurements[0].clique == ("a",)
    np.testing.assert_allclose(known.project("a").values, DATA.project("a").values, rtol=0.05)
    private = pypgm.PrivateTable(DATA, pypgm.Privacy(), Ledger(Budget(epsilon=1)))
    mechanism(private, estimator="records", **options)
    assert not private.closed


@pytest.mark.parametrize("name", QUICK)
def test_strange_tables_and_limits(name):
    mechanism, options = QUICK[name]
    empty = Dataset({a: [] for a in DOMAIN}, DOMAIN)
    for neighbours in ("add-remove", "replace"):
        release = mechanism(empty, 1, neighbours=neighbours, unsafe_seed=0, iterations=2, **options)
        assert np.isfinite(release.project("a").values).all()
    short = mechanism(DATA, 1, time_limit=1e-6, estimator="records", **options)
    assert {row["round"] for row in short.log} == {1}
    one = Dataset({"a": [0, 1]}, Domain({"a": 2}))
    assert mechanism(one, 1, **options).project("a").values.sum() > 0


@pytest.mark.parametrize("name", QUICK)
def test_what_does_not_fit_is_refused_before_anything_is_spent(name):
    mechanism, _ = QUICK[name]
    private = pypgm.PrivateTable(DATA, pypgm.Privacy(), Ledger(Budget(epsilon=1)))
    prefixes = workloads.prefixes(DOMAIN, [("c",)], ["c"])
    for options, match in (
        ({"estimator": "tree"}, "estimator must be one of"),
        ({"optimiser": "luck"}, "optimiser must be one of"),
        ({"rounds": 0}, "rounds"),
        ({"samples": 0}, "samples"),
        ({"workload": prefixes}, "cells of whole marginals"),
        ({"workload": workloads.all_k_way(Domain({"z": 2}), 1)}, "the workload is over"),
        ({"estimator": "records", "oracle": "exact"}, "pass no measurements, constraints or oracle"),
        *([({"law": "cauchy"}, "law must be one of"), ({"perturbation": 0}, "perturbation")] if name == "fem" else []),
        *([({"rate": 0}, "rate")] if name == "dualquery" else []),
    ):
        with pytest.raises(ValueError, match=match):
            mechanism(private, **options)
    assert private.ledger.lines == ()


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("estimator", ["model", "records"])
def test_nothing_to_learn_costs_nothing_but_the_total(name, estimator):
    mechanism, _ = QUICK[name]
    release = mechanism(Dataset({"a": [0] * 50}, Domain({"a": 1})), 10, estimator=estimator, unsafe_seed=0)
    assert abs(release.project("a").values[0] - 50) < 40
    assert len(release.ledger.lines) == 1


def test_a_first_round_of_dualquery_is_free_and_teaches_nothing():
    release = dualquery(DATA, budget=Budget(rho=1), neighbours="replace", rounds=1)
    assert release.ledger.spent() == 0
    assert release.log == ()
    for clique in PAIRS:
        np.testing.assert_allclose(release.project(clique).values, 2000 / DOMAIN.size(clique))


def test_at_a_rate_next_to_0_dualquery_draws_uniformly():
    rounds, samples = 41, 200
    work = workloads.Workload(DOMAIN, [("b", "c")])
    release = dualquery(DATA, 10**3, workload=work, rounds=rounds, samples=samples, rate=1e-6, estimator="records")
    found = np.zeros((12, 2))
    for row in release.log:
        found[row["cell"], int(row["complement"])] += 1
    assert found.sum() == (rounds - 1) * samples
    assert stats.chisquare(found.ravel()).pvalue > 1e-9


@pytest.mark.parametrize("rounds", [2, 9])
def test_dualquery_costs_what_its_sums_say(rounds):
    """Of N public records: rho = s eta^2 (T - 1) T (2 T - 1) / 12 N^2, and epsilon = eta s T (T - 1) / N."""
    s, eta, n = 7, 2, len(DATA)
    own = {"rounds": rounds, "samples": s, "rate": eta, "estimator": "records", "neighbours": "replace"}
    rho = dualquery(DATA, budget=Budget(rho=100), **own).ledger.spent()
    assert rho == Fraction(s * eta**2 * (rounds - 1) * rounds * (2 * rounds - 1), 12 * n**2)
    epsilon = dualquery(DATA, budget=Budget(epsilon=100), **own).ledger.spent()
    assert epsilon == Fraction(eta * s * rounds * (rounds - 1), n)


def interrupted(monkeypatch, at):
    """Make Ctrl-C come while the records of a round are searched for."""
    calls, plain = itertools.count(1), RecordSearch.best

    def best(*arguments):
        if next(calls) == at:
            raise KeyboardInterrupt
        return plain(*arguments)

    monkeypatch.setattr(RecordSearch, "best", best)


@pytest.mark.parametrize("estimator", ["model", "records"])
@pytest.mark.parametrize("name", QUICK)
def test_ctrl_c_in_a_round_leaves_what_was_drawn(name, estimator, monkeypatch, tmp_path):
    mechanism, options = QUICK[name]
    interrupted(monkeypatch, 5)
    with pytest.warns(pypgm.errors.EstimateInterruptedWarning, match="after 4 rounds"):
        release = mechanism(DATA, 1, estimator=estimator, iterations=5, **options)
    assert release.model.fit.status == "interrupted"
    assert max(row["round"] for row in release.log) in {3, 4}
    assert 0 < release.ledger.spent() < 1
    assert "fit: interrupted after" in "\n".join(model_lines(release.model))
    release.save(tmp_path / "release.pgm")
    again = pypgm.load(tmp_path / "release.pgm")
    np.testing.assert_array_equal(again.project("a").values, release.project("a").values)


@pytest.mark.parametrize("name", QUICK)
def test_ctrl_c_before_a_query_is_drawn_raises(name, monkeypatch):
    mechanism, options = QUICK[name]
    interrupted(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        mechanism(DATA, 1, **options)


@pytest.mark.parametrize("name", QUICK)
def test_a_second_ctrl_c_raises_and_one_in_the_estimate_ends_it(name, monkeypatch):
    mechanism, options = QUICK[name]

    def interrupt(state):
        if state.iteration > 3:
            raise KeyboardInterrupt

    with pytest.warns(pypgm.errors.EstimateInterruptedWarning, match="best point so far"):
        release = mechanism(DATA, 1, callback=interrupt, unsafe_seed=0, **options)
    assert release.model.fit.status == "interrupted"
    assert len(release.model.fit.history) < 10
    interrupted(monkeypatch, 5)
    with pytest.warns(pypgm.errors.EstimateInterruptedWarning), pytest.raises(KeyboardInterrupt):
        mechanism(DATA, 1, callback=interrupt, unsafe_seed=0, **options)


@pytest.mark.parametrize("estimator", ["model", "records"])
@pytest.mark.parametrize("name", QUICK)
def test_what_is_too_large_is_refused_before_anything_is_charged(name, estimator):
    mechanism, options = QUICK[name]
    for sizes, more in (([2**17] * 2, {}), ([2**40] * 2, {}), ([2, 3], {"samples": 10**9})):
        domain = Domain({f"x{i}": size for i, size in enumerate(sizes)})
        ledger = Ledger(Budget(rho=1))
        table = pypgm.PrivateTable(Dataset({a: [0, 1] for a in domain}, domain), pypgm.Privacy(), ledger)
        with pytest.raises(pypgm.errors.ModelTooLargeError):
            mechanism(table, estimator=estimator, max_bytes=2**30, **(options | more))
        assert ledger.spent() == 0


@pytest.mark.parametrize("estimator", ["model", "records"])
def test_where_there_are_publicly_no_records_none_are_made(estimator):
    domain = pypgm.Domain({"a": 3, "b": 2})
    data = pypgm.Dataset({"a": [], "b": []}, domain)
    release = pypgm.mechanisms.fem(data, 1, 1e-9, neighbours="replace", unsafe_seed=1, estimator=estimator)
    assert release.synthetic_data().n_records == 0
