"""The number of records, from measurements of marginals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import NOISE_LAWS, LinearMeasurement
from pypgm.estimation.number_range import check_range
from pypgm.queries import Union

_GRAIN = 3.0  # counts: noise of few integers, of a standard deviation below 1, has tails heavier for its size


def estimate_total(domain: Domain, measurements: Sequence[LinearMeasurement]) -> tuple[float, float]:
    """Estimate the number of records by generalised least squares.

    On each clique the best linear unbiased combination of its answers that sums all cells is taken, interactions of
    several attributes left out; cliques are then weighted by the inverse of their variances.

    Parameters
    ----------
    domain : Domain
        The attributes.
    measurements : sequence of LinearMeasurement
        Noisy answers to any queries; only cliques whose rows can be combined to the sum of all cells count.

    Returns
    -------
    total : float
        The estimate, in counts, at least 1.
    variance : float
        Its variance, in squared counts.

    Raises
    ------
    ValueError
        If no measurement tells the total, it is less than zero by more than noise explains, or numbers are too large,
        small or far apart.

    References
    ----------
    McKenna, Sheldon, Miklau: Graphical-model based estimation and inference for differential privacy, ICML 2019,
    supplement E.1, with the noise covariance in place of the identity.

    Examples
    --------
    >>> domain = Domain({"a": 2, "b": 2})
    >>> estimate_total(domain, [LinearMeasurement([3, 5], "a"), LinearMeasurement([4, 6], "b")])
    (9.0, 1.0)
    """
    measurements = tuple(measurements)  # an iterator is read once
    return total_of_answers(domain, measurements)(measurements)


def total_of_answers(
    domain: Domain, measurements: Sequence[LinearMeasurement]
) -> Callable[[Sequence[LinearMeasurement]], tuple[float, float]]:
    """Return a function that estimates the total from answers to the queries of measurements; see `estimate_total`."""
    check_range(measurements)
    by_clique: dict[Clique, list[int]] = {}
    # There is no sum in an interaction, and next to none in what it tells beside other answers.
    for i in [i for i, m in enumerate(measurements) if not m.linear_map.is_interaction]:
        by_clique.setdefault(domain.canonical(measurements[i].clique), []).append(i)
    known = []
    for clique, indices in by_clique.items():
        combination = _combination(domain, clique, [measurements[i] for i in indices])
        if combination is not None:
            known.append((indices, *combination))
    if not known:
        raise ValueError("no measurement tells the total number of records: pass total=, or measure a whole marginal")
    variance = 1.0 / math.fsum(1.0 / v for _, _, v in known)
    error = math.sqrt(variance)
    least = -_GRAIN - max(NOISE_LAWS[m.noise].incredible for m in measurements) * error

    def total(answered: Sequence[LinearMeasurement]) -> tuple[float, float]:
        sums = []
        for indices, weights, v in known:
            sums.append(((weights * np.concatenate([answered[i].values for i in indices])).sum(), v))
        total = variance * math.fsum(s / v for s, v in sums)
        if total < least:
            combination = f"the measured counts sum to {total:.4g}, with a standard error of {error:.2g}"
            raise ValueError(f"{combination}: pass total=")
        return max(1.0, total), variance

    return total


def _combination(
    domain: Domain, clique: Clique, group: Sequence[LinearMeasurement]
) -> tuple[NDArray[np.float64], float] | None:
    """Return the weights of one clique's answers in their best unbiased sum of all cells, and its variance, if any."""
    stddev = np.concatenate([m.spread() for m in group])
    query = group[0].linear_map
    if len(group) > 1:
        tables = CliqueVector(domain, [clique])
        query = Union([m.on(tables)[1] for m in group])
    weights = query.total_weights(stddev)
    return None if weights is None else (weights, float(np.square(weights * stddev).sum()))
