"""Kinds of values and equality within a kind, whatever the type; docs/your_table.md has the rules."""

from __future__ import annotations

import datetime
import operator
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Rational
from types import NoneType
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import is_masked

Values: TypeAlias = Sequence[Any] | NDArray[Any]
"""Raw values of one column: texts of a file, or an array of any type."""

Exact: TypeAlias = int | Decimal | Fraction
"""Exact numbers; equal numbers have equal hashes."""

EXACT = 1 << 53
"""Below it a double holds every whole number; from there on one stands for several."""

WHITE_SPACE = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""Whitespace around a text, as `str.strip` removes it, for engines that need a list."""

BY_VALUE = frozenset(
    {NoneType, str, bool, int, float, Decimal, Fraction, datetime.date}
    | {t for t in np.sctypeDict.values() if issubclass(t, np.number | np.bool_ | np.str_)} - {np.timedelta64}
)
"""Types whose equal values are one value: not times, since times in different zones can be equal."""

_DAY = 24 * 60 * 60 * 10**18
_ATTOSECONDS = {  # of the units of times, from coarse to fine: the most, where years and months differ
    "Y": 366 * _DAY,
    "M": 31 * _DAY,
    "W": 7 * _DAY,
    "D": _DAY,
    "h": _DAY // 24,
    "m": 60 * 10**18,
    **{unit: 10 ** (18 - 3 * i) for i, unit in enumerate(("s", "ms", "us", "ns", "ps", "fs", "as"))},
}
_UNITS = tuple(_ATTOSECONDS)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPELLED = re.compile(r"(?!-0$)-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?")


def is_missing(value: object) -> bool:
    """Return whether a value is missing: None, NaN of any type, NaT, or the NA of pandas."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()  # one that signals does not compare
    missing = float | complex | np.inexact | np.datetime64 | np.timedelta64
    return isinstance(value, missing) and bool(operator.ne(value, value))


def bare(value: object) -> object:
    """Return None for a missing value, and a text, or bytes in UTF-8, without spaces around it; else the value."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return value
    if isinstance(value, str):
        return value.strip()
    return None if is_missing(value) else value


def plain(value: object) -> object:
    """Return a value as None, a text without spaces around it, a boolean, number, date, time or span of time.

    Any other value is returned unchanged.

    Examples
    --------
    >>> [plain(v) for v in (" a ", np.float32(2), Decimal("2.50"), 0.1, np.datetime64("2020-01-31"), float("nan"))]
    ['a', 2, Decimal('2.50'), Decimal('0.1'), datetime.date(2020, 1, 31), None]
    """
    value = bare(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, datetime.date | np.datetime64):
        return _clock(value)
    if isinstance(value, datetime.timedelta | np.timedelta64):
        return _span(value)
    return _number(value)


def value_text(value: object) -> str | None:
    """Return a value as a text: a number as it is spelled without needless zeros; None of bytes that are no text."""
    plain_value = bare(value)
    if plain_value is None or isinstance(plain_value, bytes):
        return "" if plain_value is None else None
    if isinstance(plain_value, bool | np.bool_):
        return "true" if plain_value else "false"
    if isinstance(plain_value, float | np.floating):
        return (
            str(int(plain_value)) if plain_value.is_integer() and abs(plain_value) < EXACT else repr(float(plain_value))
        )
    if isinstance(plain_value, Decimal) and plain_value.is_finite():
        whole, _, rest = format(plain_value, "f").partition(".")
        return f"{whole}.{rest.rstrip('0')}".rstrip(".")
    return plain_value if isinstance(plain_value, str) else str(plain(plain_value))


def is_number(value: object) -> TypeGuard[Exact]:
    """Return whether what `plain` returned is a number."""
    return isinstance(value, int | Decimal | Fraction) and not isinstance(value, bool)


def read_number(text: str) -> Decimal | None:
    """Return the exact number of a text; None if it is none.

    Examples
    --------
    >>> [read_number(text) for text in ("01", "1e2", "1_0", "nan", ".5")]
    [Decimal('1'), Decimal('1E+2'), None, None, Decimal('0.5')]
    """
    if _NUMBER.fullmatch(text) is None:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent of more than 18 digits
        return None


def spelled_number(text: str) -> Decimal | None:
    """Return the number that a text spells in the one way for a number: ``2.5``, not ``2.50`` or ``25e-1``."""
    return Decimal(text) if _SPELLED.fullmatch(text) else None


def as_keys(values: Sequence[Any]) -> tuple[Sequence[Any], dict[Any, Any]] | None:
    """Return a key for each value, equal only for equal values, and the value of each; None if some have none.

    Examples
    --------
    >>> keys, value_of = as_keys([1, True, 1]) or ([], {})
    >>> list(value_of.values()), keys == [(int, 1), (bool, True), (int, 1)]
    ([1, True], True)
    """
    try:
        distinct = dict.fromkeys(values)
    except TypeError:  # an object that cannot be a key, such as a list
        return None
    if set(map(type, distinct)) <= {str, NoneType}:  # which nothing else is equal to
        return values, {value: value for value in distinct}
    types = set(map(type, values)) - {NoneType}
    if not types <= BY_VALUE:
        return None
    if len(types) == 1:
        return values, {value: value for value in distinct}
    keys = list(zip(map(type, values), values, strict=True))
    return keys, dict(zip(keys, values, strict=True))


def is_plain(values: Values, kinds: str) -> TypeGuard[NDArray[Any]]:
    """Return whether values are an array of a type of one of these kinds, with no entry masked."""
    return isinstance(values, np.ndarray) and values.dtype.kind in kinds and not is_masked(values)


def as_list(values: Values) -> Sequence[Any]:
    """Return values as Python objects; masked ones are None."""
    if not isinstance(values, np.ndarray):
        return values if isinstance(values, list | tuple) else list(values)
    if values.dtype.kind not in "mM":
        items: list[Any] = values.tolist()
        return items
    is_finer = np.datetime_data(values.dtype)[0] in {"ns", "ps", "fs", "as"}
    times: list[Any] = (values.astype(f"{values.dtype.kind}8[us]") if is_finer else values).tolist()
    for row, value in enumerate(times):
        if isinstance(value, int):  # which Python has no date or duration for
            times[row] = values[row]
    return times


def beyond_unit(times: NDArray[Any], unit: str) -> NDArray[np.bool_]:
    """Return which times or spans a finer unit has no number for; NumPy wraps them around, or refuses them.

    Examples
    --------
    >>> beyond_unit(np.array([2**62, 7], "datetime64[s]"), "us").tolist()
    [True, False]
    """
    time_unit, n_units = np.datetime_data(times.dtype)
    if time_unit == "generic" or _UNITS.index(time_unit) >= _UNITS.index(unit):
        return np.zeros(times.shape, dtype=bool)
    most = int(np.iinfo(np.int64).max) * _ATTOSECONDS[unit] // (n_units * _ATTOSECONDS[time_unit])
    numbers = times.astype(np.int64)
    return np.asarray(((numbers < -most) | (numbers > most)) & ~np.isnat(times))


def _clock(value: datetime.date | np.datetime64) -> object:
    """Return a date or a time without its zone, as its clock shows it, to the microsecond."""
    if isinstance(value, np.datetime64):
        if beyond_unit(np.asarray(value), "us"):
            return value
        is_date = np.datetime_data(value.dtype)[0] in "YMWD"
        clock = value.item() if is_date else value.astype("datetime64[us]").item()
        return clock if isinstance(clock, datetime.date) else value  # beyond the years that Python has
    if type(value) is datetime.date or (type(value) is datetime.datetime and value.tzinfo is None):
        return value
    if isinstance(value, datetime.datetime):
        hours = (value.hour, value.minute, value.second, value.microsecond)
        return datetime.datetime(value.year, value.month, value.day, *hours)
    return datetime.date(value.year, value.month, value.day)


def _span(value: datetime.timedelta | np.timedelta64) -> object:
    """Return a span of time to the microsecond, whatever its library."""
    if isinstance(value, np.timedelta64):
        if np.datetime_data(value.dtype)[0] in {"Y", "M", "generic"} or beyond_unit(np.asarray(value), "us"):
            return value  # of no fixed length, or too long
        span = value.astype("timedelta64[us]").item()
        return span if isinstance(span, datetime.timedelta) else value  # longer than Python has
    return datetime.timedelta(value.days, value.seconds, value.microseconds)


def _number(value: object) -> object:
    """Return a number exactly, and any other value unchanged."""
    if isinstance(value, complex | np.complexfloating) and not value.imag:
        value = float(value.real)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        double = float(value)
        if not double.is_integer():
            return Decimal(repr(double))
        return int(double) if abs(double) < EXACT else double
    if isinstance(value, Rational) and not isinstance(value, Fraction):
        return Fraction(value)
    return value
