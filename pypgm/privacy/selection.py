"""Private selections on integer scores, drawn exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm.privacy.rational import Number, as_fraction, isqrt_down, round_down

__all__ = ["drawable_rate", "permute_and_flip", "select_exponential", "select_top", "selection_epsilon"]

_EPSILON_BITS = 32


def drawable_rate(rate: Fraction) -> Fraction:
    """Return the rate itself if the sampler can take it, else one just below it; ``ValueError`` if that is 0."""
    drawable = round_down(rate, _core.RATE_BITS)
    if drawable <= 0:
        raise ValueError(f"a selection needs a rate of at least 2^-{_core.RATE_BITS - 1}, got {float(rate):.3g}")
    return drawable


def selection_epsilon(rho: Number | None, epsilon: Number | None, divisor: int, count: int = 1) -> Fraction:
    """Return the epsilon of each of `count` selections that together cost `epsilon`, or `rho`.

    A rho is one of epsilon^2 / divisor each; the epsilon is then rounded down.

    Raises
    ------
    ValueError
        Unless exactly one is given, and is positive.
    """
    if (rho is None) == (epsilon is None):
        raise ValueError("a selection takes exactly one of rho and epsilon")
    if epsilon is not None:
        exact = as_fraction("epsilon", epsilon)
        if exact <= 0:
            raise ValueError(f"a selection needs a rate of at least 2^-{_core.RATE_BITS - 1}, got epsilon {epsilon}")
        return exact / count
    exact = as_fraction("rho", rho if rho is not None else 0)
    if exact <= 0:
        raise ValueError(f"a selection needs a rho above 0, got {rho}")
    return isqrt_down(divisor * exact / count, _EPSILON_BITS)


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
    return _core.select_exponential(_scores(scores, rate), rate.numerator, rate.denominator, words)


def select_top(
    scores: NDArray[np.int64], rate: Fraction, count: int, words: _core.SeededWords | None = None
) -> list[int]:
    """Return `count` different indices: one exponential mechanism after the other over those that are left.

    It costs what `count` calls of `select_exponential` cost, and has the law of the `count` largest of the scores plus
    Gumbel noise of scale 1 / rate.

    Parameters
    ----------
    scores : ndarray of int64, shape (candidates,)
        At least `count`.
    rate : Fraction
        Of each draw, as `drawable_rate` gives it.
    count : int
        At least 1.
    words : SeededWords, optional
        The stream of a run that is declared not private.

    Raises
    ------
    TypeError
        If the scores are not int64.
    ValueError
        If there are fewer than `count`, or the rate cannot be drawn with.

    References
    ----------
    Durfee and Rogers 2019, "Practical Differentially Private Top-k Selection with Pay-what-you-get Composition".

    Examples
    --------
    >>> select_top(np.array([0, 10**6, 10**3]), Fraction(1), 2)
    [1, 2]
    """
    given = _scores(scores, rate)
    if not 1 <= count <= given.size:
        raise ValueError(f"a selection takes 1..{given.size} of {given.size} candidates, got {count}")
    return _core.select_top(given, rate.numerator, rate.denominator, count, words)


def permute_and_flip(scores: NDArray[np.int64], rate: Fraction, words: _core.SeededWords | None = None) -> int:
    """Return the first index, in uniformly random order, that passes a coin of exp(-rate * gap to the best).

    With rate = epsilon / R as in `select_exponential` the draw is epsilon-DP and never worse in expected score, but
    its loss does not have range epsilon: it is (epsilon^2 / 2)-zCDP, not (epsilon^2 / 8).

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
    McKenna and Sheldon 2020, "Permute-and-Flip: A new mechanism for differentially private selection".

    Examples
    --------
    >>> permute_and_flip(np.array([0, 10**6]), Fraction(1))
    1
    """
    return _core.permute_and_flip(_scores(scores, rate), rate.numerator, rate.denominator, words)


def _scores(scores: NDArray[np.int64], rate: Fraction) -> NDArray[np.int64]:
    if not isinstance(scores, np.ndarray) or scores.dtype != np.int64 or scores.ndim != 1:
        raise TypeError("a selection needs a one-dimensional int64 array of scores")
    if drawable_rate(rate) != rate:
        raise ValueError(f"rate {rate} cannot be drawn with exactly; pass drawable_rate of it")
    return np.ascontiguousarray(scores)
