"""All estimators: one optimum, honest certificates, and which losses each takes."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

import pypgm
from pypgm import CliqueVector, Domain, JunctionTree, LinearMeasurement, losses, queries
from pypgm.estimation.methods import METHODS, MethodName
from pypgm.estimation.oracle import Oracle

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})
ROUNDING = 1e-7  # of 1 + loss: what float64 leaves of a bound


def some_query(cells, rng):
    """Return a query of any kind on a number of cells, None for every cell."""
    rows = int(rng.integers(1, 4))
    kinds = [
        lambda: None,
        lambda: queries.Identity(cells),
        lambda: queries.total(cells),
        lambda: queries.Partition(rng.integers(0, 2, cells), 2),
        lambda: queries.Prefix(cells),
        lambda: queries.AllRange(cells),
        lambda: queries.RangeList(cells, [sorted(rng.integers(0, cells, 2).tolist()) for _ in range(rows)]),
        lambda: queries.Subset(rng.permutation(cells)[: max(1, cells // 2)], cells),
        lambda: queries.weighted(rng.integers(-2, 3, cells), rng.permutation(cells)),
        lambda: queries.Matrix(rng.integers(-2, 3, (rows, cells))),
        lambda: queries.Matrix(rng.normal(size=(rows, cells))),
        lambda: queries.Kronecker([queries.Prefix(cells), queries.Identity(1)]),
    ]
    return kinds[int(rng.integers(len(kinds)))]()


def random_problem(seed, largest=3):
    """Return a small domain and noisy answers to queries of all kinds on random cliques."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, largest + 1, rng.integers(1, 4))
    domain = Domain([f"x{i}" for i in range(sizes.size)], sizes.tolist())
    truth = rng.dirichlet(np.full(domain.size(), 0.3)).reshape(domain.shape) * 200.0
    measurements = []
    for _ in range(rng.integers(1, 4)):
        clique = tuple(rng.permutation(domain.attributes)[: rng.integers(1, 3)].tolist())
        query = some_query(domain.size(clique), rng)
        own = reference.project(domain, truth, clique).ravel()
        own = own if query is None else np.asarray(query.matvec(own), dtype=float)
        spread = rng.uniform(1.0, 10.0, own.size) if rng.random() < 0.5 else 5.0
        measurements.append(LinearMeasurement(own + rng.normal(size=own.size) * spread, clique, spread, query))
    return domain, measurements, 200.0


def test_every_method_has_its_name():
    assert get_args(MethodName) == ("auto", *METHODS)


def value(loss, domain, model):
    return loss.on(domain, model.marginals.cliques)(model.marginals.values)[0]


def agree(problem, loss_name, solver, methods=METHODS, iterations=4000):
    """Check every method's answer against the least loss a generic convex solver finds."""
    domain, measurements, total = problem
    least, slack = solver(domain, measurements, total, loss_name)
    loss = {"l2": losses.L2, "l1": losses.L1, "huber": losses.Huber}[loss_name](measurements)
    for method in methods:
        fit = pypgm.estimate(
            domain,
            measurements,
            total,
            loss=loss_name,
            method=method,
            stop="optimum",
            tolerance=1e-3,
            iterations=iterations,
        )
        assert fit.fit.loss == pytest.approx(value(loss, domain, fit), rel=1e-9, abs=1e-9)
        room = slack + ROUNDING * (1 + least)
        assert fit.fit.loss >= least - room, method
        assert fit.fit.gap >= fit.fit.loss - least - room, method
        if fit.fit.status == "converged":
            assert fit.fit.gap <= 1.1e-3 * (1 + fit.fit.loss), method


def by_convex_solver(domain, measurements, total, loss_name):
    """Return the least loss over all joint tables, and by how much the solver may miss it."""
    cvxpy = pytest.importorskip("cvxpy")
    joint = cvxpy.Variable(domain.size(), nonneg=True)
    parts = []
    for m in measurements:
        scale = np.broadcast_to(m.stddev, m.values.shape) / (1 if loss_name == "l2" else np.sqrt(2))
        residual = (reference.query_matrix(domain, m) / scale[:, None]) @ joint - m.values / scale
        if loss_name == "l2":
            parts.append(0.5 * cvxpy.sum_squares(residual))
        elif loss_name == "l1":
            parts.append(cvxpy.norm1(residual))
        else:
            parts.append(cvxpy.sum(cvxpy.huber(residual, 0.05)) / 0.1)
    found = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(parts)), [cvxpy.sum(joint) == total])
    least = found.solve(solver="CLARABEL")
    return least, 1e-6 * (1 + abs(least))


@pytest.mark.parametrize("seed", range(6))
def test_all_methods_agree_with_a_convex_solver(seed):
    agree(random_problem(seed), "l2", by_convex_solver, iterations=300)


@pytest.mark.slow
def test_all_methods_agree_on_many_problems():
    for seed in range(6, 200):
        agree(random_problem(seed), "l2", by_convex_solver, iterations=300)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["l1", "huber"])
def test_methods_agree_on_other_losses(loss):
    methods = ("accelerated", "mirror_descent", "universal") if loss == "l1" else METHODS
    for seed in range(12):
        agree(random_problem(seed), loss, by_convex_solver, methods, iterations=300)


@pytest.mark.parametrize("seed", range(4))
def test_the_answer_is_generalised_least_squares_where_that_is_positive(seed):
    # Marginals of a tree that agree and are positive belong to a distribution, so no constraint is active.
    rng = np.random.default_rng(seed)
    truth = (rng.dirichlet(np.ones(DOMAIN.size())) + 0.1).reshape(DOMAIN.shape) * 1000
    total = truth.sum()
    measured = []
    for clique in (("a", "b"), ("b", "c"), ("b",)):
        exact = reference.project(DOMAIN, truth, clique).ravel()
        spread = rng.uniform(1.0, 6.0, exact.size)
        measured.append(LinearMeasurement(exact + rng.normal(size=exact.size) * spread, clique, spread))
    matrix = np.vstack([reference.query_matrix(DOMAIN, m) / m.spread()[:, None] for m in measured])
    answers = np.concatenate([m.values / m.spread() for m in measured])
    ones = np.ones((1, DOMAIN.size()))
    stationary = np.block([[matrix.T @ matrix, ones.T], [ones, np.zeros((1, 1))]])
    joint = np.linalg.lstsq(stationary, np.append(matrix.T @ answers, total), rcond=None)[0][:-1]
    table = joint.reshape(DOMAIN.shape)
    for method in METHODS:
        options = {"stop": "optimum", "tolerance": 1e-6, "iterations": 20000}
        model = pypgm.estimate(DOMAIN, measured, total, method=method, **options)
        for clique in (("a", "b"), ("b", "c")):
            wanted = reference.project(DOMAIN, table, clique)
            assert wanted.min() > 0
            np.testing.assert_allclose(model.project(clique).values, wanted, atol=0.05)


def test_methods_that_step_by_themselves_take_no_stepsize():
    measured = [LinearMeasurement([1.0, 2.0], "a")]
    for method in set(METHODS) - {"mirror_descent"}:
        with pytest.raises(ValueError, match="takes no stepsize"):
            pypgm.estimate(DOMAIN, measured, method=method, stepsize=1.0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", ["l2", "huber"])
def test_every_method_can_be_stopped(method, loss):
    domain = DOMAIN
    measured = [LinearMeasurement(4 * np.arange(6.0) ** 2, c, 2.0) for c in (("a", "b"), ("b", "c"))]
    options = {"loss": loss, "method": method, "stop": "optimum", "tolerance": 0.0}
    short = pypgm.estimate(domain, measured, 200.0, iterations=3, **options)
    assert short.fit.status == "iterations"
    assert short.fit.iterations <= 3
    assert pypgm.estimate(domain, measured, 200.0, time_limit=1e-9, **options).fit.status == "time"
    seen = []
    stopped = pypgm.estimate(domain, measured, 200.0, callback=lambda s: seen.append(s) or len(seen) == 2, **options)
    assert stopped.fit.status == "callback"
    assert len(seen) == 2

    def interrupt(state):
        raise KeyboardInterrupt

    with pytest.warns(pypgm.errors.EstimateInterruptedWarning, match="interrupted after"):
        broken = pypgm.estimate(domain, measured, 200.0, callback=interrupt, **options)
    assert broken.fit.status == "interrupted"
    for model in (short, stopped, broken):
        again = pypgm.marginals(model.potentials, model.total)
        np.testing.assert_allclose(model.marginals.values, again.values, rtol=1e-9, atol=1e-9)


@given(st.integers(0, 10**6))
def test_the_gradient_over_potentials_is_exact(seed):
    domain, measured, total = random_problem(seed)
    cliques = list(dict.fromkeys(domain.canonical(m.clique) for m in measured))
    evaluate = losses.L2(measured).on(domain, cliques)
    oracle = Oracle(JunctionTree(domain, cliques), total, 1)
    rng = np.random.default_rng(seed)
    cells = sum(domain.size(c) for c in cliques)
    potentials, along = rng.normal(size=(2, cells))
    loss, gradient = evaluate(oracle.marginals(potentials))
    wanted = [evaluate(oracle.marginals(potentials + h * along))[0] for h in (1e-5, -1e-5)]
    found = oracle.tangent(potentials, gradient) @ along
    assert found == pytest.approx((wanted[0] - wanted[1]) / 2e-5, rel=1e-4, abs=1e-6 * (1 + loss))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", [{}, {"loss": "huber"}, {"iterations": 30, "tolerance": 0}])
def test_marginals_have_the_bits_of_those_computed_from_the_potentials(method, options):
    # A chain is worked on by tables, a cycle by the factored tree.
    domain = Domain({"a": 20, "b": 30, "c": 40})
    rng = np.random.default_rng(0)
    for cliques in ([("a", "b"), ("b", "c")], [("a", "b"), ("b", "c"), ("a", "c")]):
        measured = [LinearMeasurement(rng.uniform(0, 9, domain.size(c)), c, 4.0) for c in cliques]
        model = pypgm.estimate(domain, measured, method=method, **{"iterations": 100} | options)
        again = model.tree.marginals(model.potentials, model.total)
        np.testing.assert_array_equal(model.marginals.values, again.values)


def test_structural_zeros_stay_whatever_the_method():
    start = CliqueVector(DOMAIN, [("a", "b"), ("b", "c")])
    start["a", "b"].values[0, 1] = -np.inf
    zeros = pypgm.GraphicalModel(start, 100.0)
    measured = [LinearMeasurement(np.full(6, 100 / 6), c, 2.0) for c in (("a", "b"), ("b", "c"))]
    for method in METHODS:
        model = pypgm.estimate(DOMAIN, measured, 100.0, method=method, warm_start=zeros, iterations=60)
        assert model.project(("a", "b")).values[0, 1] == 0.0
        assert np.isfinite(model.fit.gap)
        assert np.isfinite(model.marginals.values).all()
