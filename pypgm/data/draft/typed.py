"""Drafts of schemas only from the types of a table: no record is read."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pypgm._base.terminal import escaped_json
from pypgm.data.columns.bins import Outside
from pypgm.data.columns.column import Column, as_tuple
from pypgm.data.columns.dates import Resolution
from pypgm.data.columns.numbers import Real
from pypgm.data.columns.values import plain
from pypgm.data.draft.column import BINS, QUANTILES, SHARE, resolution_of, share_of_each
from pypgm.data.draft.warnings import note
from pypgm.data.schema.person import Person
from pypgm.data.schema.schema_file import KINDS
from pypgm.data.schema.weight import Weight, weight_of
from pypgm.data.sources.layout import PANDAS_ORDERED, Family, decimals_of, family_of, is_ordered
from pypgm.data.sources.source import Source
from pypgm.domain import Label, listed, nearest

_UNKNOWN: Any = "? what is publicly known"
_KIND_OF = {family: kind.kind for kind in KINDS.values() if issubclass(kind, Column) for family in kind.families}
_QUANTILE_SHARE = 0.1  # of the budget, for each column: at half of it outer quantiles are often beyond all records
_MAX_EVEN = 1000  # whole numbers, of which bins of even width would blur the smaller ones
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MAY_BE_TEXTS = {"object", "null", "unknown"}  # types of any values or of none


class Stated(NamedTuple):
    """Public statements about columns, beside their types and bounds; see `Schema.from_types`."""

    outside: Outside = "clip"
    drop: Sequence[str] = ()
    ids: Sequence[str] = ()
    ordinal: Sequence[str] = ()
    person: Person | Mapping[str, Any] | None = None
    weight: Weight | Mapping[str, Any] | None = None

    @property
    def keys(self) -> list[str]:
        """Columns that name persons, and that of weights."""
        person = Person(**self.person) if isinstance(self.person, Mapping) else self.person
        weight = weight_of(self.weight)
        return [*(() if person is None else person.columns), *(() if weight is None else (weight.column,))]

    def checked(self, names: Iterable[str], bounds: Mapping[str, Any]) -> Stated:
        """Return the statements with names as lists; ``ValueError`` for a name that is no column, or in two places."""
        if self.outside not in ("refuse", "clip"):
            raise ValueError(f"outside must be clip or refuse, got {self.outside!r}: a schema has more, by column")
        drop, ids, ordinal = _names("drop", self.drop), _names("ids", self.ids), _names("ordinal", self.ordinal)
        read_apart = "person" if self.weight is None else "weight"
        for subject, given in (("drop", drop), ("ids", ids), ("ordinal", ordinal), (read_apart, self.keys)):
            check_there(f"{subject} names", given, names)
        unread = {"drop": drop, "ids": ids, read_apart: self.keys}
        read = {"bounds": list(bounds), "ordinal": ordinal}
        pair = (("drop", drop), ("ids", ids))
        for (one, left), (other, right) in [*itertools.product(unread.items(), read.items()), pair]:
            if both := [name for name in left if name in right]:
                raise ValueError(f"column {both[0]!r} is in {one} and in {other}, and can be in one of both only")
        return self._replace(drop=drop, ids=ids, ordinal=ordinal)

    def entries(self) -> dict[str, Any]:
        """Return the entries of a schema beside its columns."""
        person = Person(**self.person) if isinstance(self.person, Mapping) else self.person
        drop, weight = list(self.drop), weight_of(self.weight)
        entries = {} if weight is None else {"weight": weight.to_dict()}
        return entries | ({"drop": drop} if drop else {}) | ({} if person is None else {"person": person.to_dict()})


def check_there(subject: str, given: Iterable[str], names: Iterable[str]) -> None:
    """Raise ``ValueError`` where some names are no columns of a table."""
    there = list(names)
    if unknown := [name for name in given if name not in there]:
        near = nearest(str(unknown[0]), there)
        raise ValueError(f"{subject} {listed(list(map(repr, unknown)))}, and the table has no such column{near}")


def _names(subject: str, given: object) -> list[str]:
    return [given] if isinstance(given, str) else list(as_tuple(given, f"{subject} needs a list of columns"))


def typed_draft(
    source: Source,
    bounds: Mapping[str, Sequence[Any]],
    *,
    null: bool | Sequence[str] = True,
    stated: Stated = Stated(),  # noqa: B008 - an immutable tuple
) -> tuple[dict[str, Any], list[str]]:
    """Return the draft of a schema file, and the columns whose public bounds are still missing.

    Parameters
    ----------
    source : Source
    bounds : mapping of str to sequence
    null : bool or sequence of str
        See `Schema.from_types`.
    stated : Stated
        Further arguments of `Schema.from_types`.
    """
    types = source.layout.types
    if not isinstance(bounds, Mapping):
        raise TypeError(f"bounds need a mapping of column to its bounds, got {type(bounds).__name__}")
    bounds = {name: _as_list(name, known) for name, known in bounds.items()}
    nullable = _nullable(source, null)
    for subject, names in (("bounds name", bounds), ("null names", nullable)):
        check_there(subject, names, types)
    stated = stated.checked(types, bounds)
    columns: dict[str, dict[str, Any]] = {}
    missing = []
    for name, kind in types.items():
        if name in stated.ids:
            columns[name] = {"kind": "id"}
        if name in {*stated.drop, *stated.ids, *stated.keys}:
            continue
        column, is_known = _column(name, kind, source.categories, bounds)
        if column["kind"] in {"integer", "real", "date"}:
            column["outside"] = stated.outside
        if name in stated.ordinal:
            column |= _ordinal(name, column)
        columns[name] = column | ({"null": True} if name in nullable else {})
        missing += [] if is_known else [name]
    shared: list[dict[str, Any]] = [column for column in columns.values() if column["kind"] == "open"]
    shared += [column["bins"] for column in columns.values() if isinstance(column.get("bins"), dict)]
    for entry in shared:
        entry["share"] = share_of_each(len(shared), most=entry["share"])
    return {"columns": columns, **stated.entries()}, missing


def _ordinal(name: str, column: Mapping[str, Any]) -> dict[str, bool]:
    """Return the entry of a column whose values have an order; ``ValueError`` where they are not listed."""
    if column["kind"] == "categorical":
        return {"ordinal": True}
    if column["kind"] in {"open", "boolean"}:
        why = "its values are found privately: list them in bounds, in their order" if column["kind"] == "open" else ""
        raise ValueError(f"column {name!r} is in ordinal, and {why or 'is a boolean, which has no order'}")
    return {}


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
    are_numbers = family in {"int", "float"} and known is not None and len(known) > 2
    if given is not None and (are_numbers or family in {"text", "any", "category"}):
        return _listed(given, kind if known is None else ""), True
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
        fields |= {"bins": _quantiles(low, high), **_decimals(kind, known)}
    elif fields["kind"] == "integer" and known is not None:
        fields |= _bins_of_whole(low, high)
    return fields, known is not None


def _listed(given: Sequence[Any], kind: str) -> dict[str, Any]:
    """Return the entry of a column of listed values, of a type if that lists them."""
    labels = [value if isinstance(value, Label) else str(plain(value)) for value in given]
    fields: dict[str, Any] = {"kind": "categorical", "values": labels}
    if is_ordered(kind):
        fields["ordinal"] = True
    if kind == PANDAS_ORDERED:  # unique() may have listed the values of the records
        fields["warning"] = note("type?")
    return fields


def _bins_of_whole(low: int, high: int) -> dict[str, Any]:
    """Return the bins of whole numbers: one each, some dozens of even width, or quantiles where they are many."""
    if high - low >= _MAX_EVEN:
        return {"bins": _quantiles(low, high)}
    return {"width": math.ceil((high - low + 1) / BINS)} if high - low >= 2 * BINS else {}


def _quantiles(low: Any, high: Any) -> dict[str, Any]:  # noqa: ANN401 - of any type, until the column is declared
    """Return bins by quantiles; zero, which many amounts are, has a bin of its own if it is one of the numbers."""
    with contextlib.suppress(TypeError):
        return {"quantiles": QUANTILES, "share": _QUANTILE_SHARE, **({"heaps": [0]} if low <= 0 <= high else {})}
    return {"quantiles": QUANTILES, "share": _QUANTILE_SHARE}


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
            Real(known[0], known[1], 1, decimals=decimals)
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
