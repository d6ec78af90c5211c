"""The textbook averaging methods with a fixed step: dual averaging and interior gradient."""

from __future__ import annotations

import math

from pypgm.estimation.fit import Options, Status, Watch, watched
from pypgm.estimation.path import Path
from pypgm.estimation.problem import Answer
from pypgm.estimation.steps import Steps
from pypgm.estimation.tree_problem import TreeProblem

__all__ = ["dual_averaging", "interior_gradient"]


def dual_averaging(problem: TreeProblem, options: Options) -> Answer:
    r"""Minimise a smooth convex loss by accelerated regularised dual averaging.

    With :math:`c_t = 2 / (t + 1)` the gradient is taken at :math:`(1 - c_t) \mu + c_t \nu`, gradients are averaged
    with the same weights, :math:`\theta = \theta_0 - \frac{t (t + 1)}{4 K N} \bar g`, and the answer :math:`\mu` is
    the average of the marginals :math:`\nu` of these potentials. K is the smoothness of the loss relative to the
    entropy of the joint distribution and N the total: with the largest eigenvalue of the queries in its place the
    method crawls, with that of a single clique it diverges.

    Parameters
    ----------
    problem : TreeProblem
        The loss, whose smoothness must be known, the total and the start.
    options : Options
        Limits, tolerance, callback, and when the work began.

    Returns
    -------
    Answer
        The average, as a model, and how it ended.

    References
    ----------
    Xiao: Dual averaging methods for regularized stochastic learning and online optimization, 2010; McKenna, Sheldon,
    Miklau: Graphical-model based estimation and inference for differential privacy, ICML 2019, Algorithm 2.
    """
    return _averaged(problem, options, _DualAveraging(_known_step(problem, "dual_averaging")))


def interior_gradient(problem: TreeProblem, options: Options) -> Answer:
    r"""Minimise a smooth convex loss by the interior gradient method with a constant step.

    With :math:`c_0 = 1`, :math:`a = (\sqrt{c^2 + 4 c} - c) / 2` and then :math:`c \leftarrow c (1 - a)`, the gradient
    is taken at :math:`(1 - a) x + a z`, :math:`\theta \leftarrow \theta - \frac{a}{c K N} g`, z are the marginals of
    these potentials and :math:`x \leftarrow (1 - a) x + a z` is the answer.

    Parameters
    ----------
    problem : TreeProblem
        The loss, whose smoothness K must be known, the total N and the start.
    options : Options
        Limits, tolerance, callback, and when the work began.

    Returns
    -------
    Answer
        The average, as a model, and how it ended.

    References
    ----------
    Auslender and Teboulle: Interior gradient and proximal methods for convex and conic optimization, 2006.
    """
    return _averaged(problem, options, _InteriorGradient(_known_step(problem, "interior_gradient")))


class _DualAveraging:
    """The gradients' weights t / 2K of dual averaging, taken one by one."""

    def __init__(self, safe: float) -> None:
        self._safe = safe
        self._t = 0

    def next(self) -> tuple[float, float]:
        self._t += 1
        return self._t * self._safe / 2, 2 / (self._t + 1)

    def learn(self, slope: float, curvature: float) -> None:
        """Learn nothing: the step is fixed."""

    def restart(self) -> None:
        """Begin with the first step again."""
        self._t = 0


class _InteriorGradient:
    def __init__(self, safe: float) -> None:
        self._safe = safe
        self._c = 1.0

    def next(self) -> tuple[float, float]:
        a = (math.sqrt(self._c * self._c + 4 * self._c) - self._c) / 2
        self._c *= 1 - a
        return a / self._c * self._safe, a

    def learn(self, slope: float, curvature: float) -> None:
        """Learn nothing: the step is fixed."""

    def restart(self) -> None:
        """Begin with the first step again."""
        self._c = 1.0


def _averaged(problem: TreeProblem, options: Options, steps: Steps) -> Answer:
    paths: list[Path] = []

    def follow(watch: Watch) -> Status:
        paths.append(Path(problem, options, watch, steps=steps))
        return paths[0].follow(options.iterations, to_tolerance=True) or "iterations"

    status = watched(follow, options)
    return paths[0].answer(problem.loss, status)


def _known_step(problem: TreeProblem, method: str) -> float:
    safe = problem.safe_step()
    if safe is None:
        ways = "give it lipschitz=, or use 'accelerated', 'universal' or 'mirror_descent', which measure their steps"
        raise ValueError(f"method {method!r} needs to know how smooth the loss {problem.loss!r} is: {ways}")
    return safe
