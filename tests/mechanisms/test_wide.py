"""Wide: what is spent on what, both relations, workloads, large tables, and answers near the records'."""

from __future__ import annotations

import itertools
import math
import signal
from fractions import Fraction

import numpy as np
import pytest

import pypgm
from pypgm import workloads
from pypgm.mechanisms import mst, wide
from pypgm.mechanisms._wide import _ordered
from pypgm.privacy import Budget, Privacy
from pypgm.queries import Contrasts, Identity, Kronecker, Partition

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


def lines(release, what):
    return [line.cost for line in release.ledger.lines if line.what == what and "signs" not in line.on]


def pairs_of(release):
    return [m for m in release.measurements if len(m.clique) == 2 and not isinstance(m.query, Kronecker)]


def products_of(release):
    return [m for m in release.measurements if len(m.clique) == 2 and isinstance(m.query, Kronecker)]


@pytest.mark.parametrize("privacy", RELATIONS, ids=str)
@pytest.mark.parametrize("rho", ["1/10000", "1/2", "50"])
def test_the_whole_budget_is_spent_and_no_more(privacy, rho):
    for data, workload in itertools.product((SMALL, LARGE), (None, 2)):
        release = wide(data, budget=Budget(rho=rho), privacy=privacy, workload=workload, iterations=20)
        assert Fraction(999, 1000) <= release.ledger.spent() / Fraction(rho) <= 1
        selections, screens = lines(release, "select"), lines(release, "screen")
        picks = [line for line in release.ledger.lines if "signs" in line.on]
        assert len(release.ledger.lines) == len(release.measurements) + len([*selections, *screens, *picks])
        assert len(selections) <= 3
        if privacy.total_is_public or rho != "1/10000":  # a number that is noise alone may promise much of a screen
            of_triples = len(screens) - (rho != "1/10000")  # the screen of pairs is the first
            assert of_triples in ([0] if workload == 2 or rho == "1/10000" else [0, 1])
        if privacy.total_is_public:
            assert release.model.total == data.n_records


def test_a_screen_costs_three_hundredths_and_choices_a_twentieth_at_most():
    release = wide(LARGE, budget=Budget(rho="1/2"), iterations=20)
    assert 0 < sum(lines(release, "select")) <= Fraction(1, 40)
    assert 0 < sum(lines(release, "screen")) <= Fraction(3, 200)
    little = wide(LARGE, budget=Budget(rho="1/50"), iterations=20)
    assert sum(lines(little, "screen")) == pytest.approx(0.03 / 50, rel=1e-3)
    least = wide(LARGE, budget=Budget(rho=10_000), iterations=20)  # noise is low enough
    assert sum(lines(least, "select") + lines(least, "screen")) < 1


def test_where_draws_would_be_noise_a_forecast_says_at_which_resolution_pairs_are_asked(monkeypatch):
    monkeypatch.setattr("pypgm.mechanisms._wide.rho_of_choices", lambda *_: 0.0)
    release = wide(LARGE, budget=Budget(rho="1/200"), iterations=20)
    assert lines(release, "screen")
    assert not lines(release, "select")
    assert pairs_of(release)
    assert all(m.query.shape[0] <= 60 * 40 / 4 for m in pairs_of(release))


@pytest.mark.parametrize("privacy", RELATIONS, ids=str)
def test_pairs_that_tell_less_than_noise_would_add_are_not_asked(privacy):
    rng = np.random.default_rng(3)
    columns = {f"x{i}": rng.integers(0, 4, 5000) for i in range(8)}
    columns["x7"] = np.where(rng.random(5000) < 0.8, columns["x0"], columns["x7"])
    data = pypgm.Dataset(columns, pypgm.Domain(list(columns), [4] * 8))
    release = wide(data, budget=Budget(rho="1/50"), privacy=privacy, iterations=20, unsafe_seed=2)
    assert ("x0", "x7") in {m.clique for m in pairs_of(release)}
    assert len({m.clique for m in pairs_of(release)}) < 5


def test_where_pairs_hardly_depend_it_errs_as_little_as_single_attributes_alone():
    data = drawn((3, 4, 5, 2, 3, 4, 2, 6), 1500)
    rng = np.random.default_rng(0)
    apart = pypgm.Dataset({a: rng.permutation(column) for a, column in data.columns.items()}, data.domain)
    ones = workloads.all_k_way(data.domain, 1)
    errors = np.array(
        [
            [error(wide(apart, 1, 1e-9, unsafe_seed=seed, **more), apart) for more in ({}, {"workload": ones})]
            for seed in range(6)
        ]
    )
    assert errors[:, 0].mean() < 1.1 * errors[:, 1].mean()


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
    assert {m.clique for m in release.measurements if len(m.clique) == 2} <= {("b", "c")}
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
    # Of sizes (2, 3) and (3, 4): noise on orthonormal contrasts is less by about the cube root of the weights.
    scales = math.sqrt(2 * 9), math.sqrt(9 * 16)
    assert 3 < second.stddev / scales[1] / (first.stddev / scales[0]) < 7


@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_targets_get_more_of_the_budget(seed):
    data = drawn((3, 4, 2, 5, 3, 4, 2, 3), 5_000, seed)
    target = data.domain.attributes[seed]

    def cost_of_pairs(release, with_target):
        measured = [(line, line.on.strip("()").split(", ")) for line in release.ledger.lines if line.what == "measure"]
        return float(sum(m.cost for m, on in measured if len(on) == 2 and (target in on) == with_target))

    plain, aimed = (wide(data, epsilon=1, delta=1e-6, targets=t, unsafe_seed=seed) for t in ((), target))
    assert aimed.options["targets"] == [target]
    assert "targets" not in plain.options
    shares = [cost_of_pairs(r, True) / cost_of_pairs(r, False) for r in (plain, aimed)]
    assert shares[1] > 1.1 * shares[0]
    assert aimed.ledger.spent() == pytest.approx(plain.ledger.spent(), rel=1e-3)


def test_a_target_is_predicted_where_few_records_meet_many_columns():
    rng = np.random.default_rng(5)
    common = rng.random(900)
    columns = {f"x{i}": (common + rng.normal(0, 0.4, 900) > rng.random()).astype(int) for i in range(30)}
    data = pypgm.Dataset({"y": (common > 0.5).astype(int), **columns}, pypgm.Domain(dict.fromkeys(["y", *columns], 2)))

    def kept(**how):
        release = wide(data, epsilon="1/2", delta=1e-9, unsafe_seed=1, **how)
        of_model, of_data = (
            sum(abs(correlation(some.project(("y", a)).values)) for a in columns) for some in (release.model, data)
        )
        return of_model / of_data

    assert kept(targets="y") > kept() + 0.1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"targets": "y"}, "unknown attribute 'y'"),
        ({"targets": ("x0", "x0")}, "more than once"),
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
    release = wide(drawn((60, 40, 3), 30_000), budget=Budget(rho="1/5000"), ordinal=ordinal, unsafe_seed=1)
    query = next(m.query for m in pairs_of(release) if m.clique == ("x0", "x1"))
    runs = [bool((np.diff(groups) >= 0).all()) for groups in query.value_groups]
    assert runs == [ordinal is None, ordinal != []]


def test_a_pair_too_large_for_all_its_cells_is_asked_in_groups(monkeypatch):
    monkeypatch.setattr("pypgm.mechanisms.pair_forecasts._MAX_CELLS", 1000)
    release = wide(LARGE, budget=Budget(rho=1000), iterations=20)
    asked = {m.clique: m.query for m in pairs_of(release)}
    assert 450 < asked["x0", "x1"].shape[0] < 550
    assert asked["x0", "x2"] == Contrasts([60, 3])


@pytest.mark.parametrize("privacy", RELATIONS, ids=str)
def test_the_interactions_of_pairs_are_asked_at_about_the_same_noise_in_every_sum(privacy):
    release = wide(drawn((2, 3, 4), 4000), budget=Budget(rho=5), privacy=privacy, iterations=20)
    pairs = pairs_of(release)[:3]
    assert [m.query for m in pairs] == [Contrasts([2, 3]), Contrasts([2, 4]), Contrasts([3, 4])]
    noise = [m.stddev / math.prod(n if n > 2 else math.sqrt(2) for n in m.query.sizes) for m in pairs]
    assert max(noise) < 1.5 * min(noise)
    position = release.measurements.index(pairs[0])
    left = float(sum(lines(release, "measure")[position : position + 3]))
    assert min(noise) < 0.95 * math.sqrt(3 * privacy.squared_l2_sensitivity(Identity(2)) / (2 * left))


def made(n, seed=0):
    """Return records whose wages, of 100 values, rise with age and school."""
    rng = np.random.default_rng(seed)
    age, school = rng.integers(0, 10, n), rng.integers(0, 8, n)
    wage = np.clip(rng.normal(15 + 3 * age + 4 * school, 15).round(), 0, 99).astype(int)
    columns = {"age": age, "school": school, "town": rng.integers(0, 8, n), "wage": wage}
    return pypgm.Dataset(columns, pypgm.Domain({"age": 10, "school": 8, "town": 8, "wage": 100}))


def correlation(table):
    x, y = (np.arange(n) for n in table.shape)
    table = table / table.sum()
    x, y = x - x @ table.sum(axis=1), y - y @ table.sum(axis=0)
    return x @ table @ y / math.sqrt((x**2 @ table.sum(axis=1)) * (y**2 @ table.sum(axis=0)))


def test_what_depends_in_a_line_is_kept_where_noise_hides_single_cells():
    data, kept = made(8000), []
    for seed in range(3):
        release = wide(data, epsilon=1, delta=1e-9, unsafe_seed=seed)
        for pair in (("age", "wage"), ("school", "wage")):
            found, true = (correlation(of.project(pair).values) for of in (release, data))
            kept.append(found / true)
    assert np.mean(kept) > 0.6
    assert max(kept) < 1.2


@pytest.mark.parametrize("privacy", RELATIONS, ids=str)
def test_attributes_are_measured_by_contrasts_where_the_number_of_records_is_known(privacy):
    release = wide(SMALL, budget=Budget(rho="1/2"), privacy=privacy, iterations=20)
    first, again = np.split([m.query for m in release.measurements if len(m.clique) == 1], [3])
    assert not any(isinstance(query, Contrasts) for query in first)
    assert again.size > 0
    assert all(isinstance(query, Contrasts) == (privacy.neighbours == "add-remove") for query in again)
    vague = wide(SMALL, budget=Budget(rho="1/10000"), privacy=privacy, iterations=20)
    assert not any(isinstance(m.query, Contrasts) for m in vague.measurements)


def test_the_estimate_follows_denoised_counts_of_attributes():
    domain = pypgm.Domain({f"x{i}": 3 for i in range(12)})
    rng = np.random.default_rng(0)
    data = pypgm.Dataset({a: rng.integers(0, 3, 1000) for a in domain}, domain)
    release = wide(data, epsilon=0.05, delta=1e-9, unsafe_seed=0)
    followed = [m for m in release.model.recipe.measurements if len(m.clique) == 1]
    assert [m.clique for m in followed] == [(a,) for a in domain]  # once each, however often they were measured
    for m in followed:  # which noise alone explains
        np.testing.assert_allclose(release.project(m.clique).values, release.model.total / 3, rtol=1e-3)


@pytest.mark.parametrize("privacy", RELATIONS, ids=str)
def test_rank_products_cost_what_one_record_changes_and_a_twentieth_at_most(privacy):
    release = wide(made(8000), budget=Budget(rho="1/160"), privacy=privacy, iterations=10, unsafe_seed=0)
    products = products_of(release)
    assert products
    charged = np.array(lines(release, "measure"), dtype=float)
    for m in products:
        cells = m.query.rmatvec([1])  # what a record in each cell adds
        change = np.abs(cells).max() if privacy.neighbours == "add-remove" else cells.max() - cells.min()
        cost = (privacy.records_per_person * change / float(m.stddev)) ** 2 / 2
        assert np.isclose(charged, cost, rtol=1e-6).any()
        assert cost <= 1 / 3200 / len(products)


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

    monkeypatch.setattr("pypgm.mechanisms._wide.Choices.suggested", interrupted)
    with pytest.warns(pypgm.errors.EstimateInterruptedWarning):
        release = wide(SMALL, budget=Budget(rho=9), unsafe_seed=1)
    assert release.model.fit.status == "interrupted"
    assert release.ledger.spent() > Fraction(999, 1000) * 9


@pytest.mark.parametrize(
    ("rho", "how", "most_pairs"),
    [(9, {}, 100), (9, {}, 1), ("1/100", {"targets": "x2"}, 100), ("1/10000", {}, 100)],
    ids=["twice", "once", "halves", "attributes"],
)
def test_ctrl_c_while_the_last_answers_are_on_their_way_loses_none(monkeypatch, rho, how, most_pairs):
    monkeypatch.setattr("pypgm.mechanisms._wide.MAX_PAIRS", most_pairs)
    measured, asked, at = pypgm.privacy.PrivateTable.measure_many, [], [None]

    def interrupted(*args, **kwargs):
        answers = measured(*args, **kwargs)
        asked.append(max(len(m.clique) for m in answers))
        if len(asked) - 1 == at[0]:
            signal.raise_signal(signal.SIGINT)
        return answers

    monkeypatch.setattr(pypgm.privacy.PrivateTable, "measure_many", interrupted)

    def run():
        asked.clear()
        return wide(SMALL, budget=Budget(rho=rho), unsafe_seed=1, iterations=20, **how)

    run()
    order = list(asked)
    paid = range(2, len(order)) if rho == 9 else [len(order) - 1]  # all but attributes, or the last
    assert order[paid[0]] == (1 if rho == "1/10000" else 2)
    for at[0] in paid:
        with pytest.warns(pypgm.errors.EstimateInterruptedWarning):
            release = run()
        assert release.model.fit.status == "interrupted"
        lines = [line for line in release.ledger.lines if line.what == "measure"]
        assert len(lines) == len(release.measurements)
        assert release.ledger.spent() > Fraction(99, 100) * Fraction(rho)


def test_pairs_whose_contrasts_are_too_many_are_asked_as_they_are(monkeypatch):
    monkeypatch.setattr("pypgm.mechanisms.resolution.ENTRY_LIMIT", 100)
    release = wide(LARGE, budget=Budget(rho=1000), iterations=20)
    asked = {m.clique: m.query for m in pairs_of(release)}
    assert asked["x0", "x1"] is None or isinstance(asked["x0", "x1"], Partition)
    assert asked["x1", "x2"] == Contrasts([40, 3])


def test_a_seeded_release_is_the_same_and_says_so():
    one, two = (wide(LARGE, epsilon=1, delta=1e-6, unsafe_seed=5) for _ in range(2))
    assert all((a.values == b.values).all() for a, b in zip(one.measurements, two.measurements, strict=True))
    np.testing.assert_array_equal(one.project(("x0", "x1")).values, two.project(("x0", "x1")).values)
    assert "seed" in one.not_private


def test_many_pairs_that_noise_hides_are_no_further_off_than_those_of_attributes_alone():
    rng, attributes = np.random.default_rng(0), 150
    hidden, columns = rng.integers(0, 2, (10, 5000)), {}
    for i in range(attributes):  # a tenth of the pairs depend
        columns[f"x{i}"] = hidden[i % 10] ^ (rng.random(5000) < rng.uniform(0.05, 0.45))
    data = pypgm.Dataset(columns, pypgm.Domain(dict.fromkeys(columns, 2)))
    some = [list(itertools.combinations(columns, 2))[i] for i in rng.integers(attributes**2 // 3, size=200)]
    alone = wide(data, 1, 1e-9, workload=1, unsafe_seed=0)
    errors = [
        pypgm.evaluate(r.model, cliques=some, unsafe_data=data).mean
        for r in (wide(data, 1, 1e-9, unsafe_seed=0), alone)
    ]
    assert errors[0] < 1.05 * errors[1]
