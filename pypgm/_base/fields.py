"""Fields of a parsed file, checked for their kinds before anything is made of them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import numpy as np

ANY_NUMBER = "any number"
"""The kind of a number that may be infinite or NaN."""

_NAMES: dict[object, str] = {str: "text", int: "an integer", float: "a finite number", ANY_NUMBER: "a number"}
_NAMES |= {bool: "true or false", None: "null", np.ndarray: "an array"}
_NUMBER_LIMIT = 1 << 1000  # an integer that is a number: the doubles end there
_MAX_SHOWN = 40


class Record(dict[str, object]):
    """The fields of an object, whole: their kinds as `check_fields` takes them, and what they mean.

    Parameters
    ----------
    title : str
        Name of such an object.
    fields : mapping of str to (kind, str)
        A kind, and the meaning in a few words; a name that ends in "?" may be missing.
    """

    def __init__(self, title: str, fields: Mapping[str, tuple[object, str]]) -> None:
        super().__init__({name: kind for name, (kind, _) in fields.items()})
        self.title = title
        self.meanings = {name: meaning for name, (_, meaning) in fields.items()}


def check_fields(value: object, kind: object, where: str = "") -> None:
    """Raise ``ValueError`` that names the field unless a parsed value, and all in it, is of a kind.

    Parameters
    ----------
    value : object
        Object as parsed by `json`, with arrays.
    kind : object
        ``str``, ``int``, ``float`` (finite, an integer too), `ANY_NUMBER`, ``bool``, ``numpy.ndarray`` or ``None``; a
        tuple of kinds, any one of which will do; a list of the one kind of all its entries; a mapping of names to
        kinds, which may be missing where the name ends in "?", or of ``str`` to the kind of all entries; a `Record`,
        which is such a mapping and has no other names; a set of values; ``object`` for anything.
    where : str
        Name of the field; empty for the whole.

    Examples
    --------
    >>> check_fields({"shape": [2, 3], "total": 1}, {"shape": [int], "total": float, "fit?": str})
    >>> check_fields({"shape": [2, "3"]}, {"shape": [int]})
    Traceback (most recent call last):
        ...
    ValueError: field shape[1] needs an integer, got "3"
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    fitting = [k for k in kinds if _is(value, k)]
    if not fitting:
        shown = json.dumps(value, default=repr)
        shown = shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"
        needed = " or ".join(map(_named, kinds))
        raise ValueError(f"{f'field {where}' if where else 'the header'} needs {needed}, got {shown}")
    fit = fitting[0]
    if isinstance(fit, list) and isinstance(value, list | tuple):
        for i, entry in enumerate(value):
            check_fields(entry, fit[0], f"{where}[{i}]")
    elif isinstance(fit, dict) and isinstance(value, Mapping):
        _check_entries(value, fit, f"{where}." if where else "")


def _check_entries(value: Mapping[str, object], kinds: Mapping[object, object], start: str) -> None:
    for name, kind in kinds.items():
        if not isinstance(name, str):
            for key, entry in value.items():
                check_fields(entry, kind, f"{start}{key}")
        elif name.rstrip("?") in value:
            check_fields(value[name.rstrip("?")], kind, f"{start}{name.rstrip('?')}")
        elif not name.endswith("?"):
            raise ValueError(f"field {start}{name} is missing")
    if isinstance(kinds, Record):
        unknown = next((name for name in value if name not in kinds and f"{name}?" not in kinds), None)
        if unknown is not None:
            raise ValueError(f"field {start}{unknown} is not known")


def _is(value: object, kind: object) -> bool:
    """Return whether a value is of a kind, whatever its entries are."""
    if isinstance(kind, list | dict):
        return isinstance(value, Mapping if isinstance(kind, dict) else list | tuple)
    if isinstance(kind, set):
        return isinstance(value, str | int) and value in kind and not isinstance(value, bool)
    if kind is float or kind == ANY_NUMBER:
        if isinstance(value, float):
            return kind is not float or math.isfinite(value)
        return type(value) is int and abs(value) < _NUMBER_LIMIT
    return kind is object or (value is None if kind is None else type(value) is kind)


def _named(kind: object) -> str:
    if isinstance(kind, set):
        return "one of " + ", ".join(map(repr, sorted(kind)))
    if isinstance(kind, list | dict):
        return "a list" if isinstance(kind, list) else "an object"
    return _NAMES[kind]
