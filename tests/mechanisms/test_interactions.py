"""Interactions of more than two attributes: which sets are found, what the search costs, and where there is none."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import pypgm
from pypgm.demo import titanic
from pypgm.mechanisms import wide
from pypgm.mechanisms.interactions import Reach, with_sets
from pypgm.mechanisms.resolution import Values
from pypgm.mechanisms.run import Run
from pypgm.mechanisms.sign_sets import candidate_sets, signs_of
from pypgm.models import model as model_module
from pypgm.privacy import Budget, Privacy, PrivateTable
from pypgm.privacy.counts import Dataset
from pypgm.privacy.laws import DiscreteGaussian
from pypgm.queries import Kronecker, Matrix


def parity(n, k, seed=0, columns=8):
    """Return records of fair bits, the last of which is the parity of the first k but for one record in a hundred."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (n, columns))
    odd = bits[:, :k].sum(axis=1) % 2 ^ (rng.random(n) < 0.01)
    names = [f"x{i}" for i in range(columns)]
    return Dataset(dict(zip(names, bits.T, strict=True)) | {"y": odd}, pypgm.Domain([*names, "y"], [2] * (columns + 1)))


def agreement(release, k):
    """Return the share of the model's records of which the last bit is the parity of the first k."""
    clique = (*(f"x{i}" for i in range(k)), "y")
    table = release.project(clique).values
    even = np.indices(table.shape).sum(axis=0) % 2 == 0
    return float(table[even].sum() / table.sum())


def picks(release):
    return [line for line in release.ledger.lines if "sets of signs" in line.on]


@pytest.fixture
def no_bulk(monkeypatch):
    """Leave all that the search does to the pairs."""
    monkeypatch.setattr("pypgm.mechanisms._wide.spared", lambda *_, **__: None)


def larger(release):
    return {m.clique for m in release.measurements if len(m.clique) > 2}


@pytest.mark.parametrize("privacy", [Privacy(), Privacy("replace"), Privacy(records_per_person=2)], ids=str)
@pytest.mark.parametrize("k", [2, 4, 6])
def test_a_parity_of_any_bits_is_found_by_itself(k, privacy):
    data = parity(20_000, k)
    release = wide(data, 1, 1e-9, privacy=privacy, unsafe_seed=k)
    assert agreement(release, k) > 0.97
    assert (*(f"x{i}" for i in range(k)), "y") in larger(release)
    assert Fraction(999, 1000) <= release.ledger.spent() / release.ledger.budget.limit <= 1


def test_noise_of_a_sum_of_many_records_can_be_drawn():
    release = wide(parity(2_000_000, 2, columns=3), 4e-4, 1e-9, unsafe_seed=0)
    assert ("x0", "x1", "y") in larger(release)
    assert agreement(release, 2) > 0.9


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("k", range(2, 8))
def test_noise_of_sums_can_be_drawn_whatever_the_number_of_records_and_the_budget(k, neighbours):
    rng, privacy = np.random.default_rng(k), Privacy(neighbours, records_per_person=1 + k % 3)
    for total, rho in zip(10.0 ** rng.uniform(1, 13, 30), 10.0 ** rng.uniform(-14, 2, 30), strict=True):
        reach = Reach(1e6, total, rho, privacy)
        check = reach.priced(reach.chance)[1]
        levels = int(2 ** (reach.entry_bits(check) / k) / 2)
        assert levels >= 1
        query = Kronecker([Matrix([[-2 * levels, 2 * levels]])] * k)
        law = DiscreteGaussian.for_query(
            Fraction(privacy.squared_l2_sensitivity(query)) / (2 * Fraction(check)), query, privacy
        )
        assert law.cost("rho") <= Fraction(check)


def test_a_parity_of_five_is_found_among_many_columns():
    data = parity(8000, 4, columns=22)
    assert ("x0", "x1", "x2", "x3", "y") in larger(wide(data, 1, 1e-9, unsafe_seed=0))


@pytest.mark.parametrize("columns", [8, 12, 16, 30])
def test_orders_are_searched_whole_while_one_sign_of_each_attribute_fits(columns):
    made = candidate_sets([1] * columns, [2] * columns, 6000, range(3, 8))
    fitting = itertools.accumulate(math.comb(columns, order) for order in range(3, 8))
    orders = range(3, 3 + sum(number <= 6000 for number in fitting))
    assert [s.shape for s in made] == [(math.comb(columns, order), order) for order in orders]


def test_few_records_do_for_few_bits():
    for k in (2, 3, 4):
        assert agreement(wide(parity(3000, k), 1, 1e-9, unsafe_seed=k), k) > 0.95


def test_a_sum_modulo_three_needs_more_groups_than_two():
    rng = np.random.default_rng(0)
    columns = {f"x{i}": rng.integers(0, 3, 20_000) for i in range(6)}
    columns["y"] = (columns["x0"] + columns["x1"] + columns["x2"]) % 3
    labels = ["a", "b", "c"]
    data = pypgm.Dataset(columns, pypgm.Domain(dict.fromkeys(columns, labels)))
    release = wide(data, 1, 1e-9, unsafe_seed=1)
    table = release.project(("x0", "x1", "x2", "y")).values
    right = np.add.outer(np.add.outer(np.arange(3), np.arange(3)), np.arange(3)) % 3
    assert np.take_along_axis(table, right[..., None], 3).sum() / table.sum() > 0.9


def test_single_attributes_of_many_values_leave_enough_for_a_set():
    rng = np.random.default_rng(7)
    columns = {f"x{i}": rng.integers(0, 32, 20_000) for i in range(8)}
    upper = [columns[f"x{i}"] >= 16 for i in range(3)]
    columns["y"] = np.bitwise_xor.reduce(upper).astype(int)
    sizes = dict.fromkeys(columns, 32) | {"y": ["no", "yes"]}
    release = wide(pypgm.Dataset(columns, pypgm.Domain(sizes)), 1, 1e-9, unsafe_seed=0)
    assert ("x0", "x1", "x2", "y") in larger(release)
    halves = release.project(("x0", "x1", "x2", "y")).values.reshape(2, 16, 2, 16, 2, 16, 2).sum(axis=(1, 3, 5))
    assert halves[np.indices(halves.shape).sum(axis=0) % 2 == 0].sum() / halves.sum() > 0.8


@pytest.mark.parametrize("epsilon", [0.1, 1])
def test_with_few_records_no_search_is_made(epsilon):
    assert not picks(wide(parity(500, 3), epsilon, 1e-9, unsafe_seed=0))


@pytest.mark.parametrize("epsilon", [0.3, 1, 10])
@pytest.mark.usefixtures("no_bulk")
def test_where_there_is_nothing_little_is_spent_and_nothing_followed(epsilon):
    rng = np.random.default_rng(5)
    base = rng.integers(0, 4, 8000)
    columns = {f"x{i}": np.where(rng.random(8000) < 0.4, base, rng.integers(0, 4, 8000)) for i in range(7)}
    data = pypgm.Dataset(columns, pypgm.Domain(list(columns), [4] * 7))
    release = wide(data, epsilon, 1e-9, unsafe_seed=3)
    limit = release.ledger.budget.limit
    searched = sum(line.cost for line in picks(release))
    checks = sum(1 for m in release.measurements if len(m.clique) > 2)
    assert len(picks(release)) == checks <= 1
    assert searched <= limit * Fraction(2, 100)
    assert release.ledger.spent() <= limit


@pytest.mark.usefixtures("no_bulk")
def test_the_sum_of_a_set_that_chance_explains_is_released_and_not_followed():
    data = parity(8000, 3)
    shuffled = pypgm.Dataset(
        {**data.columns, "y": np.random.default_rng(1).permutation(data.columns["y"])}, data.domain
    )
    release = wide(shuffled, 1, 1e-9, unsafe_seed=2)
    assert larger(release)
    assert all(len(c) <= 2 for c in release.model.marginals.cliques)


def test_sets_are_within_the_marginals_of_a_workload():
    data = parity(20_000, 2)
    of = pypgm.workloads.Workload
    for workload, found in (
        (2, False),
        (3, True),
        ("up-to-3", True),
        (of(data.domain, [("x3", "x4", "y"), ("x0", "x1")]), False),
        (of(data.domain, [("x3", "x4"), ("x0", "x1", "x5", "y")]), True),
    ):
        release = wide(data, 1, 1e-9, workload=workload, unsafe_seed=4)
        assert (("x0", "x1", "y") in larger(release)) == found
        assert (agreement(release, 2) > 0.97) == found


class Counted:
    """Counts of records that nobody can read one by one."""

    n_records, weights = 20_000, None

    def __init__(self, data):
        self._data, self.domain = data, data.domain

    def count(self, cliques, n_threads=0):
        return self._data.count(cliques, n_threads)


@pytest.mark.usefixtures("no_bulk")
def test_a_table_of_counts_is_not_searched():
    table = PrivateTable(Counted(parity(20_000, 3)), Privacy(), pypgm.Ledger(Budget(epsilon=1, delta="1e-9")))
    release = wide(table)
    assert not picks(release)
    assert not larger(release)


def test_what_does_not_fit_in_memory_is_not_asked(monkeypatch):
    data = parity(20_000, 4)
    monkeypatch.setattr(Run, "fits", lambda *_: False)
    release = wide(data, 1, 1e-9, unsafe_seed=0)
    assert picks(release)
    assert all(len(c) <= 2 for c in release.model.marginals.cliques)


def test_a_time_limit_that_has_passed_ends_the_search():
    release = wide(parity(20_000, 3), 1, 1e-9, unsafe_seed=0, time_limit=1e-9)
    assert not picks(release)


@pytest.mark.parametrize("seed", range(6))
def test_candidates_are_sets_of_signs_of_different_attributes_each_once(seed):
    rng = np.random.default_rng(seed)
    counts, sizes = rng.integers(0, 4, 6).tolist(), rng.integers(2, 9, 6).tolist()
    owner = np.repeat(np.arange(6), counts)
    made = candidate_sets(counts, sizes, 10**6, range(2, 5))
    expected = [
        [list(s) for s in itertools.combinations(range(len(owner)), order) if len(set(owner[list(s)])) == order]
        for order in range(2, 5)
    ]
    assert [sorted(s.tolist()) for s in made] == [e for e in expected if e]
    within = [[0, 1, 3, 5], [1, 2, 4]]
    some = candidate_sets(counts, sizes, 10**6, range(2, 5), within)
    allowed = [[s for s in e if any(set(owner[s]) <= set(w) for w in within)] for e in expected]
    assert [sorted(s.tolist()) for s in some] == [e for e in allowed if e]
    fewer = candidate_sets(counts, sizes, 20, range(2, 5))
    assert sum(map(len, fewer)) <= 20
    for sets in fewer:
        assert (np.diff(owner[sets], axis=1) > 0).all()
    assert candidate_sets(counts, [1 << 20] * 6, 1000, [2, 3]) == []


@pytest.mark.parametrize("is_ordered", [True, False])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 40])
def test_signs_split_the_records_and_none_is_there_twice(size, is_ordered):
    for seed in range(20):
        shares = np.random.default_rng(seed).dirichlet(np.ones(size))
        signs = signs_of(Values(shares, is_ordered), is_ordered)
        assert signs.shape[1] == size
        assert len(signs) <= 7
        parts = signs @ shares
        assert ((parts > 0.02) & (parts < 0.98)).all()
        assert not any((a == b).all() or (a != b).all() for a, b in itertools.combinations(signs, 2))
        if size == 2 and shares.min() > 0.02:
            assert len(signs) == 1


def either(n, seed):
    """Return records whose target is one of two conjunctions, over four columns of several values out of ten."""
    rng = np.random.default_rng(seed)
    columns = {f"x{i}": rng.integers(0, 8, n) for i in range(10)}
    first = (columns["x0"] > 3) & np.isin(columns["x1"], [2, 5, 6])
    columns["y"] = (first | (columns["x2"] + columns["x3"] > 8)).astype(int)
    return pypgm.Dataset(columns, pypgm.Domain(dict.fromkeys(columns, 8) | {"y": ["no", "yes"]}))


@pytest.mark.parametrize("seed", range(2))
def test_both_of_two_rules_are_found_and_each_selection_starts_from_the_records_before(seed, monkeypatch):
    drawn, draw = list[int](), model_module.draw_records
    monkeypatch.setattr(model_module, "draw_records", lambda *given, **how: drawn.append(1) or draw(*given, **how))
    release = wide(either(20_000, seed), 1, 1e-9, unsafe_seed=seed, oracle="region_graph")
    assert {("x0", "x1", "y"), ("x2", "x3", "y")} <= larger(release)
    assert len(picks(release)) > len(drawn) == 1


def test_a_set_gets_less_where_many_noisy_pairs_need_the_budget():
    def cost(n_noisy):
        rng = np.random.default_rng(1)
        base, columns = rng.integers(0, 10, 10_000), {f"x{i}": rng.integers(0, 3, 10_000) for i in range(4)}
        columns["y"] = (columns["x0"] + columns["x1"]) % 3
        columns |= {
            f"z{i}": np.where(rng.random(10_000) < 0.8, base, rng.integers(0, 10, 10_000)) for i in range(n_noisy)
        }
        sizes = {a: 10 if a[0] == "z" else ["p", "q", "r"] for a in columns}
        release = wide(pypgm.Dataset(columns, pypgm.Domain(sizes)), 1, 1e-9, unsafe_seed=0)
        (of_set,) = (m for m in release.measurements if m.clique == ("x0", "x1", "y") and m.values.size == 27)
        return 1 / of_set.stddev**2

    assert cost(6) < cost(2) / 1.5


def network(seed, n=10_000, columns=12):
    """Return records of a random network: each attribute depends on up to three before it, jointly."""
    rng, made = np.random.default_rng(seed), []
    for i in range(columns):
        size, causes = rng.integers(3, 6), rng.permutation(i)[:3]
        key = np.zeros(n, np.int64)
        for j in causes:
            key = key * 6 + made[j]
        likely = rng.dirichlet(np.full(size, 0.3), 6 ** len(causes)).cumsum(axis=1)[key]
        made.append(np.minimum((rng.random((n, 1)) > likely).sum(axis=1), size - 1))
    names = [f"x{i}" for i in range(columns)]
    domain = pypgm.Domain({a: [f"v{k}" for k in range(c.max() + 1)] for a, c in zip(names, made, strict=True)})
    return Dataset(dict(zip(names, made, strict=True)), domain)


@pytest.mark.parametrize(("seed", "workload"), [(0, None), (0, 3), (2, None)])
def test_where_interactions_are_everywhere_pairs_keep_nearly_all_of_their_budget(seed, workload):
    def measured(workload):
        release = wide(network(seed), 1, 1e-9, workload=workload, unsafe_seed=seed)
        costs = [line.cost for line in release.ledger.lines if line.what == "measure" and line.on.count("x") == 2]
        return float(sum(costs) / release.ledger.budget.limit), larger(release)

    (found, sets), (without, _) = measured(workload), measured(2)
    assert sets
    assert 0.95 * without < found < without


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_fitting_sets_moves_what_the_model_of_pairs_says_by_a_third_of_its_noise_at_most(seed, monkeypatch):
    moved = []

    def followed(run, known, sets, model):
        after = with_sets(run, known, sets, model)
        for m, *tables in zip(known, *(x.project_many([m.clique for m in known]) for x in (model, after)), strict=True):
            before, now = (m.linear_map.matvec(t.datavector()) for t in tables)
            moved.append(np.sqrt(np.mean(np.square(now - before))) / m.stddev)
        return after

    monkeypatch.setattr("pypgm.mechanisms._wide.with_sets", followed)
    wide(network(seed), 1, 1e-9, unsafe_seed=seed)
    assert 0 < max(moved) < 1 / 3


@pytest.mark.parametrize("epsilon", [0.3, 1, 10])
@pytest.mark.parametrize("n", [300, 3000, 20_000])
def test_a_plan_says_what_the_search_of_a_release_finds(n, epsilon):
    data = parity(n, 3)
    planned = pypgm.mechanisms.plan("wide", data.domain, epsilon=epsilon, delta=1e-9, n_records=n)
    assert (planned.interactions is None) == (not picks(wide(data, epsilon, 1e-9, unsafe_seed=0)))
    assert ("cut in halves" in str(planned)) == (planned.interactions is not None)
    if planned.interactions is not None:
        assert 0 < planned.interactions < 1


def test_a_plan_names_no_interactions_where_none_are_searched():
    domain = parity(10, 3).domain
    plan = pypgm.mechanisms.plan
    assert plan("wide", domain, epsilon=1, delta=1e-9, n_records=20_000, workload=2).interactions is None
    assert plan("mst", domain, epsilon=1, delta=1e-9, n_records=20_000).interactions_found() == ""


@pytest.mark.parametrize("seed", [89, 91, 99, 159])
def test_errors_of_a_model_with_a_faint_set_are_those_of_its_pairs(seed):
    """A set that moves the model of the pairs little takes few iterations, so the start has to be such a model."""
    release = wide(titanic(), 1.0, 1e-9, unsafe_seed=seed)
    errors = release.expected_error(("class",), draws=10).values
    stddev = min(float(m.stddev) for m in release.measurements if m.clique == ("class",))
    assert errors.max() < stddev
