"""The scale of colour of errors, the same in every picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

STRONGEST = 25.0
"""Percentage points from which on the colour is the strongest."""


def shade(points: ArrayLike) -> float:
    """Return the strength of the colour of an error, 0 .. 1: the square root of its part of `STRONGEST`.

    Examples
    --------
    >>> shade(1.0), shade(40.0)
    (0.2, 1.0)
    """
    return float(np.sqrt(np.clip(points, 0.0, STRONGEST) / STRONGEST))
