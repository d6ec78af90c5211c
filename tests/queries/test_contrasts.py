"""Contrasts: the interaction alone, with the sensitivity of that, in queries, measurements, estimates and files."""

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypgm
from pypgm import Budget, Dataset, Domain, Ledger, LinearMeasurement, Privacy, PrivateTable, workloads
from pypgm.estimation.problem import is_compiled
from pypgm.mechanisms.strategies import contrast_cost, contrast_strategy
from pypgm.queries import Contrasts, Matrix

SIZES = [
    (),
    (2,),
    (3,),
    (6,),
    (2, 2),
    (3, 2),
    (2, 5),
    (3, 3),
    (5, 4),
    (5, 6),
    (2, 2, 2),
    (2, 3, 2),
    (3, 4, 2),
    (3, 3, 3),
]


def dense(query):
    return np.stack([query.matvec(row) for row in np.eye(query.shape[1], dtype=np.int64)], axis=1)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_sensitivities_are_those_of_the_worst_neighbours(sizes):
    query = Contrasts(sizes)
    columns = dense(query).T
    changes = {"add-remove": columns, "replace": [a - b for a, b in itertools.product(columns, repeat=2)]}
    for neighbours, every in changes.items():
        assert query.l1_sensitivity(neighbours) == max(np.abs(c).sum() for c in every)
        assert query.squared_l2_sensitivity(neighbours) == max((c * c).sum() for c in every)
        assert query.largest_change(neighbours) == max(np.abs(c).max() for c in every)
    np.testing.assert_array_equal(query.rmatvec(np.arange(query.shape[0])), np.arange(query.shape[0]) @ columns.T)


@pytest.mark.parametrize("sizes", [s for s in SIZES if s], ids=str)
def test_answers_are_blind_to_all_smaller_marginals_and_to_nothing_else(sizes):
    query, cells = Contrasts(sizes), math.prod(sizes)
    rng = np.random.default_rng(0)
    for axis in range(len(sizes)):
        flat = rng.integers(0, 100, [1 if i == axis else n for i, n in enumerate(sizes)])
        assert not query.matvec(np.broadcast_to(flat, sizes).reshape(-1)).any()
    assert np.linalg.matrix_rank(dense(query)) == math.prod(n - 1 for n in sizes)
    # Orthonormal contrasts, but for a factor: all singular values are the same.
    scale = math.prod(n if n > 2 else math.sqrt(2) for n in sizes)
    values = np.linalg.svd(dense(query), compute_uv=False)
    np.testing.assert_allclose(values[values > 1e-9], scale)
    assert not query.supports_total
    domain = Domain([f"x{i}" for i in range(len(sizes))], sizes)
    for privacy in (Privacy(), Privacy("replace", 3)):
        cost = contrast_cost(domain, domain.attributes, privacy)
        assert privacy.squared_l2_sensitivity(query) == pytest.approx(scale**2 * cost)
    assert query.squared_l2_sensitivity("add-remove") == pytest.approx(scale**2 * math.prod(1 - 1 / n for n in sizes))
    form = query.form()
    assert form.columns.shape == form.entries.shape == (cells,)


def of_form(query):
    """Return the matrix whose columns a query's form gives."""
    form, matrix = query.form(), np.zeros(query.shape)
    matrix[form.columns, np.arange(query.shape[1])] = form.entries
    return matrix


GROUPED = [
    ((2, 3), [[0, 1, 1], [1, 0, 2, 1]]),
    ((2, 2), [[0, 1], [1, 0, 0]]),
    ((4, 3), [[3, 1, 0, 2, 2], [2, 0, 1]]),
    ((3, 2, 2), [[0, 2, 1], [0, 1, 1, 1], [1, 0]]),
]


@pytest.mark.parametrize(("sizes", "groups"), GROUPED, ids=str)
def test_contrasts_of_groups_are_those_of_the_table_of_their_sums(sizes, groups):
    query, coarse = Contrasts(sizes, groups), Contrasts(sizes)
    sums = 1
    for n, own in zip(sizes, groups, strict=True):
        sums = np.kron(sums, np.eye(n, dtype=np.int64)[:, own])
    np.testing.assert_array_equal(dense(query), dense(coarse) @ sums)
    np.testing.assert_array_equal(of_form(query), of_form(coarse) @ sums)
    np.testing.assert_array_equal(query.magnitudes(2).to_sparse().toarray(), dense(query) ** 2)
    weights = np.arange(1.0, query.shape[0] + 1)
    np.testing.assert_allclose(query.column_squares(weights), weights @ dense(query) ** 2)
    np.testing.assert_array_equal(query.rmatvec(weights), weights @ dense(query))
    for neighbours, norm in itertools.product(("add-remove", "replace"), (1, 2)):
        assert query.sensitivity(neighbours, norm) == coarse.sensitivity(neighbours, norm)
    assert query == pickle.loads(pickle.dumps(query)) != coarse
    assert not query.supports_total
    assert query.is_interaction


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        ([[0, 1]], ValueError, "one array for each of 2 attributes"),
        ([[0, 1], [0, 1, 1]], ValueError, "each of 3 groups needs a value"),
        ([[0, 1], [0, 1, 3]], ValueError, "each of 3 groups needs a value"),
        ([[0, 1], [0.0, 1, 2]], TypeError, "integers"),
    ],
)
def test_groups_that_are_none(groups, error, message):
    with pytest.raises(error, match=message):
        Contrasts([2, 3], groups)


def test_contrasts_of_groups_are_measured_estimated_kept_in_files_and_no_residuals(tmp_path):
    domain = Domain({"a": 3, "b": 4})
    data = Dataset({"a": [0, 1, 2, 2] * 20, "b": [0, 1, 2, 3] * 20}, domain)
    table = PrivateTable(data, Privacy(), Ledger(Budget(rho=10**6)))
    query = Contrasts([2, 2], [[0, 1, 1], [0, 0, 1, 1]])
    measured = [*table.measure_many(["a", "b"], rho=10**5), table.measure(("a", "b"), query, rho=10**5)]
    assert measured[-1].values.tolist() == [40]  # 60 where both groups agree, 20 where they do not
    model = pypgm.estimate(domain, measured, stop="optimum", tolerance=1e-9)
    assert query.matvec(model.project(("a", "b")).datavector()) == pytest.approx(40, abs=0.1)
    model.save(tmp_path / "model.pgm")
    assert pypgm.load(tmp_path / "model.pgm").recipe.measurements[-1].query == query
    with pytest.raises(ValueError, match="every cell or contrasts"):
        pypgm.reconstruction.residual_least_squares(domain, measured)


def test_without_attributes_it_is_the_number_of_records():
    query = Contrasts(())
    assert query.matvec([7]).tolist() == query.rmatvec([7]).tolist() == [7]
    assert query.supports_total
    assert [query.squared_l2_sensitivity(n) for n in ("add-remove", "replace")] == [1, 0]


@given(st.lists(st.integers(2, 4), min_size=1, max_size=3), st.integers(0, 2**32))
def test_the_compiled_map_is_the_query(sizes, seed):
    """On a table that holds the clique and more, with the clique's attributes in another order."""
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(len(sizes))]
    domain = Domain([*names, "y"], [*sizes, 2])
    order = rng.permutation(len(sizes))
    clique = tuple(names[i] for i in order)
    query = Contrasts([sizes[i] for i in order])
    answers = rng.normal(size=query.shape[0]) * 3
    own = [LinearMeasurement(answers, clique, 2.0, q) for q in (query, Matrix(dense(query).astype(float)))]
    cells = LinearMeasurement(rng.uniform(5, 9, domain.size(domain.attributes)), domain.attributes, 3.0)
    start = pypgm.GraphicalModel(pypgm.CliqueVector(domain, [domain.attributes]), total=50.0)
    steps = {"iterations": 4, "stop": "optimum", "method": "mirror_descent", "stepsize": 1e-5, "warm_start": start}
    one, other = (pypgm.estimate(domain, [m, cells], **steps) for m in own)
    np.testing.assert_allclose(one.marginals.values, other.marginals.values, rtol=1e-7)


def test_large_contrasts_are_compiled_and_their_matrix_is_not_made(monkeypatch):
    query = Contrasts([90, 2, 100])
    measurement = LinearMeasurement(np.zeros(9000), ("a", "b", "c"), 5.0, query)
    assert is_compiled(measurement)
    monkeypatch.setattr(Contrasts, "to_sparse", lambda _: pytest.fail("a matrix of 162 million entries"))
    domain = Domain({"a": 90, "b": 2, "c": 100})
    model = pypgm.estimate(domain, [measurement], total=1000.0, iterations=5)
    np.testing.assert_allclose(model.project(("a", "c")).values, 1000 / 9000, rtol=1e-6)


@pytest.mark.parametrize("oracle", ["exact", "region_graph"])
def test_all_contrasts_together_are_the_marginals(oracle):
    """Noise-free contrasts of all cliques up to pairs determine all pairs."""
    domain = Domain({"a": 3, "b": 2, "c": 4})
    table = np.random.default_rng(1).integers(5, 30, (3, 2, 4))
    records = np.repeat(np.array(list(np.ndindex(3, 2, 4))), table.reshape(-1), axis=0)
    data = Dataset(dict(zip("abc", records.T, strict=True)), domain)
    private = PrivateTable(data, Privacy(), Ledger(Budget(rho=10**9)))
    cliques = [c for k in range(3) for c in itertools.combinations("cba", k)]
    asked = [Contrasts(domain.sizes(c)) for c in cliques]
    measured = private.measure_many(cliques, asked, rho=10**8)
    assert [m.values.tolist() for m in measured] == [
        q.matvec(data.count([c])[0]).tolist() for c, q in zip(cliques, asked, strict=True)
    ]
    model = pypgm.estimate(domain, measured, oracle=oracle, stop="optimum", iterations=3000, tolerance=1e-9)
    for pair in itertools.combinations("abc", 2):
        np.testing.assert_allclose(model.project(pair).datavector(), data.count([pair])[0], rtol=0.01)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_contrast_costs_less_than_its_cells(neighbours):
    domain = Domain({"a": 2, "b": 5})
    data = Dataset({"a": [0, 1], "b": [4, 2]}, domain)
    private = PrivateTable(data, Privacy(neighbours, 2), Ledger(Budget(rho=10)))
    measured = private.measure(("b", "a"), Contrasts([5, 2]), rho="1/2")
    assert measured.values.size == 5
    squared = 20 if neighbours == "add-remove" else 80
    assert measured.stddev == pytest.approx(2 * math.sqrt(squared))
    (line,) = private.ledger.lines
    assert line.parameters["squared_sensitivity"] == 4 * squared
    assert line.parameters["largest_change"] == 2 * (4 if neighbours == "add-remove" else 8)


def test_a_strategy_of_contrasts_is_measured_with_the_error_it_states():
    """The covariance of the best linear unbiased answers, from the noise that was charged."""
    domain = Domain({"a": 2, "b": 3, "c": 4})
    work = workloads.all_k_way(domain, 2)
    strategy = contrast_strategy(work)
    data = Dataset({"a": [0], "b": [0], "c": [0]}, domain)
    private = PrivateTable(data, Privacy(), Ledger(Budget(rho=3)))
    asked = [Contrasts(domain.sizes(c)) for c in strategy.cliques]
    measured = private.measure_many(strategy.cliques, asked, rho=3, weights=strategy.shares.tolist())
    rows = []
    for m in measured:
        onto = [np.eye(n) if a in m.clique else np.ones((1, n)) for a, n in zip("abc", domain.shape, strict=True)]
        rows.append(dense(m.query) @ np.kron(np.kron(onto[0], onto[1]), onto[2]) / m.stddev)
    covariance = np.linalg.pinv(np.vstack(rows).T @ np.vstack(rows))
    error = 0.0
    for clique in work.cliques:
        onto = [np.eye(n) if a in clique else np.ones((1, n)) for a, n in zip("abc", domain.shape, strict=True)]
        marginal = np.kron(np.kron(onto[0], onto[1]), onto[2])
        error += np.trace(marginal @ covariance @ marginal.T)
    assert error == pytest.approx(strategy.squared_error / 3, rel=1e-6)


def test_saved_releases_keep_contrasts(tmp_path):
    domain = Domain({"a": 60, "b": 50})
    data = Dataset({"a": np.arange(60), "b": np.arange(60) % 50}, domain)
    private = PrivateTable(data, Privacy(), Ledger(Budget(rho=1)))
    measured = [private.measure("a", rho="1/4"), private.measure(("b", "a"), Contrasts([50, 60]), rho="1/4")]
    model = pypgm.estimate(domain, measured, iterations=3)
    pypgm.Release(model, tuple(measured), private.ledger, "own").save(tmp_path / "release")
    again = pypgm.load(tmp_path / "release")
    assert [m.query for m in again.measurements] == [None, Contrasts([50, 60])]
    assert again.measurements[1].values.tolist() == measured[1].values.tolist()
    assert again.model.standard_error(("a", "b")).values.shape == (60, 50)


@pytest.mark.parametrize(
    ("sizes", "error", "message"),
    [
        ([1, 2], ValueError, "at least two values"),
        ([0], ValueError, "size must be at least 1, got 0"),
        ([2.5], TypeError, "integer"),
        ([513, 513], ValueError, r"below 2\^18"),
    ],
)
def test_refusals(sizes, error, message):
    with pytest.raises(error, match=message):
        Contrasts(sizes)
    assert Contrasts([512, 512]).largest_change("add-remove") == 511**2
