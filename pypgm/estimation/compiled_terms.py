"""A weighted L2 loss as the compiled solvers take it: measurements lowered once, whatever their answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.queries import LinearQuery

_CHEAP_ENTRIES = 1 << 16  # entries that are read in the time of a call from Python
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
    return query.n_read <= max(_CHEAP_ENTRIES, _DENSER * query.cost)


def lowered(query: LinearQuery) -> _core.LinearMap | None:
    """Return a query as the compiled solvers take it; None for each cell."""
    if query.is_identity:
        return None
    cells, running, axes, entries, width = query.form()
    if not isinstance(cells, np.ndarray):
        columns = cells.tocsc()
        starts, entries, cells = columns.indptr.astype(np.int64), columns.data.astype(np.float64), columns.indices
    elif entries is not None and (entries != 1).any():
        starts = np.arange(cells.size + 1, dtype=np.int64)
    else:
        starts, entries = np.empty(0, dtype=np.int64), np.empty(0)
    return _core.LinearMap(query.shape[0], cells.astype(np.int32), starts, entries, running, axes, width)
