"""Potentials that say the same in smaller numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.clique_vector import CliqueVector

__all__ = ["levelled"]

_WIDE = 100.0  # between the largest and the least logarithm: below it no product of weights gets lost


def levelled(potentials: CliqueVector) -> NDArray[np.float64] | None:
    """Return potentials of the same joint distribution whose tables agree on the level of each attribute's values.

    What a value has at most in each table is shared out evenly between the tables that hold its attribute. Tables
    whose answers contradict each other drift apart with every step, one up and the other down: their product then
    leaves the range of numbers, and exact inference has to turn to logarithms. None where the logarithms lie close
    together as they are.
    """
    domain, values = potentials.domain, np.array(potentials.values)
    finite = values[np.isfinite(values)]
    if finite.size == 0 or np.ptp(finite) < _WIDE:
        return None
    tables, begin = [], 0
    for clique in potentials.cliques:
        size = domain.size(clique)
        tables.append(values[begin : begin + size].reshape(domain.project(clique).shape))
        begin += size
    for attribute in domain:
        holding = [(t, c.index(attribute)) for t, c in zip(tables, potentials.cliques, strict=True) if attribute in c]
        levels = []
        for table, axis in holding:
            level = np.moveaxis(table, axis, -1).reshape(-1, table.shape[axis]).max(axis=0)
            levels.append(np.where(np.isfinite(level), level, 0.0))
        for (table, axis), level in zip(holding, levels, strict=True):
            np.moveaxis(table, axis, -1)[...] += sum(levels) / len(levels) - level
    return values
