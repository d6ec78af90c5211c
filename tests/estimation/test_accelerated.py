"""The accelerated path: its optimum, where it stops, what the stop is worth, and where it starts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import pypgm
from pypgm import Domain, Factor, LinearMeasurement
from pypgm.estimation import accelerated
from pypgm.estimation.independence import _one_ways as one_ways
from pypgm.estimation.independence import independent_potentials
from pypgm.estimation.limits import Limits
from pypgm.estimation.methods import METHODS
from pypgm.estimation.steps import Pace
from pypgm.estimation.tree_problem import TreeProblem
from pypgm.models._estimate import estimated
from pypgm.queries import Matrix, Partition

DOMAIN = Domain({"a": 4, "b": 5, "c": 6, "d": 3})
WIDE = Domain({"a": 12, "b": 10, "c": 15, "d": 8})
CLIQUES = [("a", "b"), ("c", "b"), ("c", "d")]


def table(seed, total, concentration=0.5, domain=DOMAIN):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(domain.size(), concentration)).reshape(domain.shape) * total


def measure(truth, spread, seed, domain=DOMAIN):
    rng = np.random.default_rng(seed)
    exact = {c: reference.project(domain, truth, c) for c in CLIQUES}
    return [LinearMeasurement(t + rng.normal(size=t.shape) * spread, c, spread) for c, t in exact.items()]


def error(model, truth):
    return np.mean([np.abs(model.project(c).values - reference.project(model.domain, truth, c)).sum() for c in CLIQUES])


@pytest.mark.parametrize(
    "options",
    [
        *({"method": m} for m in METHODS if m != "accelerated"),
        {"stepsize": 1e-3},
        {"warm_start": pypgm.GraphicalModel(pypgm.CliqueVector(DOMAIN, CLIQUES), 1000.0)},
    ],
    ids=str,
)
def test_the_default_stop_of_all_others_is_the_optimum(options):
    measurements = measure(table(3, 1000.0), 10.0, 3)
    default, optimum = (
        pypgm.estimate(DOMAIN, measurements, iterations=20, **options, **stop) for stop in ({}, {"stop": "optimum"})
    )
    assert default.fit.history == optimum.fit.history
    assert default.marginals.values.tobytes() == optimum.marginals.values.tobytes()
    assert pypgm.estimate(DOMAIN, measurements, iterations=200).fit.status == "validated"


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 5.0, 50.0]))
def test_both_methods_find_the_same_optimum(seed, spread):
    measurements = measure(table(seed, 500.0), spread, seed)
    options = {"stop": "optimum", "tolerance": 1e-7, "iterations": 20000}
    fast, plain = (
        pypgm.estimate(DOMAIN, measurements, 500.0, method=m, **options) for m in ("accelerated", "mirror_descent")
    )
    assert fast.fit.loss <= plain.fit.loss + 1e-4 * (1 + plain.fit.loss)
    assert plain.fit.loss >= fast.fit.loss - fast.fit.gap
    assert fast.fit.loss >= plain.fit.loss - plain.fit.gap


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_the_answer_is_the_model_of_its_potentials(seed):
    measurements = measure(table(seed, 400.0), 10.0, seed)
    model = pypgm.estimate(DOMAIN, measurements)
    again = pypgm.marginals(model.potentials, model.total)
    np.testing.assert_allclose(model.marginals.values, again.values, rtol=1e-11, atol=1e-9)
    matrices = [reference.query_matrix(DOMAIN, m) for m in measurements]
    joint = reference.joint(reference.log_joint(model.potentials), model.total)
    assert model.fit.loss == pytest.approx(reference.loss(measurements, matrices, joint), rel=1e-9)
    # Proportional fitting brings the potentials to the average the path ended at.
    assert model.fit.loss == pytest.approx(model.fit.history[-1], rel=1e-3)


@pytest.mark.parametrize("loss", ["l1", "huber"])
def test_a_validated_path_with_shorter_steps_takes_more_of_them(loss):
    # Over losses with kinks the steps found on thinned answers may be longer than those on the answers themselves.
    domain = Domain({"a": 3, "b": 3, "c": 2})
    truth = np.random.default_rng(5).dirichlet(np.full(18, 3.0)).reshape(3, 3, 2) * 5000
    rng = np.random.default_rng(73)
    pairs = [(("a", "b"), 10.0), (("b", "c"), 25.0)]
    tables = {c: reference.project(domain, truth, c) for c, _ in pairs}
    measurements = [LinearMeasurement(tables[c] + s * rng.normal(size=tables[c].shape), c, s) for c, s in pairs]
    model = pypgm.estimate(domain, measurements, loss=loss)
    assert model.fit.status == "validated"
    assert np.abs(model.project(("a", "b")).values - tables["a", "b"]).max() < 40


@pytest.mark.parametrize("spread", [3.0, 20.0])
def test_the_validated_stop_has_the_smaller_error(spread):
    errors = {"validated": [], "optimum": []}
    for seed in range(10):
        truth = table(seed, 1000.0, 0.2, WIDE)
        measurements = measure(truth, spread, seed, WIDE)
        for stop, found in errors.items():
            found.append(error(pypgm.estimate(WIDE, measurements, stop=stop), truth))
    assert np.mean(errors["validated"]) < 0.7 * np.mean(errors["optimum"])


def test_cells_that_all_but_vanish_leave_a_finite_model():
    # The optimum lies at the boundary.
    tables = [measure(table(seed, 1000.0, 0.2, WIDE), 10.0, seed, WIDE) for seed in (9, 10, 11, 13)]
    models = [pypgm.estimate(WIDE, measurements, stop="optimum", tolerance=0) for measurements in tables]
    for model in models:
        assert model.marginals.values.min() < 1e-100
        assert np.isfinite(model.marginals.values).all()
        assert np.isfinite(model.fit.gap)


def test_counts_far_above_their_noise_are_explained():
    domain = Domain({"a": 2, "b": 2})
    truth = np.array([[150636.0, 43301.0], [754623.0, 51441.0]])
    model = pypgm.estimate(domain, [LinearMeasurement(truth, ("a", "b"), 1.0)], truth.sum())
    assert model.fit.status == "validated"
    assert np.abs(model.project(("a", "b")).values - truth).max() < 5


def test_a_path_goes_further_than_what_is_validated_best_where_asked_and_its_file_says_so(tmp_path):
    measurements, counts = measure(table(0, 1e4), 100.0, 1), []
    for further in (1.0, 2.0):
        model = estimated(DOMAIN, measurements, None, "exact", Limits(), further=further)
        assert model.recipe.options.get("further", 1.0) == further
        model.save(tmp_path / "model.pgm")
        assert pypgm.load(tmp_path / "model.pgm").recipe.options == model.recipe.options
        counts.append(model.fit.iterations)
    assert model.fit.status == "validated"
    assert counts[1] > counts[0] + 5  # iterations of the thinned path count too
    with pytest.raises(ValueError, match="further"):
        estimated(DOMAIN, measurements, None, "exact", Limits(), further=-1.0)


@pytest.mark.parametrize("how", [{}, {"loss": "huber"}], ids=["l2", "huber"])
@pytest.mark.parametrize("oracle", ["exact", "region_graph"])
@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1), st.integers(2, 20), st.floats(1, 3))
def test_the_answer_of_a_path_that_goes_further_is_the_mean_of_two_points(oracle, how, seed, count, further):
    measurements = measure(table(seed, 1e4), 30.0, seed)
    where = oracle if oracle == "exact" else pypgm.RegionGraph.saturated(DOMAIN, CLIQUES)
    paces = [Pace(count), Pace(further * count), Pace(count, further=further)]
    models = [estimated(DOMAIN, measurements, 1e4, where, Limits(n_threads=1), pace=p, **how) for p in paces]
    assert models[2].fit.iterations == models[1].fit.iterations  # no oracle call more
    for clique in CLIQUES:
        first, last, mean = (m.project(clique).values for m in models)
        np.testing.assert_allclose(mean, (first + last) / 2, atol=5.0)  # records of 10,000: potentials are fitted


def test_without_noise_the_validated_stop_loses_nothing():
    truth = table(3, 1000.0)
    exact = [LinearMeasurement(reference.project(DOMAIN, truth, c), c, 1e-3) for c in CLIQUES]
    model = pypgm.estimate(DOMAIN, exact, tolerance=1e-2)
    assert error(model, truth) < 0.05
    assert model.fit.status in {"converged", "validated", "iterations"}


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_a_wrong_stddev_still_gives_a_model(factor):
    truth = table(4, 1000.0)
    right = measure(truth, 20.0, 4)
    wrong = [LinearMeasurement(m.values, m.clique, m.stddev * factor) for m in right]
    model = pypgm.estimate(DOMAIN, wrong, iterations=2000)
    assert error(model, truth) < 1000.0
    assert model.fit.status in {"validated", "converged", "iterations"}


def test_the_same_bits_unless_another_generator_is_asked_for():
    measurements = measure(table(5, 1000.0), 20.0, 5)
    first, second, *others = (pypgm.estimate(DOMAIN, measurements, rng=r) for r in (None, None, *range(95, 100)))
    assert first.marginals.values.tobytes() == second.marginals.values.tobytes()
    # Another one may end at the same iteration.
    assert any(first.marginals.values.tobytes() != other.marginals.values.tobytes() for other in others)


def test_threads_do_not_change_a_bit():
    domain = Domain({"a": 600, "b": 600})
    rng = np.random.default_rng(0)
    measurements = [LinearMeasurement(rng.poisson(3.0, (600, 600)), ("a", "b"), 1.0)]
    one, two = (pypgm.estimate(domain, measurements, iterations=12, n_threads=n) for n in (1, 2))
    assert one.potentials.values.tobytes() == two.potentials.values.tobytes()


@pytest.mark.parametrize("after", [3, 40])
def test_an_interruption_returns_what_there_is(after):
    # The path on the thinned measurements runs first, the one on the measurements themselves after it.
    calls = []

    def stop_by_hand(state):
        calls.append(state)
        if len(calls) == after:
            raise KeyboardInterrupt

    with pytest.warns(pypgm.errors.EstimateInterruptedWarning, match="interrupted after"):
        model = pypgm.estimate(DOMAIN, measure(table(6, 1000.0), 2.0, 6), callback=stop_by_hand)
    assert model.fit.status == "interrupted"
    assert np.isfinite(model.marginals.values).all()


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_an_interruption_between_two_paths_returns_the_start_of_the_next(loss, monkeypatch):
    begun = []

    class Interrupted(accelerated.Path):
        def __init__(self, *given, **options):
            begun.append(self)
            if len(begun) == 2:
                raise KeyboardInterrupt
            super().__init__(*given, **options)

    monkeypatch.setattr(accelerated, "Path", Interrupted)
    measurements = measure(table(6, 1000.0), 2.0, 6)
    stop = "validated" if loss == "l2" else "optimum"
    with pytest.warns(pypgm.errors.EstimateInterruptedWarning, match="interrupted after"):
        model = pypgm.estimate(DOMAIN, measurements, loss=loss, stop=stop)
    assert (model.fit.status, len(begun)) == ("interrupted", 3)
    assert np.isfinite(model.marginals.values).all()
    assert model.total == pytest.approx(1000.0, rel=0.1)


def test_iterations_bound_both_paths_together():
    for iterations in (1, 3, 4, 5, 17):
        fit = pypgm.estimate(DOMAIN, measure(table(7, 1000.0), 20.0, 7), iterations=iterations, tolerance=0).fit
        assert fit.iterations <= iterations
        assert fit.gap is not None


def test_the_start_is_the_product_of_what_is_measured_of_each_attribute():
    truth = table(8, 1000.0)
    measurements = measure(truth, 1e-3, 8)
    start = independent_potentials(DOMAIN, CLIQUES, measurements, 1000.0)
    model = pypgm.marginals(start, 1000.0)
    for clique in CLIQUES:
        one, two = (reference.project(DOMAIN, truth, a) for a in clique)
        np.testing.assert_allclose(model[clique].values, np.outer(one, two) / 1000.0, atol=1e-2)


def test_the_start_spreads_a_group_over_its_cells_and_floors_what_came_out_negative():
    domain = Domain({"a": 4})
    grouped = LinearMeasurement([30.0, -50.0], "a", [1.0, 2.0], Partition([0, 0, 0, 1]))
    start = independent_potentials(domain, [("a",)], [grouped], 30.0)
    shares = pypgm.marginals(start, 1.0)["a"].values
    np.testing.assert_allclose(shares[:3], shares[0], rtol=1e-12)
    assert 0 < shares[3] < 0.1 * shares[0]


@pytest.mark.parametrize(("shape", "seed"), [((1,), 0), ((6,), 1), ((4, 5), 2), ((3, 4, 2), 3)])
def test_the_start_from_one_answer_is_the_normal_distribution_that_it_leaves(shape, seed):
    """Cells are independent a priori, of the deviation of the total: the posterior, written with matrices."""
    rng, domain, total, stddev = np.random.default_rng(seed), Domain([*"abc"[: len(shape)]], shape), 50.0, 7.0
    n = domain.size()
    row = rng.integers(-2, 5, (1, n))
    row[0, 0] = 3
    measured = LinearMeasurement([200.0], domain.attributes, stddev, Matrix(row))
    precision = row.T @ row / stddev**2 + np.eye(n) / total**2
    mean = np.linalg.solve(precision, row[0] * 200 / stddev**2 + np.full(n, total / n) / total**2)
    for attribute, counts, variances in one_ways(domain, measured, total):
        sums = np.array([Factor(domain, cell).project(attribute).values for cell in np.eye(n)]).T
        each = np.diag(sums @ np.linalg.inv(precision) @ sums.T)
        assert counts == pytest.approx(sums @ mean)
        assert variances == pytest.approx(0.5 * (each + each.mean()))


@pytest.mark.parametrize("shape", [(6,), (4, 5), (3, 4, 2)])
@pytest.mark.parametrize("neighbouring", [False, True])
def test_the_start_from_groups_is_that_of_every_pair_of_value_and_group(shape, neighbouring, monkeypatch):
    rng = np.random.default_rng(len(shape))
    domain = Domain([*"abc"[: len(shape)]], shape)
    along = [np.arange(n) // 2 if neighbouring else rng.integers(0, 2, n) for n in shape]
    n_along = [int(groups.max()) + 1 for groups in along]
    groups = np.ravel_multi_index(np.meshgrid(*along, indexing="ij"), n_along).reshape(-1)
    query = Partition(groups, int(np.prod(n_along)) + 1)
    if neighbouring and len(shape) < 3:  # of more attributes, the groups of others come again and again
        monkeypatch.setattr(np, "unique", lambda *_, **__: pytest.fail("neighbouring groups were sorted"))
    stddev = rng.uniform(1, 2, query.shape[0])
    measured = LinearMeasurement(rng.normal(50, 9, query.shape[0]), domain.attributes, stddev, query)
    found = {attribute: (counts, variances) for attribute, counts, variances in one_ways(domain, measured, 99.0)}
    sizes = np.bincount(groups, minlength=query.shape[0])
    for axis, (attribute, n) in enumerate(zip(domain.attributes, shape, strict=True)):
        codes = np.indices(shape)[axis].reshape(-1)
        for code in range(n):
            share = np.bincount(groups[codes == code], minlength=query.shape[0]) / np.maximum(sizes, 1)
            assert found[attribute][0][code] == pytest.approx((share * measured.values).sum())
            assert found[attribute][1][code] == pytest.approx((share**2 * stddev**2).sum())


def test_one_deviation_suggests_what_as_many_equal_ones_do():
    answers = np.random.default_rng(3).normal(50, 9, 30)
    measured = (LinearMeasurement(answers, ("b", "c"), stddev) for stddev in (2.5, np.full(30, 2.5)))
    found = (one_ways(DOMAIN, m, 9.0) for m in measured)
    for (a, counts, variances), (b, others, spread) in zip(*found, strict=True):
        assert a == b
        np.testing.assert_array_equal(counts, others)
        np.testing.assert_allclose(variances, spread, rtol=1e-14)


def test_what_judges_the_fitted_potentials_is_the_answer(monkeypatch):
    built, of_problem = [], TreeProblem.descent
    monkeypatch.setattr(TreeProblem, "descent", lambda self, n: built.append(1) or of_problem(self, n))
    truth = table(9, 1000.0)
    pypgm.estimate(DOMAIN, measure(truth, 20.0, 9))
    assert len(built) == 1
    pypgm.estimate(DOMAIN, measure(truth, 20.0, 9), loss="huber")  # fitted to a stage, judged by the loss
    assert len(built) > 2


def test_no_further_noise_is_fitted_where_the_time_is_over_before_the_first_step(monkeypatch):
    monkeypatch.setattr("pypgm.estimation.problem.thinned", lambda *_: pytest.fail("measurements were thinned"))
    fit = pypgm.estimate(DOMAIN, measure(table(7, 1000.0), 20.0, 7), time_limit=1e-9).fit
    assert fit.status in {"time", "converged"}
    assert fit.iterations <= 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "newton"}, "method must be"),
        ({"stop": "soon"}, "stop must be"),
        ({"method": "accelerated", "stepsize": 1.0}, "takes no stepsize"),
        ({"loss": "l3"}, "loss must be one of"),
    ],
)
def test_options_that_do_not_go_together(options, message):
    with pytest.raises(ValueError, match=message):
        pypgm.estimate(DOMAIN, measure(table(9, 100.0), 5.0, 9), **options)


@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_potentials_fit_the_average_even_where_the_last_ones_rule_its_cells_out(spread):
    for seed in range(6):
        measurements = measure(table(seed, 1000.0, 0.1, WIDE), spread, seed, WIDE)
        fit = pypgm.estimate(WIDE, measurements, stop="optimum", iterations=120, tolerance=0).fit
        assert fit.loss <= fit.history[-1] + 1e-2 * (1 + fit.history[-1])


@pytest.mark.slow
def test_potentials_fit_an_average_that_has_lost_cells():
    # After thousands of iterations some cells have underflowed; fitting to an average without them may diverge.
    rng = np.random.default_rng(9)
    rng.integers(8, size=6)  # the draws of the instance on which it did
    domain = Domain({f"x{i}": 4 for i in range(8)})
    edges = ["x1 x3", "x3 x6", "x5 x7", "x2 x6", "x0 x2", "x0 x4", "x4 x7"]
    potentials = pypgm.CliqueVector(domain, [tuple(e.split()) for e in edges])
    potentials.values[:] = 3.0 * rng.normal(size=potentials.values.size)
    joint = pypgm.GraphicalModel(potentials, 1.0).project(domain.attributes).datavector()
    data = pypgm.Factor(domain, rng.multinomial(10_000, joint / joint.sum()))
    triples = list(itertools.combinations(domain.attributes, 3))
    chosen = [triples[i] for i in rng.choice(len(triples), 15, replace=False)]
    measurements = [
        LinearMeasurement(data.project(c).datavector() + rng.laplace(scale=15.0, size=64), c, 15.0 * np.sqrt(2.0))
        for c in chosen
    ]
    fit = pypgm.estimate(domain, measurements, 10_000.0, stop="optimum").fit
    assert fit.loss <= fit.history[-1] + 1e-4 * (1 + fit.history[-1])
