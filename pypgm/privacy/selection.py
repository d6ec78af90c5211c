"""The exponential mechanism on integer scores, drawn exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm.privacy.rational import round_down

__all__ = ["drawable_rate", "select_exponential"]


def drawable_rate(rate: Fraction) -> Fraction:
    """Return the rate itself if the sampler can take it, else one just below it; ``ValueError`` if that is 0."""
    drawable = round_down(rate, _core.RATE_BITS)
    if drawable <= 0:
        raise ValueError(f"a selection needs a rate of at least 2^-{_core.RATE_BITS - 1}, got {float(rate):.3g}")
    return drawable


def select_exponential(scores: NDArray[np.int64], rate: Fraction, words: _core.SeededWords | None = None) -> int:
    """Return an index drawn with probability proportional to exp(rate * score).

    A uniform candidate is accepted with probability exp(-rate * gap to the best), an exact coin on rationals, else
    drawn anew; no float takes part. With rate = epsilon / R, R the range by which scores of neighbouring tables
    change, the draw is epsilon-DP, its loss has range epsilon, and it is (epsilon^2 / 8)-zCDP.

    Parameters
    ----------
    scores : ndarray of int64, shape (candidates,)
        At least one.
    rate : Fraction
        As `drawable_rate` gives it.
    words : SeededWords, optional
        The stream of a run that is declared not private.

    Raises
    ------
    TypeError
        If the scores are not int64.
    ValueError
        If there are none, or the rate cannot be drawn with.

    References
    ----------
    McSherry and Talwar 2007; Cesar and Rogers 2021, "Bounding, Concentrating, and Truncating" (range).

    Examples
    --------
    >>> select_exponential(np.array([0, 10**6]), Fraction(1))
    1
    """
    if not isinstance(scores, np.ndarray) or scores.dtype != np.int64 or scores.ndim != 1:
        raise TypeError("a selection needs a one-dimensional int64 array of scores")
    if drawable_rate(rate) != rate:
        raise ValueError(f"rate {rate} cannot be drawn with exactly; pass drawable_rate of it")
    return _core.select_exponential(np.ascontiguousarray(scores), rate.numerator, rate.denominator, words)
