"""Mirror descent along subgradients: for losses that are not smooth."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from pypgm.estimation.fit import Fit, Options, Status, Watch, watched
from pypgm.estimation.general import dot
from pypgm.estimation.problem import Answer
from pypgm.estimation.tree_problem import TreeProblem

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["subgradient_descent"]

_GAP_EVERY = 25  # iterations between certificates
_SWEEPS = 10


def subgradient_descent(problem: TreeProblem, options: Options) -> Answer:
    r"""Minimise a convex loss that is not smooth: step along subgradients, answer with an average.

    The t-th step is :math:`\sqrt{2 \ln n} / (G \sqrt t)`, n the number of joint assignments and G the largest sum of
    absolute entries of a subgradient over an assignment that was met, by max-product; or the `stepsize` asked for.
    No single iterate converges; the answer is the average of the marginals, weighted by the steps, or the best
    iterate where that is lower. The certificate is that of the averaged subgradients.

    Parameters
    ----------
    problem : TreeProblem
        The loss, the total and the start.
    options : Options
        Limits, tolerance, step size, callback, and when the work began.

    Returns
    -------
    Answer
        The average, as a model, or the best iterate, and how it ended.

    References
    ----------
    Nemirovski and Yudin: Problem complexity and method efficiency in optimization, 1983; Beck and Teboulle: Mirror
    descent and nonlinear projected subgradient methods for convex optimization, 2003.
    """
    run = _Run(problem, options)
    status = watched(run.to_the_end, options)
    loss, potentials, marginals = run.answer()
    gap = max(0.0, loss - run.lower_bound()) if problem.loss.convex else None
    fit = Fit(status, loss, gap, run.calls, time.perf_counter() - options.started, tuple(run.history))
    return problem.vector(potentials), problem.vector(marginals), fit


class _Run:
    def __init__(self, problem: TreeProblem, options: Options) -> None:
        self.oracle = problem.oracle(options.n_threads)
        self.evaluate = problem.loss.on(problem.tree.domain, problem.tree.cliques)
        self.calls = 1
        self._start = problem.start.values
        self._potentials = np.array(problem.start.values)
        self._marginals = self.oracle.marginals(self._potentials)
        self._loss, self._gradient = self.evaluate(self._marginals)
        self.history = [self._loss]
        self._best = (self._loss, self._potentials, self._marginals)
        self._average = self._marginals
        self._weight = 0.0
        self._linear = 0.0  # sum of step * (loss - <subgradient, marginals>)
        self._steepest = 0.0
        self._options = options
        self._diameter = math.sqrt(2 * sum(math.log(n) for n in problem.tree.domain.shape) or 1.0)

    def to_the_end(self, watch: Watch) -> Status:
        """Take steps until something ends them."""
        options, gap, taken = self._options, None, 0
        while self.calls < options.iterations:
            self._advance(taken + 1)
            taken += 1
            if options.tolerance > 0 and taken % _GAP_EVERY == 0:
                lowest = min(self._best[0], self.evaluate(self._average)[0])
                gap = lowest - self.lower_bound()
                if gap <= options.tolerance * (1 + abs(lowest)):
                    return "converged"
            ended = watch.ended(self.calls, self._loss, gap)
            if ended is not None:
                return ended
        return "iterations"

    def lower_bound(self) -> float:
        """Return what no distribution's loss is below, by the average of the linear bounds met."""
        if self._weight == 0:
            return self._loss - self.oracle.gap(self._gradient, self._marginals, self._potentials)
        with np.errstate(invalid="ignore"):
            summed = np.where(np.isneginf(self._start), -np.inf, self._potentials - self._start)
        most = self.oracle.tree.plan.max_log_weight(summed, [], self.oracle.n_threads)
        return (self._linear - self.oracle.total * most) / self._weight

    def answer(self) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Return loss, potentials and marginals of the average, or of the best iterate if that is better."""
        potentials = self.oracle.settled(self._potentials, self._average, _SWEEPS)
        marginals = self.oracle.marginals(potentials)
        loss = self.evaluate(marginals)[0]
        return (loss, potentials, marginals) if loss < self._best[0] else self._best

    def _advance(self, t: int) -> None:
        alpha = self._step(t)
        self._weight += alpha
        self._linear += alpha * (self._loss - dot(self._gradient, self._marginals))
        self._average = self._average + alpha / self._weight * (self._marginals - self._average)
        self._potentials = self._potentials - alpha * self._gradient
        self._marginals = self.oracle.marginals(self._potentials)
        self._loss, self._gradient = self.evaluate(self._marginals)
        self.calls += 1
        self.history.append(self._loss)
        if self._loss < self._best[0]:
            self._best = (self._loss, self._potentials, self._marginals)

    def _step(self, t: int) -> float:
        asked = self._options.step(t)
        if asked is not None:
            return asked
        magnitudes = np.abs(self._gradient)
        self._steepest = max(
            self._steepest, self.oracle.tree.plan.max_log_weight(magnitudes, [], self.oracle.n_threads)
        )
        return self._diameter / (max(self._steepest, 1e-300) * math.sqrt(t))
