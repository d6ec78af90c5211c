"""Columns of dates and times between public bounds, and the spans between two of them."""

from __future__ import annotations

import contextlib
import datetime
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.bins import MOST_BINS, Binned, Scale, UnreadableError, drawn
from pypgm.data.columns.column import NumberUse, Reader
from pypgm.data.columns.date_text import DateFormat
from pypgm.data.columns.values import beyond_unit, is_number, plain
from pypgm.domain import Label

Unit = Literal["day", "week", "month", "year", "hour", "minute", "second"]

SECONDS = 86_400
"""Seconds in a day."""
MONTH = 32
"""Places for the days of a month; every month has fewer days."""
MONTHS = {"month": 1, "year": 12}
"""In units that are no number of days."""
TIMES = {"hour": 3600, "minute": 60, "second": 1}
"""Seconds in the units that are shorter than a day."""
_SHIFT = 719_468  # days from the first of March of the year 0 to 1970
_ERA = 146_097  # days in 400 years


def units_of(has_times: bool) -> tuple[str, ...]:
    """Return the units of differences between dates, or dates with times."""
    return tuple(unit for unit in get_args(Unit) if has_times or unit not in TIMES)


def span_between(
    first: NDArray[np.int64], second: NDArray[np.int64], unit: Unit | str, has_times: bool
) -> NDArray[np.int64]:
    """Return the number of whole units from one date to another, both in days, or in seconds, from 1970 on.

    A year is over on the day of its date, or on the first of March where a year has no 29th of February; below zero
    units count down.

    Examples
    --------
    >>> born, day = np.array([["2004-02-29"], ["2022-02-28"]], "datetime64[D]").astype(np.int64)
    >>> span_between(born, day, "year", False), span_between(born, day + 1, "year", False)
    (array([17]), array([18]))
    """
    apart = places_of(second, unit, has_times) - places_of(first, unit, has_times)
    return np.asarray(apart // units_per(unit, has_times))


def places_of(times: NDArray[np.int64], unit: Unit | str, has_times: bool) -> NDArray[np.int64]:
    """Return the places of times on a line on which all units of a kind have equal length."""
    if unit not in MONTHS:
        return times
    per_day = SECONDS if has_times else 1
    months, day = days_of(times // per_day)
    return (months * MONTH + day) * per_day + times % per_day


def units_per(unit: Unit | str, has_times: bool) -> int:
    """Return the number of places, as in `places_of`, that one unit spans."""
    if unit in TIMES:
        return TIMES[unit]
    days = {"day": 1, "week": 7}.get(unit) or MONTH * MONTHS[unit]
    return days * (SECONDS if has_times else 1)


def last_after(
    first: NDArray[np.int64], span: NDArray[np.int64], unit: Unit | str, has_times: bool
) -> NDArray[np.int64]:
    """Return the last day, or second, at a number of whole units after another.

    Examples
    --------
    >>> born = np.array(["2004-02-29", "2001-05-07"], "datetime64[D]").astype(np.int64)
    >>> last_after(born, np.array([17, 18]), "year", False).astype("datetime64[D]").astype(str).tolist()
    ['2022-02-28', '2020-05-06']
    """
    if unit not in MONTHS:
        return first + (span + 1) * units_per(unit, has_times) - 1
    per_day = SECONDS if has_times else 1
    days, times = first // per_day, first % per_day
    months, day = days_of(days)
    month = months + (span + 1) * MONTHS[unit]
    begin, after = _first_of(month), _first_of(month + 1)
    is_there = begin + day < after
    return np.where(is_there, (begin + day) * per_day + times, after * per_day) - 1


def days_of(days: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the months from March of the year 0 to that of each day from 1970 on, and the day in it, from 0 on."""
    shifted = days + _SHIFT
    era = shifted // _ERA
    later = shifted - era * _ERA
    years = (later - later // 1460 + later // 36_524 - later // 146_096) // 365
    of_year = later - (365 * years + years // 4 - years // 100)
    month = (5 * of_year + 2) // 153
    return (era * 400 + years) * 12 + month, of_year - (153 * month + 2) // 5


def _first_of(months: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first day of months that are counted as in `days_of`."""
    years, month = months // 12, months % 12
    days: NDArray[np.int64] = 365 * years + years // 4 - years // 100 + years // 400 + (153 * month + 2) // 5 - _SHIFT
    return days


Resolution = Literal["year", "quarter", "month", "week", "day", "hour", "minute", "second"]

_ISO = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(?:Z|[+-]\d\d(?::?\d\d)?)?)?")
_UNITS = {"year": "Y", "quarter": "M", "month": "M", "day": "D", "hour": "h", "minute": "m", "second": "s"}
_YEAR = 366  # days, at most
_MONDAY = 3  # 1970-01-01 was a Thursday
_STEPS = {1: "s", 10**3: "ms", 10**6: "us"}  # units of times, by their number in a second
_CLOCK_DAY = datetime.datetime(1900, 1, 1)  # of a time of day alone
_MAX_NUMBER = 10**20  # beyond it the digits of a number are no date


@dataclass(frozen=True)
class Date(Binned):
    """Dates, or dates with times; a time in a zone is read as its clock shows it, whatever the zone.

    Parameters
    ----------
    low, high : str
        The first and the last day allowed, such as ``2010-01-01``: public knowledge, never taken from the table. If
        the column has times, one may follow, ``2010-01-01T06:00``.
    resolution : {"year", "quarter", "month", "week", "day", "hour", "minute", "second"}
        Resolution of the bins; weeks begin on Monday. Decoded values are days; with resolution "hour" or finer, or a
        time in the format, they are times as fine as the format's, or to the second: drawn within the bin.
    format : str, optional
        Format in a file, as for ``datetime.strptime``, such as ``%d.%m.%Y``, with the further directives of
        `DateFormat`; ISO 8601 by default. A whole number is read by its digits, as 20100131 is with ``%Y%m%d``. An
        offset, ``%z``, is left out, and written as UTC's. A year of two digits, ``%y``, is of the century in which the
        date lies within the bounds. A time of day alone, ``%H:%M``, or a span of time below a day, is of
        1900-01-01.
    outside, within, null, objects
        See `Binned`.

    Raises
    ------
    ValueError
        If the bounds are not dates or do not rise, or the format does not distinguish the bins.

    Examples
    --------
    >>> hired = Date("2023-11-15", "2024-02-10", "month")
    >>> hired.labels, hired.encode(["2023-12-24", "2024-02-10"])[0].tolist()
    (('2023-11', '2023-12', '2024-01', '2024-02'), [1, 3])
    >>> hired.texts(np.array([0, 3]), rng=0).tolist()
    ['2023-11-28', '2024-02-07']
    """

    low: str
    high: str
    resolution: Resolution = "day"
    format: str = ""
    kind = "date"
    families = frozenset({"date", "time"})

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            given = getattr(self, name)
            object.__setattr__(self, name, str(given) if isinstance(given, datetime.date) else given)
        if not isinstance(self.format, str):
            raise TypeError("format needs a text such as %d.%m.%Y")
        super().__post_init__()

    @property
    def value_labels(self) -> tuple[Label, ...]:
        """The year, quarter, month, week, day, hour, minute or second."""
        starts = np.array(self._first).astype(f"datetime64[{self._place}]")
        if self.resolution == "quarter":
            months = starts.astype("datetime64[M]").astype(np.int64)
            return tuple(f"{1970 + m // 12}-Q{m % 12 // 3 + 1}" for m in months.tolist())
        if self.resolution == "week":
            years = [day.isocalendar() for day in starts.tolist()]
            return tuple(f"{iso[0]}-W{iso[1]:02}" for iso in years)
        if self.spelling is not None and self.spelling.is_clock and self.resolution in TIMES:
            unit = "s" if self.resolution == "second" else "m"
            return tuple(text[11:] for text in np.datetime_as_string(starts.astype(f"datetime64[{unit}]")).tolist())
        return tuple(map(str, np.datetime_as_string(starts.astype(f"datetime64[{_UNITS[self.resolution]}]")).tolist()))

    @cached_property
    def spelling(self) -> DateFormat | None:
        """The format as a reader and a writer of texts; None for ISO 8601."""
        return format_of(self.format) if self.format else None

    @property
    def needs_times(self) -> bool:
        """True if a date without a time fits no bin."""
        return self.resolution in TIMES

    @property
    def allowed(self) -> str:
        """The bounds, in words."""
        return f"{self._noun} from {self.low} to {self.high}"

    @property
    def _noun(self) -> str:
        time = " with a time" if self.needs_times else ""
        return f"a date{time} in the format {self.format}" if self.format else f"an ISO date{time}"

    @property
    def scale(self) -> Scale:
        """Unit of places on the line, from 1970 on: seconds of times, else days."""
        has_clock = self.spelling is not None and self.spelling.step > 0
        return "seconds" if self.needs_times or has_clock else "days"

    @cached_property
    def per_unit(self) -> int:
        """Steps in a day, or in a second: the format may have fractions of one."""
        digits = self.spelling.digits if self.has_times and self.spelling is not None else 0
        return 1 if digits == 0 else 10**3 if digits <= 3 else 10**6

    @property
    def is_whole(self) -> bool:
        """True if steps are whole days or seconds."""
        return self.per_unit == 1

    @property
    def scale_words(self) -> str:
        """The kind and the resolution, and the hours of a format that the resolution does not keep."""
        hours = " and a format with hours" if self.scale == "seconds" and not self.needs_times else ""
        return f"{self.kind} with resolution {self.resolution}{hours}"

    @property
    def numbers_are(self) -> NumberUse:
        """Meaning of a number of an engine: a format reads the digits that it is written with."""
        return "digits" if self.format else "nothing"

    @property
    def coarseness(self) -> str:
        """The resolution in words, unless values are as fine, and whether times of day are drawn."""
        is_drawn = self.has_times and not self.needs_times
        by = f"by {self.resolution}" if is_drawn or self.resolution not in {"day", *TIMES} else ""
        return f"{by}, the time of day is drawn evenly" if is_drawn else by

    @property
    def _place(self) -> Literal["s", "D"]:
        return "s" if self.has_times else "D"

    @cached_property
    def _bounds(self) -> tuple[float, float]:
        low, high = (iso_date(text) for text in (self.low, self.high))
        if self.has_times:
            ends_day = _ISO.fullmatch(self.high.strip()) is not None and len(self.high.strip()) == 10
            return float(_seconds(low)), float(_seconds(high) + (SECONDS - 1 if ends_day else 0))
        return float(_days(low)), float(_days(high))

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        """The first day, or second, of each bin; that of the first bin may be later, see `_bounds`."""
        low, high = (np.datetime64(int(bound), self._place) for bound in self._bounds)
        if self.resolution == "week":
            weeks = [(day.astype("datetime64[D]").astype(np.int64) + _MONDAY) // 7 for day in (low, high)]
            days = np.arange(weeks[0], weeks[1] + 1, dtype=np.int64) * 7 - _MONDAY
            return days * SECONDS if self.has_times else days
        unit = _UNITS[self.resolution]
        step = 3 if self.resolution == "quarter" else 1
        places = [bound.astype(f"datetime64[{unit}]").astype(np.int64) // step for bound in (low, high)]
        starts = np.arange(places[0], places[1] + 1, dtype=np.int64) * step
        return starts.astype(f"datetime64[{unit}]").astype(f"datetime64[{self._place}]").astype(np.int64)

    @cached_property
    def _starts(self) -> NDArray[np.float64]:
        return np.maximum(self._first, self._bounds[0]).astype(np.float64)

    def _read_array(self, values: NDArray[Any]) -> NDArray[np.float64] | None:
        if values.dtype.kind != "M" or (self.needs_times and np.datetime_data(values.dtype)[0] in "YMWD"):
            return None
        ticks = values.astype(f"datetime64[{self._place}]")
        steps = np.where(np.isnat(ticks), np.nan, ticks.astype(np.int64).astype(np.float64))
        far = beyond_unit(values, self._place)
        return (
            np.where(far, np.where(values > np.zeros(1, values.dtype), np.inf, -np.inf), steps) if far.any() else steps
        )

    def _bare(self, value: object) -> object:
        number = plain(value)
        if not is_number(number):
            return number
        if (kind := self.kind_of_null(number)) is not None:
            return self.null_kinds[kind].text.strip()
        is_whole = -_MAX_NUMBER < number < _MAX_NUMBER and number == int(number)
        return str(int(number)) if is_whole else number

    def _read(self, value: object) -> float:
        if isinstance(value, np.datetime64):  # of a year that Python has not
            places = self._read_array(np.array([value]))
            if places is None:
                raise UnreadableError
            return float(places[0])
        date = self._parsed(value) if isinstance(value, str) else value
        if self.spelling is not None and self.spelling.is_clock:
            if isinstance(date, datetime.time):
                date = datetime.datetime.combine(_CLOCK_DAY.date(), date)
            elif isinstance(date, datetime.timedelta) and date < datetime.timedelta(days=1):  # since midnight
                date = _CLOCK_DAY + max(date, -datetime.timedelta(days=1))
        if not isinstance(date, datetime.date) or (self.needs_times and not isinstance(date, datetime.datetime)):
            raise UnreadableError
        return float(_seconds(date) if self.has_times else _days(date))

    def _parsed(self, text: str) -> datetime.date:
        if self.spelling is None:
            return iso_date(text)
        try:
            date = self.spelling.read(text)
        except ValueError:
            raise UnreadableError from None
        return self._within_bounds(date) if has_short_years(self.format) else date

    def _within_bounds(self, date: datetime.datetime) -> datetime.datetime:
        """Return the date moved to the century in which it lies within the bounds; unchanged if there is none."""
        low, high = self._bounds
        for years in (0, -100, 100):
            with contextlib.suppress(ValueError):  # a leap day of a century that has none
                moved = date.replace(year=date.year + years)
                if low <= (_seconds if self.has_times else _days)(moved) <= high:
                    return moved
        return date

    def reader(self) -> Reader:
        """Return a reader of days, in ISO 8601 or in the format."""
        return "date", partial(day_in, formats=("", self.format))

    def shifted(self, low: float, high: float, unit: str, form: str, per_unit: int, **options: Any) -> Date:  # noqa: ANN401
        """Return the column of dates that are so many whole units after these."""
        del per_unit
        first, last = (int(end) for end in self._bounds)
        if float(low).is_integer() and float(high).is_integer():
            ends = last_after(np.array([first, last]), np.array([low - 1, high]).astype(np.int64), unit, self.has_times)
        else:
            per = units_per(unit, self.has_times)
            ends = np.array([first + math.floor(low * per) - 1, last + math.ceil((high + 1) * per)])
        texts = np.datetime_as_string((ends + np.array([1, 0])).astype(f"datetime64[{self._place}]")).tolist()
        bins: Resolution = "hour" if self.has_times and not clock_in(form or self.format) else "year"
        return Date(texts[0], texts[1], bins, form or self.format, **options)

    def of_family(self, codes: NDArray[Any], values: NDArray[Any] | None, family: str) -> NDArray[Any] | None:
        """Return texts also for types of whole numbers, which are made of the digits, and for unknown types."""
        return super().of_family(
            codes, values, "text" if family in {"int", "any"} or self._is_float(family) else family
        )

    def _is_float(self, family: str) -> bool:
        """Return whether a type of a family has the digits of dates as numbers with a point."""
        return family in {"float", "decimal"} and self.spelling is not None and self.spelling.is_number

    def _values(self, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        return self.of_steps(drawn(*self.ends(), codes, self.within, rng))

    def ends(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the first and the last day of each bin, or second, or part of one, from 1970 on."""
        return self._ends

    @cached_property
    def _ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        first = self._starts.astype(np.int64) * self.per_unit
        return first, np.append(first[1:], (int(self._bounds[1]) + 1) * self.per_unit) - 1

    def of_steps(self, steps: NDArray[Any]) -> NDArray[Any]:
        """Return the dates of days, or the times of seconds or parts of them, no finer than the format writes them."""
        given = steps.astype(np.int64)
        if self.spelling is not None and self.spelling.step > 1:
            given = np.maximum(given - given % self.spelling.step, self.ends()[0][0])
        return given.astype(self._step)

    def steps_of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of days, seconds or parts of them from 1970 on."""
        return values.astype(self._step).astype(np.int64)

    @property
    def _least_step(self) -> int:
        return 1 if self.spelling is None else max(1, self.spelling.step)

    @cached_property
    def _null_run(self) -> int:
        """Days in a year if the format has none and a null is a text of it, such as 1999-05; else 0."""
        if self.spelling is None or self.has_times or not self.null_places.size:
            return 0
        low, high = self._bounds
        days = np.array([low, min(low + 1, high)])
        texts = self._as_texts(self.of_steps(days))
        return _YEAR * any(self._read(text) != day for text, day in zip(texts, days, strict=True))

    @property
    def _step(self) -> str:
        return f"datetime64[{_STEPS[self.per_unit] if self.has_times else 'D'}]"

    def _as_texts(self, values: NDArray[Any]) -> list[str]:
        if self.spelling is None:
            return list(map(str, np.datetime_as_string(values).tolist()))
        return list(map(self.spelling.written, values.astype("datetime64[us]").tolist()))

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        if self.resolution not in get_args(Resolution):
            yield f"resolution must be one of {', '.join(get_args(Resolution))}"
            return
        if "%Z" in self.format:
            yield "a format cannot have the name of a zone, %Z, which depends on the machine; %z is an offset"
            return
        try:
            spelling = self.spelling
        except ValueError as error:
            yield str(error)
            return
        try:
            low, high = self._bounds
        except (UnreadableError, TypeError):
            yield "low and high need ISO dates, such as 2010-01-31"
            return
        if low > high:
            yield "low must be before high"
        elif (high - low) / self._least_places >= MOST_BINS:
            yield f"needs at most {MOST_BINS:,} bins; make resolution coarser"
        elif spelling is not None and not self._tells_apart():
            yield f"the format {self.format} does not tell one {self.resolution} from another"

    @property
    def _least_places(self) -> int:
        """Days, or seconds, in a bin, about."""
        if self.resolution in TIMES:
            return TIMES[self.resolution]
        days = {"week": 7, "month": 28, "quarter": 90, "year": 365}.get(self.resolution, 1)
        return days * (SECONDS if self.has_times else 1)

    def _tells_apart(self) -> bool:
        """Return whether the text of the first value of each bin is read back as that bin."""
        starts = self._starts[:: max(1, self.n_values // 1000)]
        try:
            texts = self._as_texts(starts.astype(np.int64).astype(f"datetime64[{self._place}]"))
            places = [self._read(text) for text in texts]
        except ValueError:
            return False
        bins = np.searchsorted(self._starts, places, side="right")
        return bool((bins == np.searchsorted(self._starts, starts, side="right")).all())


def iso_date(text: object) -> datetime.date:
    """Return the date of an ISO text, with its time if it has one; `UnreadableError` for any other text."""
    parts = _ISO.fullmatch(text.strip()) if isinstance(text, str) and text.isascii() else None
    if parts is None:
        raise UnreadableError
    day, time = parts.groups()
    try:
        date = datetime.date.fromisoformat(day)
        hours = None if time is None else datetime.time.fromisoformat(time.partition(".")[0])
    except ValueError:
        raise UnreadableError from None
    return date if hours is None else datetime.datetime.combine(date, hours)


def day_in(text: str, formats: Sequence[str]) -> float:
    """Return the days since 1970 of a date in one of some formats, "" for ISO; NaN for any other text.

    A time of day counts as a part of a day where there is nothing else.

    Examples
    --------
    >>> day_in("02.01.1970", ["", "%d.%m.%Y"]), day_in("12:00", ["%H:%M"]), day_in("soon", [""])
    (1.0, -25566.5, nan)
    """
    for form in formats:
        with contextlib.suppress(ValueError):
            date = format_of(form).read(text) if form else iso_date(text)
            return _seconds(date) / SECONDS if form and format_of(form).is_clock else float(_days(date))
    return math.nan


def clock_in(form: str) -> bool:
    """Return whether a format has a time of day.

    Examples
    --------
    >>> clock_in("%d.%m.%Y"), clock_in("%d.%m.%Y %H:%M"), clock_in("")
    (False, True, False)
    """
    return bool(form) and format_of(form).step > 0


@lru_cache(maxsize=256)
def format_of(form: str) -> DateFormat:
    """Return a format, made once; ``ValueError`` if it is none."""
    return DateFormat(form)


def has_short_years(form: str) -> bool:
    """Return whether years have two digits in a format of dates.

    Examples
    --------
    >>> has_short_years("%d.%m.%y"), has_short_years("%d.%m.%Y"), has_short_years("%Y%%y")
    (True, False, False)
    """
    return "%y" in form.replace("%%", "")


def _days(day: datetime.date) -> int:
    return day.toordinal() - datetime.date(1970, 1, 1).toordinal()


def _seconds(time: datetime.date) -> int:
    hours = time.hour * 3600 + time.minute * 60 + time.second if isinstance(time, datetime.datetime) else 0
    return _days(time) * SECONDS + hours
