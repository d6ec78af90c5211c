"""What a path answers, beside averages by hand, and where it ends."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import pypgm
from pypgm.clique_vector import CliqueVector
from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.path import Path
from pypgm.estimation.problem import Step
from pypgm.estimation.residual_losses import L2
from pypgm.estimation.solver import Watch
from pypgm.estimation.steps import MeasuredSteps
from pypgm.estimation.stop_rule import Validation
from pypgm.estimation.tree_problem import TreeProblem
from pypgm.graphs import JunctionTree


class EqualSteps(MeasuredSteps):
    """Steps of one length."""

    def learn(self, slope, curvature):
        """Learn nothing."""


class Iterates:
    """An engine whose iterates are known beforehand; its loss is the squared distance of their average to zero."""

    def __init__(self, points, held_out=None, *, exact=True):
        self._points = iter(points)
        self._held_out = iter(held_out or [0.0] * len(points))
        self.average = next(self._points)
        self.calls = 1
        self.restarts = 0
        self.restart = None if exact else self._restarted

    def advance(self, s, a):
        self.average = (1 - a) * self.average + a * next(self._points)
        return Step(self.loss(), next(self._held_out), -s, 1.0, 1)

    def loss(self):
        return float(np.square(self.average).sum())

    def _restarted(self):
        self.restarts += 1
        return 3


OPTIONS = SolverOptions(iterations=10**6, tolerance=0.0, n_threads=1)


def new_path(points, held_out=None, *, exact=True, rule=None):
    problem = SimpleNamespace(
        engine=lambda _: Iterates(points, held_out, exact=exact),
        steps=lambda _: (EqualSteps(1.0, 1.0, "optimum"), 0),
        exact=exact,
        held_out=(),
        loss=None,
    )
    return Path(problem, OPTIONS, rule=rule and rule.ended)


def follow(run, limit):
    return run.follow(Watch(OPTIONS), limit)


def test_points_weigh_in_the_average_about_as_the_cube_of_their_place():
    rng = np.random.default_rng(0)
    points = list(rng.random((400, 3)))
    run = new_path(points)
    follow(run, len(points))
    weights = np.arange(1.0, len(points)) ** 3  # the first step's end takes all
    np.testing.assert_allclose(run.engine.average, np.average(points[1:], axis=0, weights=weights), rtol=2e-3)


def test_a_step_times_its_share_is_the_longest_without_averaging():
    steps = EqualSteps(0.3, 1.0, "optimum")
    for _ in range(50):
        s, a = steps.next()
        assert s * a == pytest.approx(0.3)
    assert EqualSteps(0.3, 1.0, "optimum").next() == (0.3, 1.0)


def test_steps_are_what_the_last_moves_permit():
    steps = MeasuredSteps(1.0, 1000.0, "optimum")
    lengths = []
    for permitted in (1e9, 1e9, 1e9, 3.0, *[1e9] * 5, 0.1):
        s, a = steps.next()
        lengths.append(s * a)
        steps.learn(-permitted / s, 1.0)
    assert lengths[:4] == pytest.approx([1, 2, 4, 8])
    assert lengths[4:9] == pytest.approx([2.7] * 5)
    assert lengths[9] == pytest.approx(5.4)
    s, a = steps.next()
    assert s * a == pytest.approx(1.0)  # never less than the safe one


def test_a_validated_path_lengthens_its_steps_more_slowly():
    for stop, growth in (("validated", 1.2), ("optimum", 2.0)):
        steps = MeasuredSteps(1.0, 1000.0, stop)
        lengths = []
        for _ in range(3):
            s, a = steps.next()
            lengths.append(s * a)
            steps.learn(-1e9 / s, 1.0)
        assert lengths == pytest.approx([1, growth, growth**2])


def test_compiled_and_general_paths_agree():
    domain = pypgm.Domain(["a", "b", "c"], [3, 4, 2])
    rng = np.random.default_rng(5)
    cliques = [("a", "b"), ("b", "c")]
    held, measurements = (
        [pypgm.LinearMeasurement(100 * rng.random(domain.size(c)), c, stddev=10.0) for c in cliques] for _ in range(2)
    )

    class General(L2):
        """The same loss, unknown to the compiled loop."""

    tree = JunctionTree(domain, cliques)
    common = {"tree": tree, "total": 500.0, "start": CliqueVector(domain, tree.cliques), "held_out": tuple(held)}
    compiled, general = (TreeProblem(loss=kind(measurements), **common).engine(1) for kind in (L2, General))
    for s, a in [(0.01, 1.0), (0.02, 0.7), (0.02, 0.5), (0.03, 0.4), (0.03, 0.3)]:
        one, two = compiled.advance(s, a), general.advance(s, a)
        np.testing.assert_allclose(one, two, rtol=1e-7)
        assert one.held_out > 0
        assert compiled.loss() == pytest.approx(general.loss(), rel=1e-9)
        assert compiled.lower_bound() == pytest.approx(general.lower_bound(), rel=1e-6)
    one, two = (engine.answer(engine._problem.loss) for engine in (compiled, general))
    assert one.loss == pytest.approx(two.loss, rel=1e-5)
    assert one.lower == pytest.approx(two.lower, rel=1e-4)
    np.testing.assert_allclose(one.marginals, two.marginals, atol=1e-2)


def falling_points(n):
    return [np.array([float(n - k)]) for k in range(n)]


@pytest.mark.parametrize(("noise", "end"), [(2.0, 54), (1.4, 54), (1.3, 80)])
def test_a_path_ends_a_quarter_of_the_way_after_its_best_point(noise, end):
    # The held-out loss falls to 2 until iteration 40: where noise would leave less than 4 / 3, patience is doubled.
    rule = Validation(noise)
    run = new_path(falling_points(101), [2.0 + abs(k - 40) for k in range(1, 101)], rule=rule)
    assert follow(run, 100) == "validated"
    assert rule.best == 40
    assert run.taken == end


def test_a_path_is_not_at_its_end_where_it_has_overshot():
    points = [*falling_points(30), *([np.array([5000.0])] * 30), *([np.array([0.0])] * 240)]
    rule = Validation(1.0)
    run = new_path(points, [abs(k - 25.0) if k < 200 else 0.0 - k for k in range(1, 300)], rule=rule)
    assert follow(run, 290) == "iterations"
    assert rule.best > 200


def test_a_path_whose_steps_may_be_too_long_restarts_where_its_loss_has_risen():
    points = [*falling_points(Path.check_every), *([np.array([500.0])] * 20)]
    for exact, restarts in ((True, 0), (False, 1)):
        run = new_path(points, exact=exact)
        follow(run, len(points) + 3 * restarts)
        assert run.engine.restarts == restarts
        assert run.calls == 1 + run.taken + 3 * restarts
