"""Prox-PGM: mirror descent on the marginal polytope, with a line search, or along subgradients of a rough loss."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pypgm.estimation.fit import Status
from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.oracle import Oracle, dot
from pypgm.estimation.problem import Point, Solution
from pypgm.estimation.solver import StepwiseSolver, solved
from pypgm.estimation.tree_problem import MAX_GROWTH, TreeProblem, permitted_step


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


_MAX_HALVINGS = 30
_MAX_IDLE = 20  # steps without descent after which rounding must be what hides it
_GROWTH = 1.5


def mirror_descent(problem: TreeProblem, options: SolverOptions) -> Solution:
    r"""Minimise a loss over the marginals of distributions on a domain, lowering it step by step: Prox-PGM.

    The step :math:`\theta \leftarrow \theta - \alpha \nabla L(\mu)` is accepted if the loss falls at least as the
    Bregman model of smoothness :math:`1/\alpha` says, with the symmetric divergence; a rejected step is halved, an
    accepted one grows. A loss that is not smooth goes to `subgradient_descent`.

    Parameters
    ----------
    problem : TreeProblem
        The loss, the total and the start.
    options : SolverOptions
        Limits, tolerance, step size, callback, and when the work began.

    Returns
    -------
    Solution
        The best point found, and how it ended.

    References
    ----------
    McKenna, Sheldon, Miklau: Graphical-model based estimation and inference for differential privacy, ICML 2019,
    Algorithm 1; Bauschke, Bolte, Teboulle: A descent lemma beyond Lipschitz gradient continuity, 2017.
    """
    return solved(_Descent(problem, options)) if problem.loss.smooth else subgradient_descent(problem, options)


class _Descent(StepwiseSolver):
    check_every: ClassVar[int] = 10  # each check costs half a propagation

    def __init__(self, problem: TreeProblem, options: SolverOptions) -> None:
        self._core = problem.descent(options.n_threads)
        self._oracle = Oracle(problem.tree, problem.total, options.n_threads)
        super().__init__(problem, options, self._core.loss)
        safe = problem.safe_step()
        self._longest = math.inf if safe is None else MAX_GROWTH * safe
        self._step = 1.0 / problem.total if safe is None else 2 * safe
        self._least = self._core.loss
        self._left: NDArray[np.float64] | None = None  # the potentials of the best point, once it is left
        self._idle = 0

    def advance(self) -> Status | None:
        """Take one step, of the given length or as long as the loss permits; see `Solver`."""
        alpha = self.options.step(self.taken + 1)
        stepped = self._search() if alpha is None else self._take(alpha)
        loss = self._core.loss
        self.history.append(loss)
        self._idle = 0 if loss < self._least else self._idle + 1
        self._least = min(self._least, loss)
        exhausted = not stepped or (self._idle >= _MAX_IDLE and alpha is None)
        # A tolerance of 0 runs all iterations, whatever rounding leaves of them.
        if not exhausted or self.options.tolerance == 0:
            return None
        # That rounding hides any descent left certifies nothing: the gap does.
        return "converged" if self.is_optimal() else "iterations"

    def marginals(self) -> NDArray[np.float64]:
        """Return the marginals of the current point; see `Solver`."""
        return np.array(self._core.marginals)

    def best(self) -> float:
        """Return the least loss so far; see `Solver`."""
        return self._least

    def lower_bound(self) -> float:
        """Return a lower bound from the gradient at the current point; see `Solver`."""
        return self._core.loss - self._core.gap()

    def point(self) -> Point:
        """Return the best point; see `Solver`."""
        if self.options.tolerance == 0 or self.gap is None:
            self.look()
        potentials = self._core.potentials if self._left is None else self._left
        return Point(potentials, self._oracle.marginals(potentials), self._least, self.lower)

    def _take(self, alpha: float) -> bool:
        """Take a step whatever it leads to, and keep the best point."""
        self.calls += 1
        if self._core.try_step(alpha) < self._least:
            self._left = None
        elif self._left is None:
            self._left = self._core.potentials
        self._core.accept()
        return True

    def _search(self) -> bool:
        """Take the first step that the loss permits; return whether rounding does not hide any descent left."""
        most = min(_MAX_HALVINGS, self.options.iterations - self.calls)
        self._step, trials, permitted = permitted_step(self._core, self._step, 0.5, most)
        self.calls += trials
        if permitted:
            self._core.accept()
            self._step = min(self._step * _GROWTH, self._longest)
        return permitted or trials < _MAX_HALVINGS
