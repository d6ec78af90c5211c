"""Exact integer noise: int64 in, int64 out, rational parameters.

There is no float in these functions. The draws come from a ChaCha20 stream of the calling thread, keyed by the
operating system and keyed anew after a fork, unless a run that is declared not private hands in a seeded stream.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm.numeric import shown
from pypgm.privacy.rational import round_up

__all__ = [
    "add_discrete_gaussian",
    "add_discrete_laplace",
    "drawable_scale",
    "drawable_variance",
    "laplace_stddev",
    "unsafe_words",
]

_RATE_LIMIT = 10_000  # exp(-5000) is 0 as a float


def drawable_variance(variance: Fraction) -> Fraction:
    """Return the variance parameter itself if the sampler can take it, else the next it can take above it."""
    return round_up(_positive("variance", variance), _core.VARIANCE_BITS)


def drawable_scale(scale: Fraction) -> Fraction:
    """Return the Laplace scale itself if the sampler can take it, else the next it can take above it."""
    return round_up(_positive("scale", scale), _core.SCALE_BITS)


def unsafe_words(seed: int | None) -> _core.SeededWords | None:
    """Return the stream of a run that is declared not private, None for none.

    Raises
    ------
    TypeError
        If the seed is not an int; a generator is none.
    ValueError
        If it is not in 0..2^64 - 1.
    """
    if seed is None:
        return None
    if isinstance(seed, bool | np.timedelta64) or not isinstance(seed, int | np.integer):
        raise TypeError(f"unsafe_seed needs an int, got {type(seed).__name__}")
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"unsafe_seed must lie in 0..2^64 - 1, got {shown(seed)}")
    return _core.SeededWords(int(seed))


def add_discrete_gaussian(
    counts: NDArray[np.int64], variance: Fraction, words: _core.SeededWords | None = None, *, n_threads: int = 1
) -> NDArray[np.int64]:
    """Add an independent discrete Gaussian draw, P(z) proportional to exp(-z^2 / (2 variance)), to every count.

    Parameters
    ----------
    counts : ndarray of int64
        Counts; a sum that leaves int64 stays at its end.
    variance : Fraction
        The parameter sigma^2, as `drawable_variance` gives it. The variance of the draws is at most this.
    words : SeededWords, optional
        The stream of a run that is declared not private; it is drawn from by one thread.
    n_threads : int
        Threads, each with its own stream; 0 is all. One makes no team and is safe in forked children.

    Returns
    -------
    ndarray of int64
        A new array of the same length.

    Raises
    ------
    TypeError
        If the counts are not int64.
    ValueError
        If the variance cannot be drawn with, or `n_threads` is negative.

    References
    ----------
    Canonne, Kamath and Steinke 2020, "The Discrete Gaussian for Differential Privacy".

    Examples
    --------
    >>> add_discrete_gaussian(np.zeros(3, dtype=np.int64), Fraction(9, 4)).dtype
    dtype('int64')
    """
    if drawable_variance(variance) != variance:
        raise ValueError(f"variance {variance} cannot be drawn with exactly; pass drawable_variance of it")
    return _core.add_discrete_gaussian(_counts(counts), variance.numerator, variance.denominator, words, n_threads)


def add_discrete_laplace(
    counts: NDArray[np.int64], scale: Fraction, words: _core.SeededWords | None = None, *, n_threads: int = 1
) -> NDArray[np.int64]:
    """Add an independent discrete Laplace draw, P(z) proportional to exp(-abs(z) / scale), to every count.

    Parameters
    ----------
    counts : ndarray of int64
        Counts; a sum that leaves int64 stays at its end.
    scale : Fraction
        As `drawable_scale` gives it.
    words : SeededWords, optional
        The stream of a run that is declared not private; it is drawn from by one thread.
    n_threads : int
        Threads, each with its own stream; 0 is all. One makes no team and is safe in forked children.

    Returns
    -------
    ndarray of int64
        A new array of the same length.

    Raises
    ------
    TypeError
        If the counts are not int64.
    ValueError
        If the scale cannot be drawn with, or `n_threads` is negative.

    Examples
    --------
    >>> add_discrete_laplace(np.zeros(3, dtype=np.int64), Fraction(2)).shape
    (3,)
    """
    if drawable_scale(scale) != scale:
        raise ValueError(f"scale {scale} cannot be drawn with exactly; pass drawable_scale of it")
    return _core.add_discrete_laplace(_counts(counts), scale.numerator, scale.denominator, words, n_threads)


def laplace_stddev(scale: Fraction) -> float:
    """Return the standard deviation of discrete Laplace noise: sqrt(2 q) / (1 - q), q = exp(-1 / scale).

    It is 0 where the float underflows, at scales below 1/1490.
    """
    rate = float(min(1 / scale, Fraction(_RATE_LIMIT)))
    return math.sqrt(2) * math.exp(-rate / 2) / -math.expm1(-rate)


def _positive(name: str, value: Fraction) -> Fraction:
    if value <= 0:
        raise ValueError(f"{name} must be more than 0, got {shown(value)}")
    return value


def _counts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    if not isinstance(counts, np.ndarray) or counts.dtype != np.int64 or counts.ndim != 1:
        raise TypeError("noise is added to a one-dimensional int64 array of counts and to nothing else")
    return np.ascontiguousarray(counts)
