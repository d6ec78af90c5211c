"""Exact draws on integers: the one place where releases get their randomness.

Draws involve no float: int64 in, int64 out, rational parameters. They come from a ChaCha20 stream of the calling
thread, keyed by the operating system and rekeyed after a fork, unless a run that is declared not private has a seed.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm._base.numeric import checked_threads, shown
from pypgm.privacy import noise
from pypgm.privacy.budget import check_new
from pypgm.privacy.noise import drawable_rate
from pypgm.privacy.observer import the_observer

Adder = Callable[[NDArray[np.int64]], NDArray[np.int64]]
"""Takes int64 counts and returns new ones with noise."""


class Sampler:
    """Source of all private draws.

    Parameters
    ----------
    unsafe_seed : int, optional
        Draw everything from this number: the same every time, and private for nobody.
    n_threads : int
        Threads for noise, each with its own stream; 0 for all. One thread makes no team and is safe in forked children.
        A seeded stream is drawn from by one thread.

    Raises
    ------
    ValueError
        If the seed is not in 0..2^64 - 1, or `n_threads` is negative.
    TypeError
        If the seed is not an int, such as a generator.

    Examples
    --------
    >>> Sampler().gaussian(Fraction(9, 4))(np.zeros(3, dtype=np.int64)).dtype
    dtype('int64')
    """

    __slots__ = ("__words", "_mark", "_n_threads")

    def __init__(self, unsafe_seed: int | None = None, *, n_threads: int = 1) -> None:
        check_new(self, "_n_threads")
        words = _unsafe_words(unsafe_seed)
        self.__words = words
        self._mark = "noise drawn from a seed" if words is not None else ""
        self._n_threads = checked_threads(n_threads)

    @property
    def not_private(self) -> str:
        """The reason why the draws protect nobody; empty if they protect."""
        return self._mark or the_observer().not_private

    @property
    def n_threads(self) -> int:
        """Threads for noise, 0 for all."""
        return self._n_threads

    def gaussian(self, variance: Fraction) -> Adder:
        """Return a function that adds independent discrete Gaussian draws, P(z) ~ exp(-z^2 / (2 variance)), to counts.

        The function takes a one-dimensional array of int64 and returns a new one; a sum beyond int64 is cut off at its
        end.

        Parameters
        ----------
        variance : Fraction
            The parameter sigma^2, as `drawable_variance` gives it. The variance of the draws is at most this.

        Raises
        ------
        ValueError
            If no exact draws exist for the variance.

        References
        ----------
        Canonne, Kamath and Steinke 2020, "The Discrete Gaussian for Differential Privacy".
        """
        if noise.drawable_variance(variance) != variance:
            raise ValueError(f"variance {variance} cannot be drawn exactly; pass drawable_variance of it")
        return lambda counts: the_observer().core.add_discrete_gaussian(
            _counts(counts), variance.numerator, variance.denominator, self.__words, self._n_threads
        )

    def laplace(self, scale: Fraction) -> Adder:
        """Return a function that adds independent discrete Laplace draws, P(z) ~ exp(-abs(z) / scale), to counts.

        Parameters
        ----------
        scale : Fraction
            Scale from `drawable_scale`.

        Raises
        ------
        ValueError
            If no exact draws exist for the scale.
        """
        if noise.drawable_scale(scale) != scale:
            raise ValueError(f"scale {scale} cannot be drawn exactly; pass drawable_scale of it")
        return lambda counts: the_observer().core.add_discrete_laplace(
            _counts(counts), scale.numerator, scale.denominator, self.__words, self._n_threads
        )

    def select(self, scores: NDArray[np.int64], rate: Fraction) -> int:
        """Return an index drawn with probability proportional to exp(rate * score).

        A uniform candidate is accepted with probability exp(-rate * gap to the best), an exact coin on rationals, else
        redrawn; no float takes part. With rate = epsilon / R, R the range by which scores of neighbouring tables
        change, the draw is epsilon-DP, its loss has range epsilon, and it is (epsilon^2 / 8)-zCDP.

        Parameters
        ----------
        scores : ndarray of int64, shape (candidates,)
            At least one.
        rate : Fraction
            Rate from `drawable_rate`.

        Raises
        ------
        TypeError
            If the scores are not int64.
        ValueError
            If there are no scores, or no exact draws exist for the rate.

        References
        ----------
        McSherry and Talwar 2007; Cesar and Rogers 2021, "Bounding, Concentrating, and Truncating" (range).

        Examples
        --------
        >>> Sampler().select(np.array([0, 10**6]), Fraction(1))
        1
        """
        drawn: int = the_observer().core.select_exponential(
            _scores(scores, rate), rate.numerator, rate.denominator, self.__words
        )
        return drawn

    def select_top(self, scores: NDArray[np.int64], rate: Fraction, count: int) -> list[int]:
        """Return `count` different indices, by one exponential mechanism after the other over the remaining candidates.

        The draw costs as much as `count` calls of `select`, and has the law of the `count` largest of the scores plus
        Gumbel noise of scale 1 / rate.

        Parameters
        ----------
        scores : ndarray of int64, shape (candidates,)
            At least `count`.
        rate : Fraction
            The rate of each draw, as `drawable_rate` gives it.
        count : int
            At least 1.

        Raises
        ------
        TypeError
            If the scores are not int64.
        ValueError
            If there are fewer scores than `count`, or no exact draws exist for the rate.

        References
        ----------
        Durfee and Rogers 2019, "Practical Differentially Private Top-k Selection with Pay-what-you-get Composition".

        Examples
        --------
        >>> Sampler().select_top(np.array([0, 10**6, 10**3]), Fraction(1), 2)
        [1, 2]
        """
        given = _scores(scores, rate)
        if not 1 <= count <= given.size:
            raise ValueError(f"a selection takes 1..{given.size} of {given.size} candidates, got {count}")
        drawn: list[int] = the_observer().core.select_top(given, rate.numerator, rate.denominator, count, self.__words)
        return drawn

    def permute_and_flip(self, scores: NDArray[np.int64], rate: Fraction) -> int:
        """Return the first index, in uniformly random order, that passes a coin of exp(-rate * gap to the best).

        With rate = epsilon / R as in `select` the draw is epsilon-DP and never worse in expected score, but its loss
        does not have range epsilon: it is (epsilon^2 / 2)-zCDP, not (epsilon^2 / 8).

        Parameters
        ----------
        scores, rate
            See `select`.

        Raises
        ------
        TypeError, ValueError
            See `select`.

        References
        ----------
        McKenna and Sheldon 2020, "Permute-and-Flip: A new mechanism for differentially private selection".

        Examples
        --------
        >>> Sampler().permute_and_flip(np.array([0, 10**6]), Fraction(1))
        1
        """
        drawn: int = the_observer().core.permute_and_flip(
            _scores(scores, rate), rate.numerator, rate.denominator, self.__words
        )
        return drawn

    def secret(self) -> bytes:
        """Return a secret of 16 bytes."""
        return the_observer().secret() or np.packbits(self.coins(128, Fraction(1, 2))).tobytes()

    def coins(self, count: int, probability: Fraction) -> NDArray[np.bool_]:
        """Return `count` independent coins, each true with exactly this probability."""
        flipped = the_observer().core.flip_coins(count, probability.numerator, probability.denominator, self.__words)
        return np.asarray(flipped).astype(bool)


def _unsafe_words(seed: int | None) -> _core.SeededWords | None:
    """Return the stream of a run that is declared not private, None without a seed."""
    if seed is None:
        return None
    if isinstance(seed, bool | np.timedelta64) or not isinstance(seed, int | np.integer):
        raise TypeError(f"unsafe_seed needs an int, got {type(seed).__name__}")
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"unsafe_seed must lie in 0..2^64 - 1, got {shown(seed)}")
    return _core.SeededWords(int(seed))


def _counts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    if not isinstance(counts, np.ndarray) or counts.dtype != np.int64 or counts.ndim != 1:
        raise TypeError("noise is added to a one-dimensional int64 array of counts and to nothing else")
    return np.ascontiguousarray(counts)


def _scores(scores: NDArray[np.int64], rate: Fraction) -> NDArray[np.int64]:
    if not isinstance(scores, np.ndarray) or scores.dtype != np.int64 or scores.ndim != 1:
        raise TypeError("a selection needs a one-dimensional int64 array of scores")
    if drawable_rate(rate) != rate:
        raise ValueError(f"rate {rate} cannot be drawn exactly; pass drawable_rate of it")
    return np.ascontiguousarray(scores)
