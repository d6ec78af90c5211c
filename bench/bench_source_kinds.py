"""Engine × kind of column: microseconds a record, bytes to the client, scans; and how whole tables grow.

Run: python bench/bench_source_kinds.py [--rows 100000] [--largest 6]

Each kind of column lies with a column of codes in a table of its own: in a Parquet and a CSV file, in DuckDB, SQLite,
the PostgreSQL that PYPGM_POSTGRES names and a local Spark (needs the extra `[spark]` and Java; left out without them).
The counts of both columns, and what open columns settle to, are compared with those of memory. Then a line has the time
to open the column (to settle it too, if it is open) and to count it with the other, how many times what memory takes
that is, the queries or passes it took, and the bytes that came to the client: answers of an engine, or what was read of
files. Then tables of all closed kinds: all pairs of 10^4, 10^5, … records, up to 10^LARGEST, and how the time grows at
the end. At last, what `wide` takes and fetches for 12 columns of 10^LARGEST records, an open one and one of quantiles
among them.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import itertools
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import ibis
import numpy as np
from harness import timed

import pypgm
from pypgm.data import Boolean, Date, Integer, OpenSet, QuantileBins, Real, scan
from pypgm.data.sources.opened import opened
from pypgm.data.sources.source import ParquetFile, open_source
from pypgm.privacy import settle
from pypgm.privacy.sampler import Sampler

OPEN = "1/4"  # of the budget for a column that is open
KINDS: dict[str, tuple[str, Any]] = {  # the value of record i in SQL, and its declaration
    "20 texts": ("'v' || (i % 20)", [f"v{i}" for i in range(20)]),
    "2,000 texts": ("'v' || (i % 2000)", [f"v{i}" for i in range(2000)]),
    "open texts": ("'v' || (i % 300)", OpenSet(OPEN)),
    "whole number": ("i % 121", Integer(0, 120, width=10)),
    "decimal": ("CAST(i % 100000 / 100.0 AS DECIMAL(12, 2))", Real(0, 1000, bins=20)),
    "double": ("CAST(i % 100000 / 100.0 AS DOUBLE PRECISION)", Real(0, 1000, bins=20)),
    "double in quantiles": (
        "CAST(i % 100000 / 100.0 AS DOUBLE PRECISION)",
        QuantileBins(Real(0, 1000, bins=1, decimals=2), 20, OPEN),
    ),
    "boolean": ("i % 3 = 0", Boolean(["false", "true"])),
    "code": ("i % 16", 16),
    "date by year": ("DATE '1930-01-01' + CAST(i % 30000 AS INTEGER)", Date("1930-01-01", "2029-12-31", "year")),
    "time by month": (
        "TIMESTAMP '2019-01-01' + INTERVAL '1 second' * (i * 997 % 94608000)",
        Date("2019-01-01", "2022-12-31", "month"),
    ),
}
WHOLE = [k for k, (_, column) in KINDS.items() if k != "2,000 texts" and not isinstance(column, OpenSet | QuantileBins)]
OTHER = ("i % 7", 7)
_SIZES = (9, 16, 7, 15, 6, 5, 2, 42, 10, 10)
SERIES = {
    "duckdb": "FROM range({}) AS r(i)",
    "postgres": "FROM generate_series(CAST(0 AS BIGINT), {} - 1) AS r(i)",
    "sqlite": "FROM (WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r LIMIT {}) SELECT i FROM r)",
}


class Cost(NamedTuple):
    """What a table takes to open and to count."""

    opening: float
    counting: float
    scans: int
    n_bytes: int


class Place(NamedTuple):
    """A kind of source: `table` holds columns of SQL, by name, over some records until it is closed."""

    name: str
    table: Callable[[Mapping[str, str], int], AbstractContextManager[Any]]
    has_dates: bool = True


def main() -> None:
    parser = argparse.ArgumentParser(description="What a column of each kind costs in each source.")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--largest", type=int, default=6)
    arguments = parser.parse_args()
    for line in itertools.chain(by_kind(arguments.rows), growth(arguments.largest), by_wide(10**arguments.largest)):
        print(line, flush=True)


def by_kind(rows: int) -> Iterator[str]:
    """Yield a line for each source and kind of column."""
    yield f"{rows:,} records: microseconds a record to open and to count with another (times memory); scans; bytes"
    with places() as found:
        for place in found:  # the first table also waits for what has to be loaded and started
            with place.table({"x": "i % 2"}, 100) as source:
                measured(source, pypgm.Schema({"x": 2}), [("x",)])
        for place, (kind, (sql, column)) in itertools.product(found, KINDS.items()):
            if isinstance(column, Date) and not place.has_dates:
                continue
            schema = declared({"x": column, "other": OTHER[1]})
            of_memory, expected, memory = in_memory({"x": sql, "other": OTHER[0]}, rows, schema)
            with place.table({"x": sql, "other": OTHER[0]}, rows) as source:
                cost, found_schema, tables = measured(source, schema, [("x", "other")])
            if found_schema != of_memory or not np.array_equal(tables[0], expected[0]):
                raise AssertionError(f"{place.name} counts {kind} otherwise than memory")
            micro = [seconds / rows * 1e6 for seconds in (cost.opening, cost.counting)]
            ratio = (cost.opening + cost.counting) / memory
            yield (
                f"  {place.name}, {kind}: {micro[0]:.2f} and {micro[1]:.2f} ({ratio:.1f}); "
                f"{cost.scans}; {cost.n_bytes:,}"
            )


def growth(largest: int) -> Iterator[str]:
    """Yield for each source a line on how the time of all pairs of a whole table grows with its records."""
    sizes = [10**power for power in range(4, largest + 1)]
    head = ", ".join(f"{rows:,}" for rows in sizes)
    yield f"{len(WHOLE) + 1} columns, opened and all pairs counted: microseconds a record of {head}"
    with places() as found:
        for place in found:
            kinds = [k for k in WHOLE if place.has_dates or not isinstance(KINDS[k][1], Date)]
            columns = {f"x{i}": KINDS[kind][0] for i, kind in enumerate(kinds)} | {"other": OTHER[0]}
            schema = declared({f"x{i}": KINDS[kind][1] for i, kind in enumerate(kinds)} | {"other": OTHER[1]})
            pairs: list[tuple[str, ...]] = list(itertools.combinations(columns, 2))
            seconds = []
            for rows in sizes:
                with place.table(columns, rows) as source:
                    cost, _, tables = measured(source, schema, pairs)
                if rows == sizes[0]:
                    _, expected, _ = in_memory(columns, rows, schema, pairs)
                    if not all(map(np.array_equal, tables, expected)):
                        raise AssertionError(f"{place.name} counts pairs otherwise than memory")
                if any(table.sum() != rows for table in tables):
                    raise AssertionError(f"{place.name} does not count {rows} records")
                seconds.append(cost.opening + cost.counting)
            each = ", ".join(f"{s / rows * 1e6:.3g}" for s, rows in zip(seconds, sizes, strict=True))
            end = f"; the last ten times take {seconds[-1] / seconds[-2]:.1f} times as long" if len(sizes) > 1 else ""
            yield f"  {place.name}: {each}{end}"


def by_wide(rows: int) -> Iterator[str]:
    """Yield for each engine a line on what `wide` takes and fetches, with an open column and one of quantiles."""
    columns = {f"c{i}": (f"(i * {7919 + 31 * i} / {11 + i}) % {size}", size) for i, size in enumerate(_SIZES)}
    columns |= {f"x{i}": KINDS[kind] for i, kind in enumerate(("open texts", "double in quantiles"))}
    schema = declared({name: column for name, (_, column) in columns.items()})
    yield f"{len(columns)} columns, {rows:,} records, `wide` at epsilon 1"
    with places() as found:
        for place in found[2:]:  # what files take is in bench_sources
            answers: list[int] = []
            whole = "//" if place.name == "duckdb" else "/"
            made = {name: sql.replace(" / ", f" {whole} ") for name, (sql, _) in columns.items()}
            with place.table(made, rows) as source, answers_noted(answers):
                _, seconds = timed(pypgm.synthesize, source, schema, epsilon=1, delta=1e-9)
            yield f"  {place.name}: {seconds:.1f} s, {len(answers)} queries, {sum(answers) / 1e6:.1f} MB of answers"


def declared(columns: Mapping[str, Any]) -> pypgm.Schema | pypgm.OpenSchema:
    """Return the schema of some columns."""
    is_open = any(isinstance(column, OpenSet | QuantileBins) for column in columns.values())
    return pypgm.OpenSchema(columns) if is_open else pypgm.Schema(columns)


def measured(source: Any, schema: Any, cliques: list[tuple[str, ...]]) -> tuple[Cost, pypgm.Schema, list[Any]]:
    """Return what a table takes, its schema without open columns, and its counts."""
    answers: list[int] = []
    with answers_noted(answers):
        before = bytes_read()
        (records, closed), opening = timed(entered, source, schema)
        tables, counting = timed(records.count, cliques)
        n_read = bytes_read() - before
    if not isinstance(source, str):
        return Cost(opening, counting, len(answers), sum(answers)), closed, tables
    scans = len(answers) or round(n_read / Path(source).stat().st_size)  # Arrow reads CSV files by itself
    return Cost(opening, counting, scans, n_read), closed, tables


def entered(source: Any, schema: Any) -> tuple[Any, pypgm.Schema]:
    """Return the records of a table as mechanisms count them, and their schema."""
    table = opened(open_source(scan(source, schema) if isinstance(source, str) else source), schema)
    closed = schema
    if isinstance(schema, pypgm.OpenSchema):
        ledger = pypgm.Ledger(pypgm.Budget(epsilon=4, delta=1e-6, reserved_delta=1e-7))
        closed = settle(schema, table.values, None, ledger, sampler=Sampler(1))
    return table.records(closed), closed


def in_memory(
    columns: Mapping[str, str], rows: int, schema: Any, cliques: list[tuple[str, ...]] | None = None
) -> tuple[pypgm.Schema, list[Any], float]:
    """Return the schema, the counts and the seconds of the same records as an Arrow table."""
    import duckdb

    with duckdb.connect() as connection:
        frame = connection.sql(selected("duckdb", columns, rows)).to_arrow_table()
    (records, closed), opening = timed(entered, frame, schema)
    tables, counting = timed(records.count, cliques or [("x", "other")])
    return closed, tables, opening + counting


def selected(engine: str, columns: Mapping[str, str], rows: int) -> str:
    """Return the query that makes a table."""
    return f"SELECT {', '.join(f'{sql} AS {name}' for name, sql in columns.items())} {SERIES[engine].format(rows)}"


@contextlib.contextmanager
def places() -> Iterator[list[Place]]:
    """Return all sources that are here; what they need ends with the context."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        found = [Place(kind, in_file(f"{folder}/t.{kind.lower()}")) for kind in ("Parquet", "CSV")]
        servers = [os.environ["PYPGM_POSTGRES"]] if os.environ.get("PYPGM_POSTGRES") else []
        for connection in (ibis.duckdb.connect(), ibis.sqlite.connect(), *map(ibis.connect, servers)):
            stack.callback(connection.disconnect)
            found.append(Place(connection.name, in_engine(connection), has_dates=connection.name != "sqlite"))
        if importlib.util.find_spec("pyspark") and shutil.which("java"):
            from pyspark.sql import SparkSession

            builder = SparkSession.builder.master("local[2]").config("spark.sql.warehouse.dir", folder)
            for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
                builder = builder.config(name, "false")
            session = builder.getOrCreate()
            session.sparkContext.setLogLevel("OFF")
            stack.callback(session.stop)
            found.append(Place("spark", in_spark(ibis.pyspark.connect(session), folder)))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")  # of drivers
        yield found


def in_file(path: str) -> Callable[[Mapping[str, str], int], AbstractContextManager[str]]:
    @contextlib.contextmanager
    def table(columns: Mapping[str, str], rows: int) -> Iterator[str]:
        import duckdb

        with duckdb.connect() as connection:
            connection.execute(f"COPY ({selected('duckdb', columns, rows)}) TO '{path}'")
        yield path

    return table


def in_engine(connection: Any) -> Callable[[Mapping[str, str], int], AbstractContextManager[Any]]:
    @contextlib.contextmanager
    def table(columns: Mapping[str, str], rows: int) -> Iterator[Any]:
        connection.con.execute("DROP TABLE IF EXISTS pypgm_bench")
        connection.con.execute(f"CREATE TABLE pypgm_bench AS {selected(connection.name, columns, rows)}")
        yield connection.table("pypgm_bench")
        with contextlib.suppress(Exception):  # the transaction in which it was read
            connection.con.execute("ROLLBACK")
        connection.con.execute("DROP TABLE pypgm_bench")

    return table


def in_spark(connection: Any, folder: str) -> Callable[[Mapping[str, str], int], AbstractContextManager[Any]]:
    numbers = itertools.count()

    @contextlib.contextmanager
    def table(columns: Mapping[str, str], rows: int) -> Iterator[Any]:
        with in_file(f"{folder}/spark{next(numbers)}.parquet")(columns, rows) as path:
            yield connection.read_parquet(path)

    return table


def bytes_read() -> int:
    """Return how many bytes this process has read of files so far; 0 where the system does not say."""
    counts = Path("/proc/self/io")
    return int(counts.read_text().split()[1]) if counts.exists() else 0


@contextlib.contextmanager
def answers_noted(answers: list[int]) -> Iterator[None]:
    """Note the bytes of each answer that an engine gives, and 0 for each pass over a Parquet file."""
    read, pieces = ibis.expr.types.Table.to_pyarrow, ParquetFile.pieces

    def noted(self: Any, *given: Any, **named: Any) -> Any:
        answer = read(self, *given, **named)
        answers.append(answer.nbytes)
        return answer

    def begun(self: Any, *given: Any, **named: Any) -> Any:
        answers.append(0)
        return pieces(self, *given, **named)

    ibis.expr.types.Table.to_pyarrow, ParquetFile.pieces = noted, begun  # type: ignore[method-assign]
    try:
        yield
    finally:
        ibis.expr.types.Table.to_pyarrow, ParquetFile.pieces = read, pieces  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
