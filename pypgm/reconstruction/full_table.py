"""Least squares on tables: on the whole table of all attributes, and on each measured clique by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_fits, short
from pypgm._base.numeric import as_generator, checked_integer, checked_real
from pypgm.clique_vector import CliqueVector
from pypgm.data import Dataset
from pypgm.domain import Clique, Domain
from pypgm.estimation import LinearMeasurement
from pypgm.estimation.total import estimate_total
from pypgm.factor import Factor
from pypgm.queries import Union
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
            If no table holds the clique.
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
        If there is no measurement, a measurement does not fit the domain, or no measurement determines the total.

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


_VECTORS = 8  # vectors of the size of the table in the solver
_TOLERANCE = 1e-12  # relative, of the solver

_Map = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]


class FullTable:
    """A table of all attributes: it answers any clique.

    Parameters
    ----------
    counts : Factor
        Counts of any sign.

    Attributes
    ----------
    counts : Factor
    domain : Domain
    total : float
        Sum of the counts.
    """

    def __init__(self, counts: Factor) -> None:
        self.counts = counts
        self.domain = counts.domain
        self.total = float(counts.datavector().sum())

    def project(self, clique: str | Iterable[str]) -> Factor:
        """Return the table of a clique in counts, which may be negative, axes in the given order."""
        return self.counts.project(clique)

    def synthetic_data(self, rows: int | None = None, rng: np.random.Generator | int | None = None) -> Dataset:
        """Draw independent records from the positive counts.

        Parameters
        ----------
        rows : int, optional
            Number of records; the rounded total by default.
        rng : Generator or int, optional
            The operating system's entropy by default.

        Raises
        ------
        ValueError
            If no count is positive.
        """
        n = checked_integer("rows", max(0, round(self.total)) if rows is None else rows)
        positive = np.maximum(self.counts.datavector(), 0.0)
        if not positive.any():
            raise ValueError("no count is positive: there are no records to draw")
        cells = as_generator(rng).choice(positive.size, n, p=positive / positive.sum())
        codes = np.unravel_index(cells, self.domain.shape)
        return Dataset(dict(zip(self.domain, codes, strict=True)), self.domain)


def least_squares(
    domain: Domain, measurements: Sequence[LinearMeasurement], *, max_bytes: float | None = None
) -> FullTable:
    r"""Return the table of all attributes that explains measurements best, by least squares.

    It minimises :math:`\sum_i \lVert (Q_i M_i x - y_i) / \sigma_i \rVert^2` over tables x of any sign; among several
    minimisers it is the shortest. Where all of them are counts of whole marginals no unbiased linear answer errs less.

    Parameters
    ----------
    domain : Domain
        Small: the solver holds about eight tables of all its cells.
    measurements : sequence of LinearMeasurement
        Measurements of any queries.
    max_bytes : float, optional
        Memory for it; half of the available memory by default.

    Returns
    -------
    FullTable

    Raises
    ------
    ModelTooLargeError
        If the table does not fit.
    ValueError
        If there is no measurement, or a measurement does not fit the domain.

    References
    ----------
    Fong and Saunders 2011, "LSMR: An iterative algorithm for sparse least-squares problems"; Li, Miklau, Hay, McGregor
    and Rastogi 2015, "The matrix mechanism".

    Examples
    --------
    >>> from pypgm import Domain, LinearMeasurement
    >>> domain = Domain({"a": 2, "b": 2})
    >>> found = least_squares(domain, [LinearMeasurement([6, 2], "a"), LinearMeasurement([3, 5], "b")])
    >>> found.project("a").values.round(6)
    array([6., 2.])
    """
    checked = at_least_one(domain, measurements)
    cells = domain.size()
    check_fits(
        8 * _VECTORS * cells, max_bytes, f"least squares on all {short(cells)} cells", "estimate() needs no such table"
    )
    rows = sum(m.values.size for m in checked)
    wanted = np.concatenate([m.values / m.spread() for m in checked])
    solution = shortest(
        (rows, cells), lambda x: _answers(domain, checked, x), lambda y: _spread(domain, checked, y), wanted
    )
    return FullTable(Factor(domain, solution))


def shortest(shape: tuple[int, int], apply: _Map, transpose: _Map, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shortest vector among those whose image is nearest to the target."""
    from scipy.sparse.linalg import LinearOperator, lsmr

    flat = LinearOperator(
        shape, matvec=lambda x: apply(x.reshape(-1)), rmatvec=lambda y: transpose(y.reshape(-1)), dtype=np.float64
    )
    most = 10 * min(shape) + 100
    solution: NDArray[np.float64] = lsmr(flat, wanted, atol=_TOLERANCE, btol=_TOLERANCE, conlim=0, maxiter=most)[0]
    return solution


def _answers(domain: Domain, measurements: list[LinearMeasurement], x: NDArray[np.float64]) -> NDArray[np.float64]:
    table = Factor.over(domain, np.ascontiguousarray(x))
    return np.concatenate(
        [m.linear_map.matvec(table.project(m.clique).datavector()) / m.spread() for m in measurements]
    )


def _spread(domain: Domain, measurements: list[LinearMeasurement], y: NDArray[np.float64]) -> NDArray[np.float64]:
    table, begin = np.zeros(domain.size()), 0
    for m in measurements:
        end = begin + m.values.size
        cells = m.linear_map.rmatvec(y[begin:end] / m.spread())
        table += Factor(domain.project(m.clique), cells).expand(domain).datavector()
        begin = end
    return table
