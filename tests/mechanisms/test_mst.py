import itertools
import pickle
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from data_of import chain
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import pypgm
from pypgm import Domain, LinearMeasurement
from pypgm.data import Dataset
from pypgm.mechanisms import Release, mst
from pypgm.mechanisms._mst import nearest_counts
from pypgm.privacy import Budget, Privacy
from pypgm.privacy.costs import gaussian_cost
from pypgm.queries import Partition

DOMAIN = Domain({"a": 3, "b": 2, "c": 4, "d": 2})


def worst_tree(data):
    """The spanning tree of the pairs farthest, in L1, from independent attributes."""
    graph = nx.Graph()
    n = data.n_records
    for a, b in itertools.combinations(data.domain.attributes, 2):
        (pair,), (one, two) = data.count([(a, b)]), data.count([(a,), (b,)])
        graph.add_edge(a, b, weight=np.abs(pair - np.outer(one, two).ravel() / n).sum())
    return {frozenset(e) for e in nx.maximum_spanning_edges(graph, data=False)}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_without_noise_to_speak_of_it_finds_the_best_tree_and_its_marginals(neighbours):
    data = chain(DOMAIN)
    release = mst(data, 10**7, 1e-9, neighbours=neighbours, tolerance=1e-8)
    pairs = [m for m in release.measurements if len(m.clique) == 2]
    assert {frozenset(m.clique) for m in pairs} == worst_tree(data)
    for m in pairs:
        exact = data.project(m.clique).values
        np.testing.assert_allclose(release.project(m.clique).values, exact, atol=1)
    assert release.model.total == pytest.approx(4000, abs=1)


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.floats(0.05, 50),
    st.sampled_from(["add-remove", "replace"]),
    st.integers(1, 3),
    st.booleans(),
)
@settings(max_examples=25)
def test_the_ledger_is_exact_and_says_what_was_drawn(sizes, epsilon, neighbours, k, compress):
    domain = Domain({f"x{i}": s for i, s in enumerate(sizes)})
    release = mst(
        chain(domain, 50),
        budget=Budget(epsilon=epsilon, delta=1e-9),
        privacy=Privacy(neighbours, k),
        compress=compress,
        iterations=5,
    )
    ledger, d = release.ledger, len(sizes)
    limit, third = ledger.budget.limit, ledger.budget.limit / (3 if d > 1 else 1)
    assert sum(line.cost for line in ledger.lines) == ledger.spent() <= limit
    measured = [line for line in ledger.lines if line.what == "measure"]
    selected = [line for line in ledger.lines if line.what == "select"]
    assert (len(measured), len(selected)) == (2 * d - 1, d - 1)
    squared = k**2 * (1 if neighbours == "add-remove" else 2)
    for line, m in zip(measured, release.measurements, strict=True):
        variance = line.parameters["variance"]
        share = third / (d if len(m.clique) == 1 else d - 1)
        assert 0 <= 1 - gaussian_cost(variance, squared) / share < 1e-9
        assert m.stddev == pytest.approx(float(line.parameters["variance"]) ** 0.5)
        assert line.on == f"({', '.join(m.clique)})"
        assert m.values.dtype == np.int64
    for line in selected:
        assert 0 <= 1 - line.cost / (third / (d - 1)) < 1e-8
    if all(s > 1 for s in sizes) and not compress:
        assert ledger.spent() > limit * Fraction(999, 1000)


def test_compression_keeps_the_release_and_merges_in_the_estimate():
    domain = Domain({"a": 40, "b": 2})
    rng = np.random.default_rng(0)
    data = Dataset({"a": rng.integers(0, 2, 3000), "b": rng.integers(0, 2, 3000)}, domain)
    release = mst(data, 1, 1e-9, tolerance=1e-8)
    single, _, pair = release.measurements
    assert single.query is None
    assert single.values.size == 40
    assert isinstance(pair.query, Partition)
    assert pair.query.shape[1] == 80
    low = single.values < 3 * single.stddev
    assert pair.query.shape[0] == 2 * (40 - low.sum() + 1)
    fitted = release.project("a").values
    np.testing.assert_allclose(fitted[low], fitted[low].mean(), atol=1e-6)
    plain = mst(data, 1, 1e-9, compress=False)
    assert all(m.query is None for m in plain.measurements)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("shape", [{"a": 1}, {"a": 5}, {"a": 1, "b": 1}, {"a": 3, "b": 1, "c": 2}])
@pytest.mark.parametrize("n", [0, 1, 30])
def test_small_and_empty_tables_run_to_the_end(neighbours, shape, n):
    domain = Domain(shape)
    release = mst(chain(domain, n), 1, 1e-6, neighbours=neighbours, iterations=20)
    assert release.ledger.spent() <= release.ledger.budget.limit
    assert np.isfinite(release.project(domain.attributes).values).all()
    if neighbours == "replace":
        assert release.model.total == n
        assert len(release.synthetic_data()) == n


def test_the_number_of_records_is_read_under_replace_only():
    class Private(Dataset):
        @property
        def n_records(self):
            raise AssertionError("the number of records was read")

    data = chain(DOMAIN, 200)
    private = Private(data.columns, DOMAIN)
    mst(private, 1, 1e-9, iterations=5)
    with pytest.raises(AssertionError, match="was read"):
        mst(private, 1, 1e-9, neighbours="replace", iterations=5)


def test_a_release_works_without_the_records_and_costs_nothing_more():
    data = chain(DOMAIN, 500)
    release = mst(data, 1, 1e-9, iterations=50)
    assert isinstance(release, Release)
    for column in data.columns.values():
        if column.flags.writeable:
            column[:] = 0
    del data
    before = release.ledger.lines
    assert release.project(("d", "a")).values.shape == (2, 3)
    synthetic = release.synthetic_data(rows=100, rng=0)
    assert synthetic.n_records == 100
    assert "mst of pypgm" in release.summary()
    assert "Budget(epsilon=1, delta=1e-09), add-remove neighbours" in release.summary()
    assert "real ones, a noisy count" in release.summary()
    assert "Release(mst: 7 measurements" in repr(release)
    assert release.ledger.lines == before
    with pytest.raises(AttributeError):
        release.model = None
    assert len(pickle.dumps(release.ledger)) < 10_000


def test_options_reach_the_estimate_and_callbacks_see_states_only():
    seen = []
    release = mst(
        chain(DOMAIN, 300), 1, 1e-9, iterations=7, tolerance=0.0, callback=lambda state: seen.append(state) and None
    )
    assert release.model.fit.iterations <= 7
    assert seen
    stopped = mst(chain(DOMAIN, 300), 1, 1e-9, callback=lambda state: True)
    assert stopped.model.fit.status == "callback"
    with pytest.raises(pypgm.ModelTooLargeError):
        mst(chain(DOMAIN, 300), 1, 1e-9, max_bytes=10)


def test_noise_differs_between_runs():
    data = chain(DOMAIN, 100)
    one, two = ([m.values.tolist() for m in mst(data, 1, 1e-9, iterations=2).measurements[:4]] for _ in range(2))
    assert one != two


@given(st.lists(st.integers(-20, 60), min_size=1, max_size=6), st.integers(1, 80), st.integers(0, 2**32))
@settings(max_examples=40)
def test_nearest_counts_solve_their_quadratic_program(answers, total, seed):
    stddev = np.random.default_rng(seed).uniform(0.5, 4, len(answers))
    found = nearest_counts(LinearMeasurement(answers, "a", stddev), float(total))
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)

    def distance(x):
        return (((x - answers) / stddev) ** 2).sum()

    start = np.full(len(answers), total / len(answers))
    best = minimize(
        distance, start, bounds=[(0, None)] * len(answers), constraints={"type": "eq", "fun": lambda x: x.sum() - total}
    )
    assert distance(found) <= best.fun * (1 + 1e-6) + 1e-6


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"epsilon": 1, "delta": 0}, ValueError, "delta must be more than 0"),
        ({"epsilon": 1}, ValueError, "no pure guarantee"),
        ({"epsilon": 0, "delta": 1e-9}, ValueError, "epsilon must be more than 0"),
        ({"epsilon": 1, "delta": 1}, ValueError, r"delta must lie in \[0, 1\)"),
        ({}, TypeError, "needs a budget"),
        ({"delta": 0.1}, TypeError, "needs a budget"),
        ({"epsilon": 1, "budget": Budget(rho=1)}, TypeError, "not both"),
        ({"budget": 1.0}, TypeError, "needs a Budget"),
        ({"budget": Budget(rho=1), "neighbours": "replace", "privacy": Privacy()}, TypeError, "not both"),
        ({"budget": Budget(rho=1), "neighbours": "swap"}, ValueError, "neighbours"),
        ({"budget": Budget(rho=1), "privacy": "replace"}, TypeError, "needs a Privacy"),
    ],
)
def test_refusals(arguments, error, message):
    with pytest.raises(error, match=message):
        mst(chain(DOMAIN, 10), **arguments)


def test_tables_refused():
    with pytest.raises(ValueError, match="unweighted"):
        mst(Dataset({"a": [0, 1]}, Domain({"a": 2}), weights=[1.0, 2.0]), 1, 1e-9)
    with pytest.raises(ValueError, match="at least one attribute"):
        mst(Dataset({}, Domain({})), 1, 1e-9)


def test_a_pair_that_cannot_be_counted_is_refused_before_anything_is_spent():
    n = 10**6
    data = pypgm.Dataset({"a": [0, 1], "b": [0, 1]}, pypgm.Domain({"a": n, "b": n}))
    with pypgm.PrivateTable(data, pypgm.Privacy(), pypgm.Ledger(pypgm.Budget(epsilon=1, delta=1e-9))) as table:
        with pytest.raises(pypgm.ModelTooLargeError, match=r"\('a', 'b'\) has 1e\+12 cells"):
            mst(table)
        assert table.ledger.spent() == 0


def test_a_tree_that_no_model_could_hold_is_refused_before_anything_is_spent():
    domain = Domain({"a": 40, "b": 30, "c": 2})
    table = pypgm.PrivateTable(
        Dataset({a: [0] for a in domain}, domain), Privacy(), pypgm.Ledger(Budget(epsilon=1, delta=1e-9))
    )
    with pytest.raises(pypgm.ModelTooLargeError, match=r"the limit is"):
        mst(table, max_bytes=20_000)
    assert table.ledger.spent() == 0
