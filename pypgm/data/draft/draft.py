"""First drafts of schemas, to be edited; what is read of records is marked."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pypgm.data.draft.blocks import one_of_rules
from pypgm.data.draft.column import DISTINCT, NULLS, Seen, own_in_each, resolution_of, share_of_each
from pypgm.data.draft.copies import point_out_copies
from pypgm.data.draft.empty import point_out_empty
from pypgm.data.draft.key import Key, is_filler
from pypgm.data.draft.readers import is_number
from pypgm.data.draft.structure import Blanks, Dependences, Orders, Structure
from pypgm.data.schema.rule_comparison import Comparison
from pypgm.data.sources.dialect import Dialect, DialectOptions
from pypgm.data.sources.frames import Frame, as_columns
from pypgm.data.sources.layout import family_of
from pypgm.data.sources.source import Source, open_source, value_texts
from pypgm.domain import listed

if TYPE_CHECKING:
    from typing_extensions import Unpack

_COMMENT = (
    "Drafted from a table. A schema is public: entries with a warning were read from the records, are not protected, "
    "and may name people. Replace them by what is publicly known, or drop the column, and delete the warning."
)
_NAMELESS = (
    "it has no name and no values: lines end in a delimiter",
    "it has no name: the index of a data frame, which pandas leaves out with index=False",
)
FIRST_LINE = "the first line looks like a record, not like the names of columns: add a header line"
"""Beginning of the warning of a draft of a file that may have no header."""

_QUESTION = (
    "may one person have several records? Then name the columns that identify the person under person, with the most "
    "records of one person to keep, or state records_per_person, by what is publicly known; without either, the "
    "promise is about any one record"
)
_OF_KEY = (
    "its values look like a key: each may stand for a person or a unit, and they repeat; kind id or fake makes new ones"
)
_OF_PERSON = (
    "read from the records: {0!r} looks like the number of a person, and at_most is the largest number of records with "
    "one value of it. Replace at_most by what is publicly known, or by how many records of one person to keep; "
    "name other columns, or delete person, if {0!r} is no number of a person"
)
_OF_MISSING = "; each record without it is taken for a separate person"
_AS_ONE = (
    "; {0} {1} read as one person, of whose records at most at_most are kept: where it stands for no number, write an "
    'empty cell instead, and "null": "alone" takes each such record for a separate person'
)
_OF_OPEN = (
    "it follows from {0!r} in each record, and is better kept as it is: the values of {0!r} are found privately, and a "
    "column derived from them is unknown in each record whose value is not found, which may be most; where all of them "
    "can be listed from what is publicly known, kind derived makes it exact"
)
_DAY = 86_400  # seconds
_LENGTHS = {  # of units in seconds, the shortest and the longest
    "hour": (3600, 3600),
    "day": (_DAY, _DAY),
    "month": (28 * _DAY, 31 * _DAY),
    "year": (365 * _DAY, 366 * _DAY),
}


def draft_schema(source: Frame, table: str | None = None, **dialect: Unpack[DialectOptions]) -> dict[str, Any]:
    """Return a first draft of the schema of a table, to be edited. It is NOT private.

    Parameters
    ----------
    source, table, **dialect
        As for `pypgm.synthesize`. Marks of numbers are found, column by column, where none are given.

    Returns
    -------
    dict
        Content of a schema file, with a "warning" at everything that was read from the records or may name people, and
        under "drop" why each column is left out.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not a table with a header, the header repeats a name, or there is no column to declare.

    Examples
    --------
    >>> draft = draft_schema({"wage": ["1,250.50", "980.00"] * 50, "id": [f"P{i}" for i in range(100)]})
    >>> draft["columns"]["wage"]["thousands"], draft["drop"]
    (',', {'id': 'a different value in each record, as names and ids have: kind id or fake makes new ones'})
    """
    opened = open_source(source, table, Dialect.of_options("draft", dialect))
    opened.dialect.check()
    seen, structure = _read(opened)
    keys = {name: key for name, column in seen.items() if name and (key := column.key(name))}
    columns, dropped = _declared(seen, keys)
    if not columns:
        why = "each is empty, a key, or has a different value in each record"
        raise ValueError(f"{opened.name} has no column to declare: {why}")
    _share_out(columns)
    rules = _point_out_all(columns, structure)
    draft: dict[str, Any] = {"comment": _COMMENT}
    if opened.has_header and all(column.counts[name] or is_number(name) for name, column in seen.items()):
        _warn(draft, FIRST_LINE)
    if able := [name for name, key in keys.items() if key.most > 1]:
        draft["person"] = _person(keys, able, seen)
    else:
        _warn(draft, _QUESTION)
    return draft | {"columns": columns} | ({"drop": dropped} if dropped else {}) | ({"rules": rules} if rules else {})


def _point_out_all(columns: Mapping[str, dict[str, Any]], structure: Structure) -> list[dict[str, Any]]:
    """Return rules of a draft, and add warnings of all other relations of its columns."""
    rules = one_of_rules(columns, structure.blocks)
    members = {name for rule in rules for name in rule["one_of"]}
    copies = point_out_copies(columns, structure.copies)
    for name, warning in copies.items():
        _warn(columns[name], warning)
    derived = _point_out(columns, structure.dependences, structure.blanks, members, copies)
    for name, warning in point_out_empty(columns, structure.empty, {*derived, *members}):
        _warn(columns[name], warning)
    _point_out_orders({n: c for n, c in columns.items() if c["kind"] == "date" and n not in derived}, structure.orders)
    return rules


def _declared(seen: Mapping[str, Seen], keys: Mapping[str, Key]) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Return the columns to declare, and why the others are dropped."""
    columns: dict[str, dict[str, Any]] = {}
    dropped: dict[str, str] = {}
    for name, column in seen.items():
        if name in keys:
            dropped[name] = own_in_each(column.values) if keys[name].most == 1 else _OF_KEY
            continue
        fields, why = column.declared() if name else ({}, _NAMELESS[bool(column.values)])
        if fields:
            columns[name] = fields
        else:
            dropped[name] = why
    return columns, dropped


def _person(keys: Mapping[str, Key], able: Sequence[str], seen: Mapping[str, Seen]) -> dict[str, Any]:
    """Return the person entry of a schema for the column that looks most like the key of a person."""
    best = max(able, key=lambda name: keys[name].rank)
    warning, others = _OF_PERSON.format(best), [repr(name) for name in able if name != best]
    fields: dict[str, Any] = {"column": best, "at_most": keys[best].most}
    if len(seen[best].counts) >= DISTINCT:
        warning += f"; it is of the first {DISTINCT} values, and others may have more"
    if len(seen[best].values) < len(seen[best].counts):
        fields["null"] = "alone"
        warning += _OF_MISSING
    if marks := [repr(text) for text, n in seen[best].counts.items() if _is_no_key(text, n, keys[best].most)]:
        warning += _AS_ONE.format(listed(marks), "is" if len(marks) == 1 else "are each")
    if others:
        warning += f"; {listed(others)} {'looks' if len(others) == 1 else 'look'} like one, too"
    return fields | {"warning": warning}


def _is_no_key(text: str, count: int, at_most: int) -> bool:
    """Return whether a value among keys looks like a mark for a missing key, which is still read as a person."""
    is_word = count > at_most and not any(map(str.isdigit, text))
    return bool(text.strip()) and (text in NULLS or is_filler(text) or is_word)


def _read(source: Source) -> tuple[dict[str, Seen], Structure]:
    """Read the records of a table."""
    marks = source.dialect.decimal, source.dialect.thousands
    seen = {name: Seen(family_of(kind) if kind else "", marks) for name, kind in source.layout.types.items()}
    structure = Structure()
    for piece in source.pieces():
        columns = as_columns(piece)
        texts = {name: value_texts(source.name, name, columns[name]) for name in seen}
        for name, column in seen.items():
            column.add(texts[name])
        structure.add(texts, {name: reader for name, column in seen.items() if (reader := column.date_reader)})
    return seen, structure


def _share_out(columns: Mapping[str, dict[str, Any]]) -> None:
    """Lower the budget shares of open columns if there are many."""
    costly = [c if c["kind"] == "open" else c["bins"] for c in columns.values() if _is_costly(c)]
    for fields in costly:
        fields["share"] = share_of_each(len(costly), 6)


def _is_costly(fields: Mapping[str, Any]) -> bool:
    return fields["kind"] == "open" or isinstance(fields.get("bins"), Mapping)


def _point_out(
    columns: Mapping[str, dict[str, Any]],
    dependences: Dependences,
    blanks: Blanks,
    members: Collection[str],
    copies: Collection[str],
) -> set[str]:
    """Return columns that follow from others in the records, and add warnings that say how to declare the rule."""
    derived = set(copies)
    for base, other, images in dependences.pairs():
        if other in copies or base in copies:
            continue
        if base in columns and other in columns and columns[base]["kind"] == "open":
            _warn(columns[other], _OF_OPEN.format(base))
        elif base in columns and other in columns:
            is_short = columns[base]["kind"] in {"categorical", "boolean"} and not set(images) & set(NULLS)
            fields = {
                "kind": "derived",
                "from": base,
                "mapping": dict(sorted(images.items())) if is_short else f"{base}.csv",
            }
            declaration = json.dumps(fields, ensure_ascii=False)
            _warn(
                columns[other],
                f"it follows from {base!r} in each record: if it always does, {declaration} makes it exact",
            )
            derived.add(other)
    for base, other, values in blanks.pairs():
        if base in columns and other in columns and other not in derived and base not in members:
            unless = base if not set(NULLS) & set(values) and columns[base].get("null") else None
            named = {base: values[0] if len(values) == 1 else values} if unless is None or len(values) < 2 else base
            if named is not base and _is_costly(columns[base]):
                continue  # no rule names a value that has still to be found
            declaration = json.dumps({"blank": other, "unless": named}, ensure_ascii=False)
            proposal = f"if it always is, the rule {declaration} keeps it so"
            _warn(columns[other], f"it is blank for some values of {base!r}: {proposal}")
    return derived


def _point_out_orders(dates: Mapping[str, dict[str, Any]], orders: Orders) -> None:
    """Add warnings to dates that are never before others in the records, and say how a schema keeps them so."""
    for base, other, least, most in orders.pairs(dates):
        first, second, proposals = dates[base], dates[other], []
        has_times = first["resolution"] == "hour"
        if has_times != (second["resolution"] == "hour"):
            continue  # a schema compares columns of one kind
        rule = f"{base} <= {other}"
        if Comparison(rule).columns == (base, other):
            proposals.append(f"the rule {json.dumps(rule, ensure_ascii=False)} keeps it so")
        if first.get("format") == second.get("format"):
            null = second.get("null") or first.get("null")
            fields = {"kind": "difference", "from": base, **_span(least, most, has_times=has_times)}
            declaration = json.dumps(fields | ({"null": null} if null else {}), ensure_ascii=False)
            proposals.append(f"{declaration} keeps how far apart the two are, too")
        if proposals:
            _warn(second, f"it is never before {base!r}: if it never can be, {', or '.join(proposals)}")


def _span(least: int, most: int, *, has_times: bool) -> dict[str, Any]:
    """Return rounded bounds of spans in seconds, and a unit that gives a few dozen bins.

    Examples
    --------
    >>> _span(0, 30 * 86_400, has_times=False), _span(18 * 365 * 86_400, 25 * 365 * 86_400, has_times=False)
    ({'low': 0, 'high': 30, 'unit': 'day'}, {'low': 17, 'high': 25, 'unit': 'year'})
    """
    unit = resolution_of((most - least) // _DAY, has_times=has_times).replace("quarter", "year")
    shortest, longest = _LENGTHS[unit]
    ends = most if has_times else -(-most // _DAY) * _DAY  # of two times the days may be further apart
    return {"low": least // longest, "high": ends // shortest, "unit": unit}


def _warn(fields: dict[str, Any], warning: str) -> None:
    fields["warning"] = "; ".join([*filter(None, [fields.get("warning")]), warning])
