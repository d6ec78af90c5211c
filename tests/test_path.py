"""What a path's average leaves out, beside averages by hand."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest

from pypgm.estimation.fit import Options, Watch
from pypgm.estimation.path import CHECK_EVERY, Path


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
    """A solver whose iterates are known beforehand; its loss is the squared distance of their average to zero."""

    def __init__(self, points):
        self._points = iter(points)
        self.average = next(self._points)
        self.potentials = self.average

    def advance(self, s, a):
        self.average = (1 - a) * self.average + a * next(self._points)
        return self.loss(), 0.0, -s, 1.0

    def loss(self):
        return float(np.square(self.average).sum())

    def set_average(self, marginals):
        self.average = marginals

    def restart(self):
        return False

    def level(self):
        """Do nothing."""


def path_along(points, *, sheds):
    options = Options(10**6, 0.0, None, None, None, False, 1, "optimum", None, time.perf_counter())
    problem = SimpleNamespace(acceleration=lambda *_: Iterates(points))
    run = Path(problem, EqualWeights(), options, Watch(options), sheds=sheds)
    run.follow(len(points))
    return run


def far_then_near(seed, n=8 * CHECK_EVERY + 1):
    rng = np.random.default_rng(seed)
    return list(rng.random((n, 3)) + 50.0 * (np.arange(n) < CHECK_EVERY / 2)[:, None])


@pytest.mark.parametrize("seed", range(5))
def test_the_average_leaves_out_a_beginning_that_is_far_away(seed):
    points = far_then_near(seed)
    run = path_along(points, sheds=True)
    average, _, loss = run.given_back()
    suffixes = [np.mean(points[mark + 1 :], axis=0) for mark in range(CHECK_EVERY, len(points) - 1, CHECK_EVERY)]
    assert any(np.allclose(average, mean, rtol=1e-9) for mean in suffixes)
    assert loss == pytest.approx(float(np.square(average).sum()), rel=1e-12)
    assert loss < 0.5 * path_along(points, sheds=False).given_back()[2]
    np.testing.assert_allclose(run.whole(), np.mean(points, axis=0), rtol=1e-9)


def test_the_average_keeps_a_beginning_that_is_nearer_than_the_rest():
    points = list(np.arange(8.0 * CHECK_EVERY)[:, None])
    for sheds in (True, False):
        np.testing.assert_allclose(path_along(points, sheds=sheds).given_back()[0], np.mean(points, axis=0), rtol=1e-9)


def test_losses_never_rise_where_something_is_left_out():
    points = far_then_near(1)
    shed, kept = (path_along(points, sheds=sheds).history for sheds in (True, False))
    assert len(shed) == len(kept) == len(points)
    assert all(s <= k + 1e-9 for s, k in zip(shed, kept, strict=True))
