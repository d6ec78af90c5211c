"""Keys of related tables: each is what it is, whatever type the others of its column have."""

from __future__ import annotations

import datetime
from collections.abc import Hashable
from types import NoneType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.data.frames import as_values
from pypgm.data.layout import Family, family_of
from pypgm.data.values import Exact, as_list, is_number, plain


class _Key(NamedTuple):
    """A key that is no number and no text: those stand for themselves."""

    kind: str
    value: Hashable


_Known: TypeAlias = Exact | str | _Key | None

_KINDS: dict[Family, str] = {"text": "text", "bool": "booleans", "int": "numbers", "float": "numbers"}
_KINDS |= {"decimal": "numbers", "date": "times", "time": "times"}


def parent_rows(primary_keys: ArrayLike, foreign_keys: ArrayLike) -> NDArray[np.int64]:
    """Return the row of the parent that each child's key names, -1 where there is none.

    Parameters
    ----------
    primary_keys : array_like, shape (n_parents,)
        The key of each parent, all different. A key has a kind and equals keys of this kind alone: numbers by value,
        whatever their type, texts exactly, times by their instant. A missing key (None, NaN, NaT) is nobody's.
    foreign_keys : array_like, shape (n_children,)
        The key of each child's parent.

    Raises
    ------
    TypeError
        If the types of two arrays or series say that no keys are of one kind, as of numbers and of text; or a value
        cannot be a key.
    ValueError
        If a primary key comes twice, or a key is a float of 2^53 or more, which stands for several whole numbers (the
        row is named, not the key), or an array has not one dimension.

    Examples
    --------
    >>> parent_rows(["x", "y"], ["y", "x", "z", "y"])
    array([ 1,  0, -1,  1])
    """
    one, other = map(_kind_of_type, (primary_keys, foreign_keys))
    if one and other and one != other:
        raise TypeError(f"keys of parents and of children need to be of one kind, got {one}, and {other}")
    keys, references = (_keys(*given) for given in (("primary", primary_keys), ("foreign", foreign_keys)))
    row_of: dict[_Known, int] = {}
    for row, key in enumerate(keys):
        if key is not None and row_of.setdefault(key, row) != row:
            raise ValueError(f"primary keys need to differ: row {row} has that of row {row_of[key]}")
    return np.fromiter((row_of.get(key, -1) for key in references), np.int64, len(references))


def _keys(side: str, given: Any) -> list[_Known]:  # noqa: ANN401 - a column of any library
    """Return the key of each row; None where it is missing."""
    values = as_values(given)
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ValueError(f"keys need one dimension, got shape {values.shape}")
        # Of times each keeps the digits that Python's have no place for.
        values = list(values) if values.dtype.kind in "mM" else as_list(values)
    if any(set(map(type, values)) <= {kind, NoneType} for kind in (int, str)):
        return list(values)
    return [_key(f"row {row} of the {side} keys", value) for row, value in enumerate(values)]


def _kind_of_type(given: Any) -> str:  # noqa: ANN401 - a column of any library
    """Return the kind that the type of a column gives its keys, whatever they are; empty where it may be any."""
    dtype = getattr(given, "dtype", getattr(given, "type", None))
    if isinstance(dtype, np.dtype) and dtype.kind in "US":
        return _KINDS["text"]
    return _KINDS.get(family_of(str(dtype)), "")


def _key(where: str, value: object) -> _Known:
    known = plain(value)
    if known is None or is_number(known):
        return known
    if type(known) is float:  # from 2^53 on
        raise ValueError(f"{where} is a float that stands for several whole numbers: give integers or text")
    if isinstance(value, str):
        return str(value)
    if isinstance(known, bool):
        return _Key("booleans", known)
    if isinstance(value, np.datetime64 | datetime.date):
        return _time(value)
    if not isinstance(value, Hashable):
        raise TypeError(f"{where} is a {type(value).__name__}, which cannot be a key")
    return _Key(type(value).__name__, value)


def _time(value: np.datetime64 | datetime.date) -> _Key:
    """Return a time by its instant, to the nanosecond where it has so many digits; a date is its midnight."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return _Key("times in a zone", (value.astimezone(datetime.timezone.utc), getattr(value, "nanosecond", 0)))
    if isinstance(value, np.datetime64):
        micros = value.astype("datetime64[us]")
        return _Key("times", (micros, int((value - micros) / np.timedelta64(1, "ns"))))
    return _Key("times", (np.datetime64(value, "us"), getattr(value, "nanosecond", 0)))
