"""AIM: what it spends, chooses and measures; against rounds written down by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import pypgm
from pypgm import Budget, Dataset, Domain, Ledger, Privacy, PrivateTable, workloads
from pypgm.mechanisms import aim, better_start
from pypgm.mechanisms.run import Run

DOMAIN = Domain({"a": 2, "b": 3, "c": 4, "d": 2})
RNG = np.random.default_rng(3)
CODES = np.repeat(np.arange(4), 500)
DATA = Dataset(
    {"a": RNG.integers(0, 2, 2000), "b": CODES % 3, "c": CODES, "d": (CODES + RNG.integers(0, 2, 2000)) % 2}, DOMAIN
)


def cost(measurement, squared_sensitivity=1):
    return squared_sensitivity / (2 * measurement.stddev**2)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_all_of_the_budget_is_spent_and_no_more(neighbours):
    for rho in ("1/1000", "1/10", 5):
        release = aim(DATA, budget=Budget(rho=rho), neighbours=neighbours)
        budget = release.ledger.budget.limit
        assert 0.999 * budget < release.ledger.spent() <= budget
        squared = 1 if neighbours == "add-remove" else 2
        measured = math.fsum(cost(m, squared) for m in release.measurements)
        assert measured == pytest.approx(0.9 * float(budget), rel=0.05)


@pytest.mark.parametrize("score", ["noise", "risk"])
def test_a_budget_that_the_finest_noise_cannot_use_up_ends(score):
    release = aim(DATA, epsilon=1e300, delta=1e-9, score=score)
    assert len(release.log) < 20
    assert pypgm.evaluate(release.model, cliques=[("b", "c"), ("c", "d")], unsafe_data=DATA).mean < 1e-3


def test_a_round_costs_as_published():
    release = aim(DATA, budget=Budget(rho=1), rounds=16 * 4)
    singles, first = release.measurements[:4], release.measurements[4]
    assert [m.clique for m in singles] == [("a",), ("b",), ("c",), ("d",)]
    # sigma = sqrt(T / (2 alpha rho)), epsilon = sqrt(8 (1 - alpha) rho / T); attributes share the cost of a round each.
    assert math.fsum(cost(m) for m in singles) == pytest.approx(4 * 0.9 / 64, rel=1e-3)
    assert [m.stddev * n ** (1 / 3) for m, n in zip(singles, (2, 3, 4, 2), strict=True)] == pytest.approx(
        [singles[0].stddev * 2 ** (1 / 3)] * 4, rel=1e-3
    )
    assert first.stddev == pytest.approx(math.sqrt(64 / 1.8), rel=1e-3)
    selections = [line for line in release.ledger.lines if line.what == "select"]
    assert float(selections[0].cost) == pytest.approx(0.1 / 64, rel=1e-3)
    assert len(selections) == len(release.log) == len(release.measurements) - 4
    replaced = aim(DATA, budget=Budget(rho=1), rounds=16 * 4, neighbours="replace")
    assert replaced.measurements[4].stddev == pytest.approx(math.sqrt(2 * 64 / 1.8), rel=1e-3)


@pytest.mark.parametrize("score", ["noise", "risk"])
def test_where_nothing_is_learnt_the_noise_is_halved(score):
    independent = Dataset({a: [0] for a in DOMAIN}, DOMAIN)
    release = aim(independent, budget=Budget(rho="1/1000"), unsafe_seed=1, score=score)
    steps = {a["stddev"] / b["stddev"] for a, b in itertools.pairwise(release.log[:-1])}
    assert max(steps) == pytest.approx(2, rel=1e-6)
    assert all(min(abs(step - 1), abs(step - 2)) < 1e-6 for step in steps)


def test_with_a_huge_budget_the_dependent_pairs_come_first_and_are_exact():
    release = aim(DATA, budget=Budget(rho=10**7))
    chosen = [row["clique"] for row in release.log]
    assert chosen[0] == ("b", "c")
    for clique in set(chosen):
        np.testing.assert_allclose(release.project(clique).values, DATA.project(clique).values, atol=2)


@pytest.mark.parametrize("score", ["noise", "risk"])
def test_small_counts_that_noise_drowns_are_not_held_against_a_table(score):
    # 400 cells of which ten hold all records: dense noise is more than there are records, what hides is not.
    codes = np.repeat(np.arange(10), 100)
    domain = Domain({"a": 20, "b": 20, "c": 2, "d": 2})
    coin = np.random.default_rng(0).integers(0, 2, 1000)
    data = Dataset({"a": codes, "b": codes, "c": coin, "d": coin}, domain)
    assert aim(data, budget=Budget(rho="1/5"), score=score, unsafe_seed=1).log[0]["clique"] == ("a", "b")


def test_pairs_of_many_values_are_asked_and_no_attribute_forever():
    # 10,000 cells, few of which hold 5,000 records: noise in all of them is more than any distance can be.
    rng = np.random.default_rng(0)
    codes = np.minimum(rng.geometric(0.2, 5000), 99)
    columns = {"a": codes, "b": codes // 2 + rng.integers(0, 2, 5000), "c": rng.integers(0, 2, 5000)}
    release = aim(Dataset(columns, Domain({"a": 100, "b": 100, "c": 2})), epsilon=1, delta=1e-9, unsafe_seed=0)
    chosen = [entry["clique"] for entry in release.log]
    assert chosen[0] == ("a", "b")
    assert max(map(chosen.count, [("a",), ("b",), ("c",)])) < 4


def test_selections_by_risk_are_stated_and_spend_the_budget():
    for neighbours in ("add-remove", "replace"):
        release = aim(DATA, budget=Budget(rho="1/10"), score="risk", neighbours=neighbours)
        assert 0.999 * release.ledger.budget.limit < release.ledger.spent() <= release.ledger.budget.limit
        selections = [line for line in release.ledger.lines if line.what == "select"]
        assert all("stated" in line.on for line in selections)
        assert release.options["score"] == "risk"


@pytest.fixture
def fits(monkeypatch):
    """Record the oracle of each estimate of a run, and how many measurements it explains."""
    own, found = Run.fit, []

    def fit(run, measurements, prior=None, part=1.0, **how):
        found.append((how.get("oracle"), len(measurements)))
        return own(run, measurements, prior, part, **how)

    monkeypatch.setattr(Run, "fit", fit)
    return found


def test_a_region_graph_starts_from_the_exact_estimate_where_a_tree_holds_all(fits, monkeypatch):
    release = aim(DATA, budget=Budget(rho=1), oracle="region_graph", rounds=8, unsafe_seed=1)
    assert fits[1:5] == [("exact", 5), (None, 5), ("exact", 6), (None, 6)]
    exact = pypgm.estimate(DOMAIN, release.measurements)
    for pair in itertools.combinations(DOMAIN, 2):
        apart = np.abs(release.project(pair).values - exact.project(pair).values).sum()
        assert apart < 0.02 * exact.total
    monkeypatch.setattr("pypgm.models.graphical_model.tree_problem", too_large)
    assert len(aim(DATA, budget=Budget(rho=1), oracle="region_graph", rounds=8).log) > 2


@pytest.mark.parametrize("tree_fits", [True, False])
def test_where_no_tree_holds_all_the_last_estimate_has_the_better_start(fits, monkeypatch, tree_fits):
    monkeypatch.setattr(better_start, "_TREE_CELLS", 6)
    if not tree_fits:
        monkeypatch.setattr("pypgm.models.graphical_model.tree_problem", too_large)
    release = aim(DATA, budget=Budget(rho=10), oracle="region_graph", unsafe_seed=1)
    rounds, last = fits[: len(release.log) + 1], fits[len(release.log) + 1 :]
    assert {oracle for oracle, _ in rounds} == {None}
    assert next(n for oracle, n in last if oracle is None) == len(release.measurements)
    assert "exact" in {oracle for oracle, _ in last}


def too_large(*_):
    raise pypgm.errors.ModelTooLargeError("no memory for a tree")


def test_candidates_are_what_the_workload_holds():
    work = workloads.Workload(DOMAIN, [("a", "b", "c")])
    release = aim(DATA, budget=Budget(rho=10), workload=work)
    held = {c for k in (1, 2, 3) for c in itertools.combinations("abc", k)}
    assert {m.clique for m in release.measurements} <= held
    assert [m.clique for m in release.measurements[:3]] == [("a",), ("b",), ("c",)]
    assert "rounds" not in release.options


def test_a_small_tree_stays_a_forest_of_single_attributes():
    release = aim(DATA, budget=Budget(rho=10), tree_bytes=1)
    assert {len(m.clique) for m in release.measurements} == {1}
    wider = aim(DATA, budget=Budget(rho=10), tree_bytes=1, oracle="region_graph")
    assert {len(m.clique) for m in wider.measurements} == {1, 2}


def test_the_log_is_kept_in_the_file(tmp_path):
    release = aim(DATA, epsilon=1, delta=1e-9, rounds=4)
    release.save(tmp_path / "release.pgm")
    assert pypgm.load(tmp_path / "release.pgm").log == release.log
    assert set(release.log[0]) == {"clique", "stddev", "learnt", "candidates"}


def test_a_callback_that_ends_an_estimate_ends_the_rounds():
    release = aim(DATA, epsilon=1, delta=1e-9, callback=lambda state: True)
    assert release.log == ()
    assert len(release.measurements) == 4
    assert release.ledger.spent() < release.ledger.budget.limit


def test_attributes_of_one_value_under_replace_leave_nothing_to_measure():
    data = Dataset({"a": [0] * 5}, Domain({"a": 1}))
    release = aim(data, epsilon=1, delta=1e-9, neighbours="replace")
    assert release.measurements == ()
    assert release.ledger.spent() == 0
    assert release.project("a").values.tolist() == [5]


def test_an_open_table_with_earlier_measurements_is_taken():
    table = PrivateTable(DATA, Privacy(), Ledger(Budget(rho=3)))
    earlier = table.measure(("b", "c"), rho=1)
    release = aim(table, measurements=[earlier], rounds=8)
    assert release.measurements[0] is earlier or release.measurements[0].clique == ("b", "c")
    assert table.ledger.spent() == pytest.approx(3, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"epsilon": 1}, ValueError, "delta"),
        ({"epsilon": 1, "delta": 1e-9, "rounds": 0}, ValueError, "rounds must be at least 1"),
        ({"epsilon": 1, "delta": 1e-9, "score": "loss"}, ValueError, "score must be one of"),
        ({"epsilon": 1, "delta": 1e-9, "tree_bytes": 0}, ValueError, "tree_bytes must be positive"),
        (
            {"epsilon": 1, "delta": 1e-9, "workload": workloads.Workload(Domain({"z": 2}), [("z",)])},
            ValueError,
            "the workload is over",
        ),
    ],
)
def test_refused_before_anything_is_spent(monkeypatch, options, error, match):
    monkeypatch.setattr(Ledger, "charge", lambda *_: pytest.fail("something was charged"))
    with pytest.raises(error, match=match):
        aim(DATA, **options)


def test_a_domain_without_attributes_is_refused():
    with pytest.raises(ValueError, match="at least one attribute"):
        aim(Dataset({}, Domain({}), weights=None), epsilon=1, delta=1e-9)
