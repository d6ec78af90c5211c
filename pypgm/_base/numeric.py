"""The one place that checks options: integers, real numbers, arrays of real numbers, and one of several names."""

from __future__ import annotations

import contextlib
import math
import numbers
import operator
import sys
from collections.abc import Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any, SupportsFloat, SupportsIndex, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

Number = int | float | Fraction | Decimal | str

_MAX_TEXT = 10_000  # characters of a number: two integers of 4,300 digits, the most that Python writes, have fewer
_MAX_EXPONENT = 4  # digits of an exponent: 1e9999 is quick to compute with, and 1e999999999 would fill the memory
_MAX_DIGITS = 400  # of an integer in a text
_MAX_SHOWN_TEXT = 40  # characters of a text that is none
_MAX_SHOWN = 200  # characters of anything else
_MAX_INT64 = 2**63 - 1  # of the integers of 64 bits
MAX_THREADS = 2**31 - 1  # that the core can count; it takes at most 64, or as many as there are processors


def checked_integer(name: str, value: object, least: int = 0) -> int:
    """Return an integer option; ``TypeError`` unless it is an integer (True is none), ``ValueError`` below `least`.

    Examples
    --------
    >>> checked_integer("iterations", np.int64(5), 1)
    5
    """
    number = value if type(value) is int else _index_of(name, value)  # plain integers need no look at protocols
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {shown(number)}")
    return number


def checked_flag(name: str, value: object) -> bool:
    """Return an option that is true or false; ``TypeError`` if it is neither, as an array is, or a text.

    Examples
    --------
    >>> checked_flag("compress", np.True_)
    True
    """
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise ``ValueError`` unless an option is one of the choices.

    Examples
    --------
    >>> check_choice("method", "gibbs", ("auto", "exact"))
    Traceback (most recent call last):
        ...
    ValueError: method must be one of ('auto', 'exact'), got 'gibbs'
    """
    if not (isinstance(value, Hashable) and value in choices):  # arrays compare by entries
        raise ValueError(f"{name} must be one of {choices}, got {value!r}")


def shown(value: object) -> str:
    """Return the text of a value for an error: short, even for a number that Python does not write."""
    try:
        text = str(value) if isinstance(value, numbers.Number) else repr(value)
    except ValueError:  # of an integer of many digits, in a fraction too
        return f"a number of type {type(value).__name__} with thousands of digits"
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _index_of(name: str, value: object) -> int:
    if isinstance(value, SupportsIndex) and not isinstance(value, bool | np.bool_):
        with contextlib.suppress(TypeError):  # of an array, which has an index if it is a single integer
            return operator.index(value)
    raise TypeError(f"{name} must be an integer, got {shown(value)}")


def checked_threads(n_threads: object) -> int:
    """Return a number of threads, 0 for all, as the core takes it; see `checked_integer`."""
    return min(checked_integer("n_threads", n_threads), MAX_THREADS)


def checked_real(name: str, value: object, *, zero: bool = False, infinite: bool = False) -> float:
    """Return a real option; ``TypeError`` unless it is a number, ``ValueError`` unless it is positive and finite.

    Parameters
    ----------
    name : str
        Name of the option.
    value : object
        Value given for it; a truth value, text or several numbers are refused.
    zero, infinite : bool
        Whether 0, and whether infinity, is in range too.

    Examples
    --------
    >>> checked_real("tolerance", 0, zero=True)
    0.0
    """
    number = value if type(value) is float else _float_of(name, value)
    if not (0 < number < math.inf or (zero and number == 0) or (infinite and number == math.inf)):
        needed = "finite and at least 0" if zero else "positive" if infinite else "positive and finite"
        raise ValueError(f"{name} must be {needed}, got {shown(value)}")
    return number


def _float_of(name: str, value: object) -> float:
    ambiguous = isinstance(value, bool | np.bool_ | str | np.timedelta64) or getattr(value, "shape", ()) != ()
    if ambiguous or not isinstance(value, SupportsFloat):
        raise TypeError(f"{name} must be a number, got {shown(value)}")
    try:
        return float(value)
    except ValueError:  # of a NaN of Decimal that signals
        return math.nan
    except OverflowError:  # of an integer or a fraction beyond the doubles
        return math.copysign(math.inf, cast("Any", value) > 0 or -1)


def whole_array(values: ArrayLike) -> NDArray[Any]:
    """Return an array of integers if each value of a list is one; otherwise one of another type, as NumPy makes it.

    Whether a value is an integer does not depend on the others: NumPy would make floats of integers of several types,
    and 0 and 1 of booleans beside integers. A list with booleans becomes an array of booleans; integers beyond those
    of 64 bits become the nearest of these.

    Examples
    --------
    >>> [whole_array(v).dtype.kind for v in ([0, 1], [0, True], [np.uint64(0), np.int64(0)], [0, 2**63], [0, 1.0])]
    ['i', 'b', 'i', 'i', 'f']
    """
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        return np.asarray(values)
    kinds = set(map(type, values))
    if not {bool, np.bool_}.isdisjoint(kinds):
        return np.zeros(len(values), dtype=bool)
    if not all(issubclass(kind, int | np.integer) for kind in kinds):
        return np.asarray(values)
    try:
        return np.array(list(map(int, cast("Sequence[int]", values))), dtype=np.int64)
    except OverflowError:
        ends = [min(max(int(value), -_MAX_INT64 - 1), _MAX_INT64) for value in cast("Sequence[int]", values)]
        return np.array(ends, dtype=np.int64)


def real_array(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return an array of integers or floats; ``TypeError`` with its name if its entries are not integers."""
    array = _plain_array(name, values)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be real numbers, got dtype {array.dtype}")
    return array


def float_array(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return an array of what NumPy takes for real numbers, a float64 one as it is; else ``TypeError`` that names it.

    NumPy itself would take the real parts of complex numbers, and the values under a mask.

    Examples
    --------
    >>> float_array("weights", [1, True])
    array([1., 1.])
    """
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    array = _plain_array(name, values)
    if array.dtype.kind in "cmM":
        raise TypeError(f"{name} must be real numbers, got dtype {array.dtype}")
    try:
        return np.asarray(array, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):  # which may hold an entry
        raise TypeError(f"{name} must be real numbers that a double holds, got dtype {array.dtype}") from None


def _plain_array(name: str, values: ArrayLike) -> NDArray[Any]:
    if is_masked(values):
        raise TypeError(f"{name} must be real numbers, got a masked array: fill or drop the masked entries")
    return np.asarray(values)


def is_masked(values: object) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """Return whether values are a masked array of NumPy; whoever made one has imported what takes 1.4 MiB."""
    return "numpy.ma" in sys.modules and np.ma.isMaskedArray(values)


def as_generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    """Return a generator for simulations and for draws of records, never for noise; given one, itself.

    Examples
    --------
    >>> bool(as_generator(as_generator(3)).random() == as_generator(3).random())
    True
    """
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        needed = "rng must be a whole number of at least 0, a numpy.random.Generator or None"
        raise type(error)(f"{needed}, got {shown(rng)}") from None


def as_fraction(name: str, value: Number) -> Fraction:
    """Return a number as the rational it is written as: a float means its shortest decimal, 0.1 is 1/10.

    Raises
    ------
    ValueError
        If the number is not finite or the text is not a number.
    TypeError
        If the value is not an int, float, Fraction, Decimal or str.
    """
    if type(value) is int or type(value) is Fraction:  # as they mostly are
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, bool | np.bool_ | np.timedelta64):
        raise TypeError(f"{name} must be a number, got {shown(value)}")
    if isinstance(value, float | np.floating | Decimal):
        if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
            raise ValueError(f"{name} must be finite, got {value!r}")
        value = str(value)
    elif isinstance(value, Integral | Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, str):
        try:
            return fraction_of(value)
        except ValueError:
            start = value if len(value) <= _MAX_SHOWN_TEXT else f"{value[:_MAX_SHOWN_TEXT]}…"
            raise ValueError(f"{name} must be a number such as 0.1 or 1/10, got {start!r}") from None
    raise TypeError(f"{name} must be an int, float, Fraction, Decimal or str, got {type(value).__name__}")


def fraction_of(text: str) -> Fraction:
    """Return the rational that a text writes; ``ValueError`` if it writes none, or one too large to work with.

    Every number that is read exactly from a file, an argument or an option comes through here.

    Examples
    --------
    >>> fraction_of("0.1"), fraction_of("1/3"), fraction_of("1e-9")
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 1000000000))
    >>> fraction_of("1e999999999")
    Traceback (most recent call last):
        ...
    ValueError: no number, or one with more digits than are read
    """
    exponent = text.lower().partition("e")[2].strip().lstrip("+-").lstrip("0")
    # Underscores and digits of other scripts are Python's own.
    if len(text) <= _MAX_TEXT and len(exponent) <= _MAX_EXPONENT and text.isascii() and "_" not in text:
        with contextlib.suppress(ValueError, ZeroDivisionError):
            return Fraction(text)
    raise ValueError("no number, or one with more digits than are read")


def whole_of(text: str) -> int | None:
    """Return the integer, 0 or more, that a text of ASCII digits writes; None if it is none, or has over 400 digits.

    Examples
    --------
    >>> whole_of("007"), whole_of("-1"), whole_of("9" * 1000)
    (7, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None


def numpy_seed() -> int:
    """Return a seed from NumPy's global state, on which the records of other packages depend."""
    return int(np.random.randint(0, 2**31 - 1))  # noqa: NPY002
