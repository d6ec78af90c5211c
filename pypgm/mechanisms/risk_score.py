"""Scores by risk: the error that measuring a table would save, in exact integers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pypgm.privacy.l1_selector import GRID_BITS, l1_distance

GRID = 1 << GRID_BITS
"""Units of a record in which savings are counted."""

Array = NDArray[np.float64]


def hidden(expected: Array, noise: float) -> float:
    """Return the part of a table, in counts, that noise of some mean absolute size hides from an estimate.

    The error of a cell is the noise, and at most twice its expected count: answers below 0 are not believed, and
    counts missing elsewhere are too many here.

    Examples
    --------
    >>> hidden(np.array([1.0, 50.0]), 10.0)
    12.0
    """
    return float(np.minimum(noise, 2 * expected).sum())


def saving(counts: NDArray[np.int64], expected: NDArray[np.int64], hiding: int) -> int:
    r"""Return the error :math:`e - (e^{-2} + h^{-2})^{-1/2}` that a measurement would take away, in units of the grid.

    Here e is the L1 distance of the counts from the expected ones and h the part that noise hides: the remaining error
    is about the smaller one. It rises with e, and no faster than e (its derivative is :math:`(1 + e^2/h^2)^{-3/2}`),
    so one record more or less changes the saving by at most `GRID`; rounded down to integers it still does, since
    :math:`\lfloor x + k \rfloor = \lfloor x \rfloor + k`. The counts are secret, and so is what comes out.

    Parameters
    ----------
    counts : ndarray of int64, shape (cells,)
        Counts of the records.
    expected : ndarray of int64, shape (cells,)
        Released counts in units of the grid; see `pypgm.privacy.l1_selector.on_grid`.
    hiding : int
        Error that noise hides, in units of the grid, at least 0.

    Examples
    --------
    >>> round(saving(np.array([7, 0]), np.array([4 * GRID, 3 * GRID]), 8 * GRID) / GRID, 3)  # e = 6, h = 8
    1.2
    """
    distance = l1_distance(counts, expected)
    if hiding == 0:
        return distance
    squares = distance * distance + hiding * hiding
    return distance - math.isqrt(distance * distance * hiding * hiding // squares)
