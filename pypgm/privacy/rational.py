"""Exact rationals from the numbers people write, rationals that fit the samplers, and decimals of 60 digits."""

from __future__ import annotations

import decimal
import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import ParamSpec, TypeVar

from pypgm._base.numeric import Number, as_fraction

__all__ = [
    "EPSILON_BITS",
    "MARGIN",
    "Number",
    "as_decimal",
    "as_fraction",
    "exact_sum",
    "isqrt_down",
    "round_down",
    "round_up",
    "significant_down",
    "significant_up",
    "with_digits",
    "with_own_digits",
]


P = ParamSpec("P")
R = TypeVar("R")

EPSILON_BITS = 32  # significant bits of an epsilon that costs a rho
MARGIN = Decimal("1e-30")  # of a logarithm; arithmetic on logarithms below 10^9 errs by less than 1e-40
_DIGITS = 60


def with_digits(digits: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator of functions that run with this many decimal digits, whatever context the caller has set."""
    # Every setting is named: defaults would come from decimal.DefaultContext, which a program may change.
    context = decimal.Context(
        prec=digits,
        rounding=decimal.ROUND_HALF_EVEN,
        Emin=-(10**9),
        Emax=10**9,
        capitals=1,
        clamp=0,
        flags=[],
        traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
    )

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def inside(*args: P.args, **kwargs: P.kwargs) -> R:
            with decimal.localcontext(context):
                return function(*args, **kwargs)

        return inside

    return decorated


with_own_digits = with_digits(_DIGITS)


def as_decimal(value: Fraction) -> Decimal:
    """Return a rational rounded to the digits of the context."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def exact_sum(values: Iterable[Fraction]) -> Fraction:
    """Return the sum of rationals, fast: equal denominators are added as integers, repeated terms at once.

    Examples
    --------
    >>> exact_sum([Fraction(1, 3), Fraction(1, 2), Fraction(1, 3)])
    Fraction(7, 6)
    """
    every = list(values)
    times = Counter(map(id, every))
    numerators: dict[int, int] = {}
    for key, value in dict(zip(map(id, every), every, strict=True)).items():
        below = value.denominator
        numerators[below] = numerators.get(below, 0) + times[key] * value.numerator
    return sum((Fraction(above, below) for below, above in numerators.items()), Fraction(0))


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


def significant_up(value: Fraction, bits: int) -> Fraction:
    """Return the least dyadic rational of at least `bits` significant bits that is not below a positive value."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - bits
    unit = Fraction(2) ** exponent
    return -(-value // unit) * unit


def isqrt_down(value: Fraction, bits: int) -> Fraction:
    """Return a rational r with r * r <= value and at least `bits` significant bits of the root, dyadic."""
    exponent = (value.numerator.bit_length() - value.denominator.bit_length()) // 2 - bits
    unit = Fraction(2) ** exponent
    return math.isqrt(math.floor(value / unit**2)) * unit
