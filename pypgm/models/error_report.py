"""What a report says of the errors of a model."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from pypgm.clock import Clock
from pypgm.models.base import Model
from pypgm.models.expected_error import Simulation, expected_total_variation

if TYPE_CHECKING:
    from pypgm.factor import Factor
    from pypgm.models.kinds import ReleasedModel

__all__ = ["error_lines"]

_PAIRS = 30  # of attributes whose error the report tells
_CELLS = 10**6  # of such a pair at most
_SECONDS = 20.0  # of an estimate that the report is ready to do again


def error_lines(model: ReleasedModel) -> list[str]:
    """Return what error of pairs of attributes is to be expected, and a warning where it is about all.

    Parameters
    ----------
    model : GraphicalModel, RegionGraphModel or CountedNetwork
        Of a release; nothing is said where it does not know its errors, or to tell them would take long.
    """
    pairs = list(itertools.combinations(model.domain.attributes, 2))
    small = [p for p in pairs if model.domain.size(p) <= _CELLS]
    slow = model.fit is not None and model.fit.seconds > _SECONDS
    if not isinstance(model, Model) or model.origin is None or not small or slow:
        return []
    asked = small[:: -(-len(small) // _PAIRS)]
    with Clock() as clock:
        error = expected_total_variation(model, asked, Simulation(1, 0, 0, clock))
    lines = [f"expected error: {100 * error:.2g} percentage points of a pair of attributes (mean total variation)"]
    uniform, independent = np.mean([_distances(model.project(p)) for p in asked], axis=0)
    if error >= uniform:
        lines.append("warning: about all of this release is noise; its answers say hardly more than nothing")
    elif error >= independent:
        lines.append("warning: what it says of attributes together is about all noise; they could be independent")
    return lines


def _distances(pair: Factor) -> tuple[float, float]:
    """Return the total variation distances of a table from the uniform one and from the product of its sums."""
    shares = pair.values / max(float(pair.values.sum()), 1e-300)
    product = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    return 0.5 * float(np.abs(shares - 1 / shares.size).sum()), 0.5 * float(np.abs(shares - product).sum())
