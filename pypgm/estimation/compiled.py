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


def compiled_measurements(
    tree: JunctionTree,
    measurements: Sequence[LinearMeasurement],
    answers: Sequence[NDArray[np.float64]] | None = None,
    holdout: Sequence[NDArray[np.float64]] | None = None,
) -> list[Compiled]:
    """Return measurements as (clique index, row of each cell, answers, weights, held-out answers).

    All follow the domain's order; rows are empty where each cell has its own, held-out answers where there are none.
    `answers` stand in for the measurements' own values where they are given.
    """
    domain = tree.domain
    position = {clique: i for i, clique in reversed(list(enumerate(tree.cliques)))}
    values = [m.values.astype(np.float64) for m in measurements] if answers is None else answers
    held = [np.empty(0)] * len(measurements) if holdout is None else holdout
    arrays = []
    for m, given, other in zip(measurements, values, held, strict=True):
        groups = m.groups(domain)
        arrays.append(
            (
                position[domain.canonical(m.clique)],
                np.empty(0, dtype=np.int32) if groups is None else groups,
                m.in_order(domain, given),
                m.in_order(domain, m.weights()),
                m.in_order(domain, other) if other.size else other,
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
