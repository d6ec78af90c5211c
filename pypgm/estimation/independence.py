"""The independent model that measurements suggest: where an estimate starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.factor import Factor
from pypgm.queries import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["independent_potentials"]

_FLOOR = 0.3  # of a count's standard error: nothing measured is ruled out at the start


def independent_potentials(
    domain: Domain, cliques: Sequence[Clique], measurements: Sequence[LinearMeasurement], total: float
) -> CliqueVector:
    """Return potentials of the product of one-way marginals, read off all measurements that hold an attribute.

    A measurement is projected onto the attribute, a group's answer spread evenly over its cells; projections are
    averaged with the inverses of their variances, floored at a fraction of their standard error, and normalised.

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
        for attribute in m.clique:
            weighted, weights = known.setdefault(
                attribute, (np.zeros(domain.size(attribute)), np.zeros(domain.size(attribute)))
            )
            counts, variances = _one_way(domain, m, attribute)
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
    domain: Domain, measurement: LinearMeasurement, attribute: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the counts of an attribute's values that a measurement suggests, and their variances."""
    own = domain.project(measurement.clique)
    size = domain.size(attribute)
    codes = Factor(domain.project(attribute), np.arange(size)).expand(own).datavector().astype(np.int64)
    variance = 1.0 / measurement.weights()
    answers = measurement.values.astype(np.float64)
    if not isinstance(measurement.query, Partition):
        return _sums(codes, answers, size), _sums(codes, variance, size)
    rows, n_rows = measurement.query.groups, answers.size
    both = np.bincount(codes * n_rows + rows, minlength=size * n_rows).reshape(size, n_rows)
    share: NDArray[np.float64] = both / np.maximum(1, np.bincount(rows, minlength=n_rows))
    return share @ answers, np.square(share) @ variance


def _sums(codes: NDArray[np.int64], amounts: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    return np.bincount(codes, amounts, size).astype(np.float64)
