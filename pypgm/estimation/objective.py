"""A weighted L2 loss as the compiled solvers take it: measurements lowered once, whatever their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pypgm.estimation.measurement import LinearMeasurement

__all__ = ["Term", "is_compiled"]


class Term(NamedTuple):
    """A measurement without its answers.

    Attributes
    ----------
    place : int
        Index of the table it is measured on.
    rows : ndarray of int32, shape (cells,) or (0,)
        The answer each cell is summed into, or its place among the cells that are summed up one after the other; empty
        where each cell has its own.
    weights : ndarray of float64
        1 / variance, one an answer or one for all.
    is_running : bool
        Whether answers are running sums.
    """

    place: int
    rows: NDArray[np.int32]
    weights: NDArray[np.float64]
    is_running: bool = False


def is_compiled(measurement: LinearMeasurement) -> bool:
    """Return whether the compiled solvers take a measurement's query."""
    query = measurement.linear_map
    return query.has_unit_columns or query.is_running
