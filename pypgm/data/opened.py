"""Tables of any kind as they are handed over: how they are encoded, what is open in them, how they look."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from numpy.typing import NDArray

from pypgm.data.dataset import Dataset
from pypgm.data.encoding import encoded
from pypgm.data.engine import EngineTable
from pypgm.data.file_kind import DATABASE, START, file_kind
from pypgm.data.files import DecimalMark, as_path
from pypgm.data.foreign import guarded
from pypgm.data.frames import Frame, as_columns, imported
from pypgm.data.layout import Layout
from pypgm.data.parquet import is_parquet, raw_columns, read_parquet
from pypgm.data.schema import Schema
from pypgm.data.streamed import StreamedTable, scan
from pypgm.data.table import csv_names, read_open_table
from pypgm.data.values import Values
from pypgm.domain import listed

__all__ = ["Opened", "Records", "is_database", "opened"]

Records: TypeAlias = Dataset | StreamedTable | EngineTable
"""What a mechanism counts."""

_MARKS = {"delimiter": ",", "encoding": "utf-8", "decimal": "."}


@dataclass(frozen=True)
class Opened:
    """A table that fits a schema: all that may be refused of it is refused when it is opened.

    Attributes
    ----------
    records : callable
        ``records(schema)`` gives the records by a schema in which nothing is open any more.
    values : mapping of str to sequence
        The raw values of each open column, which `pypgm.privacy.settle` takes.
    layout : Layout
        How records that come back are to look.
    """

    records: Callable[[Schema], Records]
    values: Mapping[str, Values] = field(default_factory=dict)
    layout: Layout = field(default_factory=Layout)


def opened(
    source: Frame,
    schema: Schema,
    *,
    table: str | None = None,
    ignore_extra: bool = False,
    delimiter: str = ",",
    encoding: str = "utf-8",
    decimal: DecimalMark = ".",
) -> Opened:
    """Open a table of any kind.

    Parameters
    ----------
    source : data frame, mapping of str to sequence, path, DuckDB relation, ibis.Table or Dataset
        A path is one of a CSV, Parquet or DuckDB file, by its name.
    schema : Schema
        What its columns hold.
    table : str, optional
        Which table of a DuckDB file.
    ignore_extra, delimiter, encoding, decimal
        As for `pypgm.read_table`; the last three of CSV files alone.

    Raises
    ------
    OSError
        If a file cannot be read.
    ValueError
        With all that is wrong: column and row, never a value.
    TypeError
        If the source is none of these.
    ImportError
        If a package is missing that reads it: the message names the extra.
    """
    marks: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal}
    is_path = isinstance(source, str | os.PathLike)
    is_csv = is_path and not is_parquet(source) and not is_database(source)
    if not is_csv and marks != _MARKS:
        raise ValueError("only a CSV file has a delimiter, encoding or decimal mark")
    if (table is not None) != (is_path and is_database(source)):
        raise ValueError("a DuckDB file needs table=, the name of one of its tables, and nothing else has it")
    if is_csv:
        codes, texts = read_open_table(source, schema, ignore_extra=ignore_extra, **marks)
        names = csv_names(source, schema.provisional, ignore_extra=ignore_extra, **marks)
        return _held(codes, texts, Layout(types=dict.fromkeys(names, ""), **marks))
    if is_path and is_parquet(source):
        return _parquet(source, schema, ignore_extra)
    if is_path:
        return _relation(_table(source, table), schema, ignore_extra)
    if isinstance(source, Dataset):
        records = _with_schema(source, schema)
        return Opened(lambda _: records)
    package = type(source).__module__.partition(".")[0]
    if package in {"duckdb", "_duckdb"}:
        return _relation(source, schema, ignore_extra)
    return _engine(source, schema, ignore_extra) if package == "ibis" else _frame(source, schema, ignore_extra)


def _with_schema(records: Dataset, schema: Schema) -> Dataset:
    """Return records that know the schema; ``ValueError`` where it is not theirs."""
    schema.check_domain(records.domain)
    if records.schema == schema:
        return records
    if records.schema is not None:
        raise ValueError("the records were encoded by another schema than the one that is given with them")
    schema.check_rules(records)
    return Dataset(records.columns, records.domain, records.weights, schema=schema)


def _table(path: str | os.PathLike[str], table: str | None) -> Any:  # noqa: ANN401 - of a package that may be missing
    """Return a table of a DuckDB file."""
    imported("pyarrow", "a DuckDB file", "duckdb")
    connect = imported("duckdb", "a DuckDB file", "duckdb").connect
    name = os.fspath(path)
    with as_path(path).open("rb") as file:
        start = file.read(START)
    if (kind := file_kind(start)) != DATABASE:
        told = f"it is {kind}" if kind else "" if start else "it is empty"
        raise ValueError(f"{name} is no DuckDB file{told and f': {told}'}")
    alone = {"enable_external_access": "false"}
    connection = guarded(name, lambda: connect(name, read_only=True, config=alone))
    listing = "select schema_name, table_name from duckdb_tables() where not internal order by schema_name != 'main'"
    tables = guarded(name, lambda: connection.execute(listing).fetchall())
    found = [own for own in tables if table in {own[1], ".".join(own)}]
    if not found:
        # A view is a query of whoever made the file: it may read anything, and never end.
        needed = f"{name} has no table {table!r}, only {listed([repr(own[1]) for own in tables]) or 'none'}"
        raise ValueError(f"{needed}; of a view open the file with duckdb, and hand over the relation")
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in found[0])
    return guarded(name, lambda: connection.table(quoted))


def is_database(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is one of DuckDB, by its name."""
    return os.fspath(path).endswith((".duckdb", ".ddb"))


def _held(codes: Mapping[str, NDArray[Any]], values: Mapping[str, Values], layout: Layout) -> Opened:
    """Return a table whose codes are here; those of open columns are made when their schema is known."""

    def records(found: Schema) -> Dataset:
        late = {}
        for name in values:
            late[name], problem = found.columns[name].encode(values[name])
            if problem is not None:
                raise ValueError(f"the values of column {name!r} are not those that they were when it was opened")
        return found.records({name: late.get(name, codes[name]) for name in found.columns})

    return Opened(records, values, layout)


def _frame(source: Frame, schema: Schema, ignore_extra: bool) -> Opened:
    is_lazy = hasattr(source, "collect_schema") and hasattr(source, "collect")
    frame = guarded("collecting the frame", source.collect) if is_lazy else source
    columns = as_columns(frame)
    before = schema.provisional
    codes = before.combined(encoded(before.reading, columns, drop=schema.unread, ignore_extra=ignore_extra))
    schema.check_rules(before.records(codes))
    layout = Layout() if isinstance(frame, Mapping) else Layout.of(frame)
    return _held(codes, {name: columns[name] for name in schema.open}, layout)


def _parquet(path: str | os.PathLike[str], schema: Schema, ignore_extra: bool) -> Opened:
    before = schema.provisional
    held = read_parquet(path, before.domain, before, ignore_extra=ignore_extra)
    schema.check_rules(held, os.fspath(path))
    values, types = raw_columns(path, tuple(schema.open))
    return _held(held.columns, as_columns(values) if schema.open else {}, Layout.of_arrow(types))


def _relation(source: Any, schema: Schema, ignore_extra: bool) -> Opened:  # noqa: ANN401
    scan(source, schema.provisional, ignore_extra=ignore_extra)  # refuses what does not fit
    read = guarded("reading the relation", lambda: source.select(*schema.open).to_arrow_table()) if schema.open else {}
    values = as_columns(read)
    layout = Layout.of(guarded("reading the relation", lambda: source.limit(0).to_arrow_table()))
    return Opened(lambda found: scan(source, found, ignore_extra=ignore_extra), values, layout)


def _engine(source: Any, schema: Schema, ignore_extra: bool) -> Opened:  # noqa: ANN401
    EngineTable(source, schema.provisional, ignore_extra=ignore_extra)  # refuses what does not fit
    read = (
        guarded("reading the engine's table", lambda: source.select(*schema.open).to_pyarrow()) if schema.open else {}
    )
    values = as_columns(read)
    layout = Layout.of_arrow(guarded("asking the engine for its types", lambda: source.schema().to_pyarrow()))
    return Opened(lambda found: EngineTable(source, found, ignore_extra=ignore_extra), values, layout)
