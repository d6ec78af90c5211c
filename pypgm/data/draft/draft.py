"""First drafts of schemas, to be edited; what is read of records is marked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pypgm.data.draft.blocks import one_of_rules
from pypgm.data.draft.by_type import TypeEvidence
from pypgm.data.draft.column import DISTINCT, NULLS, Seen, own_in_each, resolution_of, share_of_each
from pypgm.data.draft.copies import point_out_copies
from pypgm.data.draft.date_reader import keeps_times, short_span
from pypgm.data.draft.empty import point_out_empty
from pypgm.data.draft.key import Key, is_filler
from pypgm.data.draft.readers import is_number
from pypgm.data.draft.structure import Blanks, Dependences, Orders, Structure
from pypgm.data.draft.warnings import explained, note, propose, warn
from pypgm.data.schema.rule_comparison import Comparison
from pypgm.data.sources.dialect import Dialect, DialectOptions
from pypgm.data.sources.frames import Frame, as_columns
from pypgm.data.sources.layout import family_of
from pypgm.data.sources.source import Source, open_source, value_texts

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
_ENTRIES = ("comment", "codes", "warning", "person", "columns", "rules", "proposals", "drop")  # in their order
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
    >>> draft = draft_schema({"wage": [f"{i},250.50" for i in range(1, 51)] * 2, "id": [f"P{i}" for i in range(100)]})
    >>> draft["columns"]["wage"]["thousands"], draft["drop"]
    (',', {'id': 'a different value in each record, as names and ids have: kind id or fake makes new ones'})
    """
    opened = open_source(source, table, Dialect.of_options("draft", dialect))
    opened.dialect.check()
    types = TypeEvidence(opened)
    seen, structure = _read(opened, types)
    keys = {name: key for name, column in seen.items() if name and (key := column.key(name))}
    columns, dropped = _declared(seen, keys, types)
    if not columns:
        why = "each is empty, a key, or has a different value in each record"
        raise ValueError(f"{opened.name} has no column to declare: {why}")
    _share_out(columns)
    draft: dict[str, Any] = {"comment": _COMMENT, "columns": columns} | ({"drop": dropped} if dropped else {})
    _point_out_all(draft, structure)
    if opened.has_header and all(column.counts[name] or is_number(name) for name, column in seen.items()):
        warn(draft, note("header?"))
    if opened.lines_hint:
        warn(draft, note("header_lines?", opened.lines_hint))
    if able := [name for name, key in keys.items() if key.most > 1]:
        draft["person"] = _person(keys, able, seen)
    else:
        warn(draft, note("person?"))
    draft["codes"] = explained(draft)
    return {name: draft[name] for name in _ENTRIES if name in draft}


def _point_out_all(draft: dict[str, Any], structure: Structure) -> None:
    """Add the rules of blocks to a draft, and propose what keeps all other relations of its columns."""
    columns = draft["columns"]
    if rules := one_of_rules(columns, structure.blocks):
        draft["rules"] = rules
    members = {name for rule in rules for name in rule["one_of"]}
    copies = point_out_copies(draft, structure.copies)
    derived = _point_out(draft, structure.dependences, structure.blanks, members, copies)
    point_out_empty(draft, structure.empty, {*derived, *members})
    dates = {name: fields for name, fields in columns.items() if fields["kind"] == "date" and name not in derived}
    _point_out_orders(draft, dates, structure.orders)


def _declared(
    seen: Mapping[str, Seen], keys: dict[str, Key], types: TypeEvidence
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Return the columns to declare, and why the others are dropped."""
    columns: dict[str, dict[str, Any]] = {}
    dropped: dict[str, str] = {}
    for name, column in seen.items():
        if by_type := types.declared(name, column.counts):
            keys.pop(name, None)
            fields, why = by_type
        elif name in keys:
            dropped[name] = own_in_each(column.values) if keys[name].most == 1 else note("key")
            continue
        else:
            fields, why = column.declared() if name else ({}, _NAMELESS[bool(column.values)])
        if fields:
            columns[name] = fields | types.objects(name, fields)
        else:
            dropped[name] = why
    return columns, dropped


def _person(keys: Mapping[str, Key], able: Sequence[str], seen: Mapping[str, Seen]) -> dict[str, Any]:
    """Return the person entry of a schema for the column that looks most like the key of a person."""
    best = max(able, key=lambda name: keys[name].rank)
    fields: dict[str, Any] = {"column": best, "at_most": keys[best].most}
    warn(fields, note("at_most", best))
    if len(seen[best].counts) >= DISTINCT:
        warn(fields, note("first", DISTINCT))
    if len(seen[best].values) < len(seen[best].counts):
        fields["null"] = "alone"
        warn(fields, note("alone"))
    if marks := [text for text, n in seen[best].counts.items() if _is_no_key(text, n, keys[best].most)]:
        warn(fields, note("as_one", *marks))
    if others := [name for name in able if name != best]:
        warn(fields, note("also", *others))
    return fields


def _is_no_key(text: str, count: int, at_most: int) -> bool:
    """Return whether a value among keys looks like a mark for a missing key, which is still read as a person."""
    is_word = count > at_most and not any(map(str.isdigit, text))
    return bool(text.strip()) and (text in NULLS or is_filler(text) or is_word)


def _read(source: Source, types: TypeEvidence) -> tuple[dict[str, Seen], Structure]:
    """Read the records of a table."""
    marks = source.dialect.decimal, source.dialect.thousands
    seen = {name: Seen(family_of(kind) if kind else "", marks) for name, kind in source.layout.types.items()}
    structure = Structure()
    for piece in source.pieces():
        columns = types.flat(as_columns(piece))
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
    draft: dict[str, Any],
    dependences: Dependences,
    blanks: Blanks,
    members: Collection[str],
    copies: Collection[str],
) -> set[str]:
    """Return columns that follow from others in the records, and propose declarations that keep them so."""
    columns, derived = draft["columns"], set(copies)
    for base, other, images in dependences.pairs():
        if other in copies or base in copies:
            continue
        if base in columns and other in columns and columns[base]["kind"] == "open":
            warn(columns[other], note("follows_open", base))
        elif base in columns and other in columns:
            is_listed = columns[base]["kind"] in {"categorical", "boolean"} and not set(images) & set(NULLS)
            fields = {"kind": "derived", "from": base, "mapping": dict(sorted(images.items()))}
            propose(draft, other, note("follows", base), *([fields] if is_listed else []))
            derived.add(other)
    for base, other, values in blanks.pairs():
        if base in columns and other in columns and other not in derived and base not in members:
            unless = base if not set(NULLS) & set(values) and columns[base].get("null") else None
            named = {base: values[0] if len(values) == 1 else values} if unless is None or len(values) < 2 else base
            if named is not base and _is_costly(columns[base]):
                continue  # no rule names a value that has still to be found
            propose(draft, other, note("blank", base), {"blank": other, "unless": named})
    return derived


def _point_out_orders(draft: dict[str, Any], dates: Mapping[str, dict[str, Any]], orders: Orders) -> None:
    """Propose rules and differences for dates that are never before others in the records."""
    for base, other, least, most in orders.pairs(dates):
        first, second, proposals = dates[base], dates[other], list[object]()
        has_times = keeps_times(first)
        if has_times != keeps_times(second):
            continue  # a schema compares columns of one kind
        rule = f"{base} <= {other}"
        if Comparison(rule).columns == (base, other):
            proposals.append(rule)
        if first.get("format") == second.get("format"):
            null = second.get("null") or first.get("null")
            fields = {"kind": "difference", "from": base, **_span(least, most, has_times=has_times)}
            proposals.append(fields | ({"null": null} if null else {}))
        if proposals:
            propose(draft, other, note("order", base), *proposals)


def _span(least: int, most: int, *, has_times: bool) -> dict[str, Any]:
    """Return rounded bounds of spans in seconds, and a unit that gives a few dozen bins.

    Examples
    --------
    >>> _span(0, 30 * 86_400, has_times=False), _span(18 * 365 * 86_400, 25 * 365 * 86_400, has_times=False)
    ({'low': 0, 'high': 30, 'unit': 'day'}, {'low': 17, 'high': 25, 'unit': 'year'})
    """
    if has_times and (short := short_span(least, most)):
        return short
    unit = resolution_of((most - least) // _DAY, has_times=has_times).replace("quarter", "year")
    shortest, longest = _LENGTHS[unit]
    ends = most if has_times else -(-most // _DAY) * _DAY  # of two times the days may be further apart
    return {"low": least // longest, "high": ends // shortest, "unit": unit}
