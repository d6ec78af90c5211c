"""Round numbers: widths of bins, and points among which quantiles are found."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DIGITS = 15  # that a double tells apart
_MOST_DIGITS = 22  # powers of ten beyond are rounded
_EVEN = 500  # points that are evenly spaced, at most
_DECADES = 6  # below the largest bound, in which there are points of two digits


def nice(width: float) -> int | float:
    """Return the next larger number of 1, 2, 5, 10, 20, ... and of their tenths.

    Examples
    --------
    >>> nice(13), nice(0.03)
    (20, 0.05)
    """
    unit = 10.0 ** math.floor(math.log10(width)) if width > 0 else 1.0
    rounded = next(unit * step for step in (1, 2, 5, 10) if unit * step >= width * (1 - 1e-9))
    return int(rounded) if rounded >= 1 else float(f"{rounded:.1g}")


def round_points(low: float, high: float, decimals: int | None) -> NDArray[np.float64]:
    """Return public points between two bounds at which bins may begin.

    All numbers with these decimals if they are few; otherwise round ones, evenly spaced and, nearer to zero, of two
    digits, so that amounts of any magnitude are told apart.

    Examples
    --------
    >>> round_points(0, 5, 0).tolist()
    [1.0, 2.0, 3.0, 4.0]
    >>> points = round_points(0, 10_000, 2)
    >>> points[:3].tolist(), 40.0 in points, points[-2:].tolist()
    ([0.01, 0.02, 0.03], True, [9960.0, 9980.0])
    """
    unit = 0.0 if decimals is None else 10.0**-decimals
    if unit and (high - low) / unit <= 2 * _EVEN:
        steps = np.arange(math.ceil(round(low / unit, 6)), math.floor(round(high / unit, 6)) + 1)
        return _between(steps * unit, low, high, decimals)
    step = max(nice((high - low) / _EVEN), unit)
    even = np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step
    top = math.ceil(math.log10(max(abs(low), abs(high)))) - 1
    digits = [10.0**k * np.arange(1, 10, 0.1) for k in range(top - _DECADES + 1, top + 1)]
    fine = np.concatenate([*digits, *(-d for d in digits)])
    return _between(np.concatenate([even, fine]), low, high, decimals)


def even_starts(low: float, high: float, bins: int) -> NDArray[np.float64]:
    """Return the starts of bins of equal width: 0.3, not 0.30000000000000004, which 0.3 is below.

    Examples
    --------
    >>> even_starts(0.0, 1.0, 10)[3].item()
    0.3
    """
    starts = np.linspace(low, high, bins + 1)[:-1]
    digits = _DIGITS - math.ceil(math.log10(max(abs(low), abs(high), sys.float_info.min)))
    short = np.round(starts, min(digits, _MOST_DIGITS)) if digits >= 0 else starts
    short[0] = low
    return short if (np.diff(short, append=high) > 0).all() else starts


def _between(points: NDArray[np.floating[Any]], low: float, high: float, decimals: int | None) -> NDArray[np.float64]:
    short = [float(f"{point:.12g}") for point in points.tolist()]
    rounded = np.unique(short if decimals is None else np.round(short, decimals)) + 0.0
    return rounded[(rounded > low) & (rounded < high)]
