"""Range of the numbers an estimate takes: their squares, weighted and summed, stay far within doubles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pypgm.estimation.measurement import LinearMeasurement

_FURTHEST = 1e100  # of counts, and of standard deviations either way
_MAX_DISTANCE = 1e120  # standard deviations: squares of such distances, times their number, are doubles


def check_range(measurements: Sequence[LinearMeasurement], total: float = 0.0) -> None:
    """Raise ``ValueError`` where numbers are so large, small or far apart that a loss would leave the doubles."""
    if total > _FURTHEST or 0 < total < 1 / _FURTHEST:
        raise ValueError(f"total must be 0, or from {1 / _FURTHEST:g} to {_FURTHEST:g}, got {total:g}")
    for m in measurements if _are_far_apart(measurements, total) else ():  # only to say of which it is
        spread = np.asarray(m.stddev)
        low, high = spread.min(initial=np.inf), spread.max(initial=0.0)
        if spread.size and not 1 / _FURTHEST <= low <= high <= _FURTHEST:
            needed = f"must be from {1 / _FURTHEST:g} to {_FURTHEST:g}"
            got = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            raise ValueError(f"stddev of the measurement of {m.clique} {needed}, got {got}")
        largest = float(np.abs(m.values.astype(np.float64)).max(initial=0.0))
        what = f"values of the measurement of {m.clique}"
        if largest > _FURTHEST:
            raise ValueError(f"{what} must be at most {_FURTHEST:g} in size, got {largest:g}")
        if max(largest, total) > _MAX_DISTANCE * low:
            got = f"{max(largest, total):g} and {low:g}"
            raise ValueError(f"{what}, and the total, must be at most {_MAX_DISTANCE:g} times its stddev, got {got}")


def _are_far_apart(measurements: Sequence[LinearMeasurement], total: float) -> bool:
    """Return whether the numbers of all measurements, taken together, might leave the range."""
    alike = np.array([m.stddev for m in measurements if isinstance(m.stddev, float)])
    spread = np.concatenate([alike, *(m.stddev for m in measurements if not isinstance(m.stddev, float))])
    values = np.concatenate([np.empty(0), *(m.values for m in measurements)])
    low, high, largest = spread.min(initial=np.inf), spread.max(initial=0.0), np.abs(values).max(initial=0.0)
    return not (
        1 / _FURTHEST <= low <= high <= _FURTHEST and max(largest, total) <= min(_FURTHEST, _MAX_DISTANCE * low)
    )
