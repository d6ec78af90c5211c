"""The universal fast gradient method: accelerated, with a line search in place of any knowledge of the loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pypgm.estimation.general_solvers import GeneralAcceleration
from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.oracle import dot
from pypgm.estimation.problem import Point, Solution
from pypgm.estimation.solver import StepwiseSolver, solved
from pypgm.estimation.steps import averaged_step
from pypgm.estimation.tree_problem import TreeProblem

_MAX_HALVINGS = 50
_GROWTH = 1.2
_SLACK = 0.01  # of the loss that the tolerance leaves: the bound, of first order, needs more than the loss does


def universal(problem: TreeProblem, options: SolverOptions) -> Solution:
    r"""Minimise a convex loss of unknown smoothness, down to losses that are not smooth at all.

    A step of weight a from z to z', along the gradient g at :math:`v = (1 - a) x + a z`, is accepted if the loss at
    :math:`x' = (1 - a) x + a z'` is at most :math:`L(v) + \frac a2 \langle g, z' - z \rangle + \frac a2 \epsilon`;
    else the step is halved, and after it it grows. :math:`\epsilon` is a hundredth of the loss that the tolerance
    leaves.

    Parameters
    ----------
    problem : TreeProblem
        The loss, the total and the start.
    options : SolverOptions
        Limits, tolerance, callback, and when the work began.

    Returns
    -------
    Solution
        The average, as a model, and how it ended.

    References
    ----------
    Nesterov: Universal gradient methods for convex optimization problems, 2015.
    """
    return solved(_Universal(problem, options))


class _Universal(StepwiseSolver):
    def __init__(self, problem: TreeProblem, options: SolverOptions) -> None:
        self._oracle = problem.oracle(options.n_threads)
        self._core = GeneralAcceleration(self._oracle, problem.start.values)
        super().__init__(problem, options, self._core.loss())
        self._weight = 0.0
        steepest = np.abs(self._oracle.evaluate(self._core.average)[1]).max(initial=1e-300)
        self._step = problem.safe_step() or 1.0 / float(steepest)

    def advance(self) -> None:
        """Take the first step that is accepted, none where the calls run out before; see `Solver`."""
        core = self._core
        slack = _SLACK * self.options.tolerance * (1 + abs(core.loss()))
        for trial in range(1, min(_MAX_HALVINGS, self.options.iterations - self.calls) + 1):
            s, a = averaged_step(self._step, self._weight)
            loss, gradient, moved = core.try_step(s, a)
            allowed = loss + a / 2 * (dot(gradient, moved) + slack)
            # Rounding may hide what a step gained; it is then accepted.
            if core.tried_loss() <= allowed + 1e-13 * abs(loss) or trial == _MAX_HALVINGS:
                core.accept()
                self._weight += s
                self._step *= _GROWTH
                break
            self._step /= 2
        self.calls += trial
        self.history.append(core.loss())

    def marginals(self) -> NDArray[np.float64]:
        """Return the average; see `Solver`."""
        return np.array(self._core.average)

    def lower_bound(self) -> float:
        """Return a lower bound from the gradient at the average; see `Solver`."""
        return self._core.loss() - self._core.gap()

    def point(self) -> Point:
        """Return the model of the average; see `Solver`."""
        self.look()
        point = self._oracle.at(self._oracle.with_marginals(self._core.average, self._core.potentials))
        return Point(point.potentials, point.marginals, point.loss, point.loss - self._oracle.gap(point))
