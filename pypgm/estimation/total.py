"""The number of records, from measurements of marginals; the range of the numbers an estimate takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.queries import Union

_FURTHEST = 1e100  # of counts, and of standard deviations either way
_MAX_DISTANCE = 1e120  # standard deviations: squares of such distances, times their number, are doubles


def check_range(measurements: Sequence[LinearMeasurement], total: float = 0.0) -> None:
    """Raise ``ValueError`` where numbers are so large, small or far apart that a loss would leave the doubles."""
    if total > _FURTHEST or 0 < total < 1 / _FURTHEST:
        raise ValueError(f"total must be 0, or from {1 / _FURTHEST:g} to {_FURTHEST:g}, got {total:g}")
    for m in measurements if _are_far_apart(measurements, total) else ():  # only to say of which it is
        spread = np.asarray(m.stddev)
        low, high = spread.min(initial=np.inf), spread.max(initial=0.0)
        if spread.size and not 1 / _FURTHEST <= low <= high <= _FURTHEST:
            needed = f"must be from {1 / _FURTHEST:g} to {_FURTHEST:g}"
            got = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            raise ValueError(f"stddev of the measurement of {m.clique} {needed}, got {got}")
        largest = float(np.abs(m.values.astype(np.float64)).max(initial=0.0))
        what = f"values of the measurement of {m.clique}"
        if largest > _FURTHEST:
            raise ValueError(f"{what} must be at most {_FURTHEST:g} in size, got {largest:g}")
        if max(largest, total) > _MAX_DISTANCE * low:
            got = f"{max(largest, total):g} and {low:g}"
            raise ValueError(f"{what}, and the total, must be at most {_MAX_DISTANCE:g} times its stddev, got {got}")


def _are_far_apart(measurements: Sequence[LinearMeasurement], total: float) -> bool:
    """Return whether the numbers of all measurements, taken together, might leave the range."""
    alike = np.array([m.stddev for m in measurements if isinstance(m.stddev, float)])
    spread = np.concatenate([alike, *(m.stddev for m in measurements if not isinstance(m.stddev, float))])
    values = np.concatenate([np.empty(0), *(m.values for m in measurements)])
    low, high, largest = spread.min(initial=np.inf), spread.max(initial=0.0), np.abs(values).max(initial=0.0)
    return not (
        1 / _FURTHEST <= low <= high <= _FURTHEST and max(largest, total) <= min(_FURTHEST, _MAX_DISTANCE * low)
    )


# Standard errors below zero to which noise goes less than once in 1e9 times. The tail of a Laplace draw beyond x
# standard deviations is exp(-sqrt(2) x) / 2; its Chernoff bound holds for all sums of such draws.
_INCREDIBLE = {"gaussian": 7.0, "laplace": 17.5}
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
        If no measurement determines the total, it is less than zero by more than noise explains, or numbers are too
        large, small or far apart.

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
    least = -_GRAIN - max(_INCREDIBLE[m.noise] for m in measurements) * error

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
