"""The number of records, from measurements of marginals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.number_range import check_range
from pypgm.estimation.stacked import Stacked
from pypgm.queries import Identity, Kronecker, Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["estimate_total"]

_INCREDIBLE = 6.0  # standard errors below zero: noise goes so far once in 1e9 times
_MISS = 1e-6  # of a cell, times the root of their number: what a combination of rows may differ from the sum by


def estimate_total(domain: Domain, measurements: Sequence[LinearMeasurement]) -> tuple[float, float]:
    """Estimate the number of records by generalised least squares.

    On each clique the best linear unbiased combination of its answers that sums all cells is taken; cliques are
    then weighted by the inverse of their variances.

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
    check_range(measurements)
    by_clique: dict[Clique, list[LinearMeasurement]] = {}
    for m in measurements:
        by_clique.setdefault(domain.canonical(m.clique), []).append(m)
    found = [_clique_total(domain, clique, group) for clique, group in by_clique.items()]
    known = [pair for pair in found if pair is not None]
    if not known:
        raise ValueError("no measurement tells the total number of records: pass total=, or measure a whole marginal")
    variance = 1.0 / math.fsum(1.0 / v for _, v in known)
    total = variance * math.fsum(s / v for s, v in known)
    if total < -_INCREDIBLE * math.sqrt(variance):
        error = math.sqrt(variance)
        raise ValueError(f"the measured counts sum to {total:.4g}, with a standard error of {error:.2g}: pass total=")
    return max(1.0, total), variance


def _clique_total(domain: Domain, clique: Clique, group: Sequence[LinearMeasurement]) -> tuple[float, float] | None:
    """Return the best unbiased sum of all cells that one clique's measurements give, and its variance; None if none."""
    answers = np.concatenate([m.values for m in group]).astype(np.float64)
    variances = np.concatenate([np.square(m.spread()) for m in group])
    combination = _plain_sum(group)
    if combination is None:
        combination = _cheapest_combination(Stacked(domain, [clique], group), domain.size(clique), variances)
    if combination is None:
        return None
    return float((combination * answers).sum()), float((np.square(combination) * variances).sum())


def _plain_sum(group: Sequence[LinearMeasurement]) -> NDArray[np.float64] | None:
    """Return v with Q'v = 1 of a single measurement where there is one that is the cheapest whatever the noise."""
    if len(group) > 1:
        return None
    query, n = group[0].query, group[0].values.size
    if isinstance(query, Identity | None):
        return np.ones(n)
    if isinstance(query, Partition):
        # Every cell is in exactly one row: all rows that have cells weigh the same.
        return (np.bincount(query.groups, minlength=n) > 0).astype(np.float64)
    if isinstance(query, Kronecker) and query.supports_total and np.ptp(group[0].spread()) == 0:
        # With equal noise the shortest combination is the product of the factors' shortest.
        combination: NDArray[Any] = np.ones(1)
        for factor in query.factors:
            cells = factor.shape[1]
            asked = LinearMeasurement(np.zeros(factor.shape[0]), "x", 1.0, factor)
            stacked = Stacked(Domain({"x": cells}), [("x",)], [asked])
            part = _cheapest_combination(stacked, cells, np.ones(factor.shape[0]))
            if part is None:
                return None
            combination = np.kron(combination, part)
        return combination
    return None


def _cheapest_combination(queries: Stacked, cells: int, variances: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return v with Q'v = 1 and the least variance, None if there is none.

    u = V^(1/2) v is the shortest solution of Q' V^(-1/2) u = 1.
    """
    from scipy.sparse.linalg import LinearOperator, lsmr

    spread = np.sqrt(variances)
    scaled: Any = LinearOperator(
        (cells, spread.size),
        matvec=lambda u: queries.transposed(u / spread),
        rmatvec=lambda x: queries.answers(x) / spread,
        dtype=np.dtype(np.float64),
    )
    limit = 10 * min(cells, spread.size) + 100
    shortest = lsmr(scaled, np.ones(cells), atol=1e-14, btol=1e-14, conlim=0, maxiter=limit)[0]
    combination = np.asarray(shortest / spread, dtype=np.float64)
    miss = float(np.abs(queries.transposed(combination) - 1.0).max())
    return combination if miss <= _MISS * math.sqrt(cells) else None
