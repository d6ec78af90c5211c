"""Drafts of schemas only from the types of a table: no record is read."""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pypgm._base.terminal import escaped_json
from pypgm.data.columns.column import Column, as_tuple
from pypgm.data.columns.dates import Resolution
from pypgm.data.columns.numbers import Real
from pypgm.data.columns.values import plain
from pypgm.data.draft.column import BINS, SHARE, resolution_of, share_of_each
from pypgm.data.schema.schema_file import KINDS
from pypgm.data.sources.layout import Family, decimals_of, family_of, is_ordered
from pypgm.data.sources.source import Source
from pypgm.domain import Label, listed

_UNKNOWN: Any = "? what is publicly known"
_KIND_OF = {family: kind.kind for kind in KINDS.values() if issubclass(kind, Column) for family in kind.families}
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MAY_BE_TEXTS = {"object", "null", "unknown"}  # types of any values or of none


def typed_draft(
    source: Source, bounds: Mapping[str, Sequence[Any]], *, null: bool | Sequence[str] = True
) -> tuple[dict[str, Any], list[str]]:
    """Return the draft of a schema file, and the columns whose public bounds are still missing.

    Parameters
    ----------
    source : Source
    bounds : mapping of str to sequence
    null : bool or sequence of str
        See `Schema.from_types`.
    """
    types = source.layout.types
    bounds = {name: _as_list(name, known) for name, known in bounds.items()}
    nullable = _nullable(source, null)
    for subject, names in (("bounds name", bounds), ("null names", nullable)):
        if unknown := [repr(name) for name in names if name not in types]:
            raise ValueError(f"{subject} {listed(unknown)}, and the table has no such column")
    columns, missing = {}, []
    for name, kind in types.items():
        column, is_known = _column(name, kind, source.categories, bounds)
        columns[name] = column | ({"null": True} if name in nullable else {})
        missing += [] if is_known else [name]
    open_columns = [column for column in columns.values() if column["kind"] == "open"]
    for column in open_columns:
        column["share"] = share_of_each(len(open_columns))
    return {"columns": columns}, missing


def _nullable(source: Source, null: bool | Sequence[str]) -> Sequence[str]:
    """Return the columns that may have missing values: those named, else all whose types allow them, or none."""
    if not isinstance(null, bool):
        return as_tuple(null, f"null needs true, false or a list of columns, got {null!r}")
    complete = source.complete if null else ()
    return [name for name in source.layout.types if name not in complete] if null else ()


def _column(
    name: str, kind: str, listed_in_type: Mapping[str, Sequence[Label]], bounds: Mapping[str, Sequence[Any]]
) -> tuple[dict[str, Any], bool]:
    """Return the entry of a column in a schema file, without the share of an open one, and whether it is complete."""
    known = bounds.get(name)
    family = _family(name, kind, known)
    if family == "bool":
        return {"kind": _KIND_OF[family]}, True
    given = listed_in_type.get(name) if known is None else known
    if given is not None and family in {"text", "any", "category"}:
        labels = [value if isinstance(value, Label) else str(plain(value)) for value in given]
        ordinal = {"ordinal": True} if known is None and is_ordered(kind) else {}
        return {"kind": "categorical", "values": labels, **ordinal}, True
    if not family:
        return {"kind": _UNKNOWN}, False
    if family in {"text", "any", "category"}:
        return {"kind": "open", "share": SHARE}, True
    if known is not None and len(known) != 2:
        raise ValueError(f"bounds of column {name!r} need the lowest and the highest value, got {len(known)} values")
    low, high = (_UNKNOWN, _UNKNOWN) if known is None else known
    if known is not None and family == "int":
        low, high = (int(end) if isinstance(end, float) and end.is_integer() else end for end in known)
    fields: dict[str, Any] = {"kind": _KIND_OF[family]}
    fields |= {"low": str(low), "high": str(high)} if fields["kind"] == "date" else {"low": low, "high": high}
    if fields["kind"] == "date" and known is not None:
        fields["resolution"] = _resolution(fields["low"], fields["high"], has_times=family == "time")
    if fields["kind"] == "real":
        fields |= {"bins": BINS, **_decimals(kind, known)}
    elif fields["kind"] == "integer" and known is not None and high - low >= 2 * BINS:
        fields["width"] = math.ceil((high - low + 1) / BINS)
    return fields, known is not None


def _family(name: str, kind: str, known: Sequence[Any] | None) -> Family | Literal[""]:
    """Return the family of a column, by its type and, if that allows any texts, by its bounds."""
    family = family_of(kind) if kind else ""
    if family == "bool" and known is not None:
        raise ValueError(f"column {name!r} holds booleans, which need no bounds")
    if family == "any" and known is None and kind.lower() not in _MAY_BE_TEXTS:
        way_out = "numbers, such as those of hours or of months, or texts, or give all of its values as bounds"
        raise ValueError(f"column {name!r} has the type {kind}, whose values are not found: make it {way_out}")
    if family in {"", "text"} or kind == "object":
        bounds_family = _family_of_bounds(known)
        return bounds_family if bounds_family in {"int", "float", "date"} or not family else family
    return family


def _decimals(kind: str, known: Sequence[Any] | None) -> dict[str, int]:
    """Return the decimals of a type, unless a bin between the bounds holds no such number."""
    with contextlib.suppress(TypeError, ValueError):
        decimals = decimals_of(kind)
        if known is not None:
            Real(known[0], known[1], BINS, decimals=decimals)
        return {} if decimals is None else {"decimals": decimals}
    return {}


def _as_list(name: str, known: object) -> list[Any]:
    """Return bounds as a list; ``TypeError`` that names the column if they are none."""
    needed = f"bounds of column {name!r} need the lowest and the highest value, or a list of all, got {known!r}"
    return list(as_tuple(known, needed))


def _resolution(low: str, high: str, *, has_times: bool) -> Resolution:
    try:
        first, last = (datetime.date.fromisoformat(text[:10]) for text in (low, high))
    except ValueError:  # which the column has words for
        return "day"
    return resolution_of((last - first).days, has_times=has_times)


def _family_of_bounds(known: Sequence[Any] | None) -> Family | Literal[""]:
    """Return the family of a column of which only bounds, or all values, are known."""
    if known is None:
        return ""
    if len(known) == 2 and all(isinstance(v, int | float) and not isinstance(v, bool) for v in known):
        return "int" if all(isinstance(v, int) for v in known) else "float"
    if len(known) == 2 and all(isinstance(v, datetime.date) or _ISO_DAY.match(str(v)) for v in known):
        return "date"
    return "text"


def draft_text(draft: dict[str, Any]) -> str:
    """Return a draft as the text of a file, with a line for each column."""
    lines = [f"  {_json(name)}: {_json(column)}" for name, column in draft["columns"].items()]
    parts = [
        ' "columns": {\n' + ",\n".join(lines) + "\n }" if name == "columns" else f' "{name}": {_json(value)}'
        for name, value in draft.items()
    ]
    return escaped_json("{\n" + ",\n".join(parts) + "\n}\n")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
