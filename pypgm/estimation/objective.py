"""A weighted L2 loss as the compiled solvers take it: measurements lowered once, whatever their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pypgm import _core
from pypgm.factor import Factor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.domain import Clique, Domain
    from pypgm.estimation.measurement import LinearMeasurement

__all__ = ["Term", "is_compiled", "lowered"]

_FEW = 1 << 16  # entries that are read in the time of a call from Python
_DENSER = 8  # times as many entries as a query's own products take additions


class Term(NamedTuple):
    """A measurement without its answers.

    Attributes
    ----------
    place : int
        Index of the table it is measured on.
    map : LinearMap, optional
        Its query on the table's cells; None for each of them.
    weights : ndarray of float64
        1 / variance, one an answer or one for all.
    """

    place: int
    map: _core.LinearMap | None
    weights: NDArray[np.float64]


def is_compiled(measurement: LinearMeasurement) -> bool:
    """Return whether the compiled solvers take a measurement's query: unless its own products are much faster."""
    query = measurement.linear_map
    own_products = query.has_unit_columns or query.is_running or len(query.centred) > 0
    return own_products or query.nnz <= max(_FEW, _DENSER * query.cost)


def lowered(m: LinearMeasurement, domain: Domain, table: Clique) -> _core.LinearMap | None:
    """Return a measurement's query on a table in the domain's order that holds its clique; None for each cell.

    Of an identity the answers are those that `LinearMeasurement.in_order` gives.
    """
    query = m.linear_map
    clique = domain.canonical(m.clique) if query.is_identity else m.clique
    if query.is_identity and table == clique:
        return None
    rows, size = query.shape
    numbers = Factor(domain.project(clique), np.arange(size))
    cells = numbers.expand(domain.project(table)).datavector().astype(np.int32)
    starts, entries = np.empty(0, dtype=np.int64), np.empty(0)
    if query.groups is not None:
        cells = query.groups.astype(np.int32)[cells]
    elif not (query.is_identity or query.is_running):
        columns = query.signs().tocsc()[:, cells]
        starts, entries = columns.indptr.astype(np.int64), columns.data.astype(np.float64)
        cells = columns.indices.astype(np.int32)
    if query.centred:
        return _core.LinearMap(rows, cells, starts, entries, query.is_running, query.centred)
    return _core.LinearMap(rows, cells, starts, entries, query.is_running)
