"""Noise that was paid for: the charge comes first, and what was charged is what is drawn with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm.privacy import noise as own
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.relation import Privacy
from pypgm.queries import Query

__all__ = ["ChargedNoise", "NoiseBackend", "charge_noise"]

NoiseBackend = Literal["pypgm", "opendp"]


@dataclass(frozen=True, slots=True)
class ChargedNoise:
    """Noise of one law whose cost stands in a ledger.

    Attributes
    ----------
    add : callable
        Takes int64 counts and returns new ones with noise.
    stddev : float
        Standard deviation of the noise, in counts.
    law : {"gaussian", "laplace"}
        The law.
    parameter : Fraction
        Its variance parameter or its scale, exactly as drawn with.
    """

    add: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    stddev: float
    law: Literal["gaussian", "laplace"]
    parameter: Fraction


def charge_noise(
    ledger: Ledger,
    privacy: Privacy,
    query: Query,
    what: str,
    on: str,
    *,
    scale: Fraction | None,
    variance: Fraction | None,
    delta: Fraction = Fraction(0),
    words: _core.SeededWords | None = None,
    n_threads: int = 1,
    backend: NoiseBackend = "pypgm",
) -> ChargedNoise:
    """Charge noise on the answers to a query, of which exactly one of `scale` and `variance` is given.

    Raises
    ------
    BudgetError
        If the charge does not fit.
    ValueError
        If not exactly one parameter is given, it is out of range, or a seed is wanted from another backend.
    ImportError
        If the backend is not installed.
    """
    if (scale is None) == (variance is None):
        raise ValueError(f"noise on {on} takes exactly one of scale and variance")
    change = privacy.largest_change(query)
    if backend == "opendp":
        return _opendp(ledger, privacy, query, what, on, scale, variance, delta, words)
    if scale is not None:
        b = own.drawable_scale(scale)
        l1 = privacy.l1_sensitivity(query)
        ledger.charge_laplace(what, on, scale=b, sensitivity=l1, largest_change=change, delta=delta)
        add = _adder(own.add_discrete_laplace, b, words, n_threads)
        return ChargedNoise(add, own.laplace_stddev(b), "laplace", b)
    s = own.drawable_variance(variance if variance is not None else Fraction(0))
    l2 = privacy.squared_l2_sensitivity(query)
    ledger.charge_gaussian(what, on, variance=s, squared_sensitivity=l2, largest_change=change, delta=delta)
    add = _adder(own.add_discrete_gaussian, s, words, n_threads)
    return ChargedNoise(add, math.sqrt(s), "gaussian", s)


def _adder(
    sampler: Callable[..., NDArray[np.int64]], parameter: Fraction, words: _core.SeededWords | None, n_threads: int
) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    return lambda counts: sampler(counts, parameter, words, n_threads=n_threads)


def _opendp(
    ledger: Ledger,
    privacy: Privacy,
    query: Query,
    what: str,
    on: str,
    scale: Fraction | None,
    variance: Fraction | None,
    delta: Fraction,
    words: _core.SeededWords | None,
) -> ChargedNoise:
    from pypgm.privacy import opendp_noise

    if words is not None:
        raise ValueError("noise from OpenDP takes no seed")
    change = privacy.largest_change(query)
    if scale is not None:
        b = opendp_noise.drawable_scale(scale)
        add_laplace = opendp_noise.laplace(b)
        l1 = privacy.l1_sensitivity(query)
        ledger.charge_laplace(what, on, scale=b, sensitivity=l1, largest_change=change, delta=delta)
        return ChargedNoise(add_laplace, own.laplace_stddev(b), "laplace", b)
    s = opendp_noise.drawable_variance(variance if variance is not None else Fraction(0))
    add_gaussian = opendp_noise.gaussian(s)
    l2 = privacy.squared_l2_sensitivity(query)
    ledger.charge_gaussian(what, on, variance=s, squared_sensitivity=l2, largest_change=change, delta=delta)
    return ChargedNoise(add_gaussian, math.sqrt(s), "gaussian", s)
