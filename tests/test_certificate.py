"""The bound of an estimate at stop="optimum": true, tight, and within the limits that were asked for."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import reference

import pypgm
from pypgm.estimation.certificate import is_late, is_worthwhile, levelled_off

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


def rounds(measurements, **options):
    """Return the states of the certificate's rounds: the loss stands still and the gap does not."""
    states = []
    fit = certified(measurements, tolerance=1e-9, callback=states.append, **options).fit
    return fit, [b for a, b in itertools.pairwise(states) if a.loss == b.loss and a.gap != b.gap]


def test_rounds_are_seen_counted_and_stopped(monkeypatch):
    monkeypatch.setattr("pypgm.estimation.tree_path.levelled_off", lambda *_: True)
    fit, seen = rounds(noisy(1), iterations=60)
    assert seen
    assert fit.iterations <= 60
    stop_at = seen[0].iteration
    stopped = certified(noisy(1), tolerance=1e-9, callback=lambda state: state.iteration == stop_at).fit
    assert (stopped.status, stopped.iterations) == ("callback", stop_at)


def test_the_path_goes_on_where_the_certificate_does_not_come_near_enough(monkeypatch):
    # Taken for level too early: however good the bound, the loss is not.
    monkeypatch.setattr("pypgm.estimation.tree_path.CHECK_EVERY", 5)
    monkeypatch.setattr("pypgm.estimation.tree_path.levelled_off", lambda *_: True)
    measurements = noisy(2)
    fit = certified(measurements, tolerance=1e-6, iterations=2000).fit
    assert fit.loss - fit.gap <= least_loss(measurements) * (1 + 1e-6)
    assert fit.status == "converged"
    assert len(fit.history) < fit.iterations - 20
    assert fit.history[-1] < fit.history[5]


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr("pypgm.estimation.tree_path.levelled_off", lambda *_: True)
    one, two = (certified(noisy(3), tolerance=1e-4, iterations=200, n_threads=n).fit for n in (1, 2))
    assert (one.loss, one.gap, one.iterations) == (two.loss, two.gap, two.iterations)


def test_cumulative_sums_have_no_certificate():
    rng = np.random.default_rng(0)
    prefix = pypgm.LinearMeasurement(np.arange(1.0, 5) * 50 + rng.normal(size=4), ("b",), 1.0, pypgm.queries.Prefix(4))
    fit = certified([*noisy(0), prefix], iterations=300).fit
    assert fit.gap >= 0


@pytest.mark.parametrize(("history", "expected"), [([10.0] * 20, True), ([100.0 / (1 + t) for t in range(20)], False)])
def test_a_path_has_levelled_off_once_its_loss_says_so(history, expected):
    assert levelled_off(history, 1e-3) == expected


@pytest.mark.parametrize(
    ("spent", "expected"),
    [((10, 100, 5.0, None), False), ((80, 100, 0.0, None), True), ((10, 100, 3.0, 10.0), True)],
)
def test_what_is_left_of_the_limits_goes_to_the_certificate(spent, expected):
    assert is_late(*spent) == expected


@pytest.mark.parametrize(
    ("cells", "measured", "operations", "gap", "expected"),
    [
        (37_000, 32, 9.6e7, 500.0, True),  # calls of 8 ms, rounds of 0.24 s: 3,600 calls are 28 s
        (37_000, 32, 9.6e7, 20.0, False),  # and 200 calls 2 s
        (98_000, 98, 4.9e5, 500.0, False),  # rounds of 2 s beside calls of 0.5 ms
        (100, 3, 1e3, 500.0, True),
    ],
)
def test_a_certificate_is_begun_where_the_path_would_take_longer(cells, measured, operations, gap, expected):
    problem = SimpleNamespace(
        start=SimpleNamespace(values=np.zeros(cells)),
        loss=SimpleNamespace(measurements=[None] * measured),
        tree=SimpleNamespace(cost=SimpleNamespace(operations=operations)),
    )
    assert is_worthwhile(problem, 700, gap, enough=15.0) == expected
