import itertools
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from data_of import chain
from hypothesis import given, settings
from hypothesis import strategies as st

import pypgm
from pypgm import Dataset, Domain, workloads
from pypgm.mechanisms import adaptive_grid, hdmm, plan
from pypgm.mechanisms._adaptive_grid import _largest_tree
from pypgm.mechanisms.strategies import query_of_groups
from pypgm.privacy import Budget, Ledger, Privacy, PrivateTable
from pypgm.queries import Partition

DOMAIN = Domain({"a": 3, "b": 2, "c": 4, "d": 2})
PAIRS = list(itertools.combinations(DOMAIN.attributes, 2))


def steps(release):
    """What each of the three steps measured."""
    assert [line["clique"] for line in release.log] == [m.clique for m in release.measurements]
    return [[line["clique"] for line in release.log if line["step"] == step] for step in (1, 2, 3)]


def is_tree(edges, attributes):
    """Whether edges join all attributes without a cycle."""
    component = {a: {a} for a in attributes}
    for first, second in edges:
        if component[first] is component[second]:
            return False
        joined = component[first] | component[second]
        component |= dict.fromkeys(joined, joined)
    return len(edges) == len(attributes) - 1


def test_three_steps_without_targets():
    ones, twos, tree = steps(adaptive_grid(chain(DOMAIN), 1, 1e-9, iterations=5))
    assert ones == [(a,) for a in DOMAIN]
    assert twos == PAIRS
    assert is_tree(tree, DOMAIN.attributes)


@pytest.mark.parametrize("targets", ["c", ("c",), ("d", "a"), ("a", "b", "c"), DOMAIN.attributes])
def test_targets_are_in_every_pair_and_every_clique_of_the_tree(targets):
    release = adaptive_grid(chain(DOMAIN), 1, 1e-9, targets=targets, iterations=5)
    own = set(targets)
    ones, twos, tree = steps(release)
    assert ones == [(a,) for a in DOMAIN]
    assert twos == [p for p in PAIRS if own & set(p)]
    assert all(own <= set(clique) for clique in tree)
    others = [a for a in DOMAIN if a not in own]
    if len(others) > 2:
        assert is_tree([tuple(a for a in clique if a not in own) for clique in tree], others)
    else:
        assert tree == [DOMAIN.attributes]
    assert release.options["targets"] == sorted(own)


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.floats(0.05, 50),
    st.sampled_from(["add-remove", "replace"]),
    st.integers(1, 3),
    st.integers(0, 2),
)
@settings(max_examples=25)
def test_the_budget_is_spent_as_it_was_split(sizes, epsilon, neighbours, k, n_targets):
    domain = Domain({f"x{i}": s for i, s in enumerate(sizes)})
    release = adaptive_grid(
        chain(domain, 50),
        budget=Budget(epsilon=epsilon, delta=1e-9),
        privacy=Privacy(neighbours, k),
        targets=domain.attributes[:n_targets],
        split=("1/5", "1/5", "3/5"),
        iterations=2,
    )
    ledger, limit = release.ledger, release.ledger.budget.limit
    assert sum(line.cost for line in ledger.lines) == ledger.spent() <= limit
    if min(sizes) > 1:
        assert ledger.spent() > limit * Fraction(999_999, 1_000_000)
    measured = [line for line in ledger.lines if line.what == "measure"]
    ones, twos, tree = steps(release)
    assert len(measured) == len(ones) + len(twos) + len(tree)
    if len(sizes) > 1 and ones and twos:
        for part in (measured[: len(ones)], measured[len(ones) : len(ones) + len(twos)]):
            assert sum(line.cost for line in part) == pytest.approx(limit / 5, rel=1e-6)
    selected = [line for line in ledger.lines if line.what == "select"]
    others = len(sizes) - min(n_targets, len(sizes))
    assert len(selected) == (others - 1 if others > 2 else 0)
    assert sum(line.cost for line in selected) <= limit * 3 / 50


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_with_much_budget_the_tree_is_measured_almost_exactly(neighbours):
    data = chain(DOMAIN)
    release = adaptive_grid(data, 10**6, 1e-9, neighbours=neighbours)
    for clique in steps(release)[2]:
        np.testing.assert_allclose(release.project(clique).values, data.project(clique).values, atol=4)


def test_implausible_cells_are_merged_and_every_cell_is_in_one_sum():
    domain = Domain({"a": 40, "b": 2, "c": 30})
    rng = np.random.default_rng(0)
    columns = {"a": rng.integers(0, 2, 3000), "b": rng.integers(0, 2, 3000), "c": rng.integers(0, 3, 3000)}
    release = adaptive_grid(Dataset(columns, domain), 3, 1e-9, unsafe_seed=5)
    ones = {m.clique[0]: m for m in release.measurements if len(m.clique) == 1}
    low = {a: m.values < 3 * m.stddev for a, m in ones.items()}
    assert 30 < low["a"].sum() <= 38
    for m in release.measurements[3:]:
        rows = [domain.size((a,)) - low[a].sum() + 1 if low[a].sum() > 1 else domain.size((a,)) for a in m.clique]
        assert m.values.size == np.prod(rows)
        assert isinstance(m.query, Partition)
        for relation, norm in (("add-remove", 1), ("replace", 2)):
            assert m.query.sensitivity(relation, norm=1) == norm
        table = np.arange(domain.size(m.clique)).reshape(domain.sizes(m.clique))
        groups = m.query.groups.reshape(table.shape)
        kept = groups[np.ix_(*(np.flatnonzero(~low[a]) for a in m.clique))]
        assert np.unique(kept).size == kept.size


def test_answers_on_a_smaller_clique_are_sums_of_answers_on_the_larger():
    groups = {"a": Partition([0, 1, 0]), "b": Partition([0, 1]), "c": Partition([0, 1, 0, 0]), "d": Partition([0, 0])}
    counts = np.random.default_rng(2).integers(0, 9, DOMAIN.shape)
    whole = query_of_groups(groups, DOMAIN.attributes).matvec(counts.ravel()).reshape(2, 2, 2, 1)
    for clique in PAIRS:
        others = tuple(i for i, a in enumerate(DOMAIN) if a not in clique)
        small = query_of_groups(groups, clique).matvec(counts.sum(axis=others).ravel())
        assert whole.sum(axis=others).ravel().tolist() == small.tolist()


def test_where_noise_hides_all_values_none_is_merged():
    release = adaptive_grid(chain(DOMAIN, 20), 0.01, 1e-9, threshold=1000, iterations=2)
    assert [m.values.size for m in release.measurements] == [DOMAIN.size(m.clique) for m in release.measurements]
    assert release.ledger.spent() > release.ledger.budget.limit * Fraction(999_999, 1_000_000)


def test_a_higher_threshold_asks_less():
    columns = {"a": np.repeat(np.arange(6), [900, 500, 300, 200, 100, 50]), "b": np.arange(2050) % 2}
    data = Dataset(columns, Domain({"a": 6, "b": 2}))
    releases = [adaptive_grid(data, 3, 1e-9, threshold=t, iterations=2, unsafe_seed=1) for t in (30, 0)]
    few, many = (sum(line["answers"] for line in release.log) for release in releases)
    assert few < many


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("shape", [{"a": 1}, {"a": 5}, {"a": 1, "b": 1}, {"a": 3, "b": 1, "c": 2, "d": 2}])
@pytest.mark.parametrize("n", [0, 1, 30])
@pytest.mark.parametrize("targets", [(), ("a",)])
def test_small_and_empty_tables_run_to_the_end(neighbours, shape, n, targets):
    domain = Domain(shape)
    release = adaptive_grid(chain(domain, n), 1, 1e-6, neighbours=neighbours, targets=targets, iterations=20)
    assert release.ledger.spent() <= release.ledger.budget.limit
    assert np.isfinite(release.project(domain.attributes).values).all()
    if neighbours == "replace":
        assert release.model.total == n
        assert len(release.synthetic_data()) == n


def test_one_attribute_gets_the_whole_budget():
    release = adaptive_grid(chain(Domain({"a": 5}), 100), 1, 1e-9)
    assert [m.clique for m in release.measurements] == [("a",)]
    assert release.ledger.spent() > release.ledger.budget.limit * Fraction(999_999, 1_000_000)


def test_an_open_table_is_spent_and_stays_open():
    table = PrivateTable(chain(DOMAIN, 300), Privacy(), Ledger(Budget(epsilon=1, delta=1e-9)))
    first = table.measure("a", rho=table.ledger.remaining() / 2)
    release = adaptive_grid(table, measurements=[first], iterations=3)
    assert release.measurements[0] is first
    assert table.ledger.remaining() < table.ledger.budget.limit / 10**6
    assert not table.closed


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"epsilon": 1}, ValueError, "no pure guarantee"),
        ({"targets": "x"}, ValueError, "unknown attribute 'x'"),
        ({"targets": ("a", "a")}, ValueError, "more than once"),
        ({"split": (0.5, 0.5)}, ValueError, "three parts"),
        ({"split": (0.5, 0.5, 0.5)}, ValueError, "sum to 1"),
        ({"split": (1, 0, 0)}, ValueError, "above 0"),
        ({"split": (0.1, 0.1, "x")}, ValueError, "a part of split"),
        ({"threshold": -1}, ValueError, "threshold"),
        ({"threshold": "3"}, TypeError, "threshold"),
        ({"max_bytes": 10}, pypgm.ModelTooLargeError, "bytes"),
    ],
)
def test_refused_before_anything_is_spent(arguments, error, message):
    ledger = Ledger(Budget(epsilon=1, delta=0 if "epsilon" in arguments else 1e-9))
    table = PrivateTable(chain(DOMAIN, 10), Privacy(), ledger)
    with pytest.raises(error, match=message):
        adaptive_grid(table, **{k: v for k, v in arguments.items() if k != "epsilon"})
    assert ledger.lines == ()


def test_a_domain_without_attributes_is_refused():
    with pytest.raises(ValueError, match="at least one attribute"):
        adaptive_grid(Dataset({}, Domain({})), 1, 1e-9)


@given(st.lists(st.integers(1, 30), min_size=3, max_size=6))
@settings(max_examples=30)
def test_the_largest_tree_has_the_most_cells(sizes):
    domain = Domain({f"x{i}": s for i, s in enumerate(sizes)})

    def cells(cliques):
        return sum(domain.size(c) for c in cliques)

    edges = itertools.combinations(itertools.combinations(domain.attributes, 2), len(sizes) - 1)
    trees = [tree for tree in edges if is_tree(tree, domain.attributes)]
    assert cells(_largest_tree(domain, ())) == max(cells(tree) for tree in trees)


def test_it_is_rehearsed_by_its_name():
    found = plan("adaptive_grid", DOMAIN, epsilon=1, delta=1e-9, n_records=2000)
    assert len(found.cliques) == 4 + 6 + 3
    assert 0 < found.error < 1


@pytest.mark.slow
@pytest.mark.skipif("PYPGM_DATA" not in os.environ, reason="PYPGM_DATA names no folder of tables")
def test_less_error_than_attributes_alone_on_adult():
    folder = Path(os.environ["PYPGM_DATA"]) / "adult"
    data = pypgm.read_table(next(folder.glob("*.csv*")), pypgm.read_domain(folder / "domain.json"))
    pairs = workloads.all_k_way(data.domain, 2)
    alone = hdmm(data, 1, 1e-9, workload=workloads.all_k_way(data.domain, 1), unsafe_seed=0)
    own, baseline = (
        pypgm.evaluate(r.model, cliques=pairs, unsafe_data=data).mean
        for r in (adaptive_grid(data, 1, 1e-9, unsafe_seed=0), alone)
    )
    assert own < 0.8 * baseline
