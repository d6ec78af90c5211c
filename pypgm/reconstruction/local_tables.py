"""Least squares on each measured clique by itself: the answers of a mechanism without any model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import checked_real
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation import LinearMeasurement
from pypgm.estimation.total import estimate_total
from pypgm.factor import Factor
from pypgm.queries import Union
from pypgm.reconstruction.full_table import shortest
from pypgm.reconstruction.marginals import Reconstructed, at_least_one


class LocalTables(Reconstructed):
    """A table for each measured clique, independent of the others.

    Parameters
    ----------
    domain : Domain
    tables : mapping of clique to Factor
        Counts of any sign; cliques in the domain's order.
    total : float
        Number of records.
    """

    def __init__(self, domain: Domain, tables: Mapping[Clique, Factor], total: float) -> None:
        self.domain = domain
        self.tables = dict(tables)
        self.total = total
        self._tables = CliqueVector.from_factors(domain, list(self.tables.values()))

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """Measured cliques, in the domain's order."""
        return tuple(self.tables)

    def project(self, clique: str | Iterable[str]) -> Factor:
        """Return the table of a clique in counts, from the first smallest table that holds it.

        Raises
        ------
        ValueError
            If none does.
        """
        return self._tables.project(clique)


def local_least_squares(
    domain: Domain, measurements: Iterable[LinearMeasurement], total: float | None = None
) -> LocalTables:
    r"""Return the table of each measured clique that explains its own measurements best.

    On each clique it minimises :math:`\sum_i \lVert (Q_i x - y_i) / \sigma_i \rVert^2` over tables x of any sign;
    among several minimisers it is the shortest.

    Parameters
    ----------
    domain : Domain
    measurements : sequence of LinearMeasurement
        Measurements of any queries.
    total : float, optional
        Number of records; estimated from the measurements by default.

    Returns
    -------
    LocalTables

    Raises
    ------
    ValueError
        If there is no measurement, one does not fit the domain, or none determines the total.

    References
    ----------
    McKenna, Miklau, Hay and Machanavajjhala 2018, "Optimizing error of high-dimensional statistical queries under
    differential privacy", section 7 (unions of strategies).

    Examples
    --------
    >>> from pypgm import Domain, LinearMeasurement
    >>> found = local_least_squares(Domain({"a": 2}), [LinearMeasurement([6, 2], "a"), LinearMeasurement([4, 2], "a")])
    >>> found.project("a").values.round(6)
    array([5., 2.])
    """
    checked = at_least_one(domain, measurements)
    groups: dict[Clique, list[LinearMeasurement]] = {}
    for m in checked:
        groups.setdefault(domain.canonical(m.clique), []).append(m)
    records = estimate_total(domain, checked)[0] if total is None else checked_real("total", total)
    tables = {c: Factor(domain.project(c), _solved(CliqueVector(domain, [c]), group)) for c, group in groups.items()}
    return LocalTables(domain, tables, records)


def _solved(table: CliqueVector, group: list[LinearMeasurement]) -> NDArray[np.float64]:
    """Return the shortest least squares table of measurements of one clique."""
    queries = [m.on(table)[1] for m in group]
    query = queries[0] if len(queries) == 1 else Union(queries)
    stddev = np.concatenate([m.spread() for m in group])
    answers = np.concatenate([m.values for m in group])
    if query.is_identity:
        return answers.astype(np.float64)
    return shortest(
        query.shape, lambda x: query.matvec(x) / stddev, lambda y: query.rmatvec(y / stddev), answers / stddev
    )
