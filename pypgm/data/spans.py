"""Whole days, weeks, months, years or hours between two dates, as people count their ages."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

__all__ = ["Unit", "days_of", "last_after", "span_between", "units_of"]

Unit = Literal["day", "week", "month", "year", "hour"]

_DAY = 86_400  # seconds
_MONTH = 32  # places of days in a month, of which each has fewer
_SHIFT = 719_468  # days from the first of March of the year 0 to 1970
_ERA = 146_097  # days in 400 years
_MONTHS = {"month": 1, "year": 12}


def units_of(has_times: bool) -> tuple[str, ...]:
    """Return the units that dates, or dates with times, may be apart."""
    return tuple(unit for unit in get_args(Unit) if has_times or unit != "hour")


def span_between(first: Any, second: Any, unit: Unit, has_times: bool) -> Any:  # noqa: ANN401 - arrays, or of an engine
    """Return how many whole units there are from one date to another, both in days, or in seconds, from 1970 on.

    A year is over on the day of its date, or on the first of March where a year has no 29th of February; below zero
    units count down.

    Examples
    --------
    >>> born, day = (np.datetime64(text).astype(np.int64) for text in ("2004-02-29", "2022-02-28"))
    >>> int(span_between(born, day, "year", False)), int(span_between(born, day + 1, "year", False))
    (17, 18)
    """
    if unit not in _MONTHS:
        return (second - first) // _steps(unit, has_times)
    per_day = _DAY if has_times else 1
    places = (_place(second, per_day) - _place(first, per_day)) // (_MONTH * per_day)
    return places // _MONTHS[unit]


def last_after(first: NDArray[np.int64], span: NDArray[np.int64], unit: Unit, has_times: bool) -> NDArray[np.int64]:
    """Return the last day, or second, that is so many whole units after another.

    Examples
    --------
    >>> born = np.array(["2004-02-29", "2001-05-07"], "datetime64[D]").astype(np.int64)
    >>> last_after(born, np.array([17, 18]), "year", False).astype("datetime64[D]").astype(str).tolist()
    ['2022-02-28', '2020-05-06']
    """
    if unit not in _MONTHS:
        return first + (span + 1) * _steps(unit, has_times) - 1
    per_day = _DAY if has_times else 1
    days, times = first // per_day, first % per_day
    months, day = days_of(days)
    month = months + (span + 1) * _MONTHS[unit]
    begin, after = _first_of(month), _first_of(month + 1)
    is_there = begin + day < after
    return np.where(is_there, (begin + day) * per_day + times, after * per_day) - 1


def days_of(days: Any) -> tuple[Any, Any]:  # noqa: ANN401
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


def _place(time: Any, per_day: int) -> Any:  # noqa: ANN401
    """Return where a time is in a calendar in which each month has as many days."""
    months, day = days_of(time // per_day)
    return (months * _MONTH + day) * per_day + time % per_day


def _steps(unit: Unit, has_times: bool) -> int:
    days = {"day": 1, "week": 7}
    return 3600 if unit == "hour" else days[unit] * (_DAY if has_times else 1)
