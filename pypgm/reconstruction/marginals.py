"""Common part of reconstructions of separate tables: pooled measurements, non-negative tables, records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pypgm.data import Dataset
from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.factor import Factor
from pypgm.models import RegionGraphModel
from pypgm.models._estimate import checked_measurements, estimate


class Reconstructed(ABC):
    """Tables that were reconstructed one by one: they answer marginals, and belong to no joint distribution.

    Attributes
    ----------
    domain : Domain
    total : float
        Number of records, estimated.
    """

    domain: Domain
    total: float

    @property
    @abstractmethod
    def cliques(self) -> tuple[Clique, ...]:
        """Measured cliques."""

    @abstractmethod
    def project(self, clique: str | Iterable[str]) -> Factor:
        """Return the table of a clique in counts, axes in the given order."""

    @cached_property
    def model(self) -> RegionGraphModel:
        """The model of maximum entropy whose marginals are nearest to the tables of the measured cliques."""
        kept = [c for c in self.cliques if c]
        tables = [LinearMeasurement(self.project(c).values, c) for c in kept]
        return estimate(self.domain, tables, self.total, oracle="region_graph", stop="optimum")

    def synthetic_data(self, rows: int | None = None, rng: np.random.Generator | int | None = None) -> Dataset:
        """Draw records from the `model`; `rows` is the rounded total by default."""
        return self.model.synthetic_data(rows, rng)


def at_least_one(domain: Domain, measurements: Iterable[LinearMeasurement]) -> list[LinearMeasurement]:
    """Return the measurements; ``ValueError`` if there is none or one does not fit the domain."""
    checked = [m.checked(domain) for m in checked_measurements(domain, measurements)]
    if not checked:
        raise ValueError("a reconstruction needs at least one measurement, got none")
    return checked


def pooled(domain: Domain, measurements: Iterable[LinearMeasurement]) -> dict[Clique, tuple[Factor, float]]:
    """Return the mean table of each measured clique, weighted by precision, and the variance of a cell.

    Raises
    ------
    ValueError
        If there is no measurement, or a measurement does not cover every cell of a marginal with one standard
        deviation.
    """
    answers: dict[Clique, list[tuple[NDArray[np.float64], float]]] = {}
    for m in at_least_one(domain, measurements):
        if not m.linear_map.is_identity or not isinstance(m.stddev, float):
            raise ValueError(
                f"the measurement of {m.clique} must be of every cell, with one stddev; got {m.linear_map}"
            )
        clique = domain.canonical(m.clique)
        table = Factor(domain.project(m.clique), m.values).transpose(clique)
        answers.setdefault(clique, []).append((table.datavector(), m.stddev**-2))
    tables = {}
    for clique, pairs in answers.items():
        precision = sum(w for _, w in pairs)
        mean = np.sum([w * v for v, w in pairs], axis=0) / precision
        tables[clique] = Factor(domain.project(clique), mean), 1 / precision
    return tables


def without_negatives(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values with negative ones at 0 and the smallest positive ones cut, so that the sum stays.

    A negative sum becomes 0.

    Examples
    --------
    >>> without_negatives(np.array([-3.0, 1.0, 4.0, 10.0]))
    array([ 0.,  0.,  2., 10.])
    """
    flat = np.maximum(values, 0.0).reshape(-1)
    debt = -np.minimum(values, 0.0).sum()
    order = np.argsort(flat, kind="stable")
    paid = np.minimum(np.cumsum(flat[order]), debt)
    flat[order] -= np.diff(paid, prepend=0.0)
    return np.asarray(flat.reshape(values.shape))


def on_simplex(values: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return the nearest non-negative values whose sum is `total`, at least 0, in the least squares sense.

    Examples
    --------
    >>> on_simplex(np.array([-3.0, 1.0, 4.0]), 4.0)
    array([0. , 0.5, 3.5])
    """
    flat = np.sort(values, axis=None)[::-1]
    levels = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    level = levels[np.flatnonzero(flat > levels)[-1]] if total > 0 else flat[0]
    return np.asarray(np.maximum(values - level, 0.0))
