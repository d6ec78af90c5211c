"""Counts of keys that nobody listed before: only those that many people share come out."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from pypgm.privacy.charged_noise import ChargedNoise, charge_noise
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.noise import unsafe_words
from pypgm.privacy.rational import Number, as_fraction
from pypgm.privacy.relation import Privacy
from pypgm.queries import Identity

__all__ = ["gaussian_threshold", "laplace_threshold", "noise_threshold", "sparse_histogram"]

_DIGITS = Context(prec=60, Emin=-(10**9), Emax=10**9)
_MARGIN = Decimal("1e-30")  # of a logarithm; the arithmetic here errs by less than 1e-40


def sparse_histogram(
    keys: ArrayLike,
    ledger: Ledger,
    privacy: Privacy,
    *,
    delta: Number,
    scale: Fraction | None = None,
    variance: Fraction | None = None,
    unsafe_seed: int | None = None,
) -> dict[str | int, int]:
    """Count the records of every key that occurs, and release the keys whose noisy count reaches a threshold.

    A key that only one person has is released with probability at most `delta` over all such keys together; that is
    charged beside the noise, against the budget's `reserved_delta`.

    Parameters
    ----------
    keys : array_like of str or int, shape (records,)
        The key of every record.
    ledger : Ledger
        Charged before the keys are looked at.
    privacy : Privacy
        The neighbour relation; with k records a person the threshold is k higher.
    delta : number
        In (0, 1).
    scale, variance : Fraction
        Exactly one: of discrete Laplace, or the parameter of discrete Gaussian noise.
    unsafe_seed : int, optional
        Draw the noise from this number: private for nobody, and the ledger says so.

    Returns
    -------
    dict of str or int to int
        Noisy counts by key, in the order of the keys.

    Raises
    ------
    BudgetError
        If the charge does not fit; then nothing was read.
    ValueError
        If not exactly one of `scale` and `variance` is given, `delta` is out of range, or keys have two dimensions.
    TypeError
        If the keys are neither text nor integers.

    Notes
    -----
    Given that no key of one person alone is released, the rest is noise on counts of keys that both tables have. A
    person with k records has at most k keys alone, each of count at most k, so with Z the noise and t = threshold - k
    the probability of the contrary is at most k P(Z >= t), which the threshold keeps at or below `delta`.

    References
    ----------
    Korolova, Kenthapadi, Mishra and Ntoulas 2009, "Releasing Search Queries and Clicks Privately"; Bun and Steinke 2016
    (approximate zCDP).

    Examples
    --------
    >>> from pypgm import Budget
    >>> ledger = Ledger(Budget(epsilon=1, delta=1e-6, reserved_delta=1e-7))
    >>> list(sparse_histogram(["tea"] * 1000 + ["secret"], ledger, Privacy(), delta=1e-7, scale=Fraction(9)))
    ['tea']
    """
    fail = as_fraction("delta", delta)
    if not 0 < fail < 1:
        raise ValueError(f"delta must lie in (0, 1), got {delta}")
    given = np.asarray(keys)
    if given.ndim != 1:
        raise ValueError(f"keys need one dimension, got shape {given.shape}")
    if given.dtype.kind not in "iuU" and given.size:
        raise TypeError(f"keys need to be text or integers, got dtype {given.dtype}")
    words = unsafe_words(unsafe_seed)
    if words is not None:
        ledger.mark_not_private("noise drawn from a seed")
    noise = charge_noise(
        ledger, privacy, Identity(2), "histogram", "keys", scale=scale, variance=variance, delta=fail, words=words
    )
    found, counts = np.unique(given, return_counts=True)
    noisy = noise.add(counts.astype(np.int64))
    k = privacy.records_per_person
    threshold = k + noise_threshold(noise, fail / k)
    return {key.item(): int(count) for key, count in zip(found, noisy, strict=True) if count >= threshold}


def noise_threshold(noise: ChargedNoise, probability: Fraction) -> int:
    """Return a count that noise alone reaches with at most this probability."""
    law = laplace_threshold if noise.law == "laplace" else gaussian_threshold
    return law(noise.parameter, probability)


def laplace_threshold(scale: Fraction, probability: Fraction) -> int:
    """Return a t of at least 1, the least but for rounding, with P(Z >= t) <= probability, Z discrete Laplace noise.

    With q = exp(-1 / scale), P(Z >= t) = q^t / (1 + q).
    """
    c = _DIGITS
    q = c.exp(c.divide(Decimal(-scale.denominator), Decimal(scale.numerator)))
    excess = c.subtract(-_log(probability), c.ln(c.add(Decimal(1), q)))
    t = c.multiply(c.add(excess, _MARGIN), c.divide(Decimal(scale.numerator), Decimal(scale.denominator)))
    return max(1, math.ceil(t))


def gaussian_threshold(variance: Fraction, probability: Fraction) -> int:
    """Return a t of at least 1, the least for this bound, with P(Z >= t) <= probability, Z discrete Gaussian noise.

    Successive probabilities fall by at least the factor r = exp(-(2 t + 1) / (2 variance)) from t on, and the
    normaliser is at least max(1, sqrt(2 pi variance)): P(Z >= t) <= exp(-t^2 / (2 variance)) / (normaliser (1 - r)).
    """
    c = _DIGITS
    s = c.divide(Decimal(variance.numerator), Decimal(variance.denominator))
    normaliser = max(Decimal(1), c.sqrt(c.multiply(s, Decimal("6.28318530717958"))))
    goal = c.subtract(_log(probability), _MARGIN)

    def log_tail(t: int) -> Decimal:
        r = c.exp(c.divide(Decimal(-(2 * t + 1)), 2 * s))
        log_first = c.divide(Decimal(-t * t), 2 * s)
        return c.subtract(log_first, c.add(c.ln(normaliser), c.ln(c.subtract(Decimal(1), r))))

    low, high = 0, 1
    while log_tail(high) > goal:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if log_tail(middle) <= goal else (middle, high)
    return high


def _log(probability: Fraction) -> Decimal:
    c = _DIGITS
    return c.ln(c.divide(Decimal(probability.numerator), Decimal(probability.denominator)))
