"""Allocation of a budget to many marginals, by the error that an estimate would leave."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_MEAN = math.sqrt(2 / math.pi)  # of a standard deviation of normal noise: its mean absolute value
_MAX_LOG = 60.0  # logarithm of a multiplier at which nothing is worth its cost
_HALVINGS = 60


def hidden(expected: Array, stddevs: Array) -> Array:
    """Return the total variation that noise leaves of a table, as a share of its sum, at several standard deviations.

    The error of a cell is the mean absolute noise, and at most twice its expected count: answers below 0 are not
    believed, and counts missing elsewhere are too many here.

    Parameters
    ----------
    expected : ndarray, shape (cells,)
        Positive counts, of a released model.
    stddevs : ndarray, shape (levels,)
        Standard deviations of the noise of a cell, in counts.

    Returns
    -------
    ndarray, shape (levels,)

    Examples
    --------
    >>> hidden(np.array([50.0, 50.0]), np.array([1.0, 1000.0])).round(3)
    array([0.008, 1.   ])
    """
    most = np.sort(2 * expected)
    noise = _MEAN * stddevs
    small = np.searchsorted(most, noise)  # how many cells are off by twice what is expected in them
    off = np.concatenate([[0.0], np.cumsum(most)])[small] + noise * (most.size - small)
    return np.asarray(off / most.sum())


def allocate(unmeasured: Array, measured: Array, costs: Array, weights: Array) -> tuple[NDArray[np.int64], Array]:
    """Choose the noise level of each marginal, if it is measured at all, at a total cost of at most 1.

    The weighted sum of risks is minimised with one multiplier on costs. A marginal whose `unmeasured`
    error is e and of which noise hides h leaves ``(e^-2 + h^-2)^(-1/2)``: less than either.

    Parameters
    ----------
    unmeasured : ndarray, shape (marginals,)
        Error of each marginal if it is not measured.
    measured : ndarray, shape (marginals, levels)
        Error that noise hides in each marginal at each level, from the least noise to the most; above 0.
    costs : ndarray, shape (levels,)
        Share of the budget that a marginal costs at each level.
    weights : ndarray, shape (marginals,)
        Weight of the error of each marginal.

    Returns
    -------
    levels : ndarray of int64, shape (marginals,)
        Noise level of each marginal, -1 if it is not measured.
    risks : ndarray, shape (marginals,)
        Weighted error that is left of each marginal.

    Examples
    --------
    >>> unmeasured, measured = np.array([0.3, 0.0]), np.array([[0.1], [0.1]])
    >>> levels, risks = allocate(unmeasured, measured, np.array([0.6]), np.array([1.0, 1.0]))
    >>> levels, risks.round(3)
    (array([ 0, -1]), array([0.095, 0.   ]))
    """
    error = unmeasured[:, None]
    risks = np.hstack([error, error * measured / np.hypot(error, measured)]) * weights[:, None]
    chosen = cheapest(risks, np.broadcast_to([0.0, *costs], risks.shape), 1.0)
    return chosen - 1, risks[np.arange(len(chosen)), chosen]


def cheapest(risks: Array, prices: Array, budget: float) -> NDArray[np.int64]:
    """Choose one column of each row, by one multiplier: the least sum of risks within a budget for the prices.

    Parameters
    ----------
    risks, prices : ndarray, shape (rows, choices)
        Risk and price of each choice; infinite for a missing one. The cheapest ones together cost no more than the
        budget.
    budget : float
        Above 0.

    Examples
    --------
    >>> cheapest(np.array([[0.3, 0.1], [0.1, 0.05]]), np.array([[0.0, 0.6], [0.0, 0.6]]), 1.0)
    array([1, 0])
    """
    rows, parts = np.arange(len(risks)), prices / budget
    low, high = -_MAX_LOG, _MAX_LOG
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        chosen = np.argmin(risks + math.exp(middle) * parts, axis=1)
        low, high = (low, middle) if parts[rows, chosen].sum() <= 1 else (middle, high)
    return np.asarray(np.argmin(risks + math.exp(high) * parts, axis=1), np.int64)
