"""Estimates over region graphs: the optimum, agreement with exact estimates, stops, starts, certificate, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pypgm
from pypgm import Domain, Factor, LinearMeasurement, RegionGraph, convex_gbp
from pypgm.queries import Partition, Prefix

DOMAIN = Domain({f"x{i}": 3 for i in range(6)})
CYCLE = [("x0", "x1", "x2"), ("x2", "x3", "x4"), ("x4", "x5", "x0"), ("x1", "x3", "x5")]
CHAIN = [("x0", "x1"), ("x1", "x2", "x3"), ("x3", "x4"), ("x5",)]
TIGHT = {"stop": "optimum", "tolerance": 1e-9, "iterations": 20_000}


def records(seed, n=1000.0, concentration=0.3):
    table = np.random.default_rng(seed).dirichlet(np.full(DOMAIN.size(), concentration)) * n
    return Factor(DOMAIN, table)


def measure(truth, cliques, sigma, seed):
    rng = np.random.default_rng([seed, 17])
    exact = {c: truth.project(c).values for c in cliques}
    return [LinearMeasurement(t + sigma * rng.normal(size=t.shape), c, sigma) for c, t in exact.items()]


def error(model, truth, cliques):
    return np.mean([np.abs(model.project(c).values - truth.project(c).values).sum() for c in cliques])


class General(pypgm.losses.L2):
    """The same loss, unknown to the compiled loop."""


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1), st.sampled_from([3.0, 30.0]))
def test_on_a_junction_tree_it_is_the_exact_estimate(seed, sigma):
    measurements = measure(records(seed), CHAIN, sigma, seed)
    exact = pypgm.estimate(DOMAIN, measurements, 1000.0, **TIGHT | {"tolerance": 1e-7})
    for graph in (RegionGraph.junction_tree(DOMAIN, CHAIN), "region_graph"):
        model = pypgm.estimate(DOMAIN, measurements, 1000.0, oracle=graph, **TIGHT)
        assert model.fit.loss == pytest.approx(exact.fit.loss, abs=1e-4 * (1 + exact.fit.loss))
        for clique in CHAIN:
            np.testing.assert_allclose(model.project(clique).values, exact.project(clique).values, atol=0.5)


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1))
def test_counting_numbers_and_edges_do_not_change_the_estimate(seed):
    from pypgm.estimation.accelerated import accelerated
    from pypgm.estimation.independence import independent_potentials
    from pypgm.estimation.limits import SolverOptions
    from pypgm.estimation.region_problem import RegionProblem

    measurements = measure(records(seed), CYCLE, 10.0, seed)
    start = independent_potentials(DOMAIN, DOMAIN.attributes, measurements, 1000.0)
    rng = np.random.default_rng(seed)
    losses = []
    for i in range(3):
        graph = RegionGraph.saturated(DOMAIN, CYCLE, minimal=i == 2)
        kappa = np.ones(len(graph.regions)) if i == 0 else rng.uniform(0.3, 3.0, len(graph.regions))
        loss = pypgm.losses.L2(measurements)
        problem = RegionProblem(loss=loss, total=1000.0, start=start, graph=graph, counting_numbers=kappa)
        options = SolverOptions(iterations=20_000, tolerance=1e-10, n_threads=1)
        potentials, marginals, fit, _ = accelerated(problem, options)
        losses.append(fit.loss)
        again = convex_gbp(potentials, graph, kappa, 1000.0, tolerance=1e-10)
        np.testing.assert_allclose(again.marginals.values, marginals.values, atol=1e-3)
    np.testing.assert_allclose(losses, losses[0], rtol=1e-5)


@pytest.mark.parametrize("oracle", ["region_graph", "factor_graph"])
def test_the_answer_is_consistent_and_its_bound_holds(oracle):
    measurements = measure(records(1), CYCLE, 5.0, 1)
    model = pypgm.estimate(DOMAIN, measurements, oracle=oracle, **TIGHT)
    early = pypgm.estimate(DOMAIN, measurements, oracle=oracle, stop="optimum", tolerance=0, iterations=60)
    assert model.fit.status == "converged"
    for parent, child in model.graph.edges:
        small = model.graph.regions[child]
        above = model.marginals[model.graph.regions[parent]].project(small).values
        np.testing.assert_allclose(above, model.marginals[small].values, atol=1e-4)
    assert 0 <= model.fit.gap <= 1e-6 * model.fit.loss
    assert early.fit.status == "iterations"
    assert early.fit.iterations >= 60
    assert early.fit.loss - early.fit.gap <= model.fit.loss + 1e-9
    assert model.fit.loss <= early.fit.loss


def projected_onto_simplex(y, total):
    """The nearest non-negative table of that sum, by sorting."""
    falling = np.sort(y)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, y.size + 1)
    return np.maximum(y - shifts[falling > shifts][-1], 0)


@pytest.mark.parametrize("sigma", [1.0, 20.0])
def test_one_clique_ends_at_the_projection_onto_a_simplex(sigma):
    (measurement,) = measure(records(11), CYCLE[:1], sigma, 11)
    model = pypgm.estimate(DOMAIN, [measurement], 1000.0, oracle="region_graph", **TIGHT)
    wanted = projected_onto_simplex(measurement.values, 1000.0)
    least = 0.5 * np.square((wanted - measurement.values) / sigma).sum()
    np.testing.assert_allclose(model.project(CYCLE[0]).datavector(), wanted, atol=0.02 * sigma)
    assert model.fit.loss - model.fit.gap <= least * (1 + 1e-12)
    assert least <= model.fit.loss * (1 + 1e-12)
    assert model.fit.gap <= 1e-5 * model.fit.loss


def test_relaxation_is_never_above_the_exact_optimum():
    measurements = measure(records(2), CYCLE, 20.0, 2)
    factor, region, exact = (
        pypgm.estimate(DOMAIN, measurements, 1000.0, oracle=o, **TIGHT).fit.loss
        for o in ("factor_graph", "region_graph", "exact")
    )
    assert factor <= region + 1e-3
    assert region <= exact + 1e-3


def test_the_validated_stop_is_nearer_the_truth():
    truth = records(3, 2000.0)
    for sigma in (20.0, 60.0):
        measurements = measure(truth, CYCLE, sigma, 3)
        validated = pypgm.estimate(DOMAIN, measurements, oracle="region_graph")
        optimum = pypgm.estimate(DOMAIN, measurements, oracle="region_graph", **TIGHT)
        assert validated.fit.status == "validated"
        assert error(validated, truth, CYCLE) < error(optimum, truth, CYCLE)


def test_another_source_of_thinning_changes_the_validated_answer_only():
    measurements = measure(records(4), CYCLE, 20.0, 4)
    runs = [pypgm.estimate(DOMAIN, measurements, oracle="region_graph", rng=r) for r in (None, None, *range(5, 10))]
    np.testing.assert_array_equal(runs[0].marginals.values, runs[1].marginals.values)
    # Another one may end at the same iteration.
    assert any(np.abs(runs[0].marginals.values - run.marginals.values).max() > 0 for run in runs[2:])


def test_noise_free_measurements_are_met():
    truth = records(5)
    measurements = [LinearMeasurement(truth.project(c).values, c, 1e-3) for c in CYCLE]
    model = pypgm.estimate(DOMAIN, measurements, oracle="region_graph", iterations=20_000)
    assert error(model, truth, CYCLE) < 1.0


def test_groups_repeats_parts_and_totals_are_what_the_general_loop_sees():
    truth = records(6)
    rng = np.random.default_rng(6)
    groups = rng.integers(0, 4, 9)
    pair = truth.project(("x1", "x0")).datavector()
    measurements = [
        *measure(truth, CYCLE, 8.0, 6),
        *measure(truth, CYCLE[:1], 3.0, 7),
        LinearMeasurement(truth.project(CYCLE[1]).values + 2.0, CYCLE[1], np.linspace(1.0, 5.0, 27)),
        LinearMeasurement(np.bincount(groups, pair), ("x1", "x0"), 2.0, Partition(groups)),
        LinearMeasurement(truth.project("x3").values + 1.0, "x3", 4.0),
        LinearMeasurement([1003.0], (), 5.0),
    ]
    graph = RegionGraph.from_edges(
        DOMAIN, CYCLE, [(c, a) for c in CYCLE for a in c if a != "x3"], cliques=[m.clique for m in measurements]
    )
    options = {"oracle": graph, "stop": "optimum", "tolerance": 0, "iterations": 150}
    compiled = pypgm.estimate(DOMAIN, measurements, 1000.0, **options)
    general = pypgm.estimate(DOMAIN, measurements, 1000.0, loss=General(measurements), **options)
    measured = list(dict.fromkeys(DOMAIN.canonical(m.clique) for m in measurements if m.clique))
    value = pypgm.losses.L2(measurements).on(DOMAIN, [*measured, ()])
    tables = [compiled.project(c).datavector() for c in measured]
    assert compiled.fit.loss == pytest.approx(value(np.concatenate([*tables, [1000.0]]))[0], rel=1e-6)
    assert general.fit.loss == pytest.approx(compiled.fit.loss, rel=1e-3)
    np.testing.assert_allclose(general.marginals.values, compiled.marginals.values, atol=1.0)
    thinned = pypgm.estimate(DOMAIN, measurements, oracle=graph)
    assert thinned.fit.status == "validated"


@pytest.mark.parametrize("loss", ["l1", "huber"])
def test_other_losses_and_queries(loss):
    truth = records(7)
    measurements = measure(truth, CYCLE, 5.0, 7)
    prefix = LinearMeasurement(np.cumsum(truth.project("x0").values), "x0", 1.0, Prefix(3))
    options = {"loss": loss, "stop": "optimum", "iterations": 500}
    model = pypgm.estimate(DOMAIN, [*measurements, prefix], oracle="region_graph", **options)
    exact = pypgm.estimate(DOMAIN, [*measurements, prefix], **options)
    assert model.fit.loss <= exact.fit.loss * 1.01
    assert model.fit.loss - model.fit.gap <= exact.fit.loss
    assert model.fit.loss < model.fit.history[0]
    validated = pypgm.estimate(DOMAIN, [*measurements, prefix], oracle="region_graph", loss=loss, iterations=200)
    assert validated.fit.status in {"validated", "iterations"}


def test_a_loss_of_ones_own():
    truth = records(8)

    def surprise(marginals):
        table = truth.project(("x0", "x1", "x2")).datavector()
        p = marginals.values
        return -float(table @ np.log(p)), pypgm.CliqueVector(DOMAIN, [CYCLE[0]], -table / p)

    loss = pypgm.losses.Custom(surprise, [CYCLE[0]])
    model = pypgm.estimate(DOMAIN, [], 1000.0, loss=loss, oracle="region_graph", stop="optimum")
    np.testing.assert_allclose(model.project(CYCLE[0]).values, truth.project(CYCLE[0]).values, rtol=0.05, atol=0.5)


def test_a_warm_start_saves_iterations_and_new_cliques_join():
    measurements = measure(records(9), CYCLE, 5.0, 9)
    first = pypgm.estimate(DOMAIN, measurements[:3], 1000.0, oracle="region_graph", **TIGHT | {"tolerance": 1e-6})
    cold = pypgm.estimate(DOMAIN, measurements, 1000.0, oracle="region_graph", **TIGHT | {"tolerance": 1e-6})
    warm = pypgm.estimate(
        DOMAIN, measurements, 1000.0, oracle="region_graph", warm_start=first, **TIGHT | {"tolerance": 1e-6}
    )
    assert warm.fit.loss == pytest.approx(cold.fit.loss, rel=1e-3)
    assert warm.fit.history[0] < cold.fit.history[0]
    again = pypgm.estimate(DOMAIN, measurements, 1000.0, oracle="region_graph", warm_start=cold)
    assert again.fit.history[0] == pytest.approx(cold.fit.loss, rel=1e-4)
    exact = pypgm.estimate(DOMAIN, measurements[:2], 1000.0)
    assert pypgm.estimate(DOMAIN, measurements, 1000.0, oracle="region_graph", warm_start=exact).fit.gap >= 0
    with pytest.raises(TypeError, match="needs a GraphicalModel, got RegionGraphModel: one of the same oracle"):
        pypgm.estimate(DOMAIN, measurements, 1000.0, warm_start=cold)


def test_the_same_bits_for_any_number_of_threads():
    domain = Domain({f"x{i}": 10 for i in range(30)})
    rng = np.random.default_rng(0)
    cliques = {tuple(sorted(rng.choice(30, 3, replace=False))) for _ in range(300)}
    measurements = [
        LinearMeasurement(10 + 5 * rng.normal(size=1000), [f"x{i}" for i in c], 5.0) for c in sorted(cliques)
    ]
    options = {"oracle": "region_graph", "stop": "optimum", "iterations": 12, "tolerance": 0}
    one, two = (pypgm.estimate(domain, measurements, n_threads=n, **options) for n in (1, 2))
    np.testing.assert_array_equal(one.marginals.values, two.marginals.values)
    np.testing.assert_array_equal(one.potentials.values, two.potentials.values)
    assert (one.fit.history, one.fit.gap) == (two.fit.history, two.fit.gap)
    assert one.fit.gap is not None


def test_callbacks_limits_and_interrupts():
    measurements = measure(records(10), CYCLE, 5.0, 10)
    seen = []

    def watch(state):
        seen.append(state)
        return len(seen) == 7

    stopped = pypgm.estimate(DOMAIN, measurements, oracle="region_graph", stop="optimum", callback=watch)
    assert (stopped.fit.status, len(seen)) == ("callback", 7)
    assert pypgm.estimate(DOMAIN, measurements, oracle="region_graph", callback=lambda _: True).fit.status == "callback"
    assert pypgm.estimate(DOMAIN, measurements, oracle="region_graph", time_limit=1e-9).fit.status == "time"
    assert pypgm.estimate(DOMAIN, measurements, oracle="region_graph", iterations=1).fit.iterations <= 5

    def interrupt(_):
        raise KeyboardInterrupt

    for stop in ("optimum", "validated"):
        with pytest.warns(pypgm.errors.EstimateInterruptedWarning, match="interrupted after"):
            model = pypgm.estimate(DOMAIN, measurements, oracle="region_graph", stop=stop, callback=interrupt)
        assert model.fit.status == "interrupted"


NOISY = measure(records(11), CYCLE, 5.0, 11)
LABELS = {DOMAIN.attributes[0]: [f"x{i}" for i in range(DOMAIN.shape[0])]}
BAD = {
    "oracle": ({"oracle": "loopy"}, "oracle must be"),
    "method": ({"oracle": "region_graph", "method": "lbfgs"}, "method='accelerated'"),
    "domain": ({"oracle": RegionGraph.saturated(Domain({"a": 2}), ["a"])}, "region graph is over"),
    "labels": (
        {"oracle": RegionGraph.saturated(Domain(DOMAIN.attributes, DOMAIN.shape, LABELS), CYCLE)},
        f"labels of {DOMAIN.attributes[0]!r} differ: of code 0 no label is needed, got 'x0'",
    ),
    "unsupported": ({"oracle": RegionGraph.saturated(DOMAIN, CYCLE[:2])}, "no region holds clique"),
    "warm start": (
        {
            "oracle": "region_graph",
            "warm_start": pypgm.estimate(Domain({"a": 2}), [LinearMeasurement([1, 2], "a")], oracle="region_graph"),
        },
        "start from must be over",
    ),
    "convex": (
        {"oracle": "region_graph", "loss": pypgm.losses.Custom(lambda m: (0.0, m), CYCLE, convex=False)},
        "needs a convex loss",
    ),
    "too large": ({"oracle": "region_graph", "max_bytes": 100}, "regions have"),
}


def test_attributes_of_no_region_count_as_well():
    domain = pypgm.Domain({"a": 2, "b": 2, "wide": 10**6})
    measured = [pypgm.LinearMeasurement(np.ones((2, 2)), ("a", "b"), 1.0)]
    with pytest.raises(pypgm.ModelTooLargeError, match=r"the attributes have 1e\+06 values"):
        pypgm.estimate(domain, measured, oracle="region_graph", max_bytes=10**6)


@pytest.mark.parametrize("name", BAD)
def test_refusals(name):
    options, message = BAD[name]
    with pytest.raises((ValueError, pypgm.ModelTooLargeError), match=message):
        pypgm.estimate(DOMAIN, NOISY, **options)
