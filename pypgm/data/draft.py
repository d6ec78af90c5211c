"""A first draft of a schema from a table, to be edited: whatever is read from the records is marked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pypgm.data.dialect import Dialect
from pypgm.data.draft_column import LISTED, NULLS, SHARE, Seen, resolution_of
from pypgm.data.draft_dependence import Blanks, Dependences, Orders
from pypgm.data.draft_readers import is_number
from pypgm.data.frames import Frame
from pypgm.data.layout import family_of
from pypgm.data.number_text import DecimalMark
from pypgm.data.raw_table import RawTable, raw_table, value_texts
from pypgm.data.rule_comparison import Comparison
from pypgm.domain import listed

_FOUND = 6  # columns of which each may have the share of the budget that finds values or bins
_COMMENT = (
    "Drafted from a table. A schema is public: what has a warning was read from the records, and nothing protects it, "
    "or may name people. Replace it by what is publicly known, or drop the column, and delete the warning."
)
_NAMELESS = (
    "it has no name and no values: lines end in a delimiter",
    "it has no name: the index of a data frame, which pandas leaves out with index=False",
)
_FIRST_LINE = "the first line looks like a record, not like the names of columns: add a header line"
_AGAIN = (
    "values come again: if each stands for a person, one person has several records, "
    "and records_per_person needs the most that one may have, by what is publicly known"
)
_OF_OPEN = (
    "it follows from {0!r} in each record, and is better kept as it is: the values of {0!r} are found privately, and a "
    "column derived from them is unknown in each record whose value is not found, which may be most; where all of them "
    "can be listed from what is publicly known, kind derived makes it exact"
)
_ID = re.compile(  # patient_id, userId, member number
    r"(?:^|[^A-Za-z])(?i:p?id|uuid|guid|ssn)s?(?![A-Za-z])|[a-z]I[dD]s?(?![a-z])|(?i:person|patient|user|customer|client"
    r"|member|subject|participant|employee|student|respondent|household)(?:[ _-]?(?i:no|nr|number|key))?$"
)
_DAY = 86_400  # seconds
_LENGTHS = {  # of units in seconds, the shortest and the longest
    "hour": (3600, 3600),
    "day": (_DAY, _DAY),
    "month": (28 * _DAY, 31 * _DAY),
    "year": (365 * _DAY, 366 * _DAY),
}
_FEW = 20  # values of a column that hardly stand for persons


def draft_schema(source: Frame, *, table: str | None = None, **marks: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return a first draft of the schema of a table, to be edited. It is NOT private.

    Parameters
    ----------
    source : data frame, mapping of str to sequence, path, DuckDB relation or ibis.Table
    table, **marks
        As for `pypgm.synthesize`, those of a dialect. Other marks of numbers than plain ones are found, column by
        column, if none are given.

    Returns
    -------
    dict
        What a schema file has, with a "warning" at everything that was read from the records or may name people, and
        under "drop" why each column is left out.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is no table with a header, a name comes twice in it, or there is no column to declare.

    Examples
    --------
    >>> draft = draft_schema({"wage": ["1,250.50", "980.00"] * 50, "id": [f"P{i}" for i in range(100)]})
    >>> draft["columns"]["wage"]["thousands"], draft["drop"]
    (',', {'id': 'a value of its own in each record, as names and ids have: kind id or fake makes new ones'})
    """
    how = Dialect(**marks)
    how.check()
    raw = raw_table(source, how, table=table)
    seen, dependences, blanks, orders = _read(raw, (how.decimal, how.thousands))
    columns: dict[str, dict[str, Any]] = {}
    dropped: dict[str, str] = {}
    for name, column in seen.items():
        columns[name], dropped[name] = column.declared() if name else ({}, _NAMELESS[bool(column.values)])
    again = [name for name, column in seen.items() if _comes_again(name, column, columns[name])]
    columns = {name: told for name, told in columns.items() if told}
    dropped = {name: why for name, why in dropped.items() if name not in columns}
    if not columns:
        why = "each is empty, or has a value of its own for each record"
        raise ValueError(f"{raw.name} has no column to declare: {why}")
    _share_out(columns)
    derived = _point_out(columns, dependences, blanks)
    _point_out_orders({n: c for n, c in columns.items() if c["kind"] == "date" and n not in derived}, orders)
    for name in again:
        if name in columns:
            _warn(columns[name], _AGAIN)
        else:
            dropped[name] += f"; {_AGAIN}"
    draft: dict[str, Any] = {"comment": _COMMENT, "columns": columns}
    if raw.has_header and all(column.counts[name] or is_number(name) for name, column in seen.items()):
        _warn(draft, _FIRST_LINE)
    if again:
        _warn(draft, f"in {listed([repr(name) for name in again])} {_AGAIN}; the draft says 1")
    return draft | ({"drop": dropped} if dropped else {}) | {"records_per_person": 1}


def _read(raw: RawTable, marks: tuple[DecimalMark, str]) -> tuple[dict[str, Seen], Dependences, Blanks, Orders]:
    """Read the records of a table."""
    seen = {name: Seen(family_of(kind) if kind else "", marks) for name, kind in raw.layout.types.items()}
    dependences, blanks, orders = Dependences(), Blanks(), Orders()
    for piece in raw.pieces():
        texts = {name: value_texts(raw.name, name, piece[name]) for name in seen}
        for name, column in seen.items():
            column.add(texts[name])
        dependences.add(texts)
        blanks.add(texts)
        orders.add({name: reader for name, column in seen.items() if (reader := column.date_reader)}, texts)
    return seen, dependences, blanks, orders


def _comes_again(name: str, column: Seen, told: Mapping[str, Any]) -> bool:
    """Return whether values that may stand for persons, by their number or the column's name, come more than once.

    Examples
    --------
    >>> draft = draft_schema({"pid": [i % 500 for i in range(1000)], "age": [i % 90 for i in range(1000)]})
    >>> [name for name, told in draft["columns"].items() if "records_per_person" in told["warning"]]
    ['pid']
    """
    values, is_named = column.values, bool(told) and told["kind"] != "open"
    by_number = len(values) > LISTED and not column.numbers
    may_be_persons = len(values) > _FEW and _ID.search(name) if is_named else by_number
    return bool(may_be_persons) and sum(values.values()) > len(values)


def _share_out(columns: Mapping[str, dict[str, Any]]) -> None:
    """Lower the shares of columns of which something has to be found, where there are many."""
    costly = [c if c["kind"] == "open" else c["bins"] for c in columns.values() if _is_costly(c)]
    for told in costly if len(costly) > _FOUND else ():
        told["share"] = round(SHARE * _FOUND / len(costly), 6)


def _is_costly(told: Mapping[str, Any]) -> bool:
    return told["kind"] == "open" or isinstance(told.get("bins"), Mapping)


def _point_out(columns: Mapping[str, dict[str, Any]], dependences: Dependences, blanks: Blanks) -> set[str]:
    """Warn of columns that follow from others in the records, and say how a schema states such a rule; return them."""
    derived = set()
    for base, other, images in dependences.found():
        if base in columns and other in columns and columns[base]["kind"] == "open":
            _warn(columns[other], _OF_OPEN.format(base))
        elif base in columns and other in columns:
            is_short = columns[base]["kind"] in {"categorical", "boolean"} and not set(images) & set(NULLS)
            told = {
                "kind": "derived",
                "from": base,
                "mapping": dict(sorted(images.items())) if is_short else f"{base}.csv",
            }
            way = json.dumps(told, ensure_ascii=False)
            _warn(columns[other], f"it follows from {base!r} in each record: if it always does, {way} makes it exact")
            derived.add(other)
    for base, other, values in blanks.found():
        if base in columns and other in columns and other not in derived:
            unless = base if not set(NULLS) & set(values) and columns[base].get("null") else None
            named = {base: values[0] if len(values) == 1 else values} if unless is None or len(values) < 2 else base
            if named is not base and _is_costly(columns[base]):
                continue  # no rule names a value that has still to be found
            way = json.dumps({"blank": other, "unless": named}, ensure_ascii=False)
            _warn(columns[other], f"it is blank by {base!r}: if it always is, the rule {way} keeps it so")
    return derived


def _point_out_orders(dates: Mapping[str, dict[str, Any]], orders: Orders) -> None:
    """Warn of dates that are never before others in the records, and say how a schema keeps them so."""
    for base, other, least, most in orders.found(dates):
        first, second, ways = dates[base], dates[other], []
        has_times = first["resolution"] == "hour"
        if has_times != (second["resolution"] == "hour"):
            continue  # what a schema compares is of one kind
        rule = f"{base} <= {other}"
        if Comparison(rule).columns == (base, other):
            ways.append(f"the rule {json.dumps(rule, ensure_ascii=False)} keeps it so")
        if first.get("format") == second.get("format"):
            null = second.get("null") or first.get("null")
            told = {"kind": "difference", "from": base, **_span(least, most, has_times=has_times)}
            way = json.dumps(told | ({"null": null} if null else {}), ensure_ascii=False)
            ways.append(f"{way} keeps how far apart the two are, too")
        if ways:
            _warn(second, f"it is never before {base!r}: if it never can be, {', or '.join(ways)}")


def _span(least: int, most: int, *, has_times: bool) -> dict[str, Any]:
    """Return bounds that are about those of spans in seconds, and a unit of which they have some dozens.

    Examples
    --------
    >>> _span(0, 30 * 86_400, has_times=False), _span(18 * 365 * 86_400, 25 * 365 * 86_400, has_times=False)
    ({'low': 0, 'high': 30, 'unit': 'day'}, {'low': 17, 'high': 25, 'unit': 'year'})
    """
    unit = resolution_of((most - least) // _DAY, has_times=has_times).replace("quarter", "year")
    shortest, longest = _LENGTHS[unit]
    ends = most if has_times else -(-most // _DAY) * _DAY  # of two times the days may be further apart
    return {"low": least // longest, "high": ends // shortest, "unit": unit}


def _warn(told: dict[str, Any], warning: str) -> None:
    told["warning"] = "; ".join([*filter(None, [told.get("warning")]), warning])
