"""Queries with real entries, measured on integers and answered in their own unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.estimation.measurement import LinearMeasurement
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.rational import Number
from pypgm.queries import on_lattice


@dataclass(frozen=True, slots=True, eq=False)
class RealAnswers:
    """Private answers to queries with real entries.

    Attributes
    ----------
    values : ndarray of float64, shape (answers,)
        The answers, in counts times the unit of the entries.
    stddev : ndarray of float64, shape (answers,)
        Standard deviation of the noise of each.
    measurement : LinearMeasurement
        The integers that were released; `values` follow from them alone.
    """

    values: NDArray[np.float64]
    stddev: NDArray[np.float64]
    measurement: LinearMeasurement


def measure_real(
    table: PrivateTable,
    clique: str | Sequence[str],
    entries: ArrayLike,
    *,
    lattice: int | None = None,
    rho: Number | None = None,
    variance: Number | None = None,
    scale: Number | None = None,
) -> RealAnswers:
    """Answer real-valued queries on a clique, from integers that were measured exactly.

    Parameters
    ----------
    table : PrivateTable
        The records.
    clique : str or sequence of str
        Attributes; the entries' columns follow the cells of their table in this order.
    entries : array_like of float, shape (answers, cells)
        The queries, chosen without looking at the data.
    lattice : int, optional
        Number of steps in one unit, to which entries are rounded; the rounded queries are then measured directly. By
        default every cell is measured, and the queries are applied to the noisy cells: their noise is then correlated.
    rho, variance, scale : number
        Exactly one, as for `PrivateTable.measure`; `variance` and `scale` in the unit of the integers measured:
        counts, or counts times the lattice.

    Returns
    -------
    RealAnswers
        Values and standard deviations; with a lattice, of the rounded queries.

    Raises
    ------
    BudgetError
        If the charge does not fit; then nothing was read.
    ValueError
        If the entries are not finite, do not fit the clique, or do not fit the lattice.

    Examples
    --------
    >>> from pypgm import Budget, Dataset, Domain, Ledger, Privacy
    >>> data = Dataset({"a": [0, 1, 1]}, Domain({"a": 2}))
    >>> table = PrivateTable(data, Privacy(), Ledger(Budget(rho=1000)))
    >>> measure_real(table, "a", [[0.5, 0.25]], variance="1/1000").values
    array([1.])
    """
    matrix = np.asarray(entries, dtype=np.float64)
    cells = table.domain.size(table.domain.canonical((clique,) if isinstance(clique, str) else tuple(clique)))
    if matrix.ndim != 2 or matrix.shape[1] != cells or not np.isfinite(matrix).all():
        raise ValueError(f"queries on {clique} need finite entries of shape (answers, {cells}), got {matrix.shape}")
    if lattice is None:
        measured = table.measure(clique, rho=rho, variance=variance, scale=scale)
        spread = np.sqrt(np.square(matrix).sum(axis=1))
        return RealAnswers(matrix @ measured.values, measured.stddev * spread, measured)
    measured = table.measure(clique, on_lattice(matrix, lattice), rho=rho, variance=variance, scale=scale)
    values = measured.values / lattice
    return RealAnswers(values, np.full(values.shape, measured.stddev) / lattice, measured)
