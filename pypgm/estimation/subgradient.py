"""Mirror descent along subgradients: for losses that are not smooth."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.oracle import dot
from pypgm.estimation.problem import Point, Solution
from pypgm.estimation.solver import StepwiseSolver, solved
from pypgm.estimation.tree_problem import TreeProblem


def subgradient_descent(problem: TreeProblem, options: SolverOptions) -> Solution:
    r"""Minimise a convex loss that is not smooth: step along subgradients, answer with an average.

    The t-th step is :math:`\sqrt{2 \ln n} / (G \sqrt t)`, n the number of joint assignments and G the largest sum of
    absolute entries of a subgradient over an assignment that was met, by max-product; or the given `stepsize`.
    No single iterate converges; the answer is the average of the marginals, weighted by the steps, or the best
    iterate where that is lower. The certificate is that of the averaged subgradients.

    Parameters
    ----------
    problem : TreeProblem
        The loss, the total and the start.
    options : SolverOptions
        Limits, tolerance, step size, callback, and when the work began.

    Returns
    -------
    Solution
        The average, as a model, or the best iterate, and how it ended.

    References
    ----------
    Nemirovski and Yudin: Problem complexity and method efficiency in optimization, 1983; Beck and Teboulle: Mirror
    descent and nonlinear projected subgradient methods for convex optimization, 2003.
    """
    return solved(_Subgradients(problem, options))


class _Subgradients(StepwiseSolver):
    def __init__(self, problem: TreeProblem, options: SolverOptions) -> None:
        self._oracle = problem.oracle(options.n_threads)
        self._start = problem.start.values
        self._point = self._best = self._oracle.at(self._start)
        super().__init__(problem, options, self._point.loss)
        self._average = self._point.marginals
        self._weight = 0.0
        self._linear = 0.0  # sum of step * (loss - <subgradient, marginals>)
        self._steepest = 1e-300
        self._diameter = math.sqrt(2 * sum(math.log(n) for n in problem.start.domain.shape) or 1.0)

    def advance(self) -> None:
        """Step along a subgradient; see `Solver`."""
        here = self._point
        alpha = self._step(self.taken + 1)
        self._weight += alpha
        self._linear += alpha * (here.loss - dot(here.gradient, here.marginals))
        self._average = self._average + alpha / self._weight * (here.marginals - self._average)
        self._point = self._oracle.at(here.potentials - alpha * here.gradient)
        self.calls += 1
        self.history.append(self._point.loss)
        self._best = min(self._best, self._point, key=lambda point: point.loss)

    def marginals(self) -> NDArray[np.float64]:
        """Return the marginals of the last iterate; see `Solver`."""
        return np.array(self._point.marginals)

    def best(self) -> float:
        """Return the least loss so far, or that of the average; see `Solver`."""
        return min(self._best.loss, self._oracle.evaluate(self._average)[0])

    def lower_bound(self) -> float:
        """Return a lower bound by the average of the linear bounds met; see `Solver`."""
        if self._weight == 0:
            return self._point.loss - self._oracle.gap(self._point)
        with np.errstate(invalid="ignore"):
            summed = np.where(np.isneginf(self._start), -np.inf, self._point.potentials - self._start)
        bound = (self._linear - self._oracle.total * self._oracle.largest(summed)) / self._weight
        return max(bound, self.problem.loss.least) if self.problem.loss.convex else bound

    def point(self) -> Point:
        """Return the model of the average, or the best iterate where that is better; see `Solver`."""
        fitted = self._oracle.with_marginals(self._average, self._point.potentials)
        best = min(self._best, self._oracle.at(fitted), key=lambda point: point.loss)
        return Point(best.potentials, best.marginals, best.loss, self.lower_bound())

    def _step(self, t: int) -> float:
        given = self.options.step(t)
        if given is not None:
            return given
        self._steepest = max(self._steepest, self._oracle.largest(np.abs(self._point.gradient)))
        return self._diameter / (self._steepest * math.sqrt(t))
