"""Codes of the values of an engine's column, as an expression that the engine evaluates.

The column's type in the engine and the schema decide. Numbers and dates are compared with those that the schema names,
and nothing is rounded; of texts see `pypgm.data.sources.engine_texts`.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from pypgm.data.columns.bins import Binned
from pypgm.data.columns.column import Column
from pypgm.data.columns.dates import Date
from pypgm.data.columns.numbers import Integer
from pypgm.data.columns.values import EXACT
from pypgm.data.sources.engine_dates import EPOCH, in_microseconds, reaches, steps_since
from pypgm.data.sources.engine_numbers import Expression, NumberColumn, call, quotient
from pypgm.data.sources.frames import imported

AtLeast: TypeAlias = Callable[[float], Expression]

_NONE = -1  # code of a misfit
_MAX_COMPARED = 8  # numbers that a value is compared with one after the other


class UnfitError(ValueError):
    """A column of the engine does not fit its declaration; the text says why, after the name of the column."""


def code_of(
    table: Expression, name: str, column: Column, text: Expression | None = None
) -> tuple[Expression, str | None]:
    """Return the code of each value of a column, -1 for a misfit, and the problem of the column, if any.

    Parameters
    ----------
    table : ibis.Table
    name : str
    column : Column
    text : ibis.Value, optional
        Code of each text, see `pypgm.data.sources.engine_texts`; by default texts are misfits.
    """
    ibis = imported("ibis", "a table of an engine", "ibis")
    value = table[name]
    of_values = _of_storage if table.get_backend().name == "sqlite" else _of_type
    try:
        code = of_values(ibis, value, column, _NONE if text is None else text)
    except UnfitError as error:
        return value, str(error)
    return ibis.cases((value.isnull(), _code(column, None)), else_=code).cast("int64"), None


def _code(column: Column, value: object) -> int:
    """Return the code of a value that the schema names, or that stands for all of its kind."""
    codes, problem = column.encode([value])
    return _NONE if problem is not None else int(codes[0])


def _of_type(ibis: Any, value: Expression, column: Column, text: Expression) -> Expression:  # noqa: ANN401
    """Return the codes of a column in which all values have its one type."""
    kind = value.type().copy(nullable=True)
    if kind.is_string():
        return text
    if kind.is_boolean():
        return ibis.cases((value, _code(column, True)), else_=_code(column, False))
    if kind.is_integer() or kind.is_floating() or kind.is_decimal():
        return _of_numbers(ibis, value, column)
    is_clock = kind.is_timestamp() and kind.timezone is None
    if isinstance(column, Date) and (kind.is_date() or is_clock):
        return _of_dates(ibis, value, column)
    way_out = "take what its clock shows in one zone" if kind.is_timestamp() and not is_clock else "make it another"
    raise UnfitError(f"is of the engine's type {kind}, which has no counts as {column.kind}; {way_out}, in a query")


def _of_storage(ibis: Any, value: Expression, column: Column, text: Expression) -> Expression:  # noqa: ANN401
    """Return the codes of a column of SQLite, where each value has its own type, whatever the declared one."""
    stored = call("typeof", "string", value)
    # A function that changes nothing frees a value of the type that is declared.
    numbers = {"integer": call("likely", "int64", value), "real": call("likely", "float64", value)}
    return ibis.cases(
        (stored == "text", text),
        *((stored == kind, _of_numbers(ibis, number, column)) for kind, number in numbers.items()),
        else_=_NONE,
    )


def bytes_of(ibis: Any, engine: str, value: Expression) -> Expression:  # noqa: ANN401
    """Return the bytes of a text in hexadecimal digits, which every collation distinguishes."""
    types = imported("ibis.expr.datatypes", "a table of an engine", "ibis")
    cast = imported("ibis.expr.operations", "a table of an engine", "ibis").Cast
    text = cast(value, types.string).to_expr()  # an enumeration, which Ibis takes for text, becomes text
    if engine in {"duckdb", "sqlite", "pyspark", "databricks", "clickhouse"}:
        return call("hex", "string", text)
    if engine in {"postgres", "risingwave"}:
        return call("encode", "string", call("convert_to", "binary", text, ibis.literal("UTF8")), ibis.literal("hex"))
    if engine in {"trino", "athena"}:
        return call("to_hex", "string", call("to_utf8", "binary", text))
    if engine == "bigquery":
        return call("to_hex", "string", cast(text, types.binary).to_expr())
    if engine == "snowflake":
        return call("hex_encode", "string", text)
    if engine == "mysql" and value.get_backend().con.character_set_name() == "utf8mb4":  # in which it casts
        return call("hex", "string", text)
    raise UnfitError(f"has text, whose bytes {engine} does not compare; give it codes in a query of the engine")


def _of_numbers(ibis: Any, value: Expression, column: Column) -> Expression:  # noqa: ANN401
    """Return the codes of numbers, which are compared with those that the schema names."""
    numbers = NumberColumn(ibis, value)
    # Infinities are beyond the bounds, unless the column names them, or looks for fractions before.
    known = beyond(column)[:2] if isinstance(column, Binned) and not column.is_whole else (None, None)
    endless = [(is_so, example, _code(column, example)) for is_so, example in numbers.not_finite()]
    arms = [(is_so, code) for is_so, example, code in endless if math.isnan(example) or code != known[example > 0]]
    if column.numbers_are in {"codes", "digits", "nothing"}:
        arms += [(numbers.equal_to(n), _code(column, n)) for n in numbers.named(column.nulls)]
    if column.numbers_are == "codes":
        inside = numbers.at_least(0) & ~numbers.at_least(column.n_values)
        arms += [(numbers.is_fraction(), _NONE), (inside, value.cast("int64"))]
        return _cases(ibis, arms, _NONE)
    if not isinstance(column, Binned):
        named = numbers.named([*map(str, column.labels or ()), *column.nulls, "0", "1"])
        coded = [(n, _code(column, n)) for n in sorted(named)]
        return _cases(ibis, arms, _listed(ibis, numbers, coded, _code(column, numbers.another(named))))
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
    """Return the codes of dates or times, which are compared with the bounds, and counted in steps of the bins."""
    has_times = column.has_times
    if column.needs_times and value.type().is_date():
        return ibis.literal(_code(column, EPOCH.date()))
    value = in_microseconds(value)
    low = int(column.bounds_and_starts()[0])
    first = EPOCH + (datetime.timedelta(seconds=low) if has_times else datetime.timedelta(days=low))
    inside = steps_since(value, first, column.resolution)
    return _on_line(ibis, lambda place: reaches(ibis, value, place, has_times), lambda place: place + 1, column, inside)


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


def _listed(ibis: Any, numbers: NumberColumn, coded: Sequence[tuple[Any, int]], rest: int) -> Expression:  # noqa: ANN401
    """Return the codes of some numbers, which rise, and a code for all others: by bisection where there are many."""
    if len(coded) <= _MAX_COMPARED:
        return _cases(ibis, [(numbers.equal_to(number), code) for number, code in coded], rest)
    half = len(coded) // 2
    upper, lower = (_listed(ibis, numbers, part, rest) for part in (coded[half:], coded[:half]))
    return ibis.cases((numbers.reaches(coded[half][0]), upper), else_=lower)


def beyond(column: Binned) -> tuple[int, int, int]:
    """Return the codes of values below the bounds, above them, and of no value of the column."""
    elsewhere = {"null": column.none_code, "other": column.other_code}.get(column.outside)
    code = _NONE if elsewhere is None else elsewhere
    return (0, column.n_values - 1, code) if column.outside == "clip" else (code, code, code)


def _cases(ibis: Any, arms: Iterable[tuple[Expression, Expression]], rest: Expression) -> Expression:  # noqa: ANN401
    """Return the value of the first condition that holds."""
    given = list(arms)
    return ibis.cases(*given, else_=rest) if given else rest if hasattr(rest, "type") else ibis.literal(rest)
