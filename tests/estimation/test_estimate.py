"""Estimation: known optima, invariances, certificate, options, interruptions."""

from __future__ import annotations

import itertools
import os
import signal
import threading

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import cliques_of, domains

import pypgm
from pypgm import CliqueVector, Domain, GraphicalModel, LinearMeasurement
from pypgm.estimation.path import Path
from pypgm.queries import Identity, Partition

SMALL = Domain({"a": 2, "b": 3, "c": 2})
EXACT = {"stop": "optimum", "tolerance": 1e-10, "iterations": 20000}


@st.composite
def problems(draw):
    """A small domain and noisy measurements on random cliques: cells or groups, any spread, any order of axes."""
    domain = draw(domains(least=1, most=4, largest=3))
    cliques = draw(cliques_of(domain, least=1, most=4, width=3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    truth = rng.dirichlet(np.full(domain.size(), 0.3)).reshape(domain.shape) * 200.0
    measurements = []
    for clique in cliques:
        own = reference.project(domain, truth, clique).ravel()
        query = None
        if rng.random() < 0.3:
            query = Partition(rng.integers(0, min(2, own.size), own.size), min(2, own.size))
            own = query.matvec(own)
        spread = rng.uniform(1.0, 10.0, own.size) if rng.random() < 0.5 else 5.0
        measurements.append(LinearMeasurement(own + rng.normal(size=own.size) * spread, clique, spread, query))
    return domain, measurements, 200.0


def measured(seed=0, spread=5.0, total=300.0):
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(SMALL.size())).reshape(SMALL.shape) * total
    cliques = [("a", "b"), ("b", "c")]
    return [
        LinearMeasurement(t + rng.normal(size=t.shape) * spread, c, spread)
        for c, t in ((c, reference.project(SMALL, truth, c)) for c in cliques)
    ]


# Known optima.


@given(st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_one_clique_is_the_projection_onto_the_simplex(size, seed):
    values = np.random.default_rng(seed).normal(20, 30, size)
    model = pypgm.estimate(Domain({"a": size}), [LinearMeasurement(values, "a", 3.0)], 100.0, **EXACT)
    np.testing.assert_allclose(model.project("a").values, reference.onto_simplex(values, 100.0), atol=1e-2)


def test_disjoint_cliques_are_a_product():
    rng = np.random.default_rng(1)
    first, second = rng.normal(30, 20, 6), rng.normal(90, 30, 2)
    measurements = [LinearMeasurement(first, ("a", "b")), LinearMeasurement(second, "c")]
    model = pypgm.estimate(SMALL, measurements, 180.0, **EXACT)
    one = reference.onto_simplex(first, 180.0).reshape(2, 3)
    two = reference.onto_simplex(second, 180.0)
    np.testing.assert_allclose(model.project(("a", "b")).values, one, atol=1e-3)
    np.testing.assert_allclose(model.project(("c", "a", "b")).values, two[:, None, None] * one / 180, atol=1e-3)


def test_consistent_data_are_reproduced_with_most_entropy():
    rng = np.random.default_rng(2)
    domain = Domain({"a": 2, "b": 3, "c": 2, "d": 2})
    truth = rng.dirichlet(np.ones(domain.size())).reshape(domain.shape) * 1000
    cliques = [("a", "b"), ("c", "b"), ("c", "d"), ("a", "d")]
    marginals = {c: reference.project(domain, truth, c) for c in cliques}
    measurements = [LinearMeasurement(t, c) for c, t in marginals.items()]
    model = pypgm.estimate(domain, measurements, stop="optimum", tolerance=1e-12, iterations=20000)
    assert model.total == pytest.approx(1000.0, rel=1e-9)
    for clique, table in marginals.items():
        np.testing.assert_allclose(model.project(clique).values, table, atol=1e-3)
    wanted = reference.fitted(domain, marginals, 1000.0)
    np.testing.assert_allclose(model.project(domain.attributes).values, wanted, atol=1e-2)


@settings(max_examples=25)
@given(problems())
def test_gap_bounds_the_distance_to_the_optimum(problem):
    domain, measurements, total = problem
    least = reference.least_loss(domain, measurements, total, steps=3000)
    matrices = [reference.query_matrix(domain, m) for m in measurements]
    for iterations in (1, 4, 400):
        model = pypgm.estimate(
            domain, measurements, total, method="mirror_descent", iterations=iterations, tolerance=1e-7
        )
        assert model.fit.loss - least <= model.fit.gap + 1e-6 * (1 + model.fit.loss)
        assert model.fit.gap <= model.fit.loss
        table = reference.joint(reference.log_joint(model.potentials), total)
        assert model.fit.loss == pytest.approx(reference.loss(measurements, matrices, table), rel=1e-6, abs=1e-8)
    assert model.fit.status in {"converged", "iterations"}
    assert model.fit.loss <= least + 0.05 * (1 + least)


@settings(max_examples=25)
@given(problems())
def test_loss_never_rises_and_marginals_are_those_of_the_potentials(problem):
    domain, measurements, total = problem
    model = pypgm.estimate(domain, measurements, total, method="mirror_descent", iterations=200)
    history = np.array(model.fit.history)
    assert (np.diff(history) <= 1e-9 * (1 + history[:-1])).all()
    assert model.fit.loss == pytest.approx(history.min(), rel=1e-9)
    again = pypgm.marginals(model.potentials, total)
    np.testing.assert_allclose(model.marginals.values, again.values, rtol=1e-12, atol=1e-10)
    joint = reference.joint(reference.log_joint(model.potentials), total)
    for clique in itertools.combinations(domain.attributes, min(2, len(domain))):
        np.testing.assert_allclose(
            model.project(clique).values, reference.project(domain, joint, clique), rtol=1e-9, atol=1e-9
        )


def test_small_steps_follow_the_gradient():
    measurements = [
        *measured(),
        LinearMeasurement([80.0, 130.0], ("c", "b"), [2.0, 7.0], Partition([0, 1, 1, 0, 1, 0])),
    ]
    start = pypgm.estimate(SMALL, measurements, 300.0, iterations=5, tolerance=0)
    matrices = [reference.query_matrix(SMALL, m) for m in measurements]

    def loss(potentials):
        return reference.loss(measurements, matrices, reference.joint(reference.log_joint(potentials), 300.0))

    alpha = 1e-9
    moved = pypgm.estimate(SMALL, measurements, 300.0, iterations=2, tolerance=0, stepsize=alpha, warm_start=start)
    gradient = (start.potentials - moved.potentials) / alpha
    # The gradient is with respect to marginals: compare <gradient, change of the marginals> with the loss's change.
    rng = np.random.default_rng(0)
    for _ in range(5):
        direction = CliqueVector(SMALL, start.cliques, rng.normal(size=gradient.values.size) * 1e-5)
        ahead, behind = start.potentials + direction, start.potentials - direction
        change = pypgm.marginals(ahead, 300.0) - pypgm.marginals(behind, 300.0)
        assert gradient.dot(change) == pytest.approx(loss(ahead) - loss(behind), rel=1e-4, abs=1e-9)


# Invariances.


def close(model, other, atol=2e-2):
    np.testing.assert_allclose(
        model.project(SMALL.attributes).values, other.project(SMALL.attributes).values, rtol=0, atol=atol
    )


def test_the_order_of_a_clique_is_the_order_of_its_values():
    one = measured()
    spread = np.arange(1.0, 7.0).reshape(2, 3)
    one[0] = LinearMeasurement(one[0].values, one[0].clique, spread.ravel())
    swapped = [LinearMeasurement(one[0].values.reshape(2, 3).T, ("b", "a"), spread.T.ravel()), one[1]]
    np.testing.assert_array_equal(
        pypgm.estimate(SMALL, one, 300.0).marginals.values, pypgm.estimate(SMALL, swapped, 300.0).marginals.values
    )


def test_two_measurements_of_twice_the_variance_are_one():
    single = measured()
    double = [LinearMeasurement(m.values, m.clique, m.stddev * np.sqrt(2)) for m in single for _ in "ab"]
    close(pypgm.estimate(SMALL, single, 300.0, **EXACT), pypgm.estimate(SMALL, double, 300.0, **EXACT))


def test_a_clique_inside_another_changes_nothing_when_it_says_nothing_new():
    single = measured(spread=1e-6)
    inside = [*single, LinearMeasurement(single[0].values.reshape(2, 3).sum(1), "a", 1.0)]
    close(pypgm.estimate(SMALL, single, 300.0, **EXACT), pypgm.estimate(SMALL, inside, 300.0, **EXACT), 1e-1)


def test_identity_is_the_same_as_no_query():
    plain = measured()
    identity = [LinearMeasurement(m.values, m.clique, m.stddev, Identity(6)) for m in plain]
    assert (
        pypgm.estimate(SMALL, plain, 300.0).marginals.values.tobytes()
        == pypgm.estimate(SMALL, identity, 300.0).marginals.values.tobytes()
    )


def test_every_cell_its_own_group_is_the_identity_and_groups_follow_the_clique():
    plain = measured()
    grouped = [LinearMeasurement(m.values, m.clique, m.stddev, Partition(np.arange(6))) for m in plain]
    close(pypgm.estimate(SMALL, plain, 300.0, **EXACT), pypgm.estimate(SMALL, grouped, 300.0, **EXACT))
    groups = np.array([[0, 1, 1], [0, 0, 1]])
    one = LinearMeasurement([100.0, 200.0], ("a", "b"), query=Partition(groups.ravel()))
    two = LinearMeasurement([100.0, 200.0], ("b", "a"), query=Partition(groups.T.ravel()))
    model, other = (pypgm.estimate(SMALL, [m], method="mirror_descent", **EXACT) for m in (one, two))
    close(model, other, 1e-6)
    np.testing.assert_allclose(model.project(("a", "b")).values[groups == 0], 100 / 3, rtol=1e-4)


def test_precise_values_weigh_more():
    domain = Domain({"a": 2})
    both = [LinearMeasurement([60.0, 40.0], "a", [1.0, 1.0]), LinearMeasurement([20.0, 80.0], "a", [3.0, 3.0])]
    model = pypgm.estimate(domain, both, 100.0, **EXACT)
    np.testing.assert_allclose(model.project("a").values, [(60 * 9 + 20) / 10, (40 * 9 + 80) / 10], rtol=1e-5)


def test_structural_zeros_stay():
    potentials = CliqueVector(SMALL, [("a", "b"), ("b", "c")])
    potentials["a", "b"].values[0, 1] = -np.inf
    zeros = GraphicalModel(potentials, 300.0)
    for options in ({}, {"stepsize": 1e-3, "iterations": 50}):
        model = pypgm.estimate(SMALL, measured(), 300.0, warm_start=zeros, **options)
        assert model.project(("a", "b")).values[0, 1] == 0.0
        assert model.potentials["a", "b"].values[0, 1] == -np.inf
        assert np.isfinite(model.marginals.values).all()
        assert np.isfinite(model.fit.gap)


# Options.


def test_unmeasured_attributes_stay_uniform():
    model = pypgm.estimate(SMALL, [LinearMeasurement([10, 20], "a")])
    assert model.total == pytest.approx(30.0)
    np.testing.assert_allclose(model.project(("b", "c")).values, 5.0, rtol=1e-12)


def test_no_measurements_need_a_total():
    with pytest.raises(ValueError, match="no measurement tells the total"):
        pypgm.estimate(SMALL, [])
    model = pypgm.estimate(SMALL, [], 12.0)
    np.testing.assert_allclose(model.project(SMALL.attributes).values, 1.0, rtol=1e-12)
    assert model.fit.status == "converged"
    assert model.fit.loss == 0.0


def test_attributes_of_one_value():
    domain = Domain({"one": 1, "a": 2})
    model = pypgm.estimate(domain, [LinearMeasurement([7.0], "one"), LinearMeasurement([3, 5], ("a", "one"))], **EXACT)
    assert model.project("one").values.sum() == pytest.approx(model.total)
    assert model.fit.status == "converged"


def test_tolerance_is_relative_to_the_loss():
    for tolerance in (1.0, 1e-2, 1e-4):
        fit = pypgm.estimate(SMALL, measured(), 290.0, stop="optimum", tolerance=tolerance, iterations=20000).fit
        assert fit.status == "converged"
        assert fit.gap <= tolerance * (1 + fit.history[-1]) * (1 + 1e-12)


def test_tolerance_of_zero_computes_the_gap_once_at_the_end():
    seen = []
    model = pypgm.estimate(SMALL, measured(), tolerance=0, iterations=30, callback=seen.append)
    assert all(state.gap is None for state in seen)
    assert model.fit.gap is not None
    assert model.fit.status == "iterations"


def test_iterations_bound_oracle_calls():
    for iterations in (1, 2, 7):
        fit = pypgm.estimate(SMALL, measured(), stop="optimum", iterations=iterations, tolerance=0).fit
        assert fit.status == "iterations"
        assert fit.iterations == iterations
        assert fit.gap is not None
    assert len(fit.history) <= 7


def test_constant_and_callable_steps():
    constant = pypgm.estimate(SMALL, measured(), iterations=40, stepsize=1e-3, tolerance=0)
    asked = []
    same = pypgm.estimate(SMALL, measured(), iterations=40, stepsize=lambda t: asked.append(t) or 1e-3, tolerance=0)
    assert constant.marginals.values.tobytes() == same.marginals.values.tobytes()
    assert asked == list(range(1, 40))
    falling = pypgm.estimate(SMALL, measured(), iterations=40, stepsize=lambda t: 1e-3 / t, tolerance=0)
    assert falling.fit.loss > constant.fit.loss
    searched = pypgm.estimate(SMALL, measured(), iterations=40, tolerance=0)
    assert searched.fit.loss < constant.fit.loss


def test_the_best_point_is_kept_where_steps_overshoot():
    with pytest.warns(pypgm.errors.StepSizeWarning, match="no step of 29 lowered the loss, .* the start"):
        model = pypgm.estimate(SMALL, measured(), 300.0, iterations=30, stepsize=3.0, tolerance=0)
    assert model.fit.loss == pytest.approx(min(model.fit.history), rel=1e-9)
    assert model.fit.gap is not None
    matrices = [reference.query_matrix(SMALL, m) for m in measured()]
    joint = reference.joint(reference.log_joint(model.potentials), 300.0)
    assert reference.loss(measured(), matrices, joint) == pytest.approx(model.fit.loss, rel=1e-9)
    assert np.isfinite(model.marginals.values).all()


def test_callback_sees_each_iteration_and_stops():
    seen = []
    model = pypgm.estimate(SMALL, measured(), callback=lambda s: seen.append(s) or len(seen) == 5, tolerance=1e-12)
    assert model.fit.status == "callback"
    assert len(seen) == 5
    assert [s.iteration for s in seen] == sorted({s.iteration for s in seen})
    assert [s.loss for s in seen] == list(model.fit.history[1:])
    assert seen[0].gap is not None
    assert 0 <= seen[0].seconds <= seen[-1].seconds <= model.fit.seconds


def test_time_limit():
    fit = pypgm.estimate(SMALL, measured(), time_limit=1e-9, tolerance=1e-12).fit
    assert fit.status == "time"
    assert len(fit.history) == 2


def raising(names, *counts):
    """Return a wrapper of functions that raises KeyboardInterrupt at some of the calls of any of them."""
    calls = itertools.count(1)

    def wrap(function):
        def called(*arguments, **options):
            if next(calls) in counts:
                raise KeyboardInterrupt
            return function(*arguments, **options)

        return called

    return {name: wrap(getattr(Path, name)) for name in names}


@pytest.mark.parametrize("options", [{}, {"stop": "optimum"}, {"oracle": "region_graph"}])
def test_before_the_first_iteration_an_interruption_raises(options, monkeypatch):
    for name, function in raising(["advance"], 1).items():
        monkeypatch.setattr(Path, name, function)
    with pytest.raises(KeyboardInterrupt):
        pypgm.estimate(SMALL, measured(), **options)


@pytest.mark.parametrize("options", [{}, {"stop": "optimum"}, {"oracle": "region_graph"}])
def test_a_second_interruption_raises(options, monkeypatch):
    for name, function in raising(["advance"], 3).items():
        monkeypatch.setattr(Path, name, function)
    with pytest.warns(pypgm.errors.EstimateInterruptedWarning, match="best point so far"):
        assert pypgm.estimate(SMALL, measured(), **options).fit.status == "interrupted"
    for name, function in raising(["advance", "solution"], 3, 4).items():
        monkeypatch.setattr(Path, name, function)
    with pytest.raises(KeyboardInterrupt):
        pypgm.estimate(SMALL, measured(), **options)


def test_an_interruption_within_a_long_step_returns_the_best_point():
    domain = Domain(dict.fromkeys("abc", 500))  # a step is long enough for the core to look at signals
    measurements = [LinearMeasurement(np.arange(500**2) % 7, tuple(p), stddev=3.0) for p in ("ab", "bc", "ac")]
    seen = []

    def interrupt(state):
        if not seen:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        seen.append(state.loss)

    options = {"stop": "optimum", "tolerance": 0, "time_limit": 60, "n_threads": 1, "callback": interrupt}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with pytest.warns(pypgm.errors.EstimateInterruptedWarning):
            model = pypgm.estimate(domain, measurements, 1e5, **options)
    finally:
        signal.signal(signal.SIGINT, before)
    assert model.fit.status == "interrupted"
    assert model.fit.loss < seen[0]


def test_interruption_returns_the_best_point():
    def interrupt(state):
        if state.iteration >= 10:
            raise KeyboardInterrupt

    with pytest.warns(pypgm.errors.EstimateInterruptedWarning, match="interrupted after"):
        model = pypgm.estimate(SMALL, measured(), method="mirror_descent", callback=interrupt, tolerance=1e-12)
    assert model.fit.status == "interrupted"
    assert model.fit.loss == pytest.approx(min(model.fit.history), rel=1e-9)
    assert model.fit.gap is not None
    assert model.project("a").values.sum() == pytest.approx(model.total)


def test_errors_of_a_callback_come_through():
    def fail(state):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pypgm.estimate(SMALL, measured(), callback=fail, tolerance=1e-12)


def test_progress_is_a_line_on_standard_error(capsys):
    pypgm.estimate(SMALL, measured(), iterations=20, progress=True, tolerance=0)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("estimate: ")
    assert "20 iterations of at most 20, loss " in shown.err.splitlines()[-1]
    assert shown.err.endswith("\n")
    assert shown.err.count("\n") == 2  # where it begins and where it ends, in a log
    pypgm.estimate(SMALL, measured(), iterations=20)
    assert capsys.readouterr().err == ""


def test_warm_start_saves_iterations():
    first = pypgm.estimate(SMALL, measured(), 300.0, method="mirror_descent", tolerance=1e-6)
    again = pypgm.estimate(SMALL, measured(), 300.0, tolerance=1e-6, warm_start=first)
    assert again.fit.iterations < first.fit.iterations
    assert again.fit.history[0] == pytest.approx(first.fit.loss, rel=1e-12)


def test_warm_start_carries_over_to_other_cliques():
    repeated = CliqueVector(SMALL, [("a",), ("a",), ("c",)], [1.0, 0.0, 0.0, 3.0, 5.0, 0.0])
    start = GraphicalModel(repeated, 300.0)
    model = pypgm.estimate(SMALL, measured(), 300.0, warm_start=start, iterations=1)
    np.testing.assert_allclose(model.project("a").values, start.project("a").values, rtol=1e-12)
    np.testing.assert_allclose(model.project("c").values, start.project("c").values, rtol=1e-12)


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(4)
    domain = Domain({"a": 60, "b": 50, "c": 40, "d": 3})
    measurements = [
        LinearMeasurement(rng.normal(20, 5, q.shape[0] if q else domain.size(c)), c, query=q)
        for c, q in [
            (("a", "b", "c"), None), (("c", "d"), None), (("a", "b"), Partition(rng.integers(0, 9, 3000))),
        ]
    ]  # fmt: skip
    models = [pypgm.estimate(domain, measurements, iterations=8, n_threads=n) for n in (1, 2)]
    assert models[0].potentials.values.tobytes() == models[1].potentials.values.tobytes()
    assert models[0].fit.history == models[1].fit.history
    assert models[0].fit.gap == models[1].fit.gap


REFUSED = [
    ({"stop": "validated-soon"}, "stop must be"),
    ({"total": 0.0, "oracle": "region_graph"}, "total must be positive and finite, got 0.0"),
    ({"total": -1.0}, "total must be finite and at least 0, got -1.0"),
    ({"total": np.nan}, "total must be finite and at least 0, got nan"),
    ({"stepsize": 0.0}, "stepsize must be positive and finite, got 0.0"),
    ({"stepsize": np.inf}, "stepsize must be positive and finite, got inf"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_refused_options(options, message):
    with pytest.raises(ValueError, match=message):
        pypgm.estimate(SMALL, measured(), **options)


NO_NUMBERS = [
    ({"total": True}, "total must be a number, got True"),
    ({"total": False}, "total must be a number, got False"),
    ({"total": "100"}, "total must be a number, got '100'"),
    ({"total": [100.0]}, r"total must be a number, got \[100\.0\]"),
    ({"stepsize": "0.1"}, "stepsize must be a number, got '0.1'"),
    ({"stepsize": lambda t: None}, r"stepsize\(1\) must be a number, got None"),
]


@pytest.mark.parametrize("oracle", ["exact", "region_graph"])
@pytest.mark.parametrize(("options", "message"), NO_NUMBERS)
def test_options_that_are_no_numbers(options, message, oracle):
    if oracle == "exact" or "stepsize" not in options:
        with pytest.raises(TypeError, match=message):
            pypgm.estimate(SMALL, measured(), oracle=oracle, **options)


def test_numpy_numbers_are_options():
    options = {"total": np.float32(100), "iterations": np.int64(3), "tolerance": np.array(0.1), "n_threads": np.int8(1)}
    assert pypgm.estimate(SMALL, measured(), **options).total == 100.0


def test_refused_measurements_and_starts():
    with pytest.raises(ValueError, match="unknown attribute 'zip'"):
        pypgm.estimate(SMALL, [LinearMeasurement([1, 2], "zip")])
    with pytest.raises(ValueError, match=r"clique \('b',\) has 3 cells"):
        pypgm.estimate(SMALL, [LinearMeasurement([1, 2], "b")])
    with pytest.raises(TypeError, match=r"measurements needs a sequence of pypgm\.LinearMeasurement, got None"):
        pypgm.estimate(SMALL, None)
    other = GraphicalModel(CliqueVector(Domain({"a": 2}), ["a"]), 1.0)
    with pytest.raises(ValueError, match=r"warm_start needs a model over Domain\(a: 2, b: 3, c: 2\), got one over"):
        pypgm.estimate(SMALL, measured(), warm_start=other)


@pytest.mark.parametrize("step", [0.0, -1.0, np.nan])
def test_refused_steps_of_a_callable(step):
    with pytest.raises(ValueError, match=r"stepsize\(1\) must be positive and finite, got"):
        pypgm.estimate(SMALL, measured(), stepsize=lambda t: step)
