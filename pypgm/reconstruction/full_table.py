"""The whole table of all attributes, by least squares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_fits, short
from pypgm._base.numeric import as_generator, checked_integer
from pypgm.data import Dataset
from pypgm.domain import Domain
from pypgm.estimation import LinearMeasurement
from pypgm.factor import Factor
from pypgm.reconstruction.marginals import at_least_one

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
        If there is no measurement or one does not fit the domain.

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
