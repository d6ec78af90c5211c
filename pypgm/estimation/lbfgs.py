"""Direct quasi-Newton minimisation over the potentials, with the exact gradient by one tangent pass."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm.estimation.fit import Fit, Options, Status, Watch
from pypgm.estimation.problem import Answer
from pypgm.estimation.tree_problem import TreeProblem

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["lbfgs"]

_GAP_EVERY = 25
_MEMORY = 20


def lbfgs(problem: TreeProblem, options: Options) -> Answer:
    r"""Minimise a smooth loss directly over the potentials, by L-BFGS.

    The gradient is exact: the Jacobian of the marginals is symmetric, so
    :math:`\nabla_\theta L(\mu(\theta))` is the derivative of the marginals in the direction :math:`\nabla_\mu L`.
    The loss is not convex in the potentials, but every stationary point with finite potentials is a minimum.

    Parameters
    ----------
    problem : TreeProblem
        The loss, the total and the start; -inf potentials stay as they are.
    options : Options
        Limits, tolerance, callback, and when the work began.

    Returns
    -------
    Answer
        The best point found, and how it ended.

    References
    ----------
    Liu and Nocedal: On the limited memory BFGS method for large scale optimization, 1989; McKenna, Sheldon, Miklau:
    Graphical-model based estimation and inference for differential privacy, ICML 2019, supplement A.3.
    """
    from scipy.optimize import minimize

    run = _Run(problem, options)
    watch = Watch(options)
    status: Status = "converged"
    try:
        run.watch = watch
        limits: Any = {"maxcor": _MEMORY, "maxiter": options.iterations, "ftol": 0, "gtol": 0}
        limits["maxfun"] = options.iterations
        minimize(
            run.value_and_gradient,
            problem.start.values[run.free],
            jac=True,
            method="L-BFGS-B",
            options=limits,
        )
    except _Ended as ended:
        status = ended.status
    except KeyboardInterrupt:
        if not watch.begun:
            raise
        status = "interrupted"
    finally:
        watch.close()
    loss, potentials, marginals, gradient = run.best
    gap = max(0.0, run.oracle.gap(gradient, marginals, potentials)) if problem.loss.convex else None
    # That the optimiser finds no more descent in floating point certifies nothing: the gap does.
    certified = gap is not None and options.meets(gap, loss)
    if status == "converged" and (run.calls >= options.iterations or not certified):
        status = "iterations"
    fit = Fit(status, loss, gap, run.calls, time.perf_counter() - options.started, tuple(run.history))
    return problem.vector(potentials), problem.vector(marginals), fit


class _Ended(Exception):  # noqa: N818 - not an error
    """Raised out of the optimiser when the search has to end."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


class _Run:
    """What the optimiser calls, and the best point it has seen."""

    watch: Watch
    best: tuple[float, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]

    def __init__(self, problem: TreeProblem, options: Options) -> None:
        self.oracle = problem.oracle(options.n_threads)
        self.free = ~np.isneginf(problem.start.values)
        self.calls = 0
        self.history: list[float] = []
        self._evaluate = problem.loss.on(problem.tree.domain, problem.tree.cliques)
        self._start = problem.start.values
        self._options = options
        self._convex = problem.loss.convex
        self._gap: float | None = None

    def value_and_gradient(self, free: NDArray[Any]) -> tuple[float, NDArray[np.float64]]:
        potentials = np.array(self._start)
        potentials[self.free] = free
        marginals = self.oracle.marginals(potentials)
        loss, gradient = self._evaluate(marginals)
        self.calls += 1
        if not self.history or loss < self.best[0]:
            self.best = (loss, potentials, marginals, gradient)
        self.history.append(loss)
        self._watch(loss)
        return loss, self.oracle.tangent(potentials, gradient)[self.free]

    def _watch(self, loss: float) -> None:
        options = self._options
        if self._convex and options.tolerance > 0 and self.calls % _GAP_EVERY == 1:
            best_loss, potentials, marginals, gradient = self.best
            self._gap = self.oracle.gap(gradient, marginals, potentials)
            if self._gap <= options.tolerance * (1 + abs(best_loss)):
                raise _Ended("converged")
        ended = self.watch.ended(self.calls, loss, self._gap) if self.calls > 1 else None
        if ended is not None:
            raise _Ended(ended)
        if self.calls >= options.iterations:
            raise _Ended("iterations")
