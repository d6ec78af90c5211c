"""Codes of the values of an engine's column, as an expression that the engine evaluates.

The column's type in the engine and the schema decide. Numbers and dates are compared with those that the schema names,
and nothing is rounded; distinct texts are queried by their bytes, and encoded as those of a file are.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

from pypgm.data.columns.bins import Binned
from pypgm.data.columns.column import Column
from pypgm.data.columns.dates import Date
from pypgm.data.columns.numbers import Integer
from pypgm.data.columns.values import EXACT
from pypgm.data.sources.engine_numbers import Expression, NumberColumn, call
from pypgm.data.sources.foreign import guarded
from pypgm.data.sources.frames import imported

Step: TypeAlias = Literal["year", "quarter", "month", "week", "day", "hour", "minute", "second"]
AtLeast: TypeAlias = Callable[[float], Expression]

_MOST_TEXTS = 20_000  # distinct texts of a column; the query contains all of them
_NONE = -1  # code of a misfit
_TO_MONDAY = 2  # from the first of March of the year 0, a Wednesday, back to a Monday
_EPOCH = datetime.datetime(1970, 1, 1)


class UnfitError(ValueError):
    """A column of the engine does not fit its declaration; the text says why, after the name of the column."""


def code_of(table: Expression, name: str, column: Column) -> tuple[Expression, str | None]:
    """Return the code of each value of a column, -1 for a misfit, and the problem of the column, if any.

    Wrong is a type of the engine that has no counts here, and a text that does not fit.

    Parameters
    ----------
    table : ibis.Table
    name : str
    column : Column
    """
    ibis = imported("ibis", "a table of an engine", "ibis")
    value = table[name]
    of_values = _of_storage if table.get_backend().name == "sqlite" else _of_type
    try:
        code = of_values(ibis, table, value, column)
    except UnfitError as error:
        return value, str(error)
    return ibis.cases((value.isnull(), _code(column, None)), else_=code).cast("int64"), None


def _code(column: Column, value: object) -> int:
    """Return the code of a value that the schema names, or that stands for all of its kind."""
    codes, problem = column.encode([value])
    return _NONE if problem is not None else int(codes[0])


def _of_type(ibis: Any, table: Expression, value: Expression, column: Column) -> Expression:  # noqa: ANN401
    """Return the codes of a column in which all values have its one type."""
    kind = value.type()
    if kind.is_string():
        return _of_texts(ibis, table, value, column)
    if kind.is_boolean():
        return ibis.cases((value, _code(column, True)), else_=_code(column, False))
    if kind.is_integer() or kind.is_floating() or kind.is_decimal():
        return _of_numbers(ibis, value, column)
    is_clock = kind.is_timestamp() and kind.timezone is None
    if isinstance(column, Date) and (kind.is_date() or is_clock):
        return _of_dates(ibis, value, column)
    way_out = "take what its clock shows in one zone" if kind.is_timestamp() and not is_clock else "make it another"
    raise UnfitError(f"is of the engine's type {kind}, which has no counts as {column.kind}; {way_out}, in a query")


def _of_storage(ibis: Any, table: Expression, value: Expression, column: Column) -> Expression:  # noqa: ANN401
    """Return the codes of a column of SQLite, where each value has its own type, whatever the declared one."""
    stored = call("typeof", "string", value)
    # A function that changes nothing frees a value of the type that is declared.
    numbers = {"integer": call("likely", "int64", value), "real": call("likely", "float64", value)}
    return ibis.cases(
        (stored == "text", _of_texts(ibis, table.filter(stored == "text"), value, column)),
        *((stored == kind, _of_numbers(ibis, number, column)) for kind, number in numbers.items()),
        else_=_NONE,
    )


def _of_texts(ibis: Any, table: Expression, value: Expression, column: Column) -> Expression:  # noqa: ANN401
    """Return the code of each distinct text, encoded as those of a file are."""
    key = bytes_of(ibis, table.get_backend().name, value)
    distinct = table.select(key=key).distinct().limit(_MOST_TEXTS + 1)
    keys = guarded("asking the engine for distinct texts", lambda: distinct.to_pyarrow()["key"].drop_null().to_pylist())
    if len(keys) > _MOST_TEXTS:
        raise UnfitError(f"has more than {_MOST_TEXTS:,} texts; give them codes in a query of the engine")
    try:
        texts = [bytes.fromhex(key).decode() for key in keys]
    except ValueError:
        texts = None
    if texts is None:  # raised here, the error has no context, which holds the text
        raise UnfitError("has text that is not UTF-8")
    codes, problem = column.encode(texts)
    if problem is not None:
        raise UnfitError(problem.what)
    written: dict[int, list[str]] = {}
    for code, text_keys in zip(codes.tolist(), keys, strict=True):
        written.setdefault(code, []).append(text_keys)
    return _cases(ibis, [(key.isin(text_keys), code) for code, text_keys in written.items()], _NONE)


def bytes_of(ibis: Any, engine: str, value: Expression) -> Expression:  # noqa: ANN401
    """Return the bytes of a text in hexadecimal digits, which every collation distinguishes."""
    types = imported("ibis.expr.datatypes", "a table of an engine", "ibis")
    cast = imported("ibis.expr.operations", "a table of an engine", "ibis").Cast
    text = cast(value, types.string).to_expr()  # an enumeration, which Ibis takes for text, becomes text
    if engine in {"duckdb", "sqlite", "pyspark", "databricks"}:
        return call("hex", "string", text)
    if engine in {"postgres", "risingwave"}:
        return call("encode", "string", call("convert_to", "binary", text, ibis.literal("UTF8")), ibis.literal("hex"))
    if engine in {"trino", "athena"}:
        return call("to_hex", "string", call("to_utf8", "binary", text))
    if engine == "bigquery":
        return call("to_hex", "string", cast(text, types.binary).to_expr())
    if engine == "snowflake":
        return call("hex_encode", "string", text)
    raise UnfitError(f"has text, whose bytes {engine} does not compare; give it codes in a query of the engine")


def _of_numbers(ibis: Any, value: Expression, column: Column) -> Expression:  # noqa: ANN401
    """Return the codes of numbers, which are compared with those that the schema names."""
    numbers = NumberColumn(ibis, value)
    arms = [(is_so, _code(column, example)) for is_so, example in numbers.not_finite()]
    if column.numbers_are in {"codes", "digits", "nothing"}:
        arms += [(numbers.equal_to(n), _code(column, n)) for n in numbers.named(column.nulls)]
    if column.numbers_are == "codes":
        inside = numbers.at_least(0) & ~numbers.at_least(column.n_values)
        arms += [(numbers.is_fraction(), _NONE), (inside, value.cast("int64"))]
        return _cases(ibis, arms, _NONE)
    if not isinstance(column, Binned):
        named = numbers.named([*map(str, column.labels or ()), *column.nulls, "0", "1"])
        arms += [(numbers.equal_to(n), _code(column, n)) for n in named]
        return _cases(ibis, arms, _code(column, numbers.another(named)))
    if column.numbers_are != "places":
        return _cases(ibis, arms, _NONE if column.numbers_are == "digits" else beyond(column)[2])
    if column.is_whole:
        arms += [(numbers.is_doubtful(), _NONE), (numbers.is_fraction(), beyond(column)[2])]
    starts = column.bounds_and_starts()[2].tolist()
    if isinstance(column, Integer) and not column.edges and column.high - column.low < EXACT:
        inside = quotient(value.cast("int64") - ibis.literal(column.low, "int64"), column.width)
    else:
        inside = bin_of(ibis, numbers.at_least, starts, 0)
    return _cases(ibis, arms, _on_line(ibis, numbers.at_least, numbers.after, column, inside))


def _of_dates(ibis: Any, value: Expression, column: Date) -> Expression:  # noqa: ANN401
    """Return the codes of dates or times, which are counted in days or seconds, and in steps of their bins."""
    has_times = column.has_times
    if column.needs_times and value.type().is_date():
        return ibis.literal(_code(column, _EPOCH.date()))
    if value.type().is_timestamp() and value.get_backend().name == "duckdb":
        value = in_microseconds(value)
    unit: Step = "second" if has_times else "day"
    place = steps_of(value, unit) - steps_of(_EPOCH, unit)
    first = _EPOCH + datetime.timedelta(**{f"{unit}s": column.bounds_and_starts()[0]})
    inside = steps_of(value, column.resolution) - steps_of(first, column.resolution)
    return _on_line(ibis, lambda start: place >= int(start), lambda start: start + 1, column, inside)


def in_microseconds(value: Expression) -> Expression:
    """Return times of DuckDB in its common type: it computes parts of others wrongly, by way of nanoseconds."""
    micro = value.type().copy(scale=6)
    if value.type().scale == 9:  # a cast would round to the nearest microsecond, which may be of the next day
        return value.strftime("%Y-%m-%d %H:%M:%S").cast(micro)
    return value.cast(micro)


def steps_of(time: Any, step: Step) -> Any:  # noqa: ANN401 - the same of a date and of an expression of dates
    """Return the number of years, quarters or other units between a fixed time and a time.

    Examples
    --------
    >>> times = datetime.datetime(1970, 1, 4, 23, 59, 59), datetime.datetime(1970, 1, 5)
    >>> [steps_of(times[1], step) - steps_of(times[0], step) for step in ("year", "week", "day", "hour", "second")]
    [0, 1, 1, 1, 1]
    """

    def part(name: str) -> Any:  # noqa: ANN401
        unit = getattr(time, name)
        return unit if isinstance(unit, int) else unit().cast("int64")

    months = part("year") * 12 + part("month") - 1
    if step in {"year", "quarter", "month"}:
        return quotient(months, {"year": 12, "quarter": 3, "month": 1}[step])
    # Years that begin in March have their leap day last; of their months each five have 153 days.
    years, later = quotient(months - 2, 12), (months - 2) % 12
    leaps = quotient(years, 4) - quotient(years, 100) + quotient(years, 400)
    days = years * 365 + leaps + quotient(later * 153 + 2, 5) + part("day") - 1
    if step in {"day", "week"}:
        return days if step == "day" else quotient(days + _TO_MONDAY, 7)
    hours = days * 24 + (0 if _is_date(time) else part("hour"))
    if step == "hour" or _is_date(time):
        return hours * {"hour": 1, "minute": 60}.get(step, 3600)
    minutes = hours * 60 + part("minute")
    return minutes if step == "minute" else minutes * 60 + part("second")


def _is_date(time: Any) -> bool:  # noqa: ANN401
    """Return whether an expression has days alone, which have no hour in an engine."""
    return hasattr(time, "type") and bool(time.type().is_date())


def quotient(number: Any, divisor: int) -> Any:  # noqa: ANN401
    """Return the whole quotient of an integer that is not negative: engines divide, and round, in their own ways."""
    if divisor == 1 or isinstance(number, int):
        return number // divisor
    return ((number - number % divisor) / divisor).cast("int64")


def _on_line(
    ibis: Any,  # noqa: ANN401
    at_least: AtLeast,
    after: Callable[[float], float],
    column: Binned,
    inside: Expression,
) -> Expression:
    """Return the codes of values compared with nulls and bounds; values between the bounds get their bins."""
    low, high, _ = column.bounds_and_starts()
    below, above, _ = beyond(column)
    nulls = zip(column.null_places.tolist(), column.null_codes_at_places, strict=False)
    arms = [(at_least(p) & ~at_least(after(p)), code) for p, code in nulls]
    return _cases(ibis, [*arms, (~at_least(low), below), (at_least(after(high)), above)], inside)


def bin_of(ibis: Any, at_least: AtLeast, starts: Sequence[float], first: int) -> Expression:  # noqa: ANN401
    """Return the bin of values by bisection over several bins, numbered from a first one."""
    if len(starts) == 1:
        return ibis.literal(first)
    half = len(starts) // 2
    upper = bin_of(ibis, at_least, starts[half:], first + half)
    return ibis.cases((at_least(starts[half]), upper), else_=bin_of(ibis, at_least, starts[:half], first))


def beyond(column: Binned) -> tuple[int, int, int]:
    """Return the codes of values below the bounds, above them, and of no value of the column."""
    elsewhere = {"null": column.none_code, "other": column.other_code}.get(column.outside)
    code = _NONE if elsewhere is None else elsewhere
    return (0, column.n_values - 1, code) if column.outside == "clip" else (code, code, code)


def _cases(ibis: Any, arms: Iterable[tuple[Expression, Expression]], rest: Expression) -> Expression:  # noqa: ANN401
    """Return the value of the first condition that holds."""
    given = list(arms)
    return ibis.cases(*given, else_=rest) if given else rest if hasattr(rest, "type") else ibis.literal(rest)
