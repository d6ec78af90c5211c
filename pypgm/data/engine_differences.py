"""Codes of the differences between two columns of an engine, as an expression that the engine evaluates."""

from __future__ import annotations

from typing import Any

import numpy as np

from pypgm.data.bins import Binned
from pypgm.data.dates import Date
from pypgm.data.difference import Difference
from pypgm.data.engine_codes import beyond, bin_of, code_of, in_microseconds, quotient, steps_of
from pypgm.data.engine_numbers import Expression
from pypgm.data.frames import imported
from pypgm.data.numbers import Integer
from pypgm.data.spans import MONTH, MONTHS, SECONDS, places_of, units_per


def difference_of(
    table: Expression, names: tuple[str, str], column: Difference, first: Binned, second: Binned
) -> tuple[Expression, str | None]:
    """Return the code of each difference, -1 for a misfit, and the problem of the columns, if any.

    Parameters
    ----------
    table : ibis.Table
    names : pair of str
        Of the other column, and of the one that is measured by its difference from it.
    column : Difference
    first, second : Binned
        What the two hold.
    """
    ibis = imported("ibis", "a table of an engine", "ibis")
    values = [table[name] for name in names]
    kinds = [value.type() for value in values]
    is_date = isinstance(first, Date)
    has_times = isinstance(first, Date) and first.has_times
    fit = [k.is_integer() if not is_date else (k.is_timestamp() and k.timezone is None) or k.is_date() for k in kinds]
    if not all(fit) or (has_times and any(k.is_date() for k in kinds)) or not isinstance(column.span, Integer):
        needed = "dates, or times without a zone" if is_date else "whole numbers"
        return values[1], f"is measured as a difference, which an engine counts of {needed} alone: cast them in a query"
    places = [_place(value, column.unit, has_times) if is_date else value.cast("int64") for value in values]
    if first.outside == "clip":
        ends = [end[[i]] for end, i in zip(first.ends(), (0, -1), strict=True)]
        low, high = (int(places_of(end, column.unit, has_times)[0]) if is_date else int(end[0]) for end in ends)
        places[0] = ibis.cases((places[0] < low, low), (places[0] > high, high), else_=places[0])
    per = units_per(column.unit, has_times) if is_date else 1
    apart = places[1] - places[0]
    span = column.span
    if span.edges:
        inside = bin_of(ibis, lambda start: apart >= int(start) * per, span.bounds_and_starts()[2].tolist(), 0)
    else:
        inside = quotient(apart - span.low * per, span.width * per)
    code, problem = code_of(table, names[0], first)
    if problem is not None:
        return code, problem
    is_missing = values[0].isnull() | values[1].isnull() | (code >= first.n_values)
    for place in [] if is_date else second.null_places.tolist():
        is_missing |= values[1] == int(place)
    below, above, _ = beyond(span)
    none = -1 if span.null_code is None else span.null_code
    arms = [(is_missing, none), (apart < span.low * per, below), (apart >= (span.high + 1) * per, above)]
    return ibis.cases(*arms, else_=inside).cast("int64"), None


def _place(value: Expression, unit: Any, has_times: bool) -> Expression:  # noqa: ANN401 - one of those there are
    """Return the result of `places_of` for dates of an engine."""
    if value.type().is_timestamp() and value.get_backend().name == "duckdb":
        value = in_microseconds(value)
    if unit not in MONTHS:
        step: Any = "second" if has_times else "day"
        origin = np.datetime64(0, "s" if has_times else "D").item()
        return steps_of(value, step) - steps_of(origin, step)
    months = value.year().cast("int64") * 12 + value.month().cast("int64") - 3  # from the first March on
    days = months * MONTH + value.day().cast("int64") - 1
    if not has_times:
        return days
    hours = value.hour().cast("int64") * 3600
    return days * SECONDS + hours + value.minute().cast("int64") * 60 + value.second().cast("int64")
