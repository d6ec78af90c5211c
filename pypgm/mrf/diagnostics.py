"""Mixing of Markov chains: split R-hat and the effective sample size."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.numeric import real_array


def split_r_hat(draws: ArrayLike) -> float:
    r"""Return the potential scale reduction of chains split in halves: near 1 where they agree.

    With W the mean of the variances within half chains of n draws and B the variance of their means times n, it is
    :math:`\sqrt{(\frac{n-1}{n} W + \frac1n B) / W}`. Values above 1.01 say that chains are too short.

    Parameters
    ----------
    draws : array_like of float or bool, shape (n_chains, n_draws)
        Values of a function of the states, at least four draws per chain; the middle one of an odd number is left out.

    Returns
    -------
    float
        1 where all draws are the same; inf where each half chain is constant and they differ.

    Raises
    ------
    ValueError
        If the draws are no table, fewer than four a chain, or not finite.

    References
    ----------
    A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Bürkner, Rank-normalization, folding, and localization: an
    improved R-hat, Bayesian Analysis 16 (2021).

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(4, 1000))
    >>> split_r_hat(draws) < 1.01 < split_r_hat(draws + [[0], [0], [0], [1]])
    True
    """
    halves = _halves(_checked(draws))
    within, between = halves.var(axis=1, ddof=1).mean(), halves.mean(axis=1).var(ddof=1)
    if within == 0:
        return 1.0 if between == 0 else math.inf
    n = halves.shape[1]
    return math.sqrt((n - 1) / n + between / within)


def effective_sample_size(draws: ArrayLike) -> float:
    r"""Return the number of independent draws that would estimate the mean as well as the chains do.

    It is :math:`mn / (1 + 2 \sum_t \hat\rho_t)` over m half chains of n draws, autocorrelations combined between chains
    and summed up to where Geyer's pairs of neighbours turn negative, monotonically; at most
    :math:`mn \log_{10}(mn)`.

    Parameters
    ----------
    draws : array_like of float or bool, shape (n_chains, n_draws)
        Values of a function of the states, at least four draws per chain; the middle one of an odd number is left out.

    Returns
    -------
    float
        Number of independent draws; the number of all draws if they are equal.

    Raises
    ------
    ValueError
        If the draws are no table, fewer than four a chain, or not finite.

    References
    ----------
    C. J. Geyer, Practical Markov chain Monte Carlo, Statistical Science 7 (1992); Vehtari et al. as in `split_r_hat`.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(4, 1000))
    >>> 3000 < effective_sample_size(draws) < 5000
    True
    """
    halves = _halves(_checked(draws))
    m, n = halves.shape
    covariance = _autocovariance(halves).mean(axis=0)
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + halves.mean(axis=1).var(ddof=1)
    if total == 0:
        return float(m * n)
    correlation = 1 - (within - covariance) / total
    correlation[0] = 1
    pairs = correlation[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    kept = pairs[: int((pairs <= 0).argmax())] if (pairs <= 0).any() else pairs
    time = 2 * float(np.minimum.accumulate(kept).sum()) - 1 if len(kept) else 0.0
    return float(m * n / max(time, 1 / math.log10(m * n)))


def _checked(draws: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(draws)
    values = real_array("draws", table.astype(np.uint8) if table.dtype == bool else table).astype(np.float64)
    if values.ndim != 2 or values.shape[0] < 1 or values.shape[1] < 4:
        raise ValueError(f"draws need shape (n_chains, n_draws) with at least four draws, got shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("draws must be finite")
    return values


def _halves(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _autocovariance(chains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the biased autocovariances of each chain, shape as given."""
    n = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    padded = 1 << (2 * n - 1).bit_length()
    power = np.abs(np.fft.rfft(centred, padded, axis=1)) ** 2
    return np.asarray(np.fft.irfft(power, padded, axis=1)[:, :n] / n)
