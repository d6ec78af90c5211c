"""Solvers for any loss: what the compiled ones do for weighted L2, with the loss evaluated once or twice a step."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pypgm import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pypgm.estimation.loss import Loss
    from pypgm.graphs import JunctionTree

__all__ = ["GeneralAcceleration", "GeneralDescent", "Oracle", "SteadyDescent", "dot"]

_TRIALS = ((np.inf, 1), (100.0, 1), (25.0, 1), (10.0, 1), (None, 2), (None, 4))
"""How far, in natural logs, the potentials reach that fitting begins with (None: the best so far); times the sweeps."""
_SETTLED = 1e-3  # of the total: a mean L1 distance of marginals that need not be fitted again


def dot(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return the sum of products, the same bits for any number of BLAS threads."""
    return float(np.einsum("i,i->", a, b))


class Oracle:
    """Exact inference on a junction tree, on flat vectors over its given cliques.

    Parameters
    ----------
    tree : JunctionTree
    total : float
        Number of records, counts.
    n_threads : int
        0 for all threads.
    """

    def __init__(self, tree: JunctionTree, total: float, n_threads: int) -> None:
        self.tree = tree
        self.total = total
        self.n_threads = n_threads

    def marginals(self, potentials: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the marginals (counts) of potentials (natural logs). One propagation."""
        found: NDArray[np.float64] = self.tree.plan.marginals(potentials, [], self.total, self.n_threads)[0]
        return found

    def tangent(self, potentials: NDArray[np.float64], direction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative of the marginals in a direction of the potentials. Two propagations."""
        pair: tuple[NDArray[np.float64], NDArray[np.float64]]
        pair = _core.tangent(self.tree.plan, potentials, direction, self.total, self.n_threads)
        return pair[1]

    def gap(
        self, gradient: NDArray[np.float64], marginals: NDArray[np.float64], potentials: NDArray[np.float64]
    ) -> float:
        """Return <g, mu> - min over all distributions nu (counts, structural zeros kept) of <g, nu>."""
        allowed = np.where(np.isneginf(potentials), -np.inf, -gradient)
        return dot(gradient, marginals) + self.total * self.tree.plan.max_log_weight(allowed, [], self.n_threads)

    def settled(
        self,
        potentials: NDArray[np.float64],
        average: NDArray[np.float64],
        sweeps: int,
        *,
        start: NDArray[np.float64] | None = None,
        misfit: Callable[[NDArray[np.float64]], float] | None = None,
    ) -> NDArray[np.float64]:
        """Return potentials whose marginals are a given average, as near as fitting comes in so many sweeps.

        Fitting hardly brings back cells on which the potentials put next to nothing: as long as `misfit` is above 1
        (the mean L1 distance of a clique's marginals in thousandths of the total, unless another is given), it begins
        again between the potentials and a start (zeros unless given), nearer each time, and goes on from the best.
        """
        misfit = partial(self._misfit, average) if misfit is None else misfit
        furthest = float(np.abs(potentials[np.isfinite(potentials)]).max(initial=0.0))
        best, least = potentials, np.inf
        for reach, times in _TRIALS:
            if reach is None:
                begun = best
            elif reach < furthest:
                share = reach / furthest
                begun = share * potentials + (0.0 if start is None else (1 - share) * start)
            elif reach == np.inf:
                begun = potentials
            else:
                continue
            fitted = self._fitted(begun, average, times * sweeps)
            left = misfit(fitted)
            if left < least:
                best, least = fitted, left
            if least <= 1:
                return best
        return best if least <= misfit(potentials) else potentials

    def _fitted(
        self, potentials: NDArray[np.float64], average: NDArray[np.float64], sweeps: int
    ) -> NDArray[np.float64]:
        core = _core.Acceleration(self.tree.plan, [], self.total, potentials, self.n_threads)
        core.set_average(average)
        core.settle(sweeps)
        return core.potentials

    def _misfit(self, average: NDArray[np.float64], potentials: NDArray[np.float64]) -> float:
        distance = float(np.abs(self.marginals(potentials) - average).sum())
        return distance / (_SETTLED * self.total * max(1, len(self.tree.cliques)))


class GeneralDescent:
    """Mirror descent for any loss; see the compiled ``Descent``."""

    def __init__(self, oracle: Oracle, loss: Loss, potentials: NDArray[np.float64]) -> None:
        self._oracle = oracle
        self._evaluate = loss.on(oracle.tree.domain, oracle.tree.cliques)
        self.potentials = np.array(potentials)
        self.marginals, self.loss, self.gradient = self._at(self.potentials)
        self._candidate = (self.potentials, self.marginals, self.loss, self.gradient)

    def try_step(self, alpha: float) -> float:
        """Return the loss a step leads to. One propagation."""
        potentials = self.potentials - alpha * self.gradient
        self._candidate = (potentials, *self._at(potentials))
        return self._candidate[2]

    def change(self) -> tuple[float, float]:
        """Return slope and curvature of the loss over the last step tried: it changed by slope + curvature / 2."""
        _, marginals, loss, gradient = self._candidate
        moved = marginals - self.marginals
        slope = dot(self.gradient, moved)
        curvature = 2 * (loss - self.loss - slope)
        if abs(curvature) <= 1e-9 * abs(loss):
            # Differences of losses say nothing here; those of gradients do, and are never less if it is convex.
            curvature = dot(gradient - self.gradient, moved)
        return slope, curvature

    def accept(self) -> None:
        """Make the last step tried the current point."""
        self.potentials, self.marginals, self.loss, self.gradient = self._candidate

    def gap(self) -> float:
        """Return a bound on the loss above the optimum."""
        return self._oracle.gap(self.gradient, self.marginals, self.potentials)

    def _at(self, potentials: NDArray[np.float64]) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
        marginals = self._oracle.marginals(potentials)
        return marginals, *self._evaluate(marginals)


class SteadyDescent:
    """Mirror descent along steps known beforehand, by a solver that tries and accepts them; answers with the best."""

    def __init__(self, core: GeneralDescent | _core.Descent, alpha: float) -> None:
        self._core = core
        self._alpha = alpha
        self.loss = core.loss
        self._left: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None  # the best point, once it is left

    def advance(self, alpha: float) -> float:
        """Take the step announced last and return the loss there; announce the step after it."""
        loss = self._core.try_step(self._alpha)
        if loss < self.loss:
            self.loss, self._left = loss, None
        elif self._left is None:
            self._left = self._core.potentials, self._core.marginals
        self._core.accept()
        self._alpha = alpha
        return loss

    def gap(self) -> float:
        """Return a bound on the least loss above the optimum."""
        return self._core.gap() - (self._core.loss - self.loss)

    @property
    def potentials(self) -> NDArray[np.float64]:
        """Those of the best point."""
        return self._core.potentials if self._left is None else self._left[0]

    @property
    def marginals(self) -> NDArray[np.float64]:
        """Those of the best point."""
        return self._core.marginals if self._left is None else self._left[1]


class GeneralAcceleration:
    """Accelerated mirror descent for any loss; see the compiled ``Acceleration``."""

    def __init__(
        self, oracle: Oracle, loss: Loss, potentials: NDArray[np.float64], validation: Loss | None = None
    ) -> None:
        self._oracle = oracle
        domain, cliques = oracle.tree.domain, oracle.tree.cliques
        self._evaluate = loss.on(domain, cliques)
        self._validate = None if validation is None else validation.on(domain, cliques)
        self.potentials = np.array(potentials)
        self._last = self.average = oracle.marginals(self.potentials)
        self._loss, self._gradient = self._evaluate(self.average)
        self._window, self._window_steps = np.zeros(0), 0.0  # sum of the points stepped from, times the steps

    def advance(self, s: float, a: float) -> tuple[float, float, float, float]:
        """Take one step; return loss and validation loss of the average, slope and curvature."""
        at = self.average + a * (self._last - self.average)
        gradient = self._evaluate(at)[1]
        if self._window.size:
            self._window += s * at
            self._window_steps += s
        self.potentials = self.potentials - s * gradient
        last = self._oracle.marginals(self.potentials)
        moved = last - self._last
        self._last = last
        self.average = self.average + a * (last - self.average)
        self._loss, self._gradient = self._evaluate(self.average)
        held_out = 0.0 if self._validate is None else self._validate(self.average)[0]
        # The average moved from `at` by a times what the last point moved.
        return self._loss, held_out, dot(gradient, moved), dot(self._gradient - gradient, moved) / a

    def gap(self) -> float:
        """Return a bound on the loss above the optimum."""
        return self._oracle.gap(self._gradient, self.average, self.potentials)

    def level(self) -> None:
        """Write the potentials in smaller numbers."""
        self.potentials = _core.levelled(self._oracle.tree.plan, self.potentials)

    def open_window(self) -> None:
        """Begin to average the points at which gradients are taken, weighted by their steps."""
        self._window, self._window_steps = np.zeros(self.potentials.size), 0.0

    def lower_bound(self) -> float:
        """Return a bound from below of the least loss, from the steps since the window was opened."""
        mean = self._window / self._window_steps
        loss, gradient = self._evaluate(mean)
        return loss - self._oracle.gap(gradient, mean, self.potentials)

    def loss(self) -> float:
        """Return the loss of the average."""
        return self._loss
