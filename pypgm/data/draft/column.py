"""Values of one column of a table, and the declaration drafted from them."""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from pypgm.data.columns.dates import TIMES, Resolution, clock_in, has_short_years
from pypgm.data.columns.number_text import PLAIN, SIGNS, WRITTEN, DecimalMark, sign_of, written_as
from pypgm.data.columns.numbers import nice
from pypgm.data.draft.date_reader import DateReader, date_readers
from pypgm.data.draft.gaps import LISTED, is_list, is_short, is_sparse, missing_codes, step_of
from pypgm.data.draft.key import LEAST, Key, is_all_different, is_spread, key_of
from pypgm.data.draft.readers import NumberReader, is_number
from pypgm.data.draft.warnings import note, warn

NULLS = ("", "?", "NA", "N/A", "n/a", "na", "NULL", "null", "None", "none", "NaN", "nan", "-")
"""Texts that are read as missing values."""

SHARE = 0.05
"""Largest share of the budget that finds the values of a column, or its bins."""

BINS = 50
"""Number of bins of a column of numbers, about."""

QUANTILES = 20
"""Number of bins by quantiles, about."""

_TOTAL_SHARE = 0.3  # of the budget, for all columns whose values or bins are found

DISTINCT = 100_000
"""Values of a column that are told apart."""

_MAX_CODES = 250  # numbers with gaps nearly everywhere: more of them may be amounts
_OTHERS = 10  # different values, from which one may be far
_ODD = 10  # different texts among numbers or dates, at most
_READ = 5  # different numbers or dates beside them, at least
_MARKS = (".", "\\N")  # for a missing value among booleans, where they mean nothing else
_MAX_EXACT = 2.0**52  # below it a double, and the bound above it, hold every number of some decimals
_FULL = 0.15  # of the records in one bin of several values, or with one of these: bins of quantiles are better
_HEAVY = 0.2  # of the records with frequent values: these can be found, though most others come once
_FREQUENT = 20  # records
_NEARLY = 0.95  # of the values that are numbers beside a sign
_FALSE_TRUE = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("0", "1"))
_TIME = re.compile(r"[0-9]{1,3}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?")
_TEXTS = {"", "text", "category", "any"}  # families of types whose values may be numbers or dates that are texts


class Seen:
    """Counts of the values of a column, and the ways in which all of them can be read.

    Parameters
    ----------
    family : str
        Family of its type, see `family_of`; empty for a file of texts.
    marks : tuple of str
        Marks of numbers, if they are known; else they are found.
    """

    def __init__(self, family: str = "", marks: tuple[DecimalMark, str] = PLAIN) -> None:
        self._given = family, marks
        self.counts: Counter[str] = Counter()
        self.rows = 0
        self.is_typed = family not in _TEXTS
        able = [
            written
            for written in WRITTEN
            if marks == PLAIN or (written[0] == marks[0] and marks[1] in {"", written[1]})
        ]
        self._able = [] if self.is_typed else [written for written in able if written != marks]
        self.numbers: NumberReader | None = None if family in {"bool", "date", "time"} else NumberReader(marks)
        self.dates: dict[str, DateReader] | None = None  # until a value comes

    def add(self, texts: Iterable[str]) -> None:
        """Count values, and give up each way to read them that fails."""
        self._count(Counter(texts))

    def _count(self, came: Mapping[str, int]) -> None:
        self.rows += sum(came.values())
        new = [text for text in came if text not in self.counts and text not in NULLS]
        if self.dates is None and new:
            self.dates = date_readers(new, self._given[0])
        for form, reader in list((self.dates or {}).items()):
            if self.dates and not _reads(reader, new):
                del self.dates[form]
        before = list(self.values)
        while self.numbers is not None and not _reads(self.numbers, new):
            is_known = self._able and len(self.counts) < DISTINCT  # by all that came, other marks may be tried
            self.numbers, new = NumberReader(self._able.pop(0)) if is_known else None, [*before, *new]
            before = []
        for text, count in came.items():
            if text in self.counts or len(self.counts) < DISTINCT:
                self.counts[text] += count

    @property
    def values(self) -> dict[str, int]:
        """Count of each value that is not taken for a missing one."""
        return {text: count for text, count in self.counts.items() if text not in NULLS}

    @property
    def date_reader(self) -> DateReader | None:
        """Reader of the values as dates; None if they are not dates, or there are none."""
        return next((reader for reader in (self.dates or {}).values() if reader.is_likely()), None)

    def key(self, name: str) -> Key | None:
        """Return the column as a key; None if neither its name nor its values look like one."""
        read = self.numbers
        if self.date_reader or (read and not (read.is_whole and read.is_plain and read.low >= 0)):
            return None
        values = self.values
        key = key_of(name, values)
        return None if read is None and key and (_signed(values) or _times(values)) else key

    def declared(self) -> tuple[dict[str, Any], str]:
        """Return a declaration of the column, or an empty one and the reason to drop it."""
        if not self.values:
            return {}, "it is empty"
        odd, codes = self._odd(), list[str]()
        rest = self._without(odd)
        codes = rest._codes()
        fields, why = rest._without(codes)._declared_values()
        if not fields:
            return {}, why
        nulls = sorted(text for text in self.counts if text in NULLS)
        maybe = [text for text in nulls if text.isalpha()]
        if maybe and (len(nulls) > len(maybe) or fields["kind"] in {"categorical", "open"}):
            warn(fields, note("null?", *maybe))
        if codes:
            warn(fields, note("null?", *codes))
            _keep_out(fields, [float(code) for code in codes if is_number(code)])
        if odd:
            warn(fields, note("odd", *odd))
        if {"inf", "-inf"} & {*odd} and fields["kind"] in {"integer", "real"}:  # a float is, whatever texts are null
            fields["outside"] = "null"
            warn(fields, note("outside"))
        kinds = [*nulls, *odd, *codes]  # a person says what each means
        return fields | ({"null": dict.fromkeys(kinds, "") if len(kinds) > 1 else kinds} if kinds else {}), ""

    def _without(self, texts: Sequence[str]) -> Seen:
        """Return the values without some texts; itself if there are none."""
        if not texts:
            return self
        rest = Seen(*self._given)
        rest._count(Counter({text: count for text, count in self.counts.items() if text not in texts}))
        return rest

    def _odd(self) -> list[str]:
        """Return the few texts among numbers, dates or booleans that cannot be read as the others are."""
        values = self.values
        if self.numbers or self.date_reader or len(self.counts) >= DISTINCT or _boolean(values):
            return []
        if marks := [text for text in values if text in _MARKS]:
            rest = {text: count for text, count in values.items() if text not in marks}
            if _boolean(rest):
                return marks
        tried = Seen(*self._given)
        ways: list[DateReader | NumberReader]
        ways = [
            *date_readers(values, self._given[0]).values(),
            *([tried.numbers] if tried.numbers else []),
            *map(NumberReader, tried._able),
        ]
        n_odd = len(values) - 1 if self.is_typed else min(_ODD, max(1, len(values) // 10), len(values) - _READ)
        for reader in ways:
            odd = list(islice((text for text in values if not _reads(reader, [text])), max(0, n_odd) + 1))
            if 0 < len(odd) <= n_odd and (not isinstance(reader, DateReader) or reader.is_likely()):
                return sorted(odd)
        return []

    def _codes(self) -> list[str]:
        """Return the texts that stand for no answer among numbers or dates."""
        values = self.values
        if len(self.counts) >= DISTINCT or _boolean(values):
            return []
        if dates := self.date_reader:
            days = {text: float(dates.read(text).toordinal()) for text in values}
            far = {*_far_days(sorted({*days.values()}))}
            return sorted(text for text, day in days.items() if day in far)
        if self.numbers:
            codes = {*missing_codes(self._number_counts(self.numbers))}
            return sorted((text for text in values if self.numbers.read(text) in codes), key=self.numbers.read)
        return []

    def _declared_values(self) -> tuple[dict[str, Any], str]:
        """Return the declaration of values of which each is one."""
        values = self.values
        fields = _boolean(values) or self._date() or self._number(values)
        if not fields and self.numbers and any("e" in text.casefold() for text in values):
            return {}, "its numbers are too far apart for bins"
        if fields:
            return fields, ""
        signed = _signed(values)
        unread = signed or _times(values)
        if is_all_different(values.values()) or (len(values) > LISTED and not self._is_open(values)):
            return {}, unread or own_in_each(values)
        fields = self._listed(values)
        if signed or (unread and fields["kind"] == "open"):
            warn(fields, unread)
        return fields, ""

    def _number_counts(self, read: NumberReader) -> Counter[float]:
        counts: Counter[float] = Counter()
        for text, count in self.values.items():
            counts[read.read(text)] += count
        return counts

    def _is_open(self, values: Mapping[str, int]) -> bool:
        """Return whether values repeat, or frequent values cover many records."""
        frequent = sum(count for count in values.values() if count >= _FREQUENT)
        return 2 * len(values) <= sum(values.values()) or frequent >= _HEAVY * sum(values.values())

    def _listed(self, values: Mapping[str, int]) -> dict[str, Any]:
        if len(values) <= LISTED:
            return {"kind": "categorical", "values": sorted(values), "warning": note("values")}
        return {"kind": "open", "share": SHARE, "warning": note("open")}  # found privately: none is read

    def _date(self) -> dict[str, Any]:
        dates = self.date_reader
        if dates is None:
            return {}
        form = dates.form
        counts: Counter[datetime.datetime] = Counter()
        for text, count in self.values.items():
            counts[dates.read(text)] += count
        is_first = all(time.day == 1 and time.time() == datetime.time() for time in counts)
        days = Counter[float]()
        for time, count in counts.items():
            days[float(time.toordinal())] += count
        if not (is_first or self.is_typed or dates.has_clock) and is_short(days) and is_sparse(days, 1):
            texts = sorted(self.values, key=dates.read)
            return {"kind": "categorical", "values": texts, "ordinal": True, "warning": note("values")}
        ends = _date_ends(dates)
        if ends["resolution"] == "hour" and form == ("%Y-%m-%d %H:%M:%S" if self.is_typed else "%Y-%m-%dT%H:%M:%S"):
            form = ""  # which is written like that
        fields = {"kind": "date", **ends} | ({"format": form} if form else {})
        if is_first and fields["resolution"] in {"month", "quarter", "year"}:
            fields["within"] = "lower"
        warn(fields, note("bounds"), *dates.doubts([r for r in (self.dates or {}).values() if r.is_likely()]))
        if has_short_years(form):
            warn(fields, note("century"))
        if dates.has_clock and fields["resolution"] not in TIMES:
            warn(fields, note("hour?" if clock_in(form) else "time"))
        return fields

    def _number(self, values: Mapping[str, int]) -> dict[str, Any]:
        """Return the declaration of numbers; empty if there are none, or both bounds round to one number.

        A few that repeat are listed, and so are some more with gaps between nearly all; others are in bins.
        """
        read = self.numbers
        if read is None or math.isinf(read.high - read.low):
            return {}
        counts = self._number_counts(read)
        unit = 1.0 if read.is_whole else 10.0**-read.decimals
        is_many = LISTED < len(values) < DISTINCT
        step = step_of(counts, unit) if is_many else unit
        are_codes = is_many and is_sparse(counts, step)
        if are_codes if is_many and len(values) <= _MAX_CODES else is_list(counts, unit):
            fields = _listed_numbers(read, values, is_typed=self.is_typed)
            warn(fields, *[note("codes?")] * are_codes)
            return fields
        fields, width = _whole(read) if read.is_whole else _real(read)
        if fields and step > unit and (read.high - read.low) / step < 2 * BINS:
            fields, width = _steps(read, step), unit  # a bin has one number
        if not fields:
            return {}
        if width > unit and _is_uneven(counts, width):
            fields = _in_quantiles(fields, [n for n, count in sorted(counts.items()) if count > _FULL * self.rows])
        warn(fields, note("bounds"), *[note("codes?")] * are_codes)
        if read.is_whole and len(values) == self.rows >= LEAST and is_spread(list(counts)):
            warn(fields, note("key?"))
        if far := _far(sorted(counts)):
            warn(fields, note("far?", *map("{:.12g}".format, far)))
        if other := _other_marks(read, values):
            warn(fields, other)
        return fields | ({} if self.is_typed else read.spelling_seen)


def _keep_out(fields: dict[str, Any], codes: Sequence[float]) -> None:
    """Draw rounded bounds of whole numbers back from codes for no answer, which no bin may draw as values."""
    if fields["kind"] == "integer":
        middle = (fields["low"] + fields["high"]) / 2
        fields["high"] = int(min([fields["high"], *(code - 1 for code in codes if code > middle)]))
        fields["low"] = int(max([fields["low"], *(code + 1 for code in codes if code < middle)]))


def _boolean(values: Mapping[str, int]) -> dict[str, Any]:
    """Return the declaration of a boolean, with its two texts as most records spell them; empty for other values."""
    pair = {text.casefold() for text in values}
    words = next((two for two in _FALSE_TRUE if pair == set(two)), None)
    if words is None:
        return {}
    spelled = [max((t for t in values if t.casefold() == word), key=values.__getitem__) for word in words]
    return {"kind": "boolean", "values": spelled}


def _listed_numbers(read: NumberReader, values: Mapping[str, int], *, is_typed: bool) -> dict[str, Any]:
    """Return the declaration of a list of numbers, or of their texts in this order where their spelling varies."""
    texts = sorted(values, key=read.read)
    numbers = [int(n) if n.is_integer() and abs(n) < _MAX_EXACT else n for n in map(read.read, texts)]
    decimals = max(len(text.partition(".")[2]) for text in texts)
    fields: dict[str, Any] = {"kind": "categorical", "values": numbers}
    if not is_typed and (read.marks_seen or texts != [str(number) for number in numbers]):
        if read.marks_seen or texts != [f"{number:.{decimals}f}" for number in numbers]:
            fields |= {"values": texts, "ordinal": True}
        else:
            fields["decimals"] = decimals
    return fields | {"warning": note("values")}


def share_of_each(n_columns: int, digits: int = 4, most: float = SHARE) -> float:
    """Return the share of the budget that finds the values or bins of each of some open columns.

    Examples
    --------
    >>> share_of_each(2), share_of_each(10)
    (0.05, 0.03)
    """
    return round(min(most, _TOTAL_SHARE / max(1, n_columns)), digits)


def own_in_each(values: Mapping[str, int]) -> str:
    """Return the reason to drop a column with a different value in about every record."""
    records = "each record" if max(values.values()) == 1 else "nearly each record"
    return f"a different value in {records}, as names and ids have: kind id or fake makes new ones"


def _signed(values: Mapping[str, int]) -> str:
    """Return the advice for numbers beside a sign or a unit; empty for other values.

    Examples
    --------
    >>> _signed({"24,8 %": 1, "3,8 %": 2})
    'signs a percent sign'
    """
    places = {text: sign_of(text) for text in values}
    signs = sorted({place for place in places.values() if place is not None})
    able = sum(places[text] is not None or written_as(text) is not None or is_number(text) for text in values)
    if not signs or able < _NEARLY * len(values):
        return ""
    return note("signs", *(SIGNS[place] for place in signs))


def _reads(reader: NumberReader | DateReader, texts: Iterable[str]) -> bool:
    try:
        for text in texts:
            reader.read(text)
    except ValueError:
        return False
    return True


def _times(values: Iterable[str]) -> str:
    """Return the advice for times of day and spans; empty for other values.

    Examples
    --------
    >>> _times(["8:30", "12:45:10"]), _times(["8:30", "noon"])
    ('times', '')
    """
    return note("times") if all(map(_TIME.fullmatch, values)) else ""


def _other_marks(read: NumberReader, values: Iterable[str]) -> str:
    """Return a warning if all numbers could be read with other marks, as other numbers."""
    marks: tuple[DecimalMark, str] = (",", ".")
    taken, other = "decimals", "thousands"
    if "decimal" not in read.marks_seen and read.marks_seen.get("thousands") == ",":
        marks, taken, other = (",", ""), "thousands", "decimals"
    elif read.marks != PLAIN or not read.decimals:
        return ""
    if not _reads(NumberReader(marks), values):
        return ""
    return note(f"{taken}?", marks[0] if other == "decimals" else marks[1])


def _whole(read: NumberReader) -> tuple[dict[str, Any], float]:
    low, high = int(read.low), int(read.high)
    width = max(1, math.ceil(nice((high - low) / BINS))) if high - low > 2 * BINS else 1
    low, high = math.floor(low / width) * width, math.ceil((high + 1) / width) * width - 1
    return {"kind": "integer", "low": low, "high": high, "width": width}, width


def _real(read: NumberReader) -> tuple[dict[str, Any], float]:
    low, high = read.low, read.high
    is_exact = read.decimals <= 6 and max(abs(low), abs(high)) * 10**read.decimals < _MAX_EXACT
    least = 10.0**-read.decimals if is_exact else 0.0  # a bin holds a number of so many decimals
    width = max(nice((high - low) / BINS), least) if high > low else 1.0
    first, last = math.floor(low / width), max(math.floor(low / width) + 1, math.ceil(high / width))
    ends = {"low": _rounded(first * width), "high": _rounded(last * width), "bins": last - first}
    if not ends["low"] < ends["high"] or math.isinf(ends["high"] - ends["low"]):
        return {}, width
    return {"kind": "real", **ends, **({"decimals": read.decimals} if is_exact else {})}, width


def _in_quantiles(fields: Mapping[str, Any], heaps: Sequence[float]) -> dict[str, Any]:
    """Return the declaration of numbers in bins of quantiles, with a bin of its own for each heap."""
    bins: dict[str, Any] = {"quantiles": QUANTILES, "share": SHARE}
    binned = {name: value for name, value in fields.items() if name not in {"width", "bins", "within"}} | {"bins": bins}
    if heaps:
        bins["heaps"] = list(map(_rounded, heaps))
        warn(binned, note("heap", *bins["heaps"]))
    return binned


def _steps(read: NumberReader, step: float) -> dict[str, Any]:
    """Return the declaration of numbers at even steps, each of which is the lower end of a bin."""
    n_steps = round((read.high - read.low) / step) + 1
    low, high = _rounded(read.low), _rounded(read.low + n_steps * step)
    if read.is_whole:
        return {"kind": "integer", "low": low, "high": int(high) - 1, "width": int(step), "within": "lower"}
    return {"kind": "real", "low": low, "high": high, "bins": n_steps, "decimals": read.decimals, "within": "lower"}


def _is_uneven(counts: Mapping[float, int], width: float) -> bool:
    """Return whether many records are in one bin, which bins of even width would blur.

    Examples
    --------
    >>> _is_uneven({float(i): 1 for i in range(1000)}, 20), _is_uneven({40.0: 600, 90.0: 400}, 2)
    (False, True)
    """
    records = Counter[float]()
    for value, count in counts.items():
        records[math.floor(value / width)] += count
    return max(records.values()) > _FULL * sum(records.values())


def _far(numbers: Sequence[float]) -> list[float]:
    """Return the least and the largest number, if it is further from the others than these are from each other.

    Examples
    --------
    >>> _far([-999, *range(20_000, 90_000, 1000)]), _far(range(100))
    ([-999], [])
    """
    rest, far = list(numbers), list[float]()
    for end in (-1, 0):
        number = rest.pop(end)
        if len(rest) >= _OTHERS and (abs(number - rest[end]) > rest[-1] - rest[0] or number < 0 <= rest[0]):
            far.append(number)
        else:
            rest.insert(0 if end == 0 else len(rest), number)
    return sorted(far)


def _far_days(days: Sequence[float]) -> list[float]:
    """Return the days that stand for no date: the first or the last of a year, far from all others."""
    dates = {day: datetime.date.fromordinal(int(day)) for day in _far(days)}
    return [day for day, date in dates.items() if (date.month, date.day) in {(1, 1), (12, 31)}]


def resolution_of(days: int, *, has_times: bool = False) -> Resolution:
    """Return the resolution that divides a number of days into a few dozen bins."""
    steps: tuple[tuple[int, Resolution], ...]
    steps = ((2 if has_times else -1, "hour"), (92, "day"), (366 * 6, "month"), (366 * 20, "quarter"))
    return next((name for most, name in steps if days <= most), "year")


def _date_ends(dates: DateReader) -> dict[str, Any]:
    """Return rounded bounds of dates, and a resolution that gives a few dozen bins."""
    if short := dates.short_ends():
        return short
    resolution = dates.resolution(resolution_of((dates.high - dates.low).days, has_times=dates.has_times))
    first, last = dates.low.date(), dates.high.date()
    if resolution not in {"hour", "day"}:
        first, last = first.replace(month=1, day=1), last.replace(month=12, day=31)
    return {"low": first.isoformat(), "high": last.isoformat(), "resolution": resolution}


def _rounded(number: float) -> int | float:
    rounded = float(f"{number:.12g}")
    return int(rounded) if rounded.is_integer() else rounded
