"""Codes of dates and times of an engine, compared as literals."""

from __future__ import annotations

import datetime
from typing import Any, Literal, TypeAlias

from pypgm.data.columns.dates import MONTH, MONTHS, SECONDS
from pypgm.data.sources.engine_numbers import Expression, call, quotient
from pypgm.data.sources.frames import imported

Step: TypeAlias = Literal["year", "quarter", "month", "week", "day", "hour", "minute", "second"]

EPOCH = datetime.datetime(1970, 1, 1)

_WITHOUT_ZONES = {"pyspark", "databricks", "snowflake"}  # whose TIMESTAMP may have one, by a setting
_CLICKHOUSE_YEARS = 1900, 2299  # of its types; a literal beyond them wraps around


def in_microseconds(value: Expression) -> Expression:
    """Return times of DuckDB in its common type: it computes parts of others wrongly, by way of nanoseconds."""
    if not value.type().is_timestamp() or value.get_backend().name != "duckdb":
        return value
    micro = value.type().copy(scale=6)
    if value.type().scale == 9:  # a cast would round to the nearest microsecond, which may be of the next day
        return value.strftime("%Y-%m-%d %H:%M:%S").cast(micro)
    return value.cast(micro)


def reaches(ibis: Any, value: Expression, place: float, has_times: bool) -> Expression:  # noqa: ANN401
    """Return whether each date or time is at least a place on the line, in days or in seconds from 1970 on.

    Parameters
    ----------
    ibis : module
    value : ibis.Column
    place : float
    has_times : bool
    """
    is_date = value.type().is_date()
    try:
        time = EPOCH + (datetime.timedelta(seconds=int(place)) if has_times else datetime.timedelta(days=int(place)))
        if is_date and time.time() > datetime.time():
            time += datetime.timedelta(days=1)
    except OverflowError:  # the year 10000, of which Python has no dates
        return value.year() > datetime.MAXYEAR
    engine = value.get_backend().name
    if engine == "clickhouse" and not _CLICKHOUSE_YEARS[0] <= time.year <= _CLICKHOUSE_YEARS[1]:
        return ibis.literal(time.year < _CLICKHOUSE_YEARS[0])
    text = ibis.literal(str(time.date()) if is_date else str(time))
    if engine == "clickhouse":
        end = call("toDate32", "date", text) if is_date else call("toDateTime64", "timestamp", text, ibis.literal(0))
    elif not is_date and engine in _WITHOUT_ZONES:
        end = call("to_timestamp_ntz", "timestamp", text)
    else:
        end = text.cast("date" if is_date else "timestamp")
    return value >= end


def steps_since(value: Expression, first: datetime.datetime, step: Step) -> Expression:
    """Return the number of years, quarters or other units between that of a first time and that of each value.

    Numbers of weeks before the first are not exact.

    Parameters
    ----------
    value : ibis.Column
    first : datetime.datetime
    step : {"year", "quarter", "month", "week", "day", "hour", "minute", "second"}
    """
    if step in {"year", "quarter", "month"}:
        years = value.year().cast("int64") - first.year
        if step == "quarter":
            return years * 4 + value.quarter().cast("int64") - (first.month + 2) // 3
        return years if step == "year" else years * 12 + value.month().cast("int64") - first.month
    begin: Any = first.date() - datetime.timedelta(days=first.weekday() if step == "week" else 0)
    is_date = value.type().is_date()
    date = value if is_date else value.date()
    if value.get_backend().name == "clickhouse":  # whose common type of dates begins in 1970
        begin = call("toDate32", "date", imported("ibis", "a table of an engine", "ibis").literal(str(begin)))
        date = call("toDate32", "date", value)
    steps = date.delta(begin, unit="day").cast("int64")
    if step == "week":
        return quotient(steps, 7)
    for name, n in () if step == "day" else (("hour", 24), ("minute", 60), ("second", 60)):
        part = 0 if is_date else getattr(value, name)().cast("int64")
        steps = steps * n + part - getattr(first, name)
        if name == step:
            break
    return steps


def place_of_date(value: Expression, unit: str, has_times: bool) -> Expression:
    """Return the result of `pypgm.data.columns.dates.places_of` for dates of an engine.

    Parameters
    ----------
    value : ibis.Column
    unit : str
    has_times : bool
    """
    value = in_microseconds(value)
    if unit not in MONTHS:
        return steps_since(value, EPOCH, "second" if has_times else "day")
    months = value.year().cast("int64") * 12 + value.month().cast("int64") - 3  # from the first March on
    days = months * MONTH + value.day().cast("int64") - 1
    if not has_times:
        return days
    hours = value.hour().cast("int64") * 3600
    return days * SECONDS + hours + value.minute().cast("int64") * 60 + value.second().cast("int64")
