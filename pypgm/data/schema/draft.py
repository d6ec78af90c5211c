"""First drafts of schemas, to be edited, and which columns depend on others; what is read of records is marked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.schema.draft_column import DISTINCT, NULLS, Seen, own_in_each, resolution_of, share_of_each
from pypgm.data.schema.draft_key import Key, is_filler
from pypgm.data.schema.draft_readers import DateReader, is_number
from pypgm.data.schema.rule_comparison import Comparison
from pypgm.data.sources.frames import as_columns
from pypgm.data.sources.layout import family_of
from pypgm.data.sources.source import Source, value_texts
from pypgm.domain import listed

_MAX_VALUES = 10_000  # values of a column that others may depend on
_FIRST_ROWS = 200  # records, by which most pairs are told apart
_MIN_RECORDS = 10  # records that would be otherwise if there were no dependence
_MAX_BASE_VALUES = 20  # values of a column by which another may be blank


class Dependences:
    """Pairs of columns in which the second has had one value for each value of the first so far.

    Examples
    --------
    >>> found = Dependences()
    >>> found.add({"city": ["Bonn", "Oslo", "Bern"] * 10, "land": ["DE", "NO", "CH"] * 10, "sex": ["F", "M"] * 15})
    >>> [(a, b) for a, b, _ in found.pairs()]
    [('city', 'land')]
    """

    def __init__(self) -> None:
        self._maps: dict[tuple[str, str], dict[str, str]] | None = None
        self._counts: dict[str, dict[str, int]] = {}

    def add(self, columns: Mapping[str, Sequence[str]]) -> None:
        """Add records, and forget the pairs that they break."""
        if self._maps is None:
            self._maps = {pair: {} for pair in permutations(columns, 2)}
            self._counts = {name: {} for name in columns}
            self._keep({name: texts[:_FIRST_ROWS] for name, texts in columns.items()})
        self._keep(columns)
        for name, counts in self._counts.items():
            for text in columns[name] if len(counts) <= _MAX_VALUES else ():
                counts[text] = counts.get(text, 0) + 1

    def _keep(self, columns: Mapping[str, Sequence[str]]) -> None:
        maps = self._maps or {}
        for (one, other), known in list(maps.items()):
            seen = set(zip(columns[one], columns[other], strict=True))
            if len(known) > _MAX_VALUES or any(known.setdefault(a, b) != b for a, b in seen):
                del maps[one, other]

    def pairs(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Yield, for each dependent column, the base with the fewest values, the column, and the mapping.

        Among columns that determine each other, the others depend on the first.
        """
        able: dict[str, list[str]] = {}
        for one, other in self._maps or {}:
            if self._is_told(one, other):
                able.setdefault(other, []).append(one)
        places = {name: i for i, name in enumerate(self._counts)}
        for other, bases in able.items():
            real = [b for b in bases if b not in able or other not in able[b] or places[b] < places[other]]
            if real and self._maps:
                base = min(real, key=lambda name: (len(self._counts[name]), places[name]))
                yield base, other, self._maps[base, other]

    def _is_told(self, one: str, other: str) -> bool:
        """Return whether records support a dependence: values repeat, and not all map to the most frequent value."""
        firsts, seconds = self._counts[one], self._counts[other]
        if not 2 <= len(seconds) <= len(firsts) <= _MAX_VALUES:
            return False
        usual = max(seconds, key=seconds.__getitem__)
        map_ = (self._maps or {})[one, other]
        return sum(n for text, n in firsts.items() if n > 1 and map_[text] != usual) >= _MIN_RECORDS


class Blanks:
    """Columns that are blank wherever another has some of its values.

    Examples
    --------
    >>> found = Blanks()
    >>> found.add({"member": ["no", "yes", "no", "yes"] * 30, "plan": ["", "gold", "", ""] * 30})
    >>> list(found.pairs())
    [('member', 'plan', ['yes'])]
    """

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}
        self._filled: dict[str, int] = {}  # records with a value
        self._with: dict[tuple[str, str], set[str]] | None = None  # values of the first with which the second has any

    def add(self, columns: Mapping[str, Sequence[str]]) -> None:
        """Add records."""
        if self._with is None:
            self._with = {pair: set() for pair in permutations(columns, 2)}
        for name, texts in columns.items():
            counts = self._counts.setdefault(name, Counter())
            if len(counts) <= _MAX_BASE_VALUES:
                counts.update(texts)
        filled = {name: [text not in NULLS for text in texts] for name, texts in columns.items()}
        for name, is_filled in filled.items():
            self._filled[name] = self._filled.get(name, 0) + sum(is_filled)
        for (one, other), seen in list(self._with.items()):
            if len(self._counts[one]) <= _MAX_BASE_VALUES:
                seen.update(compress(columns[one], filled[other]))
            if len(seen) >= len(self._counts[one]) or len(self._counts[one]) > _MAX_BASE_VALUES:
                del self._with[one, other]

    def pairs(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield, for each column that is blank by another, its best base, the column, and base values with any."""
        best: dict[str, tuple[float, str, list[str]]] = {}
        for (one, other), seen in (self._with or {}).items():
            counts = self._counts[one]
            total = sum(counts.values())
            blank = sum(count for text, count in counts.items() if text not in seen)
            by_chance = blank * self._filled[other] / total  # records that would have a value by chance
            if seen and by_chance >= _MIN_RECORDS and by_chance > best.get(other, (0.0,))[0]:
                best[other] = by_chance, one, sorted(seen)
        yield from ((one, other, seen) for other, (_, one, seen) in best.items())


class Orders:
    """Pairs of columns of dates of which the second is never before the first.

    Examples
    --------
    >>> found = Orders()
    >>> days = {"in": ["2024-01-01"] * 20 + ["2024-03-05"] * 20, "out": ["2024-01-07"] * 20 + ["2024-03-05"] * 20}
    >>> found.add(dict.fromkeys(days, DateReader("")), days)
    >>> list(found.pairs(days))
    [('in', 'out', 0, 518400)]
    """

    def __init__(self) -> None:
        self._readers: dict[str, DateReader] = {}
        self._lost: set[str] = set()  # columns that were read otherwise before, or are no dates after all
        self._broken: set[tuple[str, str]] = set()
        self._n_by_chance: dict[
            tuple[str, str], int
        ] = {}  # records that would be out of order with another's second date
        self._spans: dict[tuple[str, str], tuple[int, int]] = {}  # seconds from one to the other: least, most

    def add(self, readers: Mapping[str, DateReader], columns: Mapping[str, Sequence[str]]) -> None:
        """Add records, with the readers of their dates."""
        self._readers = {**readers, **self._readers}
        self._lost |= {name for name, reader in self._readers.items() if readers.get(name) is not reader}
        names = [name for name in readers if name not in self._lost]
        pairs = [pair for pair in permutations(names, 2) if pair not in self._broken]
        dates = {name: _dates(readers[name], columns[name]) for name in {name for pair in pairs for name in pair}}
        for pair in pairs:
            unit = "s" if all(readers[name].has_times for name in pair) else "D"
            first, second = (dates[name].astype(f"datetime64[{unit}]") for name in pair)
            spans = (second - first)[~np.isnat(first) & ~np.isnat(second)].astype("timedelta64[s]").astype(np.int64)
            if spans.size:
                low, high = self._spans.get(pair, (spans[0], spans[0]))
                self._spans[pair] = int(min(low, spans.min())), int(max(high, spans.max()))
                self._n_by_chance[pair] = self._n_by_chance.get(pair, 0) + int(
                    (first > np.roll(second, len(second) // 2)).sum()
                )
                if spans.min() < 0:
                    self._broken.add(pair)

    def pairs(self, names: Iterable[str]) -> Iterator[tuple[str, str, int, int]]:
        """Yield pairs of columns, and the least and the largest number of seconds between them.

        The first and the last of three columns in order are left out, and so are two that are always equal.
        """
        known = [name for name in names if name not in self._lost]
        supported = [pair for pair in permutations(known, 2) if self._n_by_chance.get(pair, 0) >= _MIN_RECORDS]
        able = {pair for pair in supported if pair not in self._broken and pair[::-1] in self._broken}
        for one, other in supported:
            if (one, other) in able and not any((one, b) in able and (b, other) in able for b in known):
                yield one, other, *self._spans[one, other]


def _dates(reader: DateReader, texts: Sequence[str]) -> NDArray[np.datetime64]:
    places: dict[str, int] = {}
    rows = [places.setdefault(text, len(places)) for text in texts]
    distinct = [None if text in NULLS else reader.read(text) for text in places]
    return np.array(distinct, dtype="datetime64[s]")[rows]


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


def draft_schema(source: Source) -> dict[str, Any]:
    """Return a first draft of the schema of a table, to be edited. It is NOT private.

    Parameters
    ----------
    source : Source
        With the marks of its dialect; other marks of numbers than plain ones are found, column by column, if it has
        none.

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
    >>> from pypgm.data.sources.source import open_source
    >>> draft = draft_schema(open_source({"wage": ["1,250.50", "980.00"] * 50, "id": [f"P{i}" for i in range(100)]}))
    >>> draft["columns"]["wage"]["thousands"], draft["drop"]
    (',', {'id': 'a different value in each record, as names and ids have: kind id or fake makes new ones'})
    """
    source.dialect.check()
    seen, dependences, blanks, orders = _read(source)
    keys = {name: key for name, column in seen.items() if name and (key := column.key(name))}
    columns, dropped = _declared(seen, keys)
    if not columns:
        why = "each is empty, a key, or has a different value in each record"
        raise ValueError(f"{source.name} has no column to declare: {why}")
    _share_out(columns)
    derived = _point_out(columns, dependences, blanks)
    _point_out_orders({n: c for n, c in columns.items() if c["kind"] == "date" and n not in derived}, orders)
    draft: dict[str, Any] = {"comment": _COMMENT}
    if source.has_header and all(column.counts[name] or is_number(name) for name, column in seen.items()):
        _warn(draft, FIRST_LINE)
    if able := [name for name, key in keys.items() if key.most > 1]:
        draft["person"] = _person(keys, able, seen)
    else:
        _warn(draft, _QUESTION)
    return draft | {"columns": columns} | ({"drop": dropped} if dropped else {})


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


def _read(source: Source) -> tuple[dict[str, Seen], Dependences, Blanks, Orders]:
    """Read the records of a table."""
    marks = source.dialect.decimal, source.dialect.thousands
    seen = {name: Seen(family_of(kind) if kind else "", marks) for name, kind in source.layout.types.items()}
    dependences, blanks, orders = Dependences(), Blanks(), Orders()
    for piece in source.pieces():
        columns = as_columns(piece)
        texts = {name: value_texts(source.name, name, columns[name]) for name in seen}
        for name, column in seen.items():
            column.add(texts[name])
        dependences.add(texts)
        blanks.add(texts)
        orders.add({name: reader for name, column in seen.items() if (reader := column.date_reader)}, texts)
    return seen, dependences, blanks, orders


def _share_out(columns: Mapping[str, dict[str, Any]]) -> None:
    """Lower the budget shares of open columns if there are many."""
    costly = [c if c["kind"] == "open" else c["bins"] for c in columns.values() if _is_costly(c)]
    for fields in costly:
        fields["share"] = share_of_each(len(costly), 6)


def _is_costly(fields: Mapping[str, Any]) -> bool:
    return fields["kind"] == "open" or isinstance(fields.get("bins"), Mapping)


def _point_out(columns: Mapping[str, dict[str, Any]], dependences: Dependences, blanks: Blanks) -> set[str]:
    """Return columns that follow from others in the records, and add warnings that say how to declare the rule."""
    derived = set()
    for base, other, images in dependences.pairs():
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
        if base in columns and other in columns and other not in derived:
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
