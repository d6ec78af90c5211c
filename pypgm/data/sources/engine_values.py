"""Values of open columns in an engine, which groups them, or counts them between the points of a grid."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from decimal import Decimal
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.open_columns import OpenColumn, QuantileBins
from pypgm.data.columns.values import plain
from pypgm.data.schema.schema import OpenSchema
from pypgm.data.sources.connection import connection_of
from pypgm.data.sources.engine import kept_in_engine, key_of
from pypgm.data.sources.engine_codes import bin_of, bytes_of
from pypgm.data.sources.engine_groups import Queries
from pypgm.data.sources.engine_numbers import Expression, NumberColumn, call
from pypgm.data.sources.foreign import guarded
from pypgm.data.sources.frames import imported
from pypgm.data.sources.open_values import Counted, OpenValues

_ROWS = 1 << 16  # groups that are Python objects at a time
_ENTRY = {  # of an array of numbers, from their texts and their type; of other engines this is not tested
    "duckdb": "CAST(STRING_SPLIT('{}', ',') AS {}[])[place + 1]",
    "pyspark": "CAST(SPLIT('{}', ',') AS ARRAY<{}>)[place]",
}
_TINY = 1e-300  # PostgreSQL casts no decimal to a double that is nearer to zero than about 1e-307


class EngineValues(OpenValues):
    """Values of open columns of a table that `EngineTable` has opened: only counts leave the engine.

    Parameters
    ----------
    table : ibis.Table
    schema : OpenSchema
    """

    def __init__(self, table: Expression, schema: OpenSchema) -> None:
        self._ibis = imported("ibis", "a table of an engine", "ibis")
        self._table, self._schema = table, schema
        backend = guarded("asking for the engine", table.get_backend)
        self._backend, self._connection, self._engine = backend, connection_of(backend), str(backend.name)
        self._has_bytes = False  # texts are their bytes already

    def distinct(self, name: str, column: OpenColumn) -> Iterator[Counted]:
        """Yield the groups of equal values; of a column of numbers those that are stored as texts."""
        for records, value, is_text in self._parts(name):
            if is_text:
                key = value if self._has_bytes else bytes_of(self._ibis, self._engine, value)
                for texts, counts in self._groups(records, key):
                    yield [bytes.fromhex(text).decode() for text in texts], counts
            elif not isinstance(column, QuantileBins):
                for values, counts in self._groups(records, _exported(value)):
                    yield [Decimal(v) if value.type().is_decimal() else v for v in values], counts

    def below(self, name: str, column: QuantileBins, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return how many numbers are below each point, and last how many there are, by counts of the cells between."""
        cells = np.zeros(len(points) + 1, dtype=np.int64)
        for records, value, is_text in self._parts(name):
            if not is_text:
                numbers = NumberColumn(self._ibis, value)
                ranked = records.filter(value.notnull(), *(~is_so for is_so in _without_rank(numbers, column)))
                if self._engine in _ENTRY and numbers.has_unit:
                    cells += self._searched(ranked, numbers, points)
                    continue
                for places, counts in self._groups(ranked, self._place(value, numbers, points)):
                    np.add.at(cells, places, counts)
        below: NDArray[np.int64] = np.cumsum(cells)
        return below

    def kept(self, secret: bytes) -> EngineValues:
        """Return the values in the records that are kept of each person, by a query with window functions."""
        if (person := self._schema.person) is None:
            raise ValueError("the schema names no person")
        contents = {}
        for i, name in enumerate(self._schema.open):
            ((_, value, is_text),) = self._parts(name)
            contents[f"c{i}"] = bytes_of(self._ibis, self._engine, value) if is_text else value
        keys = {f"p{i}": key_of(self._table, name)[0] for i, name in enumerate(person.columns)}
        records = kept_in_engine(self._table.select(**contents, **keys), len(contents), person, secret)
        renamed = {name: records[f"c{i}"] for i, name in enumerate(self._schema.open)}
        part = EngineValues(records.select(**renamed), self._schema)
        part._has_bytes = True
        return part

    def _parts(self, name: str) -> list[tuple[Expression, Expression, bool]]:
        """Return the records, the column and whether it has texts, for each type in which values are stored."""
        table, value = self._table, self._table[name]
        if self._engine != "sqlite":
            return [(table, value, value.type().is_string())]
        stored = call("typeof", "string", value)
        # A function that changes nothing frees a value of the type that is declared.
        numbers = {"integer": call("likely", "int64", value), "real": call("likely", "float64", value)}
        of_numbers = [(table.filter(stored == kind), number, False) for kind, number in numbers.items()]
        return [(table.filter(stored == "text"), value, True), *of_numbers]

    def _place(self, value: Expression, numbers: NumberColumn, points: NDArray[np.float64]) -> Expression:
        """Return how many points each number, as a double, is not below."""
        ends = points.tolist()
        if self._engine != "postgres":
            return bin_of(self._ibis, numbers.at_least, [-inf, *ends], 0)
        # PostgreSQL compiles thousands of arms for ten seconds; its casts to doubles round as Python's do, or fail.
        array = self._ibis.literal(f"{{{','.join(map(repr, ends))}}}").cast("array<float64>")
        place = call("width_bucket", "int64", value.cast("float64"), array)
        if not value.type().is_decimal():
            return place
        least, near = np.searchsorted(points, [-_TINY, _TINY]).tolist()
        is_tiny = numbers.at_least(-_TINY) & ~numbers.at_least(_TINY)
        near_zero = bin_of(self._ibis, numbers.at_least, [-inf, *ends[least:near]], least)
        too_large = (numbers.at_least(inf), len(ends)), (~numbers.at_least(-sys.float_info.max), 0)
        return self._ibis.cases(*too_large, (is_tiny, near_zero), else_=place)

    def _searched(self, records: Expression, numbers: NumberColumn, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return how many numbers are below the first point, between two and not below the last, by binary search.

        Each step is a query over the one before, with an array of the points that it compares with: engines take
        seconds to plan thousands of nested conditions.
        """
        cells = np.zeros(len(points) + 1, dtype=np.int64)
        starts = [first for point in points.tolist() if (first := numbers.first_from(point)) is not None]
        n_steps = len(starts).bit_length()
        starts_or_last = starts + starts[-1:] * ((1 << n_steps) - 1 - len(starts))
        queries = Queries(self._backend)
        query = f"(SELECT x, 0 AS place FROM {queries.query(records.select(x=numbers.value), {})} AS records)"
        for step in range(n_steps):
            half = 1 << (n_steps - 1 - step)
            texts = [format(start, "f") if isinstance(start, Decimal) else repr(start) for start in starts_or_last]
            entry = _ENTRY[self._engine].format(",".join(texts[half - 1 :: 2 * half]), _sql_type(numbers.value))
            query = f"(SELECT x, 2 * place + CASE WHEN x >= {entry} THEN 1 ELSE 0 END AS place FROM {query} AS step)"
        columns, counts = queries.groups(query, [("place",)], {"place": 1 << n_steps})["place",]
        np.add.at(cells, np.minimum(columns["place"], len(starts)), counts)
        return cells

    def _groups(self, records: Expression, key: Expression) -> Iterator[tuple[list[Any], list[int]]]:
        """Yield the groups of equal keys, and the number of records of each, some at a time; NULL is left out.

        Spark's client would make doubles of integers beside it.
        """
        keys = records.select(key=key)
        keys = keys.filter(keys.key.notnull())
        counted = keys.group_by("key").aggregate(n=keys.count())
        groups = self._connection.read("counting in the engine", counted.to_pyarrow)
        for batch in groups.to_batches(_ROWS):
            yield batch["key"].to_pylist(), batch["n"].to_pylist()


def _sql_type(value: Expression) -> str:
    """Return the type of doubles, integers or decimals in SQL."""
    kind = value.type()
    if kind.is_decimal():
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if kind.is_floating():
        return "DOUBLE"
    return "UBIGINT" if kind.is_unsigned_integer() else "BIGINT"  # Spark has no unsigned ones


def _exported(value: Expression) -> Expression:
    """Return values as Arrow holds them exactly: decimals as texts."""
    if value.type().is_decimal():
        return value.cast("string")
    return value.cast("float64") if value.type().is_floating() else value


def _without_rank(numbers: NumberColumn, column: QuantileBins) -> list[Expression]:
    """Return conditions of the numbers that no quantile counts: missing ones, and heaps."""
    declared = column.provisional
    missing = [is_so for is_so, number in numbers.not_finite() if number != number]  # noqa: PLR0124 - NaN
    missing += [numbers.equal_to(n) for n in numbers.named(declared.nulls) if plain(n) in declared.null_numbers]
    heaps = map(float, column.heaps)
    return missing + [numbers.at_least(heap) & ~numbers.at_least(numbers.after(heap)) for heap in heaps]
