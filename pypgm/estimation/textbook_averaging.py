"""The textbook averaging methods with a fixed step: dual averaging and interior gradient."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.path import Path
from pypgm.estimation.problem import Solution
from pypgm.estimation.solver import solved
from pypgm.estimation.steps import FixedSteps
from pypgm.estimation.tree_problem import TreeProblem


def dual_averaging(problem: TreeProblem, options: SolverOptions) -> Solution:
    r"""Minimise a smooth convex loss by accelerated regularised dual averaging (RDA).

    With :math:`c_t = 2 / (t + 1)` the gradient is taken at :math:`(1 - c_t) \mu + c_t \nu`, gradients are averaged
    with the same weights, :math:`\theta = \theta_0 - \frac{t (t + 1)}{4 K N} \bar g`, and the answer :math:`\mu` is
    the average of the marginals :math:`\nu` of these potentials. K is the smoothness of the loss relative to the
    entropy of the joint distribution and N the total: with the largest eigenvalue of the queries in its place the
    method crawls, with that of a single clique it diverges.

    Parameters
    ----------
    problem : TreeProblem
        The loss, whose smoothness must be known, the total and the start.
    options : SolverOptions
        Limits, tolerance, callback, and when the work began.

    Returns
    -------
    Solution
        The average, as a model, and how it ended.

    References
    ----------
    Xiao: Dual averaging methods for regularized stochastic learning and online optimization, 2010; McKenna, Sheldon,
    Miklau: Graphical-model based estimation and inference for differential privacy, ICML 2019, Algorithm 2.
    """
    safe = _known_step(problem, "dual_averaging")
    # The gradients' weights t / 2K, taken one by one.
    steps = ((t * safe / 2, 2 / (t + 1)) for t in itertools.count(1))
    return solved(Path(problem, options, steps=FixedSteps(steps)))


def interior_gradient(problem: TreeProblem, options: SolverOptions) -> Solution:
    r"""Minimise a smooth convex loss by the interior gradient method with a constant step.

    With :math:`c_0 = 1`, :math:`a = (\sqrt{c^2 + 4 c} - c) / 2` and then :math:`c \leftarrow c (1 - a)`, the gradient
    is taken at :math:`(1 - a) x + a z`, :math:`\theta \leftarrow \theta - \frac{a}{c K N} g`, z are the marginals of
    these potentials and :math:`x \leftarrow (1 - a) x + a z` is the answer.

    Parameters
    ----------
    problem : TreeProblem
        The loss, whose smoothness K must be known, the total N and the start.
    options : SolverOptions
        Limits, tolerance, callback, and when the work began.

    Returns
    -------
    Solution
        The average, as a model, and how it ended.

    References
    ----------
    Auslender and Teboulle: Interior gradient and proximal methods for convex and conic optimization, 2006.
    """
    safe = _known_step(problem, "interior_gradient")
    return solved(Path(problem, options, steps=FixedSteps(_interior_gradient_steps(safe))))


def _interior_gradient_steps(safe: float) -> Iterator[tuple[float, float]]:
    c = 1.0
    while True:
        a = (math.sqrt(c * c + 4 * c) - c) / 2
        c *= 1 - a
        yield a / c * safe, a


def _known_step(problem: TreeProblem, method: str) -> float:
    safe = problem.safe_step()
    if safe is None:
        others = "give it lipschitz=, or use 'accelerated', 'universal' or 'mirror_descent', which measure their steps"
        raise ValueError(f"method {method!r} needs to know how smooth the loss {problem.loss!r} is: {others}")
    return safe
