"""Histograms of keys that nobody listed before: only keys that many people share are released."""

from __future__ import annotations

import numpy as np

from pypgm.privacy.access import ChargedNoise, ColumnAccess
from pypgm.privacy.fixed_errors import fixed_errors
from pypgm.privacy.private_column import PrivateColumn
from pypgm.privacy.rational import Number, as_fraction
from pypgm.queries import Identity


def sparse_histogram(
    column: PrivateColumn,
    *,
    delta: Number,
    rho: Number | None = None,
    scale: Number | None = None,
    variance: Number | None = None,
) -> dict[str | int, int]:
    """Count the records of every key that occurs, and release the keys whose noisy count reaches a threshold.

    Keys that only one person has are released with probability at most `delta`, over all such keys together; this
    probability is charged besides the noise, against the budget's `reserved_delta`.

    Parameters
    ----------
    column : PrivateColumn
        The key of every record, a text or an integer; other values are never released. With k records a person the
        threshold is k higher.
    delta : number
        The probability of failure, in (0, 1).
    rho, scale, variance : number
        Exactly one: what discrete Gaussian noise may cost, or the scale of discrete Laplace, or the parameter of
        discrete Gaussian noise.

    Returns
    -------
    dict of str or int to int
        Noisy counts by key, in the order of the keys.

    Raises
    ------
    BudgetError
        If the charge does not fit; then nothing was read.
    ValueError
        If not exactly one of `rho`, `scale` and `variance` is given, or a number is out of range.

    Notes
    -----
    If no key that only one person has is released, the rest is noise on counts of keys that both tables have. A person
    with k records has at most k keys alone, each of count at most k, so with Z the noise and t = threshold - k such a
    key is released with probability at most k P(Z >= t), which the threshold keeps at or below `delta`.

    References
    ----------
    Korolova, Kenthapadi, Mishra and Ntoulas 2009, "Releasing Search Queries and Clicks Privately"; Bun and Steinke 2016
    (approximate zCDP).

    Examples
    --------
    >>> from pypgm import Budget, Ledger, Privacy
    >>> ledger = Ledger(Budget(epsilon=1, delta=1e-6, reserved_delta=1e-9))
    >>> drinks = PrivateColumn(["tea"] * 1000 + ["secret", None], Privacy(), ledger)
    >>> list(sparse_histogram(drinks, delta=1e-9, scale=9))
    ['tea']
    """
    access = column.trusted_access
    access.check_open()
    fail = as_fraction("delta", delta)
    if not 0 < fail < 1:
        raise ValueError(f"delta must lie in (0, 1), got {delta}")
    noise = access.charge_noise(Identity(2), "histogram", "keys", rho=rho, scale=scale, variance=variance, delta=fail)
    with fixed_errors:
        return _released(access, noise)


def _released(access: ColumnAccess, noise: ChargedNoise) -> dict[str | int, int]:
    counts, threshold = access.keys(), noise.law.threshold or 0
    noisy = noise.add(np.array(list(counts.values()), dtype=np.int64))
    return {key: int(count) for key, count in zip(counts, noisy, strict=True) if count >= threshold}
