"""Direct quasi-Newton minimisation over the potentials, with the exact gradient by one tangent pass."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.estimation.fit import Status
from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.problem import Point, Solution
from pypgm.estimation.solver import Solver, Watch, solved
from pypgm.estimation.tree_problem import TreeProblem

_MEMORY = 20


def lbfgs(problem: TreeProblem, options: SolverOptions) -> Solution:
    r"""Minimise a smooth loss directly over the potentials, by L-BFGS.

    The gradient is exact: the Jacobian of the marginals is symmetric, so
    :math:`\nabla_\theta L(\mu(\theta))` is the derivative of the marginals in the direction :math:`\nabla_\mu L`.
    The loss is not convex in the potentials, but every stationary point with finite potentials is a minimum.

    Parameters
    ----------
    problem : TreeProblem
        The loss, the total and the start; -inf potentials stay as they are.
    options : SolverOptions
        Limits, tolerance, callback, and when the work began.

    Returns
    -------
    Solution
        The best point found, and how it ended.

    References
    ----------
    Liu and Nocedal: On the limited memory BFGS method for large scale optimization, 1989; McKenna, Sheldon, Miklau:
    Graphical-model based estimation and inference for differential privacy, ICML 2019, supplement A.3.
    """
    return solved(_QuasiNewton(problem, options))


class _QuasiNewton(Solver):
    """Objective that the optimiser calls, and the best point it has seen."""

    def __init__(self, problem: TreeProblem, options: SolverOptions) -> None:
        self._oracle = problem.oracle(options.n_threads)
        self._start = problem.start.values
        self._free = ~np.isneginf(self._start)
        self._best = self._here = self._oracle.at(self._start)
        self._ended: Status | None = None
        super().__init__(problem, options, self._best.loss)

    def follow(self, watch: Watch, limit: int) -> Status:
        """Solver the optimiser until it or something else ends the search; see `Solver`."""
        from scipy.optimize import minimize

        def value_and_gradient(free: NDArray[Any]) -> tuple[float, NDArray[np.float64]]:
            here = self._best
            if self.taken:
                potentials = np.array(self._start)
                potentials[self._free] = free
                here = self._oracle.at(potentials)
                self.calls += 1
                self.history.append(here.loss)
                self._here = here
                self._best = min(self._best, here, key=lambda point: point.loss)
                self._ended = watch.ended(self.calls, here.loss, self.gap, self.seen)
            self._ended = self._ended or self.due(limit)
            self.taken += 1
            if self._ended is not None:
                raise StopIteration
            return here.loss, self._oracle.tangent(here.potentials, here.gradient)[self._free]

        settings: Any = {"maxcor": _MEMORY, "maxiter": limit, "maxfun": limit, "ftol": 0, "gtol": 0}
        with suppress(StopIteration):
            minimize(value_and_gradient, self._start[self._free], jac=True, method="L-BFGS-B", options=settings)
        return self._ended or "converged"

    def marginals(self) -> NDArray[np.float64]:
        """Return the marginals of the last point; see `Solver`."""
        return np.array(self._here.marginals)

    def best(self) -> float:
        """Return the least loss so far; see `Solver`."""
        return self._best.loss

    def lower_bound(self) -> float:
        """Return a lower bound from the gradient at the best point; see `Solver`."""
        return self._best.loss - self._oracle.gap(self._best)

    def point(self) -> Point:
        """Return the best point; see `Solver`."""
        best = self._best
        return Point(best.potentials, best.marginals, best.loss, self.lower_bound())
