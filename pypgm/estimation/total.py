"""The number of records, from measurements of marginals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix

__all__ = ["estimate_total"]


def estimate_total(domain: Domain, measurements: Sequence[LinearMeasurement]) -> tuple[float, float]:
    """Estimate the number of records by generalised least squares.

    On each clique the best linear unbiased combination of its answers that sums all cells is taken; cliques are
    then weighted by the inverse of their variances.

    Parameters
    ----------
    domain : Domain
        The attributes.
    measurements : sequence of LinearMeasurement
        Noisy answers; only those whose rows can be combined to the sum of all cells count.

    Returns
    -------
    total : float
        The estimate, in counts, at least 1.
    variance : float
        Its variance, in squared counts.

    Raises
    ------
    ValueError
        If no measurement tells the total.

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
    by_clique: dict[Clique, list[LinearMeasurement]] = {}
    for m in measurements:
        if m.query is None or m.query.supports_total:
            by_clique.setdefault(domain.canonical(m.clique), []).append(m)
    if not by_clique:
        raise ValueError("no measurement tells the total number of records: pass total=, or measure a whole marginal")
    sums, variances = zip(*(_clique_total(domain, group) for group in by_clique.values()), strict=True)
    variance = 1.0 / math.fsum(1.0 / v for v in variances)
    return max(1.0, variance * math.fsum(s / v for s, v in zip(sums, variances, strict=True))), variance


def _clique_total(domain: Domain, group: Sequence[LinearMeasurement]) -> tuple[float, float]:
    """Return the best unbiased sum of all cells that one clique's measurements give, and its variance."""
    answers = np.concatenate([m.values for m in group]).astype(np.float64)
    variances = np.concatenate([1.0 / m.weights() for m in group])
    if len(group) == 1:
        # Every cell is in exactly one row: all rows that have cells weigh the same, whatever their noise.
        groups = group[0].groups(domain)
        filled = slice(None) if groups is None else np.unique(groups)
        return float(answers[filled].sum()), float(variances[filled].sum())
    combination = _cheapest_combination(_stacked(domain, group), variances)
    return float(combination @ answers), float(np.square(combination) @ variances)


def _stacked(domain: Domain, group: Sequence[LinearMeasurement]) -> csr_matrix:
    """Return the 0/1 matrix of all rows of one clique's measurements, cells in the domain's order."""
    from scipy.sparse import csr_matrix, vstack

    cells = domain.size(group[0].clique)
    rows = []
    for m in group:
        groups = m.groups(domain)
        if groups is None:
            groups = m.in_order(domain, np.arange(cells, dtype=np.float64)).astype(np.int32)
        rows.append(csr_matrix((np.ones(cells), (groups, np.arange(cells))), shape=(m.values.size, cells)))
    return csr_matrix(vstack(rows))


def _cheapest_combination(queries: csr_matrix, variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return v with Q'v = 1 and the least variance: u = V^(1/2) v is the shortest solution of Q' V^(-1/2) u = 1."""
    from scipy.sparse import diags
    from scipy.sparse.linalg import lsmr

    spread = np.sqrt(variances)
    scaled = (diags(1.0 / spread) @ queries).T.tocsr()
    shortest = lsmr(scaled, np.ones(queries.shape[1]), atol=1e-14, btol=1e-14, maxiter=10 * min(queries.shape) + 100)[0]
    return np.asarray(shortest / spread, dtype=np.float64)
