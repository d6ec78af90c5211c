"""Logistic regressions with weights in a ball of the l1 or the l2,1 norm, many beside each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_CHECKED_EVERY = 10  # iterations between two gaps: a gap takes a gradient of its own


@dataclass(frozen=True, slots=True, eq=False)
class Regressions:
    r"""Regressions r on shared features: minimise :math:`\sum_m c_{mr} \log(1 + e^{-y_{mr} \langle w_r, x_m\rangle})`.

    Attributes
    ----------
    features : ndarray of float64, shape (M, F)
        Rows x_m, of records that may stand for several.
    labels : ndarray of float64, shape (M, R)
        y, -1 or +1.
    shares : ndarray of float64, shape (M, R)
        c >= 0, the part of record m in regression r; each column sums to 1.
    allowed : ndarray of bool, shape (F, R)
        The features a regression may use; the weights of the others are 0.
    groups : ndarray of int, shape (F,)
        Group of each feature, numbered from 0. The norm is the sum over groups of the Euclidean norms within.
    radius : float
        Largest norm of w_r, positive.
    """

    features: NDArray[np.float64]
    labels: NDArray[np.float64]
    shares: NDArray[np.float64]
    allowed: NDArray[np.bool_]
    groups: NDArray[np.intp]
    radius: float

    def only(self, kept: NDArray[np.bool_]) -> Regressions:
        """Return some of the regressions."""
        return Regressions(
            self.features, self.labels[:, kept], self.shares[:, kept], self.allowed[:, kept], self.groups, self.radius
        )

    def loss(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean loss of each regression, shape (R,)."""
        margins = self.labels * (self.features @ weights)
        return np.asarray((self.shares * np.logaddexp(0, -margins)).sum(axis=0))

    def gradient(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient of each loss in its allowed weights, shape (F, R)."""
        margins = self.labels * (self.features @ weights)
        slopes = self.shares * self.labels * (0.5 - 0.5 * np.tanh(margins / 2))  # sigmoid(-margins)
        return np.asarray(np.where(self.allowed, -(self.features.T @ slopes), 0.0))

    def gap(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return an upper bound of loss - optimum of each regression, shape (R,).

        By convexity it is at most <g, w - v> for the best v, which is in the ball where <g, v> is least.
        """
        slope = self.gradient(weights)
        steepest = _norms(slope, self.groups).max(axis=0)
        return np.asarray((slope * weights).sum(axis=0) + self.radius * steepest)


def solve(problem: Regressions, tolerance: float, iterations: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return weights, shape (F, R), and the gap of each regression, at most `tolerance` unless iterations end first.

    Accelerated projected gradient (Nesterov; FISTA), restarted in each regression where its momentum points uphill
    (O'Donoghue and Candès 2015). Steps are of length 1/L, L a quarter of the largest squared row norm.
    """
    n_features, n = problem.features.shape[1], problem.labels.shape[1]
    weights, gaps = np.zeros((n_features, n)), np.full(n, np.inf)
    step = 4 / max(float((problem.features**2).sum(axis=1).max(initial=0.0)), 1e-300)
    active, part = np.arange(n), problem
    here, point, momentum = weights.copy(), weights.copy(), np.ones(n)
    for i in range(iterations):
        if i % _CHECKED_EVERY == 0:
            weights[:, active], gaps[active] = here, part.gap(here)
            left = gaps[active] > tolerance
            if not left.any():
                return weights, gaps
            if not left.all():
                active, part = active[left], part.only(left)
                here, point, momentum = here[:, left], point[:, left], momentum[left]
        slope = part.gradient(point)
        there = project(point - step * slope, part.groups, part.radius)
        uphill = ((point - there) * (there - here)).sum(axis=0) > 0
        following = np.where(uphill, 1.0, (1 + np.sqrt(1 + 4 * momentum**2)) / 2)
        point = there + np.where(uphill, 0.0, (momentum - 1) / following) * (there - here)
        here, momentum = there, following
    weights[:, active], gaps[active] = here, part.gap(here)
    return weights, gaps


def project(weights: NDArray[np.float64], groups: NDArray[np.intp], radius: float) -> NDArray[np.float64]:
    """Return the nearest point of the ball of some radius to each column, shape (F, R).

    Norms of groups are reduced by a common amount, to 0 at least, so that they sum to the radius (Duchi et al. 2008).
    """
    norms = _norms(weights, groups)
    descending = -np.sort(-norms, axis=0)
    excess = np.cumsum(descending, axis=0) - radius
    ranks = np.arange(1, len(norms) + 1)[:, None]
    last = (descending * ranks > excess).sum(axis=0) - 1
    cut = np.maximum(excess[last, np.arange(norms.shape[1])] / (last + 1), 0.0)
    factors = np.maximum(norms - cut, 0.0) / np.where(norms > 0, norms, 1.0)
    return np.asarray(weights * factors[groups])


def _norms(weights: NDArray[np.float64], groups: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the Euclidean norm of each group in each column, shape (groups, R)."""
    if len(groups) == groups.max() + 1:
        return np.asarray(np.abs(weights)[np.argsort(groups)])
    squares = np.zeros((int(groups.max()) + 1, weights.shape[1]))
    np.add.at(squares, groups, weights**2)
    return np.sqrt(squares)
