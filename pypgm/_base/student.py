"""Quantiles of Student's t, without importing SciPy (0.2 s), and the level of every ± that is shown."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

LEVEL = 0.9
"""Share of the errors that each ± and each whisker holds."""
REACH = 1.6448536269514722
"""Standard errors to each side that hold as many: the quantile of the normal distribution."""


def level_text(level: float) -> str:
    """Return a level as it stands beside ±.

    Examples
    --------
    >>> level_text(0.9), level_text(0.995)
    ('90 %', '99.5 %')
    """
    return f"{100 * level:.10g} %"


def reach_of(level: float) -> float:
    """Return how many standard errors to each side hold a share of normal errors.

    Examples
    --------
    >>> round(reach_of(0.9), 6), round(reach_of(0.6826894921), 6)
    (1.644854, 1.0)
    """
    if level == LEVEL:
        return REACH
    if (1 + level) / 2 == 1:
        raise ValueError(f"level needs a share below 1 by 10^-15 or more, got {level!r}")
    from statistics import NormalDist  # takes a while, and others than the default are rare

    return NormalDist().inv_cdf((1 + level) / 2)


LEVEL_TEXT = level_text(LEVEL)
"""The level as it stands beside ±."""


@cache
def upper_end(degrees: float, level: float = LEVEL) -> float:
    """Return the upper end of the interval about 0 that holds a share of Student's t, by default 90 %.

    With t = sqrt(degrees) tan(angle) the share that an interval holds is a sum over powers of cos(angle); the angle is
    bisected.

    Parameters
    ----------
    degrees : float
        Degrees of freedom, a whole number or infinity, which is the normal distribution.
    level : float
        The share, between 0 and 1.

    Examples
    --------
    >>> [round(upper_end(degrees), 3) for degrees in (1, 2, 3, 10, math.inf)]
    [6.314, 2.92, 2.353, 1.812, 1.645]
    """
    if math.isinf(degrees):
        return reach_of(level)
    is_odd, k = int(degrees) % 2, np.arange(int(degrees) // 2)
    factors = np.cumprod(np.where(k, (2 * k - 1 + is_odd) / np.maximum(2 * k + is_odd, 1), 1))

    def held(angle: float) -> float:
        powers = math.sin(angle) * float(factors @ math.cos(angle) ** (2.0 * k))
        return 2 / math.pi * (angle + math.cos(angle) * powers) if is_odd else powers

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if held(middle) < level else (low, middle)
    return math.sqrt(degrees) * math.tan(low)
