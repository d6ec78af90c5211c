"""Errors of counts from dependence that was not measured: it can be as large as noise would hide."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm.domain import Clique
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.queries import Contrasts

_HIDDEN_SHARE = 0.4  # of a count, or of the noise where that is less; see bench/README.md


def hiding_noise(measurements: Sequence[LinearMeasurement]) -> float:
    """Return the standard deviation of a sum that an answer about several attributes has, in the median over cliques.

    Infinity where only single attributes were measured: any dependence would be hidden.
    """
    precisions: dict[Clique, float] = {}
    for m in measurements:
        if len(m.clique) > 1:
            query = m.linear_map
            precision = m.stddev**-2.0 if isinstance(m.stddev, float) else float(np.mean(m.spread() ** -2.0))
            gain = query.squared_singular_value if isinstance(query, Contrasts) else 1.0
            precisions[m.clique] = precisions.get(m.clique, 0.0) + gain * precision
    return float(np.median(list(precisions.values()))) ** -0.5 if precisions else math.inf


def hidden_dependence(answers: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Return the standard deviations of counts that were not measured, or only in sums, around those of a model.

    Attributes that a mechanism leaves out, or values that it merges, are assumed to depend less than noise would hide;
    so a count may be off by some of the noise, and a small one by some of itself.
    """
    counts = np.maximum(answers, 0.0)
    return np.asarray(_HIDDEN_SHARE * counts / (1.0 + counts / noise))


def room(table: NDArray[np.float64], is_known: Sequence[bool]) -> NDArray[np.float64]:
    """Return the largest distance of each count from that of another table with the same margins, by Fréchet's bounds.

    Parameters
    ----------
    table : ndarray
        Counts, with an axis for each attribute.
    is_known : sequence of bool
        Axes whose counts are known.

    Examples
    --------
    >>> room(np.array([[10.0, 30.0], [0.0, 0.0]]), [True, True]).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    >>> room(np.array([[10.0, 10.0], [10.0, 10.0]]), [True, True]).tolist()
    [[10.0, 10.0], [10.0, 10.0]]
    """
    counts = np.maximum(table, 0.0)
    total = counts.sum()
    most, least = np.full(counts.shape, total), np.full(counts.shape, total)
    for axis, known in enumerate(is_known):
        margin = counts.sum(axis=tuple(i for i in range(counts.ndim) if i != axis), keepdims=True) if known else total
        most = np.minimum(most, margin)
        least -= total - margin if known else total
    return np.asarray(np.maximum(np.maximum(most - counts, counts - np.maximum(least, 0.0)), 0.0))
