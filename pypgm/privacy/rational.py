"""Exact rationals from what people write, and rationals that fit the samplers."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational

import numpy as np

__all__ = ["Number", "as_fraction", "isqrt_down", "round_down", "round_up", "significant_down"]

Number = int | float | Fraction | Decimal | str


def as_fraction(name: str, value: Number) -> Fraction:
    """Return a number as the rational it is written as: a float means its shortest decimal, 0.1 is 1/10.

    Raises
    ------
    ValueError
        If the number is not finite or the text is no number.
    TypeError
        If it is not an int, float, Fraction, Decimal or str.
    """
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if isinstance(value, float | np.floating | Decimal):
        if not math.isfinite(value):
            raise ValueError(f"{name} must be finite, got {value!r}")
        return Fraction(str(value))
    if isinstance(value, Integral | Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, str):
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"{name} must be a number such as 0.1 or 1/10, got {value!r}") from None
    raise TypeError(f"{name} must be an int, float, Fraction, Decimal or str, got {type(value).__name__}")


def round_up(value: Fraction, bits: int) -> Fraction:
    """Return the value itself if numerator and denominator stay below ``2**bits``, else a close rational above it.

    Raises
    ------
    ValueError
        If the value itself is 2**bits or more.
    """
    limit = 1 << bits
    if value.numerator < limit and value.denominator < limit:
        return value
    for places in range(bits - 1, -1, -1):
        scaled = -(-value.numerator * (1 << places) // value.denominator)
        if scaled < limit:
            return Fraction(scaled, 1 << places)
    what = f"a noise parameter of {float(value):.3g} is beyond what can be drawn (2^{bits})"
    raise ValueError(f"{what}: epsilon, or rho, is too small")


def round_down(value: Fraction, bits: int) -> Fraction:
    """Return the value itself if numerator and denominator stay below ``2**bits``, else a close one below it.

    A value below ``2**-(bits - 1)`` gives 0, one above ``2**bits - 1`` that bound.
    """
    limit = 1 << bits
    if value.numerator < limit and value.denominator < limit:
        return value
    for places in range(bits - 1, -1, -1):
        scaled = value.numerator * (1 << places) // value.denominator
        if scaled < limit:
            return Fraction(scaled, 1 << places)
    return Fraction(limit - 1)


def significant_down(value: Fraction, bits: int) -> Fraction:
    """Return the largest dyadic rational with `bits` significant bits that is not above a positive value."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - bits
    unit = Fraction(2) ** exponent
    return (value // unit) * unit


def isqrt_down(value: Fraction, bits: int) -> Fraction:
    """Return a rational r with r * r <= value and at least `bits` significant bits of the root, dyadic."""
    exponent = (value.numerator.bit_length() - value.denominator.bit_length()) // 2 - bits
    unit = Fraction(2) ** exponent
    return math.isqrt(math.floor(value / unit**2)) * unit
