"""Noise that was paid for: the charge comes first, and what was charged is what is drawn with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm.privacy import noise as own
from pypgm.privacy.charge import Charge, NoiseLaw
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.relation import Privacy
from pypgm.privacy.thresholds import gaussian_threshold, laplace_threshold
from pypgm.queries import LinearQuery

__all__ = ["ChargedNoise", "NoiseBackend", "charge_noise", "charge_screen"]

NoiseBackend = Literal["pypgm", "opendp"]
Adder = Callable[[NDArray[np.int64]], NDArray[np.int64]]


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
    threshold : int
        The count that a key of one person reaches with at most the delta that was charged; 0 without one.
    """

    add: Adder
    stddev: float
    law: Literal["gaussian", "laplace"]
    parameter: Fraction
    threshold: int = 0

    def reach(self, probability: Fraction) -> int:
        """Return a count that the noise alone reaches with at most this probability."""
        gaussian = self.law == "gaussian"
        return (gaussian_threshold if gaussian else laplace_threshold)(self.parameter, probability)


def charge_noise(
    ledger: Ledger,
    privacy: Privacy,
    query: LinearQuery,
    what: str,
    on: str,
    *,
    scale: Fraction | None,
    variance: Fraction | None,
    delta: Fraction | None = None,
    words: _core.SeededWords | None = None,
    n_threads: int = 1,
    backend: NoiseBackend = "pypgm",
) -> ChargedNoise:
    """Charge noise on the answers to a query, of which exactly one of `scale` and `variance` is given.

    With a `delta`, the noise is for a histogram of unknown keys and comes with its threshold.

    Raises
    ------
    BudgetError
        If the charge does not fit.
    ValueError
        If not exactly one parameter is given, it is out of range, the noise is too small for its standard deviation
        to be a float above 0, or a seed is wanted from another backend.
    ImportError
        If the backend is not installed.
    """
    if (scale is None) == (variance is None):
        raise ValueError(f"noise on {on} takes exactly one of scale and variance")
    samplers = _samplers(backend, words, n_threads)
    if scale is not None:
        b = samplers.drawable_scale(scale)
        noise = ChargedNoise(samplers.laplace(b), own.laplace_stddev(b), "laplace", b)
        parameters = {"scale": b, "sensitivity": Fraction(privacy.l1_sensitivity(query))}
    else:
        s = samplers.drawable_variance(variance if variance is not None else Fraction(0))
        noise = ChargedNoise(samplers.gaussian(s), math.sqrt(s), "gaussian", s)
        parameters = {"variance": s, "squared_sensitivity": Fraction(privacy.squared_l2_sensitivity(query))}
    if not noise.stddev > 0:
        raise ValueError(f"noise on {on} of scale {float(noise.parameter):.3g} is none in floating point; use more")
    parameters["largest_change"] = Fraction(privacy.largest_change(query))
    law: NoiseLaw = "discrete Laplace" if noise.law == "laplace" else "discrete Gaussian"
    if delta is not None:
        k = privacy.records_per_person
        noise = replace(noise, threshold=k + noise.reach(delta / k))
        parameters |= {"threshold": Fraction(noise.threshold), "records_per_person": Fraction(k)}
    ledger.charge(Charge(what, on, law, parameters, unit=ledger.budget.unit, delta=delta or 0))
    return noise


def charge_screen(
    ledger: Ledger,
    changes: Sequence[int],
    what: str,
    on: str,
    *,
    rho: Fraction,
    words: _core.SeededWords | None = None,
    n_threads: int = 1,
    backend: NoiseBackend = "pypgm",
) -> ChargedNoise:
    """Charge discrete Gaussian noise on integers, of which neighbours change each by at most what `changes` says.

    All of them may change at once: the squared L2 sensitivity is the sum of squares.

    Raises
    ------
    BudgetError
        If the charge does not fit.
    ValueError
        If rho is not above 0, the noise is beyond what can be drawn, or the budget is pure.
    ImportError
        If the backend is not installed.
    """
    if rho <= 0:
        raise ValueError(f"rho must be more than 0, got {rho}")
    samplers = _samplers(backend, words, n_threads)
    squared = Fraction(sum(c * c for c in changes))
    variance = samplers.drawable_variance(squared / (2 * rho))
    ledger.charge_gaussian(what, on, variance=variance, squared_sensitivity=squared, largest_change=max(changes))
    return ChargedNoise(samplers.gaussian(variance), math.sqrt(variance), "gaussian", variance)


class _Samplers(NamedTuple):
    """What a backend offers: parameters it can take exactly, and what adds noise of them."""

    drawable_scale: Callable[[Fraction], Fraction]
    drawable_variance: Callable[[Fraction], Fraction]
    laplace: Callable[[Fraction], Adder]
    gaussian: Callable[[Fraction], Adder]


def _samplers(backend: NoiseBackend, words: _core.SeededWords | None, n_threads: int) -> _Samplers:
    if backend == "opendp":
        if words is not None:
            raise ValueError("noise from OpenDP takes no seed")
        from pypgm.privacy import opendp_noise as other

        return _Samplers(other.drawable_scale, other.drawable_variance, other.laplace, other.gaussian)
    return _Samplers(
        own.drawable_scale,
        own.drawable_variance,
        lambda b: lambda counts: own.add_discrete_laplace(counts, b, words, n_threads=n_threads),
        lambda s: lambda counts: own.add_discrete_gaussian(counts, s, words, n_threads=n_threads),
    )
