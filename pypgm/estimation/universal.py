"""The universal fast gradient method: accelerated, with a line search in place of any knowledge of the loss."""

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
    pass

__all__ = ["universal"]

_GAP_EVERY = 25  # iterations between certificates
_MAX_HALVINGS = 50
_GROWTH = 1.2
_SWEEPS = 10
_SLACK = 0.01  # of the loss that the tolerance leaves: the bound, of first order, needs more than the loss does


def universal(problem: TreeProblem, options: Options) -> Answer:
    r"""Minimise a convex loss of unknown smoothness, down to losses that are not smooth at all.

    A step of weight a from z to z', along the gradient g at :math:`v = (1 - a) x + a z`, is accepted if the loss at
    :math:`x' = (1 - a) x + a z'` is at most :math:`L(v) + \frac a2 \langle g, z' - z \rangle + \frac a2 \epsilon`;
    else the step is halved, and after it it grows. :math:`\epsilon` is a hundredth of the loss that the tolerance
    leaves.

    Parameters
    ----------
    problem : TreeProblem
        The loss, the total and the start.
    options : Options
        Limits, tolerance, callback, and when the work began.

    Returns
    -------
    Answer
        The average, as a model, and how it ended.

    References
    ----------
    Nesterov: Universal gradient methods for convex optimization problems, 2015.
    """
    run = _Run(problem, options)
    status = watched(run.to_the_end, options)
    run.look()
    potentials = run.oracle.settled(run.potentials, run.average, _SWEEPS)
    marginals = run.oracle.marginals(potentials)
    loss, gradient = run.evaluate(marginals)
    lower = max(run.lower, loss - run.oracle.gap(gradient, marginals, potentials))
    seconds = time.perf_counter() - options.started
    fit = Fit(status, loss, max(0.0, loss - lower), run.calls, seconds, tuple(run.history))
    return problem.vector(potentials), problem.vector(marginals), fit


class _Run:
    """The point z of the potentials, the average x, and the step that was last accepted."""

    def __init__(self, problem: TreeProblem, options: Options) -> None:
        self.oracle = problem.oracle(options.n_threads)
        self.evaluate = problem.loss.on(problem.tree.domain, problem.tree.cliques)
        self.potentials = np.array(problem.start.values)
        self.average = self._last = self.oracle.marginals(self.potentials)
        self.loss, self.gradient = self.evaluate(self.average)
        self.calls = 1
        self.history = [self.loss]
        self.gap: float | None = None
        self.lower = -math.inf  # the highest bound so far that no distribution's loss is below
        self._options = options
        self._total_weight = 0.0
        self._step = problem.safe_step() or 1.0 / max(1e-300, float(np.abs(self.gradient).max()))

    def to_the_end(self, watch: Watch) -> Status:
        """Take steps until something ends them."""
        taken = 0
        while self.calls < self._options.iterations:
            enough = self._options.tolerance * (1 + abs(self.loss))
            if enough > 0 and taken % _GAP_EVERY == 0 and self.look() <= enough:
                return "converged"
            if not self._advance():
                return "iterations"
            taken += 1
            ended = watch.ended(self.calls, self.loss, self.gap)
            if ended is not None:
                return ended
        return "iterations"

    def look(self) -> float:
        """Bound the least loss from where the average stands; return how far above the best bound it is."""
        self.lower = max(self.lower, self.loss - self.oracle.gap(self.gradient, self.average, self.potentials))
        self.gap = max(0.0, self.loss - self.lower)
        return self.gap

    def _advance(self) -> bool:
        """Take one step; return whether one was found before the calls ran out."""
        slack = _SLACK * self._options.tolerance * (1 + abs(self.loss))
        for _ in range(_MAX_HALVINGS):
            if self.calls >= self._options.iterations:
                return False
            alpha = self._step
            s = (alpha + math.sqrt(alpha * alpha + 4 * alpha * self._total_weight)) / 2
            a = s / (self._total_weight + s)
            at = self.average + a * (self._last - self.average)
            loss_at, gradient = self.evaluate(at)
            potentials = self.potentials - s * gradient
            last = self.oracle.marginals(potentials)
            self.calls += 1
            average = self.average + a * (last - self.average)
            loss, gradient_there = self.evaluate(average)
            fall = a / 2 * (dot(gradient, last - self._last) + slack)
            # Rounding may hide what a step gained; it is then accepted.
            if loss <= loss_at + fall + 1e-13 * abs(loss_at):
                break
            self._step /= 2
        self.potentials, self._last, self.average = potentials, last, average
        self.loss, self.gradient = loss, gradient_there
        self.history.append(loss)
        self._total_weight += s
        self._step *= _GROWTH
        return True
