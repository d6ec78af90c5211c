"""A first draft of a schema from a table, to be edited: whatever is read from the records is marked."""

from __future__ import annotations

import contextlib
import datetime
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

from pypgm.data.dates import iso_date
from pypgm.data.files import DecimalMark, check_marks, csv_rows, open_text
from pypgm.data.numbers import has_decimal_comma
from pypgm.data.parquet import is_parquet, text_rows
from pypgm.data.table import separator_hint
from pypgm.domain import first_repeat, listed

__all__ = ["draft_schema"]

_ROWS = 8192  # held as text at a time
_DISTINCT = 100_000  # values of a column that are told apart
_SHARE = 0.05  # of the budget, to find the values of a column that has more
_OPENED = 6  # columns of which each may have that share
_LISTED = 60  # values of a column that are listed
_OTHERS = 10  # different values, from which one may be far
_EXACT = 2.0**52  # below it a double, and the bound above it, hold every number of some decimals
_BINS = 50  # of a column of numbers, about
_NULLS = ("", "?", "NA", "N/A", "n/a", "na", "NULL", "null", "None", "none", "NaN", "nan", "-")
_FALSE_TRUE = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("0", "1"))
_DIGITS = "%Y%m%d"  # a date as a whole number, of a year with this century's digits or the last's
_FORMATS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y")
_DAY = re.compile(r"(19|20)[0-9]{6}")
_CLOCK = re.compile(r"[0-9-]{10} [0-9]{2}:[0-9]{2}:[0-9]{2}")  # ISO, but for the space
_WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]{0,14})")  # what begins with a zero, such as a postcode, is a text
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
_COMMENT = (
    "Drafted from a table. A schema is public: what has a warning was read from the records, and nothing protects it, "
    "or may name people. Replace it by what is publicly known, or drop the column, and delete the warning."
)
_OPEN = "do these values name people? then drop the column: values that enough people have are published"
_BOUNDS = "low and high are about those of the records: replace them by what is publicly known"


def draft_schema(
    path: str | os.PathLike[str], *, delimiter: str = ",", encoding: str = "utf-8", decimal: DecimalMark = "."
) -> dict[str, Any]:
    """Return a first draft of the schema of a table in a CSV or Parquet file, to be edited. It is NOT private.

    Parameters
    ----------
    path : str or path-like
    delimiter, encoding, decimal
        As for `read_table`; a Parquet file, which needs the extra ``[parquet]``, has none of them.

    Returns
    -------
    dict
        What a schema file has, with a "warning" at everything that was read from the records or may name people.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is no table with a header, a name comes twice in it, or there is no column to declare.
    """
    name = os.fspath(path)
    check_marks(delimiter, decimal)
    with contextlib.ExitStack() as stack:
        try:
            if is_parquet(path):
                seen = _read(text_rows(path), ".", ",")
            else:
                file = stack.enter_context(open_text(path, encoding))
                rows = csv_rows(path, file, delimiter)
                header = [name.strip() for name in next(rows, [])]
                seen = _read(chain([header], rows), decimal, delimiter)
        except _NoTableError as error:
            raise ValueError(f"{name} {error}") from None
    columns = {name: found for name, column in seen.items() if (found := column.declared())}
    if not columns:
        raise ValueError(f"{name} has no column to declare: each is empty, or has a value of its own for each record")
    told: dict[str, Any] = {"comment": _COMMENT, "columns": columns}
    opened = [column for column in columns.values() if column["kind"] == "open"]
    for column in opened if len(opened) > _OPENED else ():
        column["share"] = round(_SHARE * _OPENED / len(opened), 6)
    dropped = [name for name in seen if name not in columns]
    warnings = _warnings(seen, columns, delimiter)
    told |= {"warning": "; ".join(warnings)} if warnings else {}
    return told | ({"drop": dropped} if dropped else {}) | {"records_per_person": 1}


def _warnings(seen: Mapping[str, _Seen], columns: Mapping[str, Any], delimiter: str) -> list[str]:
    """Return what looks wrong with the table as it was read."""
    texts = [name for name in seen if name not in columns or columns[name]["kind"] in {"categorical", "open"}]
    commas = [repr(name) for name in texts if seen[name].has_decimal_commas()]
    way_out = "write points" if delimiter == "," else "--decimal ,"
    found = [f"numbers of {listed(commas)} look like decimal commas: {way_out}"] if commas else []
    if all(_NUMBER.fullmatch(name) or name in column.counts for name, column in seen.items()):
        found.append("the first line looks like a record, not like the names of columns: add a header line")
    return found


class _NoTableError(ValueError):
    """What is wrong with a table, still without the name of its file."""


def _read(rows: Iterator[list[str]], decimal: DecimalMark, delimiter: str) -> dict[str, _Seen]:
    header = next(rows)
    if not any(header):
        raise _NoTableError("is empty; it needs a header line with the names of the columns")
    if wrong := _wrong_names(header):
        raise _NoTableError(f"needs a header line with a name for each column, each once: {wrong}")
    if hint := separator_hint(header, delimiter):
        raise _NoTableError(f"has one column{hint}")
    seen = {name: _Seen(decimal) for name in header}
    first_row = 1
    while chunk := list(islice(rows, _ROWS)):
        chunk = [row for row in chunk if row]
        for row, fields in enumerate(chunk, first_row):
            if len(fields) != len(header):
                place = f"row {row} (the header is row 0)"
                raise _NoTableError(f"needs {len(header)} fields in {place}, got {len(fields)}")
        first_row += len(chunk)
        for column, texts in zip(seen.values(), zip(*chunk, strict=True), strict=False):
            column.add(text.strip() for text in texts)
    return seen


def _wrong_names(header: Sequence[str]) -> str:
    """Return what is wrong with the names of columns, if anything."""
    if not all(header):
        why = "; it may be the index of a data frame, which pandas leaves out with index=False" if not header[0] else ""
        return f"column {header.index('') + 1} has none{why}"
    return "" if len(set(header)) == len(header) else f"{first_repeat(header)!r} comes more than once"


class _Seen:
    """What was seen of one column: how often each value came, and what all values can be read as."""

    def __init__(self, decimal: DecimalMark) -> None:
        self.counts: Counter[str] = Counter()
        self.rows = 0
        self.decimal = decimal
        self.decimals = 0
        self.is_whole = True  # each number, as 1.0 is, and small enough for an integer
        readers: dict[str, Callable[[str], Any]] = {"integer": self._whole, "real": self._number, "": _iso}
        readers |= {form: partial(_of_format, form) for form in (*_FORMATS, _DIGITS)}
        self.readers = readers
        self.ranges: dict[str, tuple[Any, Any]] = {}

    def add(self, texts: Iterable[str]) -> None:
        """Count values, and give up each way to read them that fails."""
        came = Counter(texts)
        self.rows += came.total()
        new = [text for text in came if text not in self.counts and text not in _NULLS]
        for kind, read in list(self.readers.items()):
            try:
                values = [read(text) for text in new]
            except ValueError:
                del self.readers[kind]
                continue
            if values:
                low, high = self.ranges.get(kind, (values[0], values[0]))
                self.ranges[kind] = (min(low, *values), max(high, *values))
        for text, count in came.items():
            if text in self.counts or len(self.counts) < _DISTINCT:
                self.counts[text] += count

    def has_decimal_commas(self) -> bool:
        """Return whether most values are no numbers but with a decimal comma."""
        values = [text for text in self.counts if text not in _NULLS]
        return self.decimal == "." and 2 * sum(map(has_decimal_comma, values)) > len(values)

    def declared(self) -> dict[str, Any] | None:
        """Return a declaration of the column; None where it is better dropped."""
        nulls = [text for text in self.counts if text in _NULLS]
        values = [text for text in self.counts if text not in _NULLS]
        able = [kind for kind in self.readers if kind in self.ranges]
        pair = {text.casefold() for text in values}
        found = next(([f, t] for f, t in _FALSE_TRUE if pair == {f, t}), None)
        maybe = [text for text in nulls if text.isalpha()]
        if not values:
            return None
        if found is not None and len(values) == 2:
            spelled = sorted(values, key=lambda text: found.index(text.casefold()))
            told: dict[str, Any] = {"kind": "boolean", "values": spelled}
        elif able and (binned := self._binned(able, len(values))):
            told = binned
        elif able and any("e" in text.casefold() for text in values):
            return None  # numbers of which no bins and no text in a list are one
        elif len(values) > _LISTED and 2 * len(values) > self.rows - sum(self.counts[n] for n in nulls):
            return None  # about a value a record: names, numbers of persons, free text
        else:
            told = self._listed(values)
        if maybe and (len(nulls) > len(maybe) or told["kind"] in {"categorical", "open"}):
            taken = f"{listed([repr(text) for text in maybe])} is taken for a missing value: if it is one of its own, "
            told["warning"] = "; ".join([*filter(None, [told.get("warning")]), f"{taken}take it out of null"])
        return told | ({"null": sorted(nulls)} if nulls else {})

    def _listed(self, values: list[str]) -> dict[str, Any]:
        warning = "values are those of the records: replace them by what is publicly known"
        if len(values) <= _LISTED:
            return {"kind": "categorical", "values": sorted(values), "warning": warning}
        return {"kind": "open", "share": _SHARE, "warning": _OPEN}  # found privately: nothing is read from the records

    def _binned(self, able: Sequence[str], distinct: int) -> dict[str, Any] | None:
        """Return bins between about the least and the largest value; None where bounds of 12 digits are one number."""
        kind = _DIGITS if _DIGITS in able else "integer" if able[0] == "real" and self.is_whole else able[0]
        low, high = self.ranges["real" if kind == "integer" and kind not in able else kind]
        warning = _BOUNDS
        if distinct == self.rows > _LISTED:
            warning += "; no value comes twice: if it is the number of a person, drop the column"
        if kind in {"integer", "real"}:
            read = self.readers["real" if kind not in able else kind]
            warning += _apart(sorted({read(text) for text in self.counts if text not in _NULLS}))
        if kind == "integer":
            low, high = int(low), int(high)
            width = max(1, _nice((high - low) / _BINS)) if high - low > 2 * _BINS else 1
            low, high = math.floor(low / width) * width, math.ceil((high + 1) / width) * width - 1
            return {"kind": kind, "low": low, "high": high, "width": width, "warning": warning}
        if kind == "real":
            is_exact = self.decimals <= 6 and max(abs(low), abs(high)) * 10**self.decimals < _EXACT
            least = 10.0**-self.decimals if is_exact else 0.0  # a bin holds a number of so many decimals
            if math.isinf(high - low):
                return None
            width = max(_nice((high - low) / _BINS), least) if high > low else 1.0
            first, last = math.floor(low / width), max(math.floor(low / width) + 1, math.ceil(high / width))
            ends = {"low": _rounded(first * width), "high": _rounded(last * width), "bins": last - first}
            if not ends["low"] < ends["high"] or math.isinf(ends["high"] - ends["low"]):
                return None
            places = {"decimals": self.decimals} if is_exact else {}
            return {"kind": kind, **ends, **places, "warning": warning}
        dates = [k for k in able if k not in {"integer", "real"}]
        if len(dates) > 1:
            warning += f"; the format may be {' or '.join(dates)}"
        ends = _date_ends(low, high)
        if not kind and all(_CLOCK.fullmatch(text) for text in self.counts if text not in _NULLS):
            kind = "%Y-%m-%d %H:%M:%S"
        return {"kind": "date", **ends, **({"format": kind} if kind else {}), "warning": warning}

    def _whole(self, text: str) -> int:
        if not _WHOLE.fullmatch(text):
            raise ValueError
        return int(text)

    def _number(self, text: str) -> float:
        found = _NUMBER.fullmatch(text.replace(",", ".") if self.decimal == "," and "." not in text else text)
        if not found:
            raise ValueError
        number = float(found[0])
        if (abs(number) >= _EXACT and not found[3]) or math.isinf(number):
            raise ValueError  # a double may not be this number, which may be that of a person
        self.is_whole &= number.is_integer() and abs(number) < _EXACT
        self.decimals = max(self.decimals, 7 if found[3] else len(found[2] or ".") - 1)
        return number


def _apart(values: Sequence[float]) -> str:
    """Return a warning where the least or the largest value may be none; empty where neither looks so.

    It is further from the others than these are from each other, or the one that is negative.

    Examples
    --------
    >>> _apart([-999, *range(20_000, 90_000, 1000)])
    '; -999 is far from the others, 20000 to 89000: if it means no value, write it under null and bound the others'
    >>> _apart(range(100))
    ''
    """
    rest, found = list(values), list[float]()
    for end in (-1, 0):
        own = rest.pop(end)
        if len(rest) >= _OTHERS and (abs(own - rest[end]) > rest[-1] - rest[0] or own < 0 <= rest[0]):
            found.append(own)
        else:
            rest.insert(0 if end == 0 else len(rest), own)
    if not found:
        return ""
    told, ends = " and ".join(f"{x:.12g}" for x in sorted(found)), f"{rest[0]:.12g} to {rest[-1]:.12g}"
    is_far = f"{told} {'is' if len(found) == 1 else 'are'} far from the others, {ends}"
    return f"; {is_far}: if it means no value, write it under null and bound the others"


def _of_format(form: str, text: str) -> datetime.datetime:
    if form == _DIGITS and not _DAY.fullmatch(text):
        raise ValueError
    return datetime.datetime.strptime(text, form)


def _iso(text: str) -> datetime.datetime:
    found = iso_date(text)
    return found if isinstance(found, datetime.datetime) else datetime.datetime.combine(found, datetime.time())


def _date_ends(low: datetime.datetime, high: datetime.datetime) -> dict[str, Any]:
    """Return bounds that are about those of dates, and a resolution of some dozens of bins."""
    days = (high - low).days
    has_times = any(time.time() != datetime.time() for time in (low, high))
    steps = ((2 if has_times else -1, "hour"), (92, "day"), (366 * 6, "month"), (366 * 20, "quarter"))
    resolution = next((name for most, name in steps if days <= most), "year")
    first, last = low.date(), high.date()
    if resolution not in {"hour", "day"}:
        first, last = first.replace(month=1, day=1), last.replace(month=12, day=31)
    return {"low": first.isoformat(), "high": last.isoformat(), "resolution": resolution}


def _nice(width: float) -> int | float:
    """Return the next of 1, 2, 5, 10, 20, ... and of their tenths."""
    unit = 10.0 ** math.floor(math.log10(width)) if width > 0 else 1.0
    found = next(unit * step for step in (1, 2, 5, 10) if unit * step >= width * (1 - 1e-9))
    return int(found) if found >= 1 else found


def _rounded(number: float) -> int | float:
    found = float(f"{number:.12g}")
    return int(found) if found.is_integer() else found
