"""Wide: what is spent on what, both relations, workloads, large tables, and answers near the records'."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import pypgm
from pypgm import workloads
from pypgm.mechanisms import mst, wide
from pypgm.mechanisms._wide import _ordered
from pypgm.privacy import Budget, Privacy
from pypgm.queries import Contrasts, Identity, Partition

RELATIONS = [Privacy(), Privacy("replace"), Privacy(records_per_person=3)]


def drawn(sizes, n, seed=0):
    """Return records of which neighbouring attributes go together."""
    rng = np.random.default_rng(seed)
    common = rng.beta(2, 3, n)
    domain = pypgm.Domain({f"x{i}": size for i, size in enumerate(sizes)})
    columns = {
        a: np.minimum((np.clip(common + rng.normal(0, 0.1, n), 0, 1) * s).astype(int), s - 1)
        for a, s in zip(domain.attributes, domain.shape, strict=True)
    }
    return pypgm.Dataset(columns, domain)


SMALL = drawn((2, 3, 4), 400)
LARGE = drawn((60, 40, 3), 3000)


def error(release, data):
    pairs = workloads.all_k_way(data.domain, 2)
    return pypgm.evaluate(release.model, cliques=pairs, unsafe_data=data).mean


@pytest.mark.parametrize("privacy", RELATIONS, ids=str)
@pytest.mark.parametrize("rho", ["1/10000", "1/2", "50"])
def test_the_whole_budget_is_spent_and_no_more(privacy, rho):
    for data in (SMALL, LARGE):
        release = wide(data, budget=Budget(rho=rho), privacy=privacy, iterations=20)
        assert Fraction(999, 1000) <= release.ledger.spent() / Fraction(rho) <= 1
        selections = [line for line in release.ledger.lines if line.what == "select"]
        assert len(release.ledger.lines) == len(release.measurements) + len(selections)
        assert len(selections) in {0, 3}
        if privacy.total_is_public:
            assert release.model.total == data.n_records


def test_choices_cost_a_twentieth_at_most():
    release = wide(LARGE, budget=Budget(rho="1/2"), iterations=20)
    chosen = [line.cost for line in release.ledger.lines if line.what == "select"]
    assert len(chosen) == 3
    assert sum(chosen) <= Fraction(1, 40)
    least = wide(LARGE, budget=Budget(rho=10_000), iterations=20)  # noise of a hundredth of the records is low enough
    assert sum(line.cost for line in least.ledger.lines if line.what == "select") < 1


def test_with_little_budget_attributes_get_most_and_pairs_are_asked_in_groups():
    release = wide(LARGE, budget=Budget(rho="1/2000"), iterations=20)
    assert not [line for line in release.ledger.lines if line.what == "select"]
    pairs = [m for m in release.measurements if len(m.clique) == 2]
    assert len(pairs) == 3
    assert all(m.query is not None and m.query.shape[0] <= 16 for m in pairs)
    singles = [m for m in release.measurements if len(m.clique) == 1]
    assert len(singles) == 6
    spent = sum(line.cost for line in release.ledger.lines[:6])
    assert 0.3 < spent / release.ledger.spent() <= 0.9


@pytest.mark.parametrize("privacy", RELATIONS, ids=str)
def test_where_noise_would_hide_every_pair_attributes_get_all(privacy):
    data = drawn((2,) * 40, 3000)  # their 780 pairs are hidden long before their number of records is
    release = wide(data, budget=Budget(rho="1/25000"), privacy=privacy, iterations=5)
    assert [m.clique for m in release.measurements] == [(a,) for a in data.domain] * 2
    assert release.ledger.spent() > Fraction(999, 1000) * Fraction(1, 25000)


def test_with_a_huge_budget_the_pairs_are_answered_exactly():
    assert error(wide(SMALL, budget=Budget(rho=10**8)), SMALL) < 2e-3


@pytest.mark.parametrize("epsilon", [0.3, 3])
def test_it_errs_less_than_a_tree(epsilon):
    errors = [
        [error(mechanism(LARGE, epsilon, 1e-9, unsafe_seed=seed), LARGE) for seed in range(3)]
        for mechanism in (wide, mst)
    ]
    assert np.mean(errors[0]) < 0.95 * np.mean(errors[1])


@pytest.mark.parametrize("privacy", RELATIONS, ids=str)
def test_attributes_of_one_value(privacy):
    flat = pypgm.Dataset({"a": [0, 0, 0], "b": [0, 1, 1], "c": [0, 1, 0]}, pypgm.Domain({"a": 1, "b": 2, "c": 2}))
    release = wide(flat, budget=Budget(rho=200), privacy=privacy)
    assert [m.clique for m in release.measurements if len(m.clique) == 2] == [("b", "c")]
    alone = pypgm.Dataset({"a": [0, 0, 0]}, pypgm.Domain({"a": 1}))
    assert (not wide(alone, epsilon=1, delta=1e-6, privacy=privacy).measurements) == privacy.total_is_public


def test_no_records_and_no_attributes():
    empty = pypgm.Dataset({a: [] for a in SMALL.domain}, SMALL.domain)
    release = wide(empty, epsilon=1, delta=1e-6, neighbours="replace")
    assert release.model.total == release.synthetic_data(rng=0).n_records == 0
    assert release.ledger.spent() > 0.99 * release.ledger.budget.limit
    assert wide(empty, epsilon=1, delta=1e-6).model.total > 0
    with pytest.raises(ValueError, match="at least one attribute"):
        wide(pypgm.Dataset({}, pypgm.Domain({})), epsilon=1, delta=1e-6)


def test_workloads():
    domain = SMALL.domain
    alone = wide(SMALL, epsilon=1, delta=1e-6, workload=workloads.all_k_way(domain, 1))
    assert [m.clique for m in alone.measurements] == [("x0",), ("x1",), ("x2",)]
    triple = wide(SMALL, budget=Budget(rho=9), workload=workloads.Workload(domain, [("x2", "x0", "x1")]), unsafe_seed=1)
    pairs = wide(SMALL, budget=Budget(rho=9), unsafe_seed=1)
    assert [m.values.tolist() for m in triple.measurements] == [m.values.tolist() for m in pairs.measurements]
    heavy = workloads.Workload(domain, [("x0", "x1"), ("x1", "x2")], weights=[100, 1])
    measured = wide(SMALL, budget=Budget(rho=9), workload=heavy, unsafe_seed=1).measurements
    first, second = [m for m in measured if len(m.clique) == 2][:2]
    assert (first.clique, second.clique) == (("x0", "x1"), ("x1", "x2"))
    # Of sizes (2, 3) and (3, 4): noise on orthonormal contrasts is less by the cube root of the weights.
    scales = math.sqrt(2 * 9), math.sqrt(9 * 16)
    assert first.stddev / scales[0] * 100 ** (1 / 3) == pytest.approx(second.stddev / scales[1], rel=1e-6)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"workload": workloads.all_k_way(pypgm.Domain({"x0": 2}), 1)}, "the workload is over"),
        ({"workload": workloads.prefixes(SMALL.domain, ["x2"], ["x2"])}, "cell by cell"),
        ({"ordinal": ["age"]}, "unknown attribute 'age'"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_spent(more, message):
    table = pypgm.PrivateTable(SMALL, Privacy(), pypgm.Ledger(Budget(rho=1)))
    with pytest.raises(ValueError, match=message):
        wide(table, **more)
    assert table.ledger.spent() == 0


def test_attributes_are_ordered_unless_they_have_labels_that_are_no_numbers():
    domain = pypgm.Domain({"n": [3, 1, 2], "s": ["u", "v", "w"], "t": [True, False], "k": 4})
    assert _ordered(domain, None) == {"n", "k"}
    assert _ordered(domain, ["s"]) == {"s"}


@pytest.mark.parametrize("ordinal", [None, [], ["x1"]])
def test_ordered_attributes_are_grouped_in_runs_of_codes(ordinal):
    release = wide(LARGE, budget=Budget(rho="1/2000"), ordinal=ordinal, iterations=20)
    query = next(m.query for m in release.measurements if m.clique == ("x0", "x1"))
    runs = [bool((np.diff(groups) >= 0).all()) for groups in query.value_groups]
    assert runs == [ordinal is None, ordinal != []]


def test_a_pair_too_large_for_all_its_cells_is_asked_in_groups(monkeypatch):
    monkeypatch.setattr("pypgm.mechanisms.choices._MAX_CELLS", 1000)
    release = wide(LARGE, budget=Budget(rho=1000), iterations=20)
    asked = {m.clique: m.query for m in release.measurements if len(m.clique) == 2}
    assert 450 < asked["x0", "x1"].shape[0] < 550
    assert asked["x0", "x2"] == Contrasts([60, 3])


@pytest.mark.parametrize("privacy", RELATIONS, ids=str)
def test_the_interactions_of_pairs_are_asked_with_the_same_noise_in_every_sum(privacy):
    release = wide(drawn((2, 3, 4), 4000), budget=Budget(rho=5), privacy=privacy, iterations=20)
    pairs, again = np.split(np.array([m for m in release.measurements if len(m.clique) == 2], dtype=object), [3])
    assert [m.query for m in pairs] == [Contrasts([2, 3]), Contrasts([2, 4]), Contrasts([3, 4])]
    noise = [m.stddev / math.prod(n if n > 2 else math.sqrt(2) for n in m.query.sizes) for m in pairs]
    np.testing.assert_allclose(noise, noise[0], rtol=1e-6)
    costs = [line.cost for line in release.ledger.lines]
    left = float(sum(costs[len(costs) - 3 - again.size : len(costs) - again.size]))
    assert noise[0] < 0.95 * math.sqrt(3 * privacy.squared_l2_sensitivity(Identity(2)) / (2 * left))


@pytest.mark.parametrize("how", [{"time_limit": 1e-9}, {"callback": lambda state: True}], ids=["time", "callback"])
def test_where_the_first_estimate_is_the_last_all_is_measured_as_drawn(how):
    release = wide(SMALL, budget=Budget(rho=9), unsafe_seed=1, **how)
    pairs = [m.clique for m in release.measurements if len(m.clique) == 2]
    assert len(pairs) > 3
    assert release.ledger.spent() > Fraction(999, 1000) * 9
    assert release.model.fit.status == next(iter(how)).removesuffix("_limit")


def test_ctrl_c_while_a_model_tells_what_to_ask_loses_nothing(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pypgm.mechanisms.choices.Choices.suggested", interrupted)
    with pytest.warns(pypgm.errors.EstimateInterruptedWarning):
        release = wide(SMALL, budget=Budget(rho=9), unsafe_seed=1)
    assert release.model.fit.status == "interrupted"
    assert release.ledger.spent() > Fraction(999, 1000) * 9


def test_pairs_whose_contrasts_are_too_many_are_asked_as_they_are(monkeypatch):
    monkeypatch.setattr("pypgm.mechanisms.resolution.ENTRY_LIMIT", 100)
    release = wide(LARGE, budget=Budget(rho=1000), iterations=20)
    asked = {m.clique: m.query for m in release.measurements if len(m.clique) == 2}
    assert asked["x0", "x1"] is None or isinstance(asked["x0", "x1"], Partition)
    assert asked["x1", "x2"] == Contrasts([40, 3])


def test_a_seeded_release_is_the_same_and_says_so():
    one, two = (wide(LARGE, epsilon=1, delta=1e-6, unsafe_seed=5) for _ in range(2))
    assert all((a.values == b.values).all() for a, b in zip(one.measurements, two.measurements, strict=True))
    np.testing.assert_array_equal(one.project(("x0", "x1")).values, two.project(("x0", "x1")).values)
    assert "seed" in one.not_private
