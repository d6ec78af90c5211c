"""Values of one column of a table, and the declaration drafted from them."""

from __future__ import annotations

import datetime
import json
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
from pypgm.data.draft.key import LEAST, Key, is_all_different, is_spread, key_of
from pypgm.data.draft.readers import NumberReader, is_number
from pypgm.domain import listed

NULLS = ("", "?", "NA", "N/A", "n/a", "na", "NULL", "null", "None", "none", "NaN", "nan", "-")
"""Texts that are read as missing values."""

SHARE = 0.05
"""Largest share of the budget that finds the values of a column, or its bins."""

BINS = 50
"""Number of bins of a column of numbers, about."""

_TOTAL_SHARE = 0.3  # of the budget, for all columns whose values or bins are found

LISTED = 60
"""Values of a column that are listed, at most."""

DISTINCT = 100_000
"""Values of a column that are told apart."""

_OTHERS = 10  # different values, from which one may be far
_ODD = 10  # different texts among numbers or dates, at most
_MAX_EXACT = 2.0**52  # below it a double, and the bound above it, hold every number of some decimals
_FULL = 0.15  # of the records in one bin of several values, or with one of these: bins of quantiles are better
_QUANTILES = 20
_HEAVY = 0.2  # of the records with frequent values: these can be found, though most others come once
_FREQUENT = 20  # records
_NEARLY = 0.95  # of the values that are numbers beside a sign
_CODE = re.compile(r"-?(9+|8+|9*9[678])")  # that surveys have for no answer
_FALSE_TRUE = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("0", "1"))
_BOUNDS = "low and high were read from the records: replace them by publicly known limits"
_VALUES = "values were read from the records: replace them by the publicly known ones"
_ONCE = "; no value comes twice: if it is the number of a person, drop the column"
_CENTURY = (
    "; years have two digits: each date is read in the century that puts it between low and high, here never in the "
    "future: if some dates lie ahead, move both"
)
_OPEN = "do these values name people? then drop the column: values that enough people have are published"
_TIME = re.compile(r"[0-9]{1,3}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?")
_HOURS = ": the resolution hour keeps it, in 24 bins a day"
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
        came = Counter(texts)
        self.rows += came.total()
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
        if self.date_reader or (read and not (read.is_whole and read.marks == PLAIN and read.low >= 0)):
            return None
        values = self.values
        key = key_of(name, values)
        return None if read is None and key and (_signed(values) or _times(values)) else key

    def declared(self) -> tuple[dict[str, Any], str]:
        """Return a declaration of the column, or an empty one and the reason to drop it."""
        nulls = sorted(text for text in self.counts if text in NULLS)
        values = self.values
        if not values:
            return {}, "it is empty"
        fields = self._boolean(values) or self._date(values) or self._number(values)
        if not fields and self.numbers and any("e" in text.casefold() for text in values):
            return {}, "its numbers are too far apart for bins"
        odd: list[str] = []
        if not fields and len(values) > LISTED:
            fields, odd = self._of_most(values)
        signed = "" if fields else _signed(values)
        unread = signed or ("" if fields else _times(values))
        if not fields and (is_all_different(values.values()) or (len(values) > LISTED and not self._is_open(values))):
            return {}, unread or own_in_each(values)
        fields = fields or self._listed(values)
        maybe = [text for text in nulls if text.isalpha()]
        if maybe and (len(nulls) > len(maybe) or fields["kind"] in {"categorical", "open"}):
            taken = f"{listed([repr(text) for text in maybe])} is taken for a missing value: if it is a value, "
            fields["warning"] = "; ".join([*filter(None, [fields.get("warning")]), f"{taken}take it out of null"])
        if odd:
            texts, taken = listed(list(map(repr, odd))), "is taken" if len(odd) == 1 else "are taken"
            fields["warning"] += f"; {texts} cannot be read as the others are, and {taken} for a missing value"
            if {"inf", "-inf"} & {*odd}:  # which a float is too, whatever texts are null
                fields["outside"] = "null"
                fields["warning"] += ", and so are numbers beyond the bounds"
        if signed or (unread and fields["kind"] == "open"):
            fields["warning"] += f"; {unread}"
        return fields | ({"null": nulls + odd} if nulls or odd else {}), ""

    def _of_most(self, values: Mapping[str, int]) -> tuple[dict[str, Any], list[str]]:
        """Return the declaration of numbers or dates among which a few texts are unreadable, and these texts."""
        tried, rest = Seen(*self._given), Seen(*self._given)
        ways: list[DateReader | NumberReader]
        ways = [
            *date_readers(values, self._given[0]).values(),
            *([tried.numbers] if tried.numbers else []),
            *map(NumberReader, tried._able),
        ]
        for reader in ways if len(self.counts) < DISTINCT else ():
            odd = list(islice((text for text in values if not _reads(reader, [text])), _ODD + 1))
            is_likely = not isinstance(reader, DateReader) or reader.is_likely()
            if 0 < len(odd) <= _ODD and is_likely:
                rest.add(Counter({text: count for text, count in values.items() if text not in odd}).elements())
                return rest.declared()[0], sorted(odd)
        return {}, []

    def _is_open(self, values: Mapping[str, int]) -> bool:
        """Return whether values repeat, or frequent values cover many records."""
        frequent = sum(count for count in values.values() if count >= _FREQUENT)
        return 2 * len(values) <= sum(values.values()) or frequent >= _HEAVY * sum(values.values())

    def _boolean(self, values: Mapping[str, int]) -> dict[str, Any]:
        """Return the declaration of a boolean, with its two texts as most records spell them."""
        pair = {text.casefold() for text in values}
        words = next((two for two in _FALSE_TRUE if pair == set(two)), None)
        if words is None:
            return {}
        spelled = [max((t for t in values if t.casefold() == word), key=values.__getitem__) for word in words]
        return {"kind": "boolean", "values": spelled}

    def _listed(self, values: Mapping[str, int]) -> dict[str, Any]:
        if len(values) <= LISTED:
            return {"kind": "categorical", "values": sorted(values), "warning": _VALUES}
        return {"kind": "open", "share": SHARE, "warning": _OPEN}  # found privately: nothing is read from the records

    def _date(self, values: Mapping[str, int]) -> dict[str, Any]:
        dates = self.date_reader
        if dates is None:
            return {}
        form = dates.form
        ends, warning = _date_ends(dates), _BOUNDS
        if ends["resolution"] == "hour" and form == ("%Y-%m-%d %H:%M:%S" if self.is_typed else "%Y-%m-%dT%H:%M:%S"):
            form = ""  # which is written like that
        warning += dates.doubts([reader for reader in (self.dates or {}).values() if reader.is_likely()])
        if has_short_years(form):
            warning += _CENTURY
        days = {float(dates.read(text).toordinal()) for text in values}
        warning += _apart(sorted(days), lambda day: datetime.date.fromordinal(int(day)).isoformat())
        if dates.has_clock and ends["resolution"] not in TIMES:
            warning += (
                f"; the time of day is drawn evenly{_HOURS}" if clock_in(form) else "; the time of day is left out"
            )
        return {"kind": "date", **ends, **({"format": form} if form else {}), "warning": warning}

    def _number(self, values: Mapping[str, int]) -> dict[str, Any]:
        """Return the declaration of bins between rounded bounds; empty if both bounds round to one number."""
        read = self.numbers
        if read is None or math.isinf(read.high - read.low):
            return {}
        counts: Counter[float] = Counter()
        for text, count in values.items():
            counts[read.read(text)] += count
        fields, width = _whole(read) if read.is_whole else _real(read)
        if fields and _is_uneven(counts, width):
            bins = {"quantiles": _QUANTILES, "share": SHARE}
            fields = {name: value for name, value in fields.items() if name not in {"width", "bins"}} | {"bins": bins}
        is_own = read.is_whole and len(values) == self.rows >= LEAST and is_spread(list(counts))
        warning = _BOUNDS + _ONCE * is_own + _apart(sorted(counts), "{:.12g}".format) + _other_marks(read, values)
        return {**fields, **read.marks_seen, "warning": warning} if fields else {}


def share_of_each(n_columns: int, digits: int = 4) -> float:
    """Return the share of the budget that finds the values or bins of each of some open columns.

    Examples
    --------
    >>> share_of_each(2), share_of_each(10)
    (0.05, 0.03)
    """
    return round(min(SHARE, _TOTAL_SHARE / max(1, n_columns)), digits)


def own_in_each(values: Mapping[str, int]) -> str:
    """Return the reason to drop a column with a different value in about every record."""
    records = "each record" if max(values.values()) == 1 else "nearly each record"
    return f"a different value in {records}, as names and ids have: kind id or fake makes new ones"


def _signed(values: Mapping[str, int]) -> str:
    """Return the advice for numbers beside a sign or a unit; empty for other values.

    Examples
    --------
    >>> _signed({"24,8 %": 1, "3,8 %": 2})
    'numbers with a percent sign: write bare numbers, with a minus before them, and the draft is of kind real'
    """
    places = {text: sign_of(text) for text in values}
    signs = sorted({place for place in places.values() if place is not None})
    able = sum(places[text] is not None or written_as(text) is not None or is_number(text) for text in values)
    if not signs or able < _NEARLY * len(values):
        return ""
    names = listed([SIGNS[place] for place in signs])
    return f"numbers with {names}: write bare numbers, with a minus before them, and the draft is of kind real"


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
    ('times of day or spans, which no column reads: write them as numbers, such as minutes', '')
    """
    message = "times of day or spans, which no column reads: write them as numbers, such as minutes"
    return message if all(map(_TIME.fullmatch, values)) else ""


def _other_marks(read: NumberReader, values: Iterable[str]) -> str:
    """Return a warning if all numbers could be read with other marks, as other numbers."""
    marks: tuple[DecimalMark, str] = (",", ".")
    taken, other = "decimals", "thousands"
    if read.marks_seen == {"thousands": ","}:
        marks, taken, other = (",", ""), "thousands", "decimals"
    elif read.marks != PLAIN or not read.decimals:
        return ""
    if not _reads(NumberReader(marks), values):
        return ""
    mark = repr(marks[0] if other == "decimals" else marks[1])
    way_out = '"decimal": ","' + ("" if other == "decimals" else ', "thousands": "."')
    return f"; {mark} is taken for the mark of {taken}: if it is that of {other}, the column needs {way_out}"


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


def _is_uneven(counts: Mapping[float, int], width: float) -> bool:
    """Return whether many records are in one bin of several values, which bins of even width would blur.

    Examples
    --------
    >>> _is_uneven({float(i): 1 for i in range(1000)}, 20), _is_uneven({40.0: 600, 41.0: 1, 90.0: 400}, 2)
    (False, True)
    """
    records, values = Counter[float](), Counter[float]()
    for value, count in counts.items():
        place = math.floor(value / width)
        records[place] += count
        values[place] += 1
    total = sum(records.values())
    return any(values[place] > 1 and count > _FULL * total for place, count in records.items())


def _apart(values: Sequence[float], shown: Any) -> str:  # noqa: ANN401 - a function of a number
    """Return a warning if the least or the largest value may mean a missing one, else "".

    It is further from the others than these are from each other, or the one that is negative.

    Examples
    --------
    >>> _apart([-999, *range(20_000, 90_000, 1000)], str)
    '; -999 is far from the others, 20000 to 89000: if it means no value, write it under null and bound the others'
    >>> _apart(range(100), str)
    ''
    """
    rest, outliers = list(values), list[float]()
    codes = [value for value in rest if _CODE.fullmatch(shown(value))]
    others = [value for value in rest if value not in codes]
    if len(others) > 1 and codes and codes[0] - others[-1] > others[-1] - others[0]:
        texts, ends = [shown(code) for code in codes], f"{shown(others[0])} to {shown(others[-1])}"
        null = json.dumps({"null": texts})[1:-1]
        return (
            f"; {listed(texts)} may mean no value beside {ends}: then {null} says so, and high is {shown(others[-1])}"
        )
    for end in (-1, 0):
        end_value = rest.pop(end)
        if len(rest) >= _OTHERS and (abs(end_value - rest[end]) > rest[-1] - rest[0] or end_value < 0 <= rest[0]):
            outliers.append(end_value)
        else:
            rest.insert(0 if end == 0 else len(rest), end_value)
    if not outliers:
        return ""
    texts_apart, ends = " and ".join(map(shown, sorted(outliers))), f"{shown(rest[0])} to {shown(rest[-1])}"
    is_far = f"{texts_apart} {'is' if len(outliers) == 1 else 'are'} far from the others, {ends}"
    return f"; {is_far}: if it means no value, write it under null and bound the others"


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
