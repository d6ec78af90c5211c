"""Measurements as the compiled solvers take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pypgm.estimation.measurement import LinearMeasurement

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.graphs import JunctionTree

__all__ = ["Compiled", "compiled_measurements", "is_compiled"]

Compiled = tuple[int, "NDArray[np.int32]", "NDArray[np.float64]", "NDArray[np.float64]", "NDArray[np.float64]", bool]


def is_compiled(measurement: LinearMeasurement) -> bool:
    """Return whether the compiled solvers take a measurement's query."""
    query = measurement.linear_map
    return query.has_unit_columns or query.is_running


def compiled_measurements(
    tree: JunctionTree,
    measurements: Sequence[LinearMeasurement],
    held_out: Sequence[LinearMeasurement] = (),
) -> list[Compiled]:
    """Return measurements as (clique index, rows, answers, weights, held-out answers, whether sums run), in order.

    Rows name the answer each cell is summed into, cells in the domain's order, or its place among the cells that are
    summed up one after the other; they are empty where each cell has its own. Held-out answers, if there are any, are
    those of other measurements of the same queries.
    """
    domain = tree.domain
    position = {clique: i for i, clique in reversed(list(enumerate(tree.cliques)))}
    arrays = []
    for i, m in enumerate(measurements):
        rows = m.groups(domain)
        arrays.append(
            (
                position[domain.canonical(m.clique)],
                np.empty(0, dtype=np.int32) if rows is None else rows,
                m.in_order(domain, m.values.astype(np.float64)),
                m.in_order(domain, m.weights()),
                m.in_order(domain, held_out[i].values.astype(np.float64)) if held_out else np.empty(0),
                m.linear_map.is_running,
            )
        )
    return arrays
