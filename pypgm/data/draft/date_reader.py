"""Readers of texts as dates and times, whose format is found from a sample, with its spelling."""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from pypgm.data.columns.date_text import DateFormat, is_joined
from pypgm.data.columns.dates import TIMES, Resolution, clock_in, format_of, has_short_years, iso_date
from pypgm.data.columns.numbers import nice
from pypgm.data.draft.warnings import note

_SAMPLE = 300  # different texts that formats are tried on
_N_KNOWN = 100_000  # dates that are not read again
_DAYS: tuple[str, ...] = (
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%Y/%m/%d",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y.%m.%d",
    "%Y-%m-%d",
)
_DAYS += ("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%b %d %Y", "%d%b%Y")
_DAYS += ("%d%b%y", "%d %B %Y", "%B %d, %Y", "%d. %B %Y", "%b-%Y", "%b %Y", "%B %Y", "%b-%y", "%Y-%m")
_DAYS += ("%m/%Y", "%YQ%q", "%Y-Q%q", "%Y Q%q", "Q%q %Y", "%b%Y", "%d-%m-%y", "%Y/%m")
_OF_DIGITS = ("%Y%m%d", "%d%m%Y", "%m%d%Y", "%Y%m", "%H%M", "%Y%m%d%H%M%S", "%Y%m%d%H%M")
_DAY = 86_400_000_000  # microseconds
_SHORT_SPANS = ((600, "second"), (6 * 3600, "minute"))  # longest spans in seconds that a unit is for
_SHORT_TIMES: tuple[tuple[int, Resolution], ...] = ((300, "second"), (4 * 3600, "minute"))
_N_BINS = 60
_EPOCHS = ("%s", "%s%3f", "%s%6f", "%s%9f")  # seconds from 1970 on, to the thousandth, millionth, ...
_TAIL = re.compile(
    r"(?P<clock>(?P<hour>[0-9]{1,2}):[0-9]{2}(?P<second>:[0-9]{2})?(?P<point>[.,])?(?P<part>(?<=[.,])[0-9]{1,9})?)"
    r"(?P<noon> ?[AaPp][Mm])?(?P<zone> ?(?:Z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?))?$"
)
_SHORT = re.compile(r"(?<![0-9.,])[0-9](?![0-9])")
_CAPITALS = re.compile(r"(?!UTC|GMT)[A-Z]{3}")
_SEPARATOR = re.compile(r"(T|:| at |, | +)$")
_YEARS = range(1900, 2100)  # of dates written in digits alone
_EPOCH_YEARS = range(2000, 2034)  # of ten digits that are seconds
_N_CLOCKS = 18  # different times of day as whole numbers: fewer may be plain numbers
_N_HOURS = 8  # different hours of them
_N_MONTHS = 6  # different months, or epochs, as whole numbers


class DateReader:
    """Reader of texts as dates in a format, ISO 8601 if it is empty: ``ValueError`` for a text that is none.

    Parameters
    ----------
    base : str
        Format that texts are read by, whatever their zeros and letters.
    spellings : sequence of str
        Formats that may have written the texts; the first that writes each as it is becomes `form`.
    is_typed : bool
        Whether the texts are those of times of a type, of which only the precision counts.
    """

    def __init__(self, base: str = "", spellings: Sequence[str] = (), *, is_typed: bool = False) -> None:
        self.base = base
        self.is_typed = is_typed
        self._has_times = True  # each of them
        self.has_clock = False  # any of them: a time that is not midnight
        self.low, self.high = datetime.datetime.max, datetime.datetime.min
        self._format = format_of(base) if base else None
        self._spellings = list(map(format_of, spellings))
        self._exact = self._spellings  # those that write all texts as they are
        self._best = Counter[str]()  # texts of the sample that each spelling writes
        self._step = _DAY  # microseconds that all typed times are multiples of
        self._known: dict[str, datetime.datetime] = {}

    def read(self, text: str) -> datetime.datetime:
        """Return a date, with its time if it has one."""
        if text in self._known:
            return self._known[text]
        date = self._parsed(text)
        self._has_times &= isinstance(date, datetime.datetime) and (self._format is None or self._format.step > 0)
        time = date if isinstance(date, datetime.datetime) else datetime.datetime.combine(date, datetime.time())
        self._spell(text, time)
        self.has_clock |= time.time() != datetime.time()
        self.low, self.high = min(self.low, time), max(self.high, time)
        if len(self._known) < _N_KNOWN:
            self._known[text] = time
        return time

    @property
    def has_times(self) -> bool:
        """True if each text has a time of day, and not all are at midnight."""
        return self._has_times and (self.has_clock or not self.low < self.high)

    @property
    def form(self) -> str:
        """The format as the texts spell it; empty for days in ISO 8601, or where several formats wrote them."""
        if self.is_typed:
            return self._typed_form()
        form = (self._exact[0].form if self._exact else self._of_most()) or self.base
        if form == "%Y-%m-%d":
            return ""
        return midnight_of(form) if form and self._has_times and not self.has_times else form

    def resolution(self, wanted: Resolution) -> Resolution:
        """Return a resolution, or the finest one that the format distinguishes where it has no days or months."""
        names = {token.name for token in format_of(self.form).tokens}
        if not self.form or names & {"d", "e", "s"} or format_of(self.form).is_clock:
            return wanted
        finest: Resolution = "month" if names & {"m", "b", "B"} else "quarter" if "q" in names else "year"
        coarse: tuple[Resolution, ...] = ("year", "quarter", "month")
        return wanted if wanted in coarse[: coarse.index(finest) + 1] else finest

    def short_ends(self) -> dict[str, Any]:
        """Return rounded bounds and a fine resolution for times within a few hours; nothing for others."""
        apart = (self.high - self.low).total_seconds()
        unit = next((name for longest, name in _SHORT_TIMES if apart <= longest), "")
        step = format_of(self.form).step if self.form else 1
        if not self.has_times or not unit or not self.low < self.high or not 0 < step <= TIMES[unit]:
            return {}
        whole = datetime.timedelta(seconds=60 * TIMES[unit])
        low = self.low - (self.low - datetime.datetime.min) % whole
        high = self.high - (self.high - datetime.datetime.min) % whole + whole - datetime.timedelta(seconds=1)
        ends = {"low": low.isoformat(), "high": high.isoformat()}
        return {**ends, "resolution": unit}

    def is_likely(self) -> bool:
        """Return whether texts of digits alone are dates rather than plain numbers, by how many differ."""
        if self._format is None or not self._format.is_number:
            return True
        times = self._known.values()
        if self._format.is_clock:
            parts = {time.minute for time in times}
            hours = {time.hour for time in times}
            return len(times) >= _N_CLOCKS and len(hours) >= _N_HOURS and max(hours) > 12 and not parts <= {0, 50}
        if "%s" in self.base:
            return len(times) >= _N_MONTHS and self._is_spread()
        return bool(times) and (self.base != "%Y%m" or len(times) >= _N_MONTHS)

    def doubts(self, readers: Sequence[DateReader]) -> list[str]:
        """Return warnings that say what the texts could be besides, given all readers of them."""
        others = [reader.base or "ISO 8601" for reader in readers if reader is not self]
        doubts = [note("format?", *others)] if others else []
        if self._format is not None and self._format.is_number and self.base not in {"%Y%m%d", "%Y%m%d%H%M%S"}:
            doubts.append(note("dates?", self.form))
        return doubts

    def _is_spread(self) -> bool:
        """Return whether seconds from 1970 on have gaps, as numbers in a row have not."""
        return (self.high - self.low).total_seconds() >= max(86_400.0, 2.0 * len(self._known))

    def _parsed(self, text: str) -> datetime.date:
        if self._format is None:
            return iso_date(text)
        if self._format.is_number and not text.isdigit():
            raise ValueError
        time = self._format.read(text)
        years = _EPOCH_YEARS if "%s" in self.base else _YEARS
        if self._format.is_number and not self._format.is_clock and time.year not in years:
            raise ValueError
        is_ahead = has_short_years(self.base) and time.year > datetime.date.today().year
        return time.replace(year=time.year - 100) if is_ahead else time

    def _spell(self, text: str, time: datetime.datetime) -> None:
        """Drop the spellings that do not write a text as it is."""
        if self.is_typed:
            self._step = min(self._step, _step_of(time))
        elif len(self._known) < _SAMPLE:
            written = {form.form for form in self._spellings if _writes(form, text)}
            self._exact = [form for form in self._exact if form.form in written]
            self._best.update(written)
        else:
            self._exact = [form for form in self._exact if _writes(form, text)]

    def _of_most(self) -> str:
        """Return the spelling of most texts that reads them all; empty if there is none."""
        for form, _ in sorted(self._best.items(), key=lambda pair: -pair[1]):
            given = format_of(form)
            if all(_reads_as(given, text, time) for text, time in self._known.items()):
                return form
        return ""

    def _typed_form(self) -> str:
        """Return the format of times of a typed column: ISO 8601, as fine as the times need; empty for days."""
        if not self.has_clock:
            return ""
        if self._step % 1_000_000:
            return "%Y-%m-%d %H:%M:%S." + ("%3f" if self._step % 1000 == 0 else "%6f")
        return "%Y-%m-%d %H:%M" + ("" if self._step % 60_000_000 == 0 else ":%S")


def midnight_of(form: str) -> str:
    """Return a format with the clock of midnight for its time of day.

    Examples
    --------
    >>> midnight_of("%d.%m.%Y %H:%M:%S"), midnight_of("%m/%d/%Y %-I:%M %p")
    ('%d.%m.%Y 00:00:00', '%m/%d/%Y 12:00 AM')
    """
    midnight = datetime.datetime(1900, 1, 1)
    given = format_of(form)
    parts = re.split(r"(%[-^:]*[0-9]?[A-Za-z%])", form)
    clock = {"H", "k", "I", "l", "M", "S", "f", "p", "P"}
    texts = [format_of(part).written(midnight) if part[:1] == "%" and part[-1] in clock else part for part in parts]
    return "".join(texts) if given.step and not given.is_clock and not given.is_number else form


def keeps_times(fields: Mapping[str, Any]) -> bool:
    """Return whether the values of a declared column of dates have times of day."""
    return fields.get("resolution") in TIMES or clock_in(fields.get("format", ""))


def short_span(least: int, most: int) -> dict[str, Any]:
    """Return the bounds, the width and the unit of spans in seconds that take a few hours at most; else nothing.

    Examples
    --------
    >>> short_span(190, 1_290), short_span(0, 86_400)
    ({'low': 3, 'high': 21, 'width': 1, 'unit': 'minute'}, {})
    """
    unit = next((unit for longest, unit in _SHORT_SPANS if most - least <= longest), "")
    if not unit:
        return {}
    low, high = least // TIMES[unit], most // TIMES[unit]
    width = max(1, math.ceil(nice((high - low) / _N_BINS)))
    return {"low": low // width * width, "high": (high // width + 1) * width - 1, "width": width, "unit": unit}


def date_readers(texts: Iterable[str], family: str = "") -> dict[str, DateReader]:
    """Return readers of dates, by the format they read, that may read texts: those of a sample tell which.

    Each is still to read all texts, and to be given up where it fails. The first of several fits best.

    Parameters
    ----------
    texts : iterable of str
        Different values of a column, none of them a missing one.
    family : str
        Family of its type, see `family_of`; empty for texts.

    Examples
    --------
    >>> readers = date_readers(["5/3/2021 9:03 PM", "17/12/2022 11:59 AM"])
    >>> [*readers]
    ['', '%d/%m/%Y %I:%M %p']
    >>> readers["%d/%m/%Y %I:%M %p"].read("5/3/2021 9:03 PM").isoformat(), readers["%d/%m/%Y %I:%M %p"].form
    ('2021-03-05T21:03:00', '%-d/%-m/%Y %-I:%M %p')
    """
    sample = list(islice(texts, _SAMPLE))
    if family in {"date", "time"}:
        return {"": DateReader("", is_typed=True)}
    if family == "bool":
        return {}
    bare = [text for text in sample if text.isascii() and text.isdigit()]
    if 2 * len(bare) > len(sample):
        return {
            base: DateReader(base, list(_spelled(base, bare))) for base in (*_OF_DIGITS, *_EPOCHS) if _fits(base, bare)
        }
    if family in {"int", "float", "decimal"}:  # a float where some are missing
        return {}
    bases: dict[str, list[str]] = {"": []}
    tails = Counter(_split(text) for text in sample)
    for tail, _ in tails.most_common(4):
        of_tail = [text for text in sample if _split(text) == tail]
        for base in _bases(tail, of_tail):
            bases.setdefault("" if _is_iso(base, of_tail) else base, []).extend(_spelled(base, of_tail))
    zones = {match["zone"] for text in sample if (match := _TAIL.search(text)) and match["zone"]}
    return {base: DateReader(base, _with_zones(spelled, zones)) for base, spelled in bases.items()}


def _split(text: str) -> tuple[str, ...]:
    """Return how a text spells the time of day; empty without one.

    First comes what separates it from the day, then whether it has seconds, the mark of a fraction, AM or PM, and an
    offset from UTC.
    """
    match = _TAIL.search(text)
    if match is None:
        return ()
    separator = _SEPARATOR.search(text[: match.start()])
    noon = match["noon"] or ""
    spelled = noon[:-2] + {"AM": "%p", "PM": "%p"}.get(noon[-2:], "%P") if noon else ""
    zone = match["zone"] or ""
    zone = (" " if zone.startswith(" ") else "") + ("%z" if zone else "")
    begin = text[: match.start()]
    if begin and separator is None:
        return ("",)
    return (separator[0] if separator else "", "s" if match["second"] else "", match["point"] or "", spelled, zone)


def _bases(tail: tuple[str, ...], texts: Sequence[str]) -> Iterator[str]:
    """Yield formats of days, with the time of day of a tail, that read texts."""
    clock = ""
    if len(tail) > 1:
        separator, second, point, noon, zone = tail
        clock = f"%{'I' if noon else 'H'}:%M{':%S' if second else ''}{f'{point}%f' if point else ''}{noon}{zone}"
        if not separator:
            if _fits(clock, texts):
                yield clock
            return
        clock = separator + clock
    elif tail:
        return
    yield from (day + clock for day in (*_DAYS, *_OF_DIGITS[:1]) if _fits(day + clock, texts))


def _fits(base: str, texts: Sequence[str]) -> bool:
    """Return whether a format reads at least nine of ten texts."""
    reader = DateReader(base)
    missed = (text for text in texts if not _is_read(reader, text))
    return bool(texts) and len(list(islice(missed, len(texts) // 10 + 1))) <= len(texts) // 10


def _is_read(reader: DateReader, text: str) -> bool:
    try:
        reader.read(text)
    except ValueError:
        return False
    return True


def _is_iso(base: str, texts: Sequence[str]) -> bool:
    return base.startswith("%Y-%m-%d") and _fits("", texts)


def _spelled(base: str, texts: Sequence[str]) -> Iterator[str]:
    """Yield the spellings of a format that texts may have: zeros in front, or none, capitals, digits of a fraction."""
    if all(token.is_number for token in format_of(base).tokens):
        yield base
        if base[1] in "dmH":
            yield f"%-{base[1:]}"
        return
    flags = ("", "-") if any(map(_SHORT.search, texts)) else ("",)
    cases = ("^",) if any(map(_CAPITALS.search, texts)) else ("_",) if is_joined(base) else ("",)
    choices = {name: [f"%{flag}{name}" for flag in flags] for name in "dmHI"}
    choices |= {name: [f"%{case}{name}" for case in cases] for name in "bB"}
    digits = {len(match["part"]) for text in texts if (match := _TAIL.search(text)) and match["part"]}
    choices["f"] = [f"%{n}f" for n in sorted(digits)]
    parts = re.split(r"%([A-Za-z])", base)
    named = [choices.get(name, [f"%{name}"]) for name in parts[1::2]]
    clocks = {"H", "I"} & {*parts[1::2]}
    for directives in product(*named):
        pads = {text[1] == "-" for text in directives if text[-1] in "dm"}
        if len(pads) < 2 or clocks:
            yield "".join(text for pair in zip(parts[::2], (*directives, ""), strict=True) for text in pair)


def _with_zones(spelled: Sequence[str], zones: Iterable[str]) -> list[str]:
    """Return spellings with the one offset of all texts, or with the directive of several."""
    given = [zone.strip() for zone in zones]
    if len(given) == 1:
        return [form.replace("%z", given[0]) for form in spelled]
    directives = {"%z"} if not given else {_directive(zone) for zone in given}
    return [form.replace("%z", directive) for form in spelled for directive in sorted(directives)]


def _directive(zone: str) -> str:
    return "%:z" if ":" in zone else "%:::z" if len(zone) == 3 else "%z"


def _writes(form: DateFormat, text: str) -> bool:
    """Return whether a format writes a text exactly as it is."""
    try:
        return form.written(*form.read_with_zone(text)) == text
    except ValueError:
        return False


def _reads_as(form: DateFormat, text: str, time: datetime.datetime) -> bool:
    try:
        return form.read(text).replace(microsecond=0, year=time.year) == time.replace(microsecond=0)
    except ValueError:
        return False


def _step_of(time: datetime.datetime) -> int:
    """Return the coarsest unit, in microseconds, that a time is a multiple of."""
    micros = (time - datetime.datetime.combine(time.date(), datetime.time())) // datetime.timedelta(microseconds=1)
    return next(unit for unit in (_DAY, 60_000_000, 1_000_000, 1000, 1) if micros % unit == 0)
