"""Columns of Python objects: the kind that all of them have, and objects of that kind again."""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.made import Cells
from pypgm.data.columns.values import Values, is_missing

_KIND = re.compile(r"object\[(\w+)(?: (.+))?\]")
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")
_NESTED = re.compile(r"map<|(large_|fixed_size_)?list(_view)?\W|array\(|struct\W|\w*union<|object\[nested\]", re.I)
NESTED = "nested: unnest it first, so that each column holds one value a record"
"""Reason why no column reads lists, records and maps."""

_SPAN = re.compile(r"(?:(-?\d+) days?, )?(\d+):(\d\d):(\d\d(?:\.\d+)?)")
CONTAINERS = frozenset({list, tuple, dict, set, frozenset, np.ndarray})
"""Types of objects that hold several values."""

_MISSING = {"NoneType", "NAType", "NaTType"}  # names of types
_PLAIN: Mapping[type, str] = {
    str: "str",
    bytes: "bytes",
    bool: "bool",
    int: "int",
    float: "float",
    datetime.date: "date",
    datetime.time: "time",
    datetime.timedelta: "timedelta",
    uuid.UUID: "UUID",
}
"""Kinds of objects that have nothing but their type."""


def is_of_objects(kind: str) -> bool:
    """Return whether a type is that of objects of one kind.

    Examples
    --------
    >>> is_of_objects("object[date]"), is_of_objects("object")
    (True, False)
    """
    return _KIND.fullmatch(kind) is not None


def is_nested(kind: str) -> bool:
    """Return whether values of a type are lists, records or maps, in any library.

    Examples
    --------
    >>> [is_nested(kind) for kind in ("List(Int8)", "struct<x: int8>", "map<string, int8>", "list_price", "Int8")]
    [True, True, True, False, False]
    """
    return _NESTED.match(kind) is not None


def kind_of_objects(values: Values) -> str:
    """Return the type of a column of objects with the kind that all of them have; without it if they have several.

    Examples
    --------
    >>> kind_of_objects([datetime.date(2020, 1, 31), None]), kind_of_objects([1, "a"])
    ('object[date]', 'object')
    >>> kind_of_objects([Decimal("1.50"), Decimal("2.00")]), kind_of_objects([{"x": 1}])
    ('object[Decimal 2]', 'object[nested]')
    """
    if isinstance(values, np.ndarray) and values.dtype != object:
        return str(values.dtype)
    kinds = {kind for kind in set(map(type, values)) if kind.__name__ not in _MISSING}
    if kinds & CONTAINERS:
        return "object[nested]"
    if len(kinds) > 1:
        kinds -= {kind for kind in kinds & {float, Decimal} if all(map(is_missing, _of_type(values, kind)))}
    if len(kinds) != 1:
        return "object"
    (kind,) = kinds
    name = _PLAIN.get(kind) or _detailed(kind, (v for v in _of_type(values, kind) if not is_missing(v)))
    return f"object[{name}]" if name else "object"


def kind_in(values: Values) -> str:
    """Return the kind that all objects of a column have; "several" if they differ, empty if there are none.

    Examples
    --------
    >>> kind_in([datetime.date(2020, 1, 31), None]), kind_in([1, "a"]), kind_in([None])
    ('date', 'several', '')
    """
    if all(map(is_missing, values)):
        return ""
    kind = kind_of_objects(values)
    return kind.removeprefix("object[").removesuffix("]") if is_of_objects(kind) else "several"


def are_of(values: Values, kinds: Set[type]) -> bool:
    """Return whether there are objects of some types among values."""
    are_objects = not isinstance(values, np.ndarray) or values.dtype == object
    return are_objects and not kinds.isdisjoint(map(type, values))


def _of_type(values: Values, kind: type) -> Iterator[Any]:
    return (value for value in values if type(value) is kind)


def _detailed(kind: type, values: Iterable[Any]) -> str:
    """Return the kind of numbers with as many decimals each, or of times in one zone; empty if they have none."""
    if issubclass(kind, np.integer | np.floating | np.bool_):
        return {"i": "int", "u": "int", "f": "float", "b": "bool"}[np.dtype(kind).kind]
    if kind is Decimal:
        exponents = {value.as_tuple().exponent for value in values}
        (exponent,) = exponents if len(exponents) == 1 else (None,)
        return f"Decimal {-exponent}" if isinstance(exponent, int) and exponent <= 0 else "Decimal"
    if not issubclass(kind, datetime.datetime):
        return ""
    name = "Timestamp" if kind.__name__ == "Timestamp" else "datetime"
    zones = {None if value.tzinfo is None else _name_of_zone(value.tzinfo, value) for value in values}
    (zone,) = zones if len(zones) == 1 else ("",)
    return name if zone is None else zone and f"{name} {zone}"


def _name_of_zone(zone: datetime.tzinfo, time: datetime.datetime) -> str:
    """Return the name of a zone, or its offset; empty for one that is neither."""
    name = getattr(zone, "key", None) or getattr(zone, "zone", None) or str(zone)
    if isinstance(zone, datetime.timezone):
        seconds = int(zone.utcoffset(time).total_seconds())
        name = f"{'-' if seconds < 0 else '+'}{abs(seconds) // 3600:02}:{abs(seconds) // 60 % 60:02}"
        return name if seconds % 60 == 0 else ""
    import zoneinfo  # takes a while, and few tables have such objects

    try:
        zoneinfo.ZoneInfo(name)
    except (ValueError, OSError):
        return ""
    return str(name)


def zone_of(name: str) -> datetime.tzinfo:
    """Return the zone of a name, or of an offset such as ``+02:00``."""
    offset = _OFFSET.fullmatch(name)
    if offset is None:
        import zoneinfo  # takes a while

        return zoneinfo.ZoneInfo(name)
    hours = datetime.timedelta(hours=int(offset[2]), minutes=int(offset[3]))
    return datetime.timezone(-hours if offset[1] == "-" else hours)


def objects_of(cells: Cells, kind: str) -> NDArray[Any]:
    """Return the values of cells as objects of a kind; ``ValueError`` or ``TypeError`` for one that is none."""
    match = _KIND.fullmatch(kind)
    name, detail = (match[1], match[2]) if match else ("", None)
    column = cells.column
    given = column.of_family(cells.codes, cells.values, name) if name in {"bool", "int", "float"} else None
    if given is None:
        given = cells.decoded()
        given = given.astype(object) if given.dtype.kind == "M" else cells.texts() if name == "str" else _texts(cells)
    is_null = np.isin(cells.codes, column.null_codes)
    make, made = _MAKERS[name], np.empty(len(given), dtype=object)
    known: dict[Any, Any] = {}
    for place, value in enumerate(given.tolist()):
        if not is_null[place]:
            made[place] = known[value] if value in known else known.setdefault(value, make(value, detail))
    return made


def _texts(cells: Cells) -> NDArray[Any]:
    """Return the texts of cells with plain numbers, and dates as they are."""
    decoded, texts = cells.decoded().astype(object), cells.plain().texts().astype(object)
    is_date = np.array([isinstance(value, datetime.date) for value in decoded.tolist()], dtype=bool)
    return np.where(is_date, decoded, texts)


def _datetime(value: Any, zone: str | None) -> datetime.datetime:  # noqa: ANN401 - a text or a date
    time: datetime.datetime = value
    if isinstance(value, str):
        time = datetime.datetime.fromisoformat(value)
    elif not isinstance(value, datetime.datetime):
        time = datetime.datetime.combine(value, datetime.time())
    return time if zone is None else time.replace(tzinfo=zone_of(zone))


def span_in(text: str) -> datetime.timedelta:
    """Return the span of time that Python writes as a text; ``ValueError`` for any other text.

    Examples
    --------
    >>> span_in("-1 day, 23:30:00") == -datetime.timedelta(minutes=30)
    True
    """
    match = _SPAN.fullmatch(text)
    if match is None:
        raise ValueError
    days, hours, minutes, seconds = match.groups(default="0")
    return datetime.timedelta(days=int(days), hours=int(hours), minutes=int(minutes), seconds=float(seconds))


def clocks_of(kind: str, values: NDArray[Any]) -> NDArray[Any]:
    """Return texts as times of day or spans where a type of any library holds such; other values as they are."""
    read = next((read for start, read in _CLOCKS.items() if kind.lower().startswith(start)), None)
    if read is None or values.dtype != object:
        return values
    clocks = [read(value) if isinstance(value, str) else value for value in values.tolist()]
    return np.array([*clocks, None], dtype=object)[:-1]


def _date(value: Any, _: str | None) -> datetime.date:  # noqa: ANN401 - a text or a date
    if isinstance(value, datetime.datetime):
        raise TypeError
    return datetime.date.fromisoformat(value) if isinstance(value, str) else value


def _time(value: Any) -> datetime.time:  # noqa: ANN401 - a text, or a date with a time
    return value.time() if isinstance(value, datetime.datetime) else datetime.time.fromisoformat(value)


def _decimal(value: Any, decimals: str | None) -> Decimal:  # noqa: ANN401 - a text or a number
    number = Decimal(str(value))
    return number if decimals is None else number.quantize(Decimal(1).scaleb(-int(decimals)))


def _timestamp(value: Any, zone: str | None) -> Any:  # noqa: ANN401 - of a package that may be missing
    import pandas  # which has given such values

    return pandas.Timestamp(_datetime(value, zone))


_CLOCKS: Mapping[str, Callable[[str], Any]] = {
    "time": datetime.time.fromisoformat,
    "duration": span_in,
}
"""Readers of texts by how the names of types begin."""

_MAKERS: Mapping[str, Callable[[Any, str | None], Any]] = {
    "str": lambda value, _: str(value),
    "bytes": lambda value, _: str(value).encode(),
    "bool": lambda value, _: {"true": True, "false": False}[str(value).casefold()],
    "int": lambda value, _: int(value),
    "float": lambda value, _: float(value),
    "date": _date,
    "datetime": _datetime,
    "Timestamp": _timestamp,
    "timedelta": lambda value, _: span_in(value),
    "time": lambda value, _: _time(value),
    "Decimal": _decimal,
    "UUID": lambda value, _: uuid.UUID(value),
}
