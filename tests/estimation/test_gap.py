"""The bound of an estimate at stop="optimum": never above the optimum, and no tolerance is met without it."""

import numpy as np
import pytest
import reference

import pypgm

DOMAIN = pypgm.Domain({"a": 3, "b": 4, "c": 3, "d": 2})
CYCLE = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
TOTAL = 200.0


def noisy(seed, grouped=False):
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.full(72, 0.2)).reshape(3, 4, 3, 2) * TOTAL
    measurements = []
    for clique in CYCLE:
        axes = tuple(i for i, name in enumerate(DOMAIN.attributes) if name not in clique)
        truth = joint.sum(axis=axes)
        measurements.append(pypgm.LinearMeasurement(truth.ravel() + 3 * rng.normal(size=truth.size), clique, 3.0))
    if grouped:
        query = pypgm.queries.Partition(np.array([0, 0, 1, 1]))
        measurements.append(pypgm.LinearMeasurement(rng.normal(TOTAL / 2, 2, size=2), ("b",), 2.0, query))
    return measurements


def least_loss(measurements):
    cvxpy = pytest.importorskip("cvxpy")
    joint = cvxpy.Variable(DOMAIN.size(), nonneg=True)
    parts = [
        0.5 * cvxpy.sum_squares((reference.query_matrix(DOMAIN, m) @ joint - m.values) / m.stddev) for m in measurements
    ]
    return cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(parts)), [cvxpy.sum(joint) == TOTAL]).solve(solver="CLARABEL")


def certified(measurements, **options):
    return pypgm.estimate(DOMAIN, measurements, TOTAL, stop="optimum", **options)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_never_above_the_optimum_and_meets_the_tolerance(seed, grouped):
    measurements = noisy(seed, grouped)
    fit = certified(measurements, tolerance=1e-4, iterations=3000).fit
    least = least_loss(measurements)
    slack = 1e-6 * (1 + least)
    assert fit.loss - fit.gap <= least + slack
    assert fit.loss >= least - slack
    assert fit.status == "converged"
    assert fit.gap <= 1.01e-4 * (1 + fit.loss)


def test_any_number_of_threads_gives_the_same_bits():
    one, two = (certified(noisy(3), tolerance=1e-4, iterations=200, n_threads=n).fit for n in (1, 2))
    assert (one.loss, one.gap, one.iterations) == (two.loss, two.gap, two.iterations)


def test_cumulative_sums_have_a_bound():
    rng = np.random.default_rng(0)
    prefix = pypgm.LinearMeasurement(np.arange(1.0, 5) * 50 + rng.normal(size=4), ("b",), 1.0, pypgm.queries.Prefix(4))
    fit = certified([*noisy(0), prefix], iterations=300).fit
    assert fit.gap >= 0


def test_an_end_without_a_certificate_is_not_called_converged():
    fit = certified(noisy(1), tolerance=1e-9, iterations=200).fit
    assert fit.gap > 1e-9 * (1 + fit.loss)
    assert fit.status == "iterations"
