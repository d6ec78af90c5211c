"""What a path answers, beside averages by hand: what its average leaves out, and the average of averages."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest

import pypgm
from pypgm.clique_vector import CliqueVector
from pypgm.estimation.fit import Options, Watch
from pypgm.estimation.general import GeneralAcceleration
from pypgm.estimation.path import CHECK_EVERY
from pypgm.estimation.problem import Problem
from pypgm.estimation.residual_losses import L2
from pypgm.estimation.second_average import SecondAverage
from pypgm.estimation.steps import FINE, MeasuredSteps
from pypgm.estimation.tree_path import TreePath
from pypgm.graphs import JunctionTree


class EqualWeights:
    """Steps whose ends have the same weight in the average, the first point too."""

    def __init__(self):
        self.weight = 1.0

    def next(self):
        self.weight += 1
        return 1.0, 1 / self.weight

    def learn(self, slope, curvature):
        """Learn nothing."""

    def forget(self, share, /):
        self.weight *= 1 - share


class Iterates:
    """A solver whose iterates are known beforehand; its loss is the squared distance of their average to zero.

    Its held-out losses are known beforehand, too, and it restarts wherever it is asked to if it ``restarts``.
    """

    def __init__(self, points, held_out=None, *, restarts=False):
        self._points = iter(points)
        self._held_out = iter(held_out or [(0.0, 0.0)] * len(points))
        self._restarts = restarts
        self.average = self._mean = next(self._points)
        self.potentials = self.average

    def advance(self, s, a, share):
        self._mean = (1 - a) * self._mean + a * next(self._points)
        self.average = (1 - share) * self.average + share * self._mean
        return self.loss(), *next(self._held_out), -s, 1.0

    def loss(self):
        return float(np.square(self.average).sum())

    def set_average(self, marginals):
        self.average = self._mean = marginals

    def restart(self):
        if self._restarts:
            self.average = self._mean = np.zeros_like(self._mean)
        return self._restarts

    def level(self):
        """Do nothing."""


def new_path(points, averaging, *solver, **options):
    watched = Options(10**6, 0.0, None, None, None, False, 1, "optimum", None, time.perf_counter())
    problem = SimpleNamespace(acceleration=lambda *_: Iterates(points, *solver, **options))
    return TreePath(problem, EqualWeights(), watched, Watch(watched), averaging=averaging)


def path_along(points, averaging, **options):
    run = new_path(points, averaging, **options)
    run.follow(len(points))
    return run


def far_then_near(seed, n=8 * CHECK_EVERY + 1):
    rng = np.random.default_rng(seed)
    return list(rng.random((n, 3)) + 50.0 * (np.arange(n) < CHECK_EVERY / 2)[:, None])


@pytest.mark.parametrize("seed", range(5))
def test_the_average_leaves_out_a_beginning_that_is_far_away(seed):
    points = far_then_near(seed)
    run = path_along(points, "shed")
    average, _, loss = run.given_back()
    suffixes = [np.mean(points[mark + 1 :], axis=0) for mark in range(CHECK_EVERY, len(points) - 1, CHECK_EVERY)]
    assert any(np.allclose(average, mean, rtol=1e-9) for mean in suffixes)
    assert loss == pytest.approx(float(np.square(average).sum()), rel=1e-12)
    assert loss < 0.5 * path_along(points, "plain").given_back()[2]
    np.testing.assert_allclose(run.whole(), np.mean(points, axis=0), rtol=1e-9)


def test_the_average_keeps_a_beginning_that_is_nearer_than_the_rest():
    points = list(np.arange(8.0 * CHECK_EVERY)[:, None])
    for averaging in ("shed", "restarted", "plain"):
        np.testing.assert_allclose(path_along(points, averaging).given_back()[0], np.mean(points, axis=0), rtol=1e-9)


def test_losses_never_rise_where_something_is_left_out():
    points = far_then_near(1)
    shed, kept = (path_along(points, averaging).history for averaging in ("shed", "plain"))
    assert len(shed) == len(kept) == len(points)
    assert all(s <= k + 1e-9 for s, k in zip(shed, kept, strict=True))


def test_the_average_of_averages_weighs_each_by_its_own_weight():
    points = far_then_near(2)
    means = [np.mean(points[: n + 1], axis=0) for n in range(1, len(points))]
    weights = np.arange(2.0, len(points) + 1) ** 1.5
    expected = np.average(means, axis=0, weights=weights)
    np.testing.assert_allclose(path_along(points, "twice").given_back()[0], expected, rtol=1e-9)


def test_averages_are_not_averaged_while_steps_grow():
    steps, second = MeasuredSteps(1.0, *FINE), SecondAverage()
    weight = 0.0
    for _ in range(20):
        s, a = steps.next()
        assert second.share(s, a) == 1
        weight = s / a
        steps.learn(-1e9, 1.0)  # a far longer step were permitted
    weights = [weight]
    for curvature in (1e9, 1.0):  # the first time none but the safe step is; what grows later is no beginning
        steps.learn(-1.0, curvature)
        s, a = steps.next()
        weights.append(s / a)
        assert second.share(s, a) == pytest.approx(weights[-1] ** 1.5 / np.sum(np.power(weights, 1.5)))


def test_compiled_and_general_paths_average_twice_alike():
    domain = pypgm.Domain(["a", "b", "c"], [3, 4, 2])
    rng = np.random.default_rng(5)
    cliques = [("a", "b"), ("b", "c")]
    held, measurements = (
        [pypgm.LinearMeasurement(100 * rng.random(domain.size(c)), c, stddev=10.0) for c in cliques] for _ in range(2)
    )
    tree = JunctionTree(domain, cliques)
    problem = Problem(tree, L2(measurements), 500.0, CliqueVector(domain, tree.cliques))
    compiled = problem.acceleration(1, held)
    general = GeneralAcceleration(problem.oracle(1), problem.loss, problem.start.values, L2(held))
    for s, a, share in [(0.01, 1.0, 1.0), (0.02, 0.7, 1.0), (0.02, 0.5, 0.6), (0.03, 0.4, 0.3), (0.03, 0.3, 1.0)]:
        np.testing.assert_allclose(compiled.advance(s, a, share), general.advance(s, a, share), rtol=1e-7)
        np.testing.assert_allclose(compiled.average, general.average, rtol=1e-9)
        assert compiled.loss() == pytest.approx(general.loss(), rel=1e-9)
        assert compiled.gap() == pytest.approx(general.gap(), rel=1e-7)
    assert compiled.restart() == general.restart()
    np.testing.assert_allclose(compiled.average, general.average, rtol=1e-9)


def falling_points(n):
    return [np.array([float(n - k)]) for k in range(n)]


@pytest.mark.parametrize(("plain", "twice", "best"), [(2.0, 3.0, "plain"), (3.0, 2.0, "twice"), (2.0, 2.0, "plain")])
def test_the_average_that_validates_better_answers(plain, twice, best):
    # The two fall until iterations 40 and 46, and rise again.
    held_out = [(plain + abs(k - 40), twice + abs(k - 46)) for k in range(1, 101)]
    run = new_path(falling_points(101), "twice", held_out)
    assert run.validate(100) == ("validated", {"plain": 40, "twice": 46}[best], best)
    assert run.taken == 62  # a quarter of the way without a better one of either


def test_a_path_is_not_at_its_end_where_it_has_overshot():
    points = [*falling_points(30), *([np.array([500.0])] * 30), *([np.array([0.0])] * 240)]
    held_out = [(abs(k - 25.0) if k < 200 else 0.0 - k, 1e9) for k in range(1, 300)]
    run = new_path(points, "twice", held_out)
    status, best, averaging = run.validate(290)
    assert (status, averaging) == ("iterations", "plain")
    assert best > 200


@pytest.mark.parametrize("averaging", ["plain", "twice"])
def test_what_is_validated_is_never_begun_anew(averaging):
    points = far_then_near(3)
    kept, stayed = (path_along(points, averaging, restarts=restarts).given_back()[0] for restarts in (True, False))
    np.testing.assert_array_equal(kept, stayed)
    begun = path_along(points, "restarted", restarts=True).given_back()[0]
    assert not np.allclose(begun, kept)
