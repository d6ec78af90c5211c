"""The same noise drawn by OpenDP, for users who would rather trust its samplers; needs the extra ``[opendp]``."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.privacy.observer import the_observer


def drawable_scale(scale: Fraction) -> Fraction:
    """Return the least float that is not below a Laplace scale, exactly: what OpenDP takes."""
    if scale <= 0:
        raise ValueError(f"scale must be more than 0, got {scale}")
    nearest = float(scale)
    return Fraction(nearest if Fraction(nearest) >= scale else math.nextafter(nearest, math.inf))


def drawable_variance(variance: Fraction) -> Fraction:
    """Return the square of the least float whose square is not below a variance: OpenDP takes the root."""
    if variance <= 0:
        raise ValueError(f"variance must be more than 0, got {variance}")
    root = math.sqrt(variance)
    while Fraction(root) ** 2 < variance:
        root = math.nextafter(root, math.inf)
    return Fraction(root) ** 2


def laplace(scale: Fraction) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    """Return OpenDP's discrete Laplace measurement of int64 counts; ``ImportError`` if it is not installed."""
    odp = _opendp()
    space = odp.vector_domain(odp.atom_domain(T="i64")), odp.l1_distance(T="i64")
    return _as_adder(odp.m.make_laplace(*space, scale=float(scale)))


def gaussian(variance: Fraction) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    """Return OpenDP's discrete Gaussian measurement of int64 counts; ``ImportError`` if it is not installed.

    `variance` is one that `drawable_variance` gave: the square of a float.
    """
    odp = _opendp()
    space = odp.vector_domain(odp.atom_domain(T="i64")), odp.l2_distance(T="f64")
    root = Fraction(math.isqrt(variance.numerator), math.isqrt(variance.denominator))
    if root**2 != variance or Fraction(float(root)) != root:
        raise ValueError(f"variance {variance} is not the square of a float; pass drawable_variance of it")
    return _as_adder(odp.m.make_gaussian(*space, scale=float(root)))


def _as_adder(measurement: Callable[[Any], Any]) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    return lambda counts: np.array(measurement(counts), dtype=np.int64)


def _opendp() -> ModuleType:
    stand_in = the_observer().opendp
    if stand_in is not None:
        return stand_in
    try:
        from opendp import prelude
    except ImportError as error:
        raise ImportError("backend='opendp' needs OpenDP: pip install 'pypgm[opendp]'") from error
    prelude.enable_features("contrib")
    module: ModuleType = prelude
    return module
