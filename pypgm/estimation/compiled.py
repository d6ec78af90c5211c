"""Measurements as the compiled solvers take them, and the step that is safe for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pypgm.estimation.measurement import LinearMeasurement

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.graphs import JunctionTree

__all__ = ["Compiled", "compiled_measurements", "safe_step"]

Compiled = tuple[int, "NDArray[np.int32]", "NDArray[np.float64]", "NDArray[np.float64]", "NDArray[np.float64]"]


def compiled_measurements(tree: JunctionTree, measurements: Sequence[LinearMeasurement]) -> list[Compiled]:
    """Return measurements as (clique index, row of each cell, answers, weights, held-out answers), in domain order.

    Rows are empty where each cell has its own; there are no held-out answers.
    """
    domain = tree.domain
    position = {clique: i for i, clique in reversed(list(enumerate(tree.cliques)))}
    arrays = []
    for m in measurements:
        groups = m.groups(domain)
        arrays.append(
            (
                position[domain.canonical(m.clique)],
                np.empty(0, dtype=np.int32) if groups is None else groups,
                m.in_order(domain, m.values.astype(np.float64)),
                m.in_order(domain, m.weights()),
                np.empty(0),
            )
        )
    return arrays


def safe_step(measurements: Sequence[LinearMeasurement], total: float) -> float:
    """Return the step, in count space, below which mirror descent never raises the weighted L2 loss.

    It is 1 / (total * K), K the smoothness of the loss relative to the entropy of the joint distribution: a quarter of
    the largest squared distance between two columns of the weighted queries. Every cell is in one row of a
    measurement, so a measurement adds a quarter of its two largest weights.
    """
    smoothness = 0.0
    for m in measurements:
        weights = m.weights()
        if weights.size > 1:
            smoothness += float(np.partition(weights, -2)[-2:].sum()) / 4
    return 1.0 / (total * smoothness) if smoothness > 0 else 1.0 / total
