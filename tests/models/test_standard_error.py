"""Error bars: against dense algebra, against simulation, kept in files, printed, and refused where unknown."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import pypgm
from pypgm import Constraint, Domain, LinearMeasurement, cli, queries
from pypgm.estimation.path import Path
from pypgm.estimation.standard_error import least_squares
from pypgm.files.stored_model import model_of_archive
from pypgm.queries.folded import folded

DOMAIN = Domain({"a": 4, "b": 3, "c": 3})
PAIRS = [("a", "b"), ("c", "b")]


def noisy(exact, spread, rng, noise="gaussian"):
    drawn = {"gaussian": rng.normal, "laplace": lambda size: rng.laplace(0, 1 / np.sqrt(2), size)}[noise]
    return [LinearMeasurement(t + spread * drawn(size=t.shape), c, spread, noise=noise) for c, t in exact.items()]


def margins(domain, seed, concentration, total, cliques):
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(domain.size(), concentration)).reshape(domain.shape) * total
    return {c: reference.project(domain, truth, c) for c in cliques}


def measurements(seed=0, concentration=20.0, spread=1.0, cliques=PAIRS, total=4000.0):
    exact = margins(DOMAIN, seed, concentration, total, cliques)
    return noisy(exact, spread, np.random.default_rng(seed + 1))


def optimum(ms, total=None, **options):
    return pypgm.estimate(DOMAIN, ms, total, stop="optimum", tolerance=1e-5, **options)


def whole(domain, ms):
    """Return the queries of measurements on the joint table, and the standard deviation of each answer."""
    return np.vstack([reference.query_matrix(domain, m) for m in ms]), np.concatenate([m.spread() for m in ms])


def total_in_answers(domain, ms):
    """Return the weights of all answers in the total that an estimate keeps to."""
    rows = np.split(np.arange(sum(m.values.size for m in ms)), np.cumsum([m.values.size for m in ms])[:-1])
    weights, precisions = np.zeros(sum(map(len, rows))), []
    for clique in {tuple(sorted(m.clique)) for m in ms}:
        group = [i for i, m in enumerate(ms) if tuple(sorted(m.clique)) == clique]
        (queries_of, stddev), own = whole(domain, [ms[i] for i in group]), np.concatenate([rows[i] for i in group])
        precise = queries_of / stddev[:, None] ** 2
        weights[own] = precise @ np.linalg.pinv(queries_of.T @ precise, rcond=1e-9) @ np.ones(domain.size())
        precisions.append(1 / np.sum((weights[own] * stddev) ** 2))
        weights[own] *= precisions[-1]
    return weights / sum(precisions)


def by_dense_algebra(domain, ms, clique, known):
    """Return the standard errors of generalised least squares on the joint table, its total known or estimated."""
    queries_of, stddev = whole(domain, ms)
    cells = domain.size()
    free = np.linalg.svd(np.ones((1, cells)))[2][1:].T
    even = np.outer(np.full(cells, 1 / cells), np.zeros(stddev.size) if known else total_in_answers(domain, ms))
    fitted = free @ np.linalg.pinv((queries_of @ free) / stddev[:, None], rcond=1e-9) / stddev
    table = even + fitted @ (np.eye(stddev.size) - queries_of @ even)  # from all answers
    wanted = reference.query_matrix(domain, LinearMeasurement(np.zeros(domain.size(clique)), clique))
    return np.linalg.norm(wanted @ table * stddev, axis=1)


@settings(max_examples=12)
@given(st.integers(0, 1000), st.booleans(), st.sampled_from([PAIRS, [("a", "b", "c")], [*PAIRS, ("a", "c"), ("b",)]]))
def test_least_squares_is_dense_algebra(seed, known, cliques):
    rng = np.random.default_rng(seed)
    ms = [LinearMeasurement(np.zeros(DOMAIN.size(c)), c, rng.uniform(0.5, 3, DOMAIN.size(c))) for c in cliques]
    ms.append(LinearMeasurement(np.zeros(2), ("a",), 2.0, queries.Partition([0, 1, 1, 0])))
    found = least_squares(DOMAIN, ms, total_is_known=known)
    for clique in [*cliques, tuple(reversed(cliques[0])), ("a",), ()]:
        assert found.holds(clique)
        np.testing.assert_allclose(
            found.standard_error(clique), by_dense_algebra(DOMAIN, ms, clique, known), rtol=1e-6, atol=1e-6
        )


def test_a_total_estimated_from_a_part_of_the_answers_is_counted():
    # Half of the table would be known from the weighted sum, but for the total, which rests on the cells alone.
    domain, sums = Domain({"x": 2, "y": 2}), queries.Matrix([[1, 2]])

    def drawn(rng):
        cells = LinearMeasurement(1000 + 10 * rng.normal(size=4), ("x", "y"), 10.0)
        return [cells, LinearMeasurement([6000 + rng.normal()], "x", 1.0, sums)]

    rng = np.random.default_rng(0)
    models = [pypgm.estimate(domain, drawn(rng), stop="optimum", tolerance=1e-6) for _ in range(100)]
    found = models[0].standard_error("x", method="gls").values
    np.testing.assert_allclose(np.std([m.project("x").values for m in models], axis=0), found, rtol=0.2)


def test_an_answer_left_open_has_no_formula():
    half = LinearMeasurement(np.zeros(2), ("a",), 1.0, queries.Partition([0, 1, 1, 0]))
    assert least_squares(DOMAIN, [half], total_is_known=False) is None
    wide = Domain({"x": 2000})
    assert least_squares(wide, [LinearMeasurement(np.zeros(2000), "x")], total_is_known=False) is None


@pytest.mark.parametrize("total", [None, 4000.0])
def test_the_formula_and_the_bootstrap_agree(total):
    model = optimum(measurements(), total)
    for clique in (("a", "b"), ("b", "a"), "b"):
        formula, drawn = (model.standard_error(clique, method=m, draws=40) for m in ("gls", "bootstrap"))
        assert formula.domain == drawn.domain == model.project(clique).domain
        assert np.sqrt(np.mean(drawn.values**2) / np.mean(formula.values**2)) == pytest.approx(1, abs=0.15)
        np.testing.assert_array_equal(model.standard_error(clique).values, formula.values)


def test_single_numbers():
    # One marginal with unit noise: a count varies by 1; with the total known by sqrt(1 - 1/n).
    ms = [LinearMeasurement([100, 200, 300, 400], "a", 1.0)]
    np.testing.assert_allclose(optimum(ms).standard_error("a").values, 1.0)
    np.testing.assert_allclose(optimum(ms, 1000.0).standard_error("a").values, np.sqrt(0.75))
    assert optimum(ms).standard_error(()).values == pytest.approx(2.0)
    assert optimum(ms, 1000.0).standard_error(()).values == 0


def test_the_same_generator_the_same_errors():
    model = pypgm.estimate(DOMAIN, measurements(spread=20.0))
    other = model.standard_error("a", draws=4, rng=1).values
    first, again = (model.standard_error("a", draws=4, rng=3).values for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_errors_under_evidence_are_of_probabilities():
    model = pypgm.estimate(DOMAIN, measurements(spread=10.0))
    errors = model.standard_error("a", {"b": 1}, draws=10)
    assert errors.domain == DOMAIN.project("a")
    assert 0 < errors.values.max() < 0.1


def test_many_cliques_share_one_bootstrap():
    model = pypgm.estimate(DOMAIN, measurements(spread=10.0))
    together = model.standard_error_many([("c", "b"), "a"], draws=5)
    np.testing.assert_array_equal(together[1].values, model.standard_error("a", draws=5).values)
    assert together[0].domain.attributes == ("c", "b")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stop": "optimum", "method": "mirror_descent"},
        {"loss": "huber"},
        {"total": 4000.0, "constraints": [Constraint(("a", "b"), forbidden=[(0, 0), (1, 2)])]},
        {"constraints": [Constraint(("a", "c"), mapping=[0, 1, 2, 2])]},
    ],
)
def test_a_file_keeps_the_measurements(options, tmp_path):
    ms = measurements(spread=10.0)
    ms.append(LinearMeasurement([2000.0, 100], "b", [3.0, 4.0], queries.Matrix([[1, 1, 0], [1, -1, 0]]), "laplace"))
    ms.append(LinearMeasurement([900, 3100], "a", 2.0, queries.Partition([0, 1, 1, 1])))
    model = pypgm.estimate(DOMAIN, ms, **options)
    model.save(tmp_path / "m.npz")
    again = pypgm.load(tmp_path / "m.npz")
    wanted, found = (m.standard_error(("b", "c"), draws=3).values for m in (model, again))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_prior_goes_into_the_file(tmp_path):
    prior = pypgm.estimate(DOMAIN, measurements(3, spread=5.0, cliques=[("a", "c")]))
    model = pypgm.estimate(DOMAIN, measurements(spread=50.0), prior=prior)
    model.save(tmp_path / "m.npz")
    wanted, found = (m.standard_error("a", draws=3).values for m in (model, pypgm.load(tmp_path / "m.npz")))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "query",
    [
        queries.AllRange(4),
        queries.Contrasts([4]),
        queries.Contrasts([2], [[0, 1, 1, 0]]),
        queries.Identity(4),
        queries.Kronecker([queries.Prefix(2), queries.Matrix([[0.5, 1], [1, -1]])]),
        queries.Matrix([[1, 2, 0, 1]]),
        queries.Partition([0, 2, 2, 0], 4),
        queries.RangeList(4, [(0, 1), (1, 3)]),
        queries.Subset([3, 0], 4, [5, -1]),
        queries.Union([queries.total(4), queries.permutation([3, 2, 1, 0])]),
        folded(queries.Prefix(2), np.array([0, 1, 1, 0])),
    ],
    ids=repr,
)
def test_a_file_keeps_every_query_as_it_is(query, tmp_path):
    m = LinearMeasurement(np.arange(query.shape[0]), "a", 2.0, query, "laplace", not_private="a test")
    model = pypgm.estimate(DOMAIN, [*measurements(spread=10.0), m])
    model.save(tmp_path / "m.npz")
    again = pypgm.load(tmp_path / "m.npz").recipe.measurements[-1]
    assert again.query == query
    assert again.values.dtype == m.values.dtype
    assert (again.values.tolist(), again.stddev, again.noise) == (m.values.tolist(), m.stddev, m.noise)
    assert again.not_private == m.not_private


class Halves:
    """A user's query that has no matrix of its own."""

    def __init__(self, cells):
        self.shape = (2, cells)

    def matvec(self, x):
        return np.asarray(x, dtype=float).reshape(2, -1).sum(1)

    def rmatvec(self, y):
        return np.repeat(np.asarray(y, dtype=float), self.shape[1] // 2)

    def column_norms(self, norm):
        return np.ones(self.shape[1])


def test_a_query_of_ones_own_is_kept_as_a_matrix_or_not_at_all(tmp_path, monkeypatch):
    ms = [*measurements(spread=10.0), LinearMeasurement([2000.0, 2000], "a", 2.0, Halves(4))]
    model = pypgm.estimate(DOMAIN, ms)
    model.save(tmp_path / "m.npz")
    # The matrix is stepped on with a better known smoothness than the operator.
    assert pypgm.load(tmp_path / "m.npz").standard_error("a", draws=3).values == pytest.approx(
        model.standard_error("a", draws=3).values, rel=0.3
    )
    monkeypatch.setattr("pypgm.files.stored_measurements._DENSE_ENTRIES", 7)
    model.save(tmp_path / "m.npz")
    again = pypgm.load(tmp_path / "m.npz")
    np.testing.assert_allclose(again.project("a").values, model.project("a").values)
    with pytest.raises(ValueError, match="does not hold the measurements"):
        again.standard_error("a")


@pytest.mark.parametrize("breaks", ["mask", "values", "query"])
def test_a_file_that_does_not_fit_is_refused(breaks):
    model = optimum(measurements(), constraints=[Constraint(("a", "b"), forbidden=[(0, 0)])])
    fields = model.archive()
    first, second, *_ = fields["recipe"]["measurements"]
    if breaks == "mask":
        fields["masks"][0]["allowed"] = fields["masks"][0]["allowed"][:-1]
    elif breaks == "values":
        second["values"] = second["values"][:-1]
    else:
        first["query"] = {"class": "Partition", "arguments": [[0, 1]]}
    with pytest.raises(ValueError, match="not a whole pypgm model file"):
        model_of_archive(fields, "m.pgm")


# The command.


def test_query_prints_errors_beside_the_answers(tmp_path, capsys):
    pypgm.estimate(DOMAIN, measurements(spread=10.0)).save(tmp_path / "m.pgm")
    name = str(tmp_path / "m.pgm")
    assert cli.main(["query", name, "b", "--draws", "4"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header == "b,count,expected_error,basis"
    model = pypgm.load(name)
    errors = model.expected_error("b", draws=4).values
    for line, count, error in zip(lines, model.project("b").values, errors, strict=True):
        assert [float(x) for x in line.split(",")[1:3]] == pytest.approx([count, error], rel=5e-3)
    assert cli.main(["query", name, "b", "--given", "a=1", "--draws", "3"]) == 0
    assert capsys.readouterr().out.startswith("b,probability,expected_error")
    assert cli.main(["query", name, "b", "--draws", "0"]) == 0
    assert capsys.readouterr().out.startswith("b,count\n")
    assert cli.main(["query", name, "b", "--draws", "1"]) == 2
    assert "2 or more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "asked", "message"),
    [
        ({}, {"method": "gls"}, "did not go to the optimum"),
        ({"stop": "optimum"}, {"method": "gls", "evidence": {"b": 0}}, "under evidence"),
        ({"stop": "optimum"}, {"method": "gls", "clique": ("a", "c")}, "no measured clique holds"),
        ({"stop": "optimum", "loss": "huber"}, {"method": "gls"}, "the loss is huber"),
        ({"stop": "optimum", "constraints": [Constraint("a", allowed=[0, 1])]}, {"method": "gls"}, "constraints"),
        ({"stop": "optimum", "loss": lambda m: (0.5 * m.dot(m), m)}, {}, "does not hold the measurements"),
        ({}, {"clique": "z"}, "unknown attribute 'z'"),
    ],
)
def test_refusals(options, asked, message):
    model = pypgm.estimate(DOMAIN, measurements(), **options)
    with pytest.raises(ValueError, match=message):
        model.standard_error(asked.pop("clique", "a"), **asked)


@pytest.mark.parametrize("method", ["auto", "gls", "bootstrap"])
def test_an_estimate_without_measurements_has_no_standard_error(method):
    model = pypgm.estimate(DOMAIN, [], 100)
    with pytest.raises(ValueError, match="the model was estimated without any"):
        model.standard_error("a", method=method)
    assert (model.expected_error("a", draws=2).values == np.inf).all()


def test_a_count_held_by_zero_has_no_formula():
    model = optimum([LinearMeasurement([100, 1, 0, 40], "a", 5.0)])
    with pytest.raises(ValueError, match="held from below by zero"):
        model.standard_error("a", method="gls")
    assert (model.standard_error("a", draws=3).values > 0).any()


# Simulation: the same records measured many times.


@pytest.mark.slow
@pytest.mark.parametrize("stop", ["validated", "optimum"])
@pytest.mark.parametrize(("concentration", "spread", "noise"), [(5.0, 2.0, "gaussian"), (0.5, 12.0, "laplace")])
def test_errors_are_those_of_a_simulation(stop, concentration, spread, noise):
    domain = Domain({"a": 6, "b": 5, "c": 4, "d": 3})
    exact = margins(domain, 7, concentration, 2000.0, [("a", "b"), ("b", "c"), ("c", "d")])
    asked = [("a", "b"), ("c", "d"), ("b",)]
    rng = np.random.default_rng(5)
    answers, errors = [], []
    for run in range(120):
        model = pypgm.estimate(domain, noisy(exact, spread, rng, noise), stop=stop)
        answers.append([f.datavector() for f in model.project_many(asked)])
        if run < 4:
            errors.append([f.datavector() for f in model.standard_error_many(asked, draws=30, rng=run)])
    for i in range(len(asked)):
        actual = np.std([a[i] for a in answers], axis=0, ddof=1)
        told = np.sqrt(np.mean([np.square(e[i]) for e in errors], axis=0))
        assert np.sqrt(np.mean(told**2) / np.mean(actual**2)) == pytest.approx(1, abs=0.2)
        # Cell by cell, where neither side's own sampling error is what differs.
        assert np.median(told / actual) == pytest.approx(1, abs=0.2)


def test_a_prior_from_some_of_the_answers_is_estimated_again():
    """With the prior as it was, errors were half as large."""
    exact = margins(DOMAIN, 0, 1.0, 4000.0, PAIRS)

    def model(seed):
        answers = noisy(exact, 60.0, np.random.default_rng(seed))
        tree = pypgm.estimate(DOMAIN, answers[:1], 4000.0)
        return pypgm.estimate(DOMAIN, answers, 4000.0, prior=tree)

    many = np.std([model(seed).project(("a", "b")).values for seed in range(60)], axis=0, ddof=1)
    expected = [model(seed).standard_error(("a", "b"), draws=40, rng=seed).values for seed in range(5)]
    assert 0.85 < np.median(np.mean(expected, axis=0) / many) < 1.2


def test_an_interruption_of_error_bars_goes_through(monkeypatch):
    domain = Domain({"a": 4})
    model = pypgm.estimate(domain, [LinearMeasurement([10.0, 20, 30, 40], "a", 5.0)])
    advance, calls = Path.advance, itertools.count(1)

    def interrupted(path):
        if next(calls) == 30:
            raise KeyboardInterrupt
        return advance(path)

    monkeypatch.setattr(Path, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.standard_error("a", method="bootstrap", draws=20)
