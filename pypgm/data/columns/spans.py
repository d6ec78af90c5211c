"""Whole days, weeks, months, years or hours between two dates, as people count their ages."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Unit = Literal["day", "week", "month", "year", "hour"]

SECONDS = 86_400
"""In a day."""
MONTH = 32
"""Places of days in a month, of which each has fewer."""
MONTHS = {"month": 1, "year": 12}
"""In units that are no number of days."""
_SHIFT = 719_468  # days from the first of March of the year 0 to 1970
_ERA = 146_097  # days in 400 years


def units_of(has_times: bool) -> tuple[str, ...]:
    """Return the units of differences between dates, or dates with times."""
    return tuple(unit for unit in get_args(Unit) if has_times or unit != "hour")


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
    """Return the number of such places in a unit."""
    if unit == "hour":
        return 3600
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
