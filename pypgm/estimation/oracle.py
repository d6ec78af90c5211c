"""Exact inference for losses of any kind: marginals, derivatives, certificates, and potentials of given marginals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm.estimation.loss import Evaluate
from pypgm.graphs import JunctionTree

_SWEEPS = 10  # of fitting at most: the marginals then miss the average by less than 1e-5 a clique
_TRIALS = ((np.inf, 1), (100.0, 1), (25.0, 1), (10.0, 1), (None, 2), (None, 4))
"""Reach, in natural logs, of the potentials that fitting begins with (None: the best so far); times the sweeps."""
_FITTED = 1e-3  # of the total: a mean L1 distance of marginals that need not be fitted again


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
        marginals: NDArray[np.float64] = self.tree.plan.marginals(potentials, [], self.total, self.n_threads)[0]
        return marginals

    def tangent(self, potentials: NDArray[np.float64], direction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative of the marginals in a direction of the potentials. Two propagations."""
        pair: tuple[NDArray[np.float64], NDArray[np.float64]]
        pair = _core.tangent(self.tree.plan, potentials, direction, self.total, self.n_threads)
        return pair[1]

    def largest(self, weights: NDArray[np.float64]) -> float:
        """Return the largest sum of weights over a joint assignment, by max-product."""
        return self.tree.plan.max_log_weight(weights, [], self.n_threads)

    def with_marginals(
        self,
        average: NDArray[np.float64],
        potentials: NDArray[np.float64],
        *,
        start: NDArray[np.float64] | None = None,
        misfit: Callable[[NDArray[np.float64]], float] | None = None,
    ) -> NDArray[np.float64]:
        """Return potentials whose marginals are a given average, as near as fitting comes.

        Fitting hardly brings back cells on which the potentials put next to nothing: as long as `misfit` is above 1
        (the mean L1 distance of a clique's marginals in thousandths of the total, unless another is given), it is
        repeated from between the potentials and a start (zeros unless given), nearer each time, and then from the best.
        """
        misfit = partial(self._misfit, average) if misfit is None else misfit
        furthest = float(np.abs(potentials[np.isfinite(potentials)]).max(initial=0.0))
        best, least = potentials, np.inf
        for reach, times in _TRIALS:
            if reach is None:
                first = best
            elif reach < furthest:
                share = reach / furthest
                first = share * potentials + (0.0 if start is None else (1 - share) * start)
            elif reach == np.inf:
                first = potentials
            else:
                continue
            fitted = self.fitted(average, first, times * _SWEEPS)
            left = misfit(fitted)
            if left < least:
                best, least = fitted, left
            if least <= 1:
                return best
        return best if least <= misfit(potentials) else potentials

    def fitted(self, average: NDArray[np.float64], potentials: NDArray[np.float64], sweeps: int) -> NDArray[np.float64]:
        """Return potentials moved until their marginals are a given average, as near as `sweeps` sweeps come."""
        fitted: NDArray[np.float64]
        fitted = _core.fitted_potentials(self.tree.plan, average, self.total, potentials, sweeps, self.n_threads)
        return fitted

    def _misfit(self, average: NDArray[np.float64], potentials: NDArray[np.float64]) -> float:
        distance = float(np.abs(self.marginals(potentials) - average).sum())
        return distance / (_FITTED * self.total * max(1, len(self.tree.cliques)))


class Evaluated(NamedTuple):
    """A loss and its gradient at marginals, and the potentials they belong to."""

    potentials: NDArray[np.float64]
    marginals: NDArray[np.float64]
    loss: float
    gradient: NDArray[np.float64]


class LossOracle(Oracle):
    """Exact inference, and a loss of its marginals.

    Parameters
    ----------
    evaluate : callable
        The loss on the tables of the tree's cliques.
    """

    def __init__(self, tree: JunctionTree, total: float, n_threads: int, evaluate: Evaluate) -> None:
        super().__init__(tree, total, n_threads)
        self.evaluate = evaluate

    def at(self, potentials: NDArray[np.float64]) -> Evaluated:
        """Return the loss and its gradient at the marginals of potentials. One propagation."""
        marginals = self.marginals(potentials)
        return Evaluated(potentials, marginals, *self.evaluate(marginals))

    def gap(self, point: Evaluated) -> float:
        """Return <g, mu> - min over all distributions nu (counts, structural zeros kept) of <g, nu>."""
        allowed = np.where(np.isneginf(point.potentials), -np.inf, -point.gradient)
        return dot(point.gradient, point.marginals) + self.total * self.largest(allowed)
