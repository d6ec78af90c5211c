"""The independent model that measurements suggest: where an estimate starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.stacked import Stacked
from pypgm.factor import Factor
from pypgm.queries import Identity, Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Cells = list[NDArray[np.float64]]

__all__ = ["independent_potentials"]

_DRAWS = 8  # of what answers to a general query allow: variances within a half suffice
_SEED = 0
_FLOOR = 0.3  # of a count's standard error: nothing measured is ruled out at the start


def independent_potentials(
    domain: Domain, cliques: Sequence[Clique], measurements: Sequence[LinearMeasurement], total: float
) -> CliqueVector:
    """Return potentials of the product of one-way marginals, read off all measurements that hold an attribute.

    A measurement is projected onto the attribute, a group's answer spread evenly over its cells, answers to other
    queries turned into cells by damped least squares; projections are averaged with the inverses of their variances,
    floored at a fraction of their standard error, and normalised.

    Parameters
    ----------
    domain : Domain
        All attributes.
    cliques : sequence of cliques
        Where the potentials go; each attribute's to the first clique that has it.
    measurements : sequence of LinearMeasurement
        Noisy answers, counts.
    total : float
        Number of records, counts.

    Returns
    -------
    CliqueVector
        Natural logs; attributes in no clique stay uniform.
    """
    start = CliqueVector(domain, cliques)
    known: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    for m in measurements:
        cells = [] if isinstance(m.query, Identity | Partition | None) else _cells(domain, m, total)
        for attribute in m.clique:
            weighted, weights = known.setdefault(
                attribute, (np.zeros(domain.size(attribute)), np.zeros(domain.size(attribute)))
            )
            counts, variances = _one_way(domain, m, attribute, cells)
            weighted += counts / variances
            weights += 1.0 / variances
    for attribute, (weighted, weights) in known.items():
        floor = _FLOOR / np.sqrt(weights)
        counts = np.maximum(weighted / weights, floor)
        home = next(c for c in start.cliques if attribute in c)
        log_share = Factor(domain.project(attribute), np.log(counts / max(total, counts.sum())))
        start[home].datavector()[:] += log_share.expand(domain.project(home)).datavector()
    return start


def _one_way(
    domain: Domain, measurement: LinearMeasurement, attribute: str, cells: _Cells
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the counts of an attribute's values that a measurement suggests, and their variances."""
    own, query = domain.project(measurement.clique), measurement.query
    variance = np.square(measurement.spread())
    answers = measurement.values.astype(np.float64)
    if not (cells or isinstance(query, Partition)):
        counts, variances = (Factor(own, a).project(attribute).datavector() for a in (answers, variance))
        return counts, variances
    size = domain.size(attribute)
    codes = Factor(domain.project(attribute), np.arange(size)).expand(own).datavector().astype(np.int64)
    if isinstance(query, Partition):
        rows, n_rows = query.groups, answers.size
        keys, both = np.unique(codes * n_rows + rows, return_counts=True)
        code, row = np.divmod(keys, n_rows)
        share = both / np.bincount(rows, minlength=n_rows)[row]
        return _sums(code, share * answers[row], size), _sums(code, np.square(share) * variance[row], size)
    counts, *draws = (_sums(codes, c, size) for c in cells)
    # Few draws: the mean over the values steadies the variance of each.
    each = np.mean([np.square(d - counts) for d in draws], axis=0)
    return counts, 0.5 * (each + each.mean())


def _cells(domain: Domain, measurement: LinearMeasurement, total: float) -> _Cells:
    """Return what answers to any query suggest of the cells, and behind it draws of what else they allow.

    Cells are taken as independent a priori, normal around evenly spread records with the total for a deviation; the
    answers then leave a normal distribution, whose mean and draws are solutions of damped least squares.
    """
    from scipy.sparse.linalg import LinearOperator, lsmr

    cells = domain.size(measurement.clique)
    queries = Stacked(domain.project(measurement.clique), [measurement.clique], [measurement])
    spread = measurement.spread()
    scaled: Any = LinearOperator(
        (spread.size, cells),
        matvec=lambda x: queries.answers(x) / spread,
        rmatvec=lambda u: queries.transposed(u / spread),
        dtype=np.dtype(np.float64),
    )

    def solved(start: NDArray[np.float64], answers: NDArray[np.float64]) -> NDArray[np.float64]:
        missing = (answers - queries.answers(start)) / spread
        limit = 2 * min(cells, spread.size) + 100
        return start + lsmr(scaled, missing, damp=1.0 / total, atol=1e-8, btol=1e-8, conlim=0, maxiter=limit)[0]

    even = np.full(cells, total / cells)
    rng = np.random.default_rng(_SEED)
    draws = [
        solved(even + total * rng.normal(size=cells), queries.values + spread * rng.normal(size=spread.size))
        for _ in range(_DRAWS)
    ]
    return [solved(even, queries.values), *draws]


def _sums(codes: NDArray[np.int64], amounts: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    return np.bincount(codes, amounts, size).astype(np.float64)
