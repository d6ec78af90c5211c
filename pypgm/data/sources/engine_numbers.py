"""Numbers of an engine's column, compared with numbers of the schema as exactly as in memory."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterable, Sequence
from decimal import MAX_PREC, Context, Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from pypgm.data.columns.numbers import as_number
from pypgm.data.columns.values import EXACT, read_number
from pypgm.data.sources.frames import imported

Expression: TypeAlias = Any  # of Ibis, an extra
Number: TypeAlias = "int | float | Decimal"

_MAX_DOUBLE = sys.float_info.max
_LONGEST = 400  # digits before or after the point; no column of numbers has more
_STEP = 62  # an integer of every engine holds 2 to this power
_EXACT_DECIMALS = Context(prec=MAX_PREC)
_DOUBTFUL = 1 << 52  # units; a double of this size may be whole where a fraction is not


class NumberColumn:
    """The values of a column of doubles, of integers, or of decimals.

    Integers and decimals are multiples of a unit, 10 to the power of minus their scale. With a double they are compared
    as if they were rounded to doubles: by the least multiple that rounds to that double or beyond.

    Parameters
    ----------
    ibis : module
    value : ibis.Column
    """

    def __init__(self, ibis: Any, value: Expression) -> None:  # noqa: ANN401 - a module that may be missing
        self._ibis = ibis
        self._engine = value.get_backend().name
        self._is_double = value.type().is_floating()
        self._value = value.cast("float64") if self._is_double else value
        self._kind = self._value.type()
        self._scale: int | None = self._kind.scale if self._kind.is_decimal() else 0  # None: each value has its own
        if self._kind.is_integer():
            self._least, self._most = self._kind.bounds.lower, self._kind.bounds.upper
        else:
            digits = self._kind.precision if self._kind.is_decimal() else None
            self._most = math.inf if digits is None else 10**digits - 1
            self._least = -self._most

    @property
    def value(self) -> Expression:
        """The column: doubles, if its numbers are of a shorter type."""
        return self._value

    @property
    def has_unit(self) -> bool:
        """Whether all values are doubles, or multiples of one unit."""
        return self._scale is not None

    def first_from(self, double: float) -> Number | None:
        """Return the least value that is at least as large, as a double, as one; None if the type has none.

        The column must have a unit.
        """
        if self._is_double:
            return None if double == math.inf else double
        units = max(self._units(*_rounded(double)), self._least)
        if units > self._most:
            return None
        return units if self._kind.is_integer() else Decimal(units).scaleb(-(self._scale or 0), _EXACT_DECIMALS)

    def at_least(self, double: float) -> Expression:
        """Return whether each value, as a double, is at least as large as one."""
        if self._is_double:
            return self._ibis.literal(False) if double == math.inf else self._value >= self._double(double)
        middle, rounds_up = _rounded(double)
        if self._scale is None:
            end = self._decimal(middle)
            return self._value >= end if rounds_up else self._value > end
        return self._at_least(self._units(middle, rounds_up))

    def after(self, double: float) -> float:
        """Return the next double."""
        return math.nextafter(double, math.inf)

    def equal_to(self, number: Number) -> Expression:
        """Return whether each value is equal to one that the column may hold."""
        return self._value == self._literal(number)

    def reaches(self, number: Number) -> Expression:
        """Return whether each value is at least as large as one that the column may hold."""
        return self._value >= self._literal(number)

    def _literal(self, number: Number) -> Expression:
        if self._is_double:
            return self._double(float(number))
        if self._kind.is_integer():
            return self._ibis.literal(int(number), self._kind)
        return self._decimal(Fraction(number))

    def named(self, texts: Iterable[str]) -> list[Number]:
        """Return the numbers of texts that the column may hold."""
        read = [number for text in texts if (number := read_number(text.strip())) is not None]
        return list(
            dict.fromkeys(n for number in read if abs(number.adjusted()) < _LONGEST for n in self._held(number))
        )

    def another(self, named: Sequence[Number]) -> Number:
        """Return a number of the column's kind that differs from some."""
        number = next(n for n in itertools.count(2) if n not in named)
        return float(number) if self._is_double else number if self._kind.is_integer() else Decimal(number)

    def not_finite(self) -> list[tuple[Expression, Number]]:
        """Return, for each non-finite number of the type, whether each value is it."""
        if self._is_double:
            above, below = self._value > self._double(_MAX_DOUBLE), self._value < self._double(-_MAX_DOUBLE)
            # These have no NaN, and no function for it.
            missing: list[tuple[Expression, Number]] = (
                [] if self._engine in {"sqlite", "mssql", "mysql"} else [(self._value.isnan(), math.nan)]
            )
            return [*missing, (above, math.inf), (below, -math.inf)]
        if self._kind.is_decimal() and self._engine in {"postgres", "risingwave"}:
            names = ["NaN"] if self._kind.precision is not None else ["NaN", "Infinity", "-Infinity"]
            return [(self._value == self._ibis.literal(name).cast(self._kind), Decimal(name)) for name in names]
        return []

    def is_fraction(self) -> Expression:
        """Return whether each value is not whole."""
        if self._is_double:
            inside = (self._value > self._double(-EXACT)) & (self._value < self._double(EXACT))
            # An engine casts values inside the bounds alone, and rounds each to a whole number in some way.
            broken = self._value != self._value.cast("int64").cast("float64")
            return self._ibis.cases((inside, broken), else_=False)
        if self._scale == 0:
            return self._ibis.literal(False)
        # ClickHouse gives whole remainders, and in MariaDB that of -1.0 is -0.0, which is not 0.
        by_floor = self._engine in {"clickhouse", "mysql"}
        return self._value != call("floor", self._kind, self._value) if by_floor else self._value % 1 != 0

    def is_doubtful(self) -> Expression:
        """Return whether each value is not whole, while the double beside it may be."""
        if self._is_double or self._scale == 0:
            return self._ibis.literal(False)
        if self._scale is None:
            return self.is_fraction()
        return self.is_fraction() & (self._at_least(_DOUBTFUL) | ~self._at_least(1 - _DOUBTFUL))

    def _held(self, number: Decimal) -> list[Number]:
        """Return the value that is equal to a number, or as a double beside it, if the column may hold it."""
        if self._is_double:
            double = float(number)
            return [double] if math.isfinite(double) else []
        units = None if self._scale is None else Fraction(number) * 10**self._scale
        if units is not None and not (units.denominator == 1 and self._least <= units <= self._most):
            return []
        return [int(number) if self._kind.is_integer() else number]

    def _units(self, middle: Fraction, rounds_up: bool) -> int:
        """Return the least number of units that is above a number, or equal to it if that rounds up."""
        units: Fraction = middle * 10 ** (self._scale or 0)
        return math.ceil(units) if rounds_up else math.floor(units) + 1

    def _at_least(self, units: int) -> Expression:
        """Return whether each value is at least this number of units."""
        if units <= self._least or units > self._most:
            return self._ibis.literal(units <= self._least)
        if self._kind.is_integer():
            return self._value >= self._ibis.literal(units, self._kind)
        return self._value >= self._decimal(Fraction(units, 10 ** (self._scale or 0)))

    def _decimal(self, number: Fraction) -> Expression:
        """Return a number whose decimals end, exactly."""
        places = next(p for p in itertools.count() if 10**p % number.denominator == 0)
        digits = str(abs(number.numerator) * (10**places // number.denominator)).rjust(places + 1, "0")
        whole, decimals = digits[: len(digits) - places], digits[len(digits) - places :]
        sign, point = "-" if number < 0 else "", "." if decimals else ""
        return self._ibis.literal(f"{sign}{whole}{point}{decimals}").cast(self._kind)

    def _double(self, double: float) -> Expression:
        """Return a double; in SQLite, which rounds texts of decimals in its own way, from powers of two."""
        if self._engine != "sqlite":
            return self._ibis.literal(repr(double)).cast("float64")
        whole, exponent = int(math.frexp(double)[0] * EXACT), math.frexp(double)[1] - 53
        while whole and whole % 2 == 0:
            whole, exponent = whole // 2, exponent + 1
        if 0 <= exponent <= 9:
            whole, exponent = whole << exponent, 0
        number = self._ibis.literal(whole, "int64").cast("float64")
        while whole and exponent:
            step = max(-_STEP, min(_STEP, exponent))
            factor = self._ibis.literal(1 << abs(step), "int64").cast("float64")
            number = number * factor if step > 0 else number / factor
            exponent -= step
        return number


def _rounded(double: float) -> tuple[Fraction, bool]:
    """Return the middle between a double and the one before, and whether it rounds to the former."""
    middle = (_exactly(math.nextafter(double, -math.inf)) + _exactly(double)) / 2
    return middle, as_number(middle) >= double


def _exactly(double: float) -> Fraction:
    """Return a double as a fraction; infinity as the power of two that comes after all doubles."""
    return Fraction(double) if math.isfinite(double) else Fraction(1 << 1024) * (1 if double > 0 else -1)


def call(name: str, result: str, *arguments: Expression) -> Expression:
    """Return a call of a function that the engine has."""
    ibis = imported("ibis", "a table of an engine", "ibis")
    signature = tuple(argument.type() for argument in arguments), result
    forms = (lambda one: one), (lambda one, other: (one, other))  # the engine's own is called
    return ibis.udf.scalar.builtin(forms[len(arguments) - 1], name=name, signature=signature)(*arguments)


def quotient(number: Any, divisor: int) -> Any:  # noqa: ANN401
    """Return the whole quotient of an integer that is not negative: engines divide, and round, in their own ways."""
    if divisor == 1 or isinstance(number, int):
        return number // divisor
    return ((number - number % divisor) / divisor).cast("int64")
