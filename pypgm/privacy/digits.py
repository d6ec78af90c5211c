"""Decimal arithmetic of 60 digits, independent of the caller's context."""

from __future__ import annotations

import decimal
import functools
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

MARGIN = Decimal("1e-30")  # of a logarithm; arithmetic on logarithms below 10^9 errs by less than 1e-40
# Every setting is named: defaults would come from decimal.DefaultContext, which a program may change.
_CONTEXT = decimal.Context(
    prec=60,
    rounding=decimal.ROUND_HALF_EVEN,
    Emin=-(10**9),
    Emax=10**9,
    capitals=1,
    clamp=0,
    flags=[],
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)


def with_own_digits(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that runs with 60 decimal digits, whatever context the caller has set."""

    @functools.wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R:
        with decimal.localcontext(_CONTEXT):
            return function(*args, **kwargs)

    return inside


def as_decimal(value: Fraction) -> Decimal:
    """Return a rational rounded to the digits of the context."""
    return Decimal(value.numerator) / Decimal(value.denominator)
