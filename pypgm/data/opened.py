"""Tables of any kind as they are handed over: how they are encoded, what is open in them, how they look."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from numpy.typing import NDArray

from pypgm.data.dataset import Dataset
from pypgm.data.dialect import COMMAS, Dialect
from pypgm.data.duckdb_file import check_table, is_database, opened_table, quoted
from pypgm.data.encoding import encoded
from pypgm.data.engine import EngineTable
from pypgm.data.files import check_no_pipe
from pypgm.data.foreign import guarded
from pypgm.data.frames import Frame, as_columns, collected
from pypgm.data.layout import Layout
from pypgm.data.parquet import is_parquet, raw_columns
from pypgm.data.parquet_records import parquet_codes
from pypgm.data.schema import OpenSchema, Schema, as_schema
from pypgm.data.streamed import StreamedTable, scan
from pypgm.data.table import csv_names, read_open_table
from pypgm.data.values import Values

Records: TypeAlias = Dataset | StreamedTable | EngineTable
"""What a mechanism counts."""


@dataclass(frozen=True)
class Opened:
    """A table that fits a schema: all that may be refused of it is refused when it is opened.

    Attributes
    ----------
    records : callable
        ``records(schema)`` gives the records by a schema in which nothing is open any more.
    values : mapping of str to sequence
        The raw values of each open column, and of those that name persons, which `pypgm.privacy.settle` takes.
    layout : Layout
        How records that come back are to look.
    close : callable
        Ends the reading of a file that was opened for this table; no records can be had after it.
    """

    records: Callable[[Schema], Records]
    values: Mapping[str, Values] = field(default_factory=dict)
    layout: Layout = field(default_factory=Layout)
    close: Callable[[], object] = lambda: None


def opened(
    source: Frame,
    schema: Schema | OpenSchema,
    *,
    table: str | None = None,
    ignore_extra: bool = False,
    **marks: Any,  # noqa: ANN401 - those of a dialect
) -> Opened:
    """Open a table of any kind.

    Parameters
    ----------
    source : data frame, mapping of str to sequence, path, DuckDB relation, ibis.Table or Dataset
        A path is one of a CSV, Parquet or DuckDB file, by its name.
    schema : Schema or OpenSchema
        What its columns hold.
    table : str, optional
        Which table of a DuckDB file.
    ignore_extra, **marks
        As for `pypgm.read_table`; `delimiter`, `encoding`, `decimal` and `thousands` of CSV files alone.

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
    how = Dialect(**marks)
    is_path = isinstance(source, str | os.PathLike)
    is_csv = is_path and not is_parquet(source) and not is_database(source)
    if not is_csv and how != COMMAS:
        raise ValueError("only a CSV file has a delimiter, encoding or decimal mark")
    check_table(source, table)
    if isinstance(source, str | os.PathLike):
        check_no_pipe(source)
    if is_csv:
        codes, texts = read_open_table(source, schema, how, ignore_extra=ignore_extra)
        names = csv_names(source, schema.provisional, how, ignore_extra)
        written = how._replace(encoding=names.encoding)._asdict()
        return _held(schema, codes, texts, Layout(types=dict.fromkeys(names, ""), **written))
    if is_path and is_parquet(source):
        return _parquet(source, schema, ignore_extra)
    if is_path:
        return _database(source, table, schema, ignore_extra)
    if isinstance(source, Dataset):
        records = _with_schema(source, as_schema(schema))
        return Opened(lambda _: records)
    if _package(source) in {"duckdb", "_duckdb"}:
        return _relation(source, schema, ignore_extra)
    return _frame(source, schema, ignore_extra) if has_rows(source) else _engine(source, schema, ignore_extra)


def has_rows(source: Frame) -> bool:
    """Return whether the records of a table can be had: those of an engine are only counted."""
    return _package(source) != "ibis"


def _package(source: Frame) -> str:
    return type(source).__module__.partition(".")[0]


def _with_schema(records: Dataset, schema: Schema) -> Dataset:
    """Return records that know the schema; ``ValueError`` where it is not theirs."""
    schema.check_domain(records.domain)
    if records.schema == schema:
        return records
    if records.schema is not None:
        raise ValueError("the records were encoded by another schema than the one that is given with them")
    schema.check_rules(records)
    return Dataset(records.columns, records.domain, records.weights, schema=schema)


def _held(
    schema: Schema | OpenSchema, codes: Mapping[str, NDArray[Any]], values: Mapping[str, Values], layout: Layout
) -> Opened:
    """Return a table whose codes are here; those of open columns are made when their schema is known."""
    keys = {name: codes[name] for name in schema.key_columns}

    def records(found: Schema) -> Dataset:
        late = {}
        for name in values:
            late[name], problem = found.columns[name].encode(values[name])
            if problem is not None:
                raise ValueError(f"the values of column {name!r} are not those that they were when it was opened")
        return found.records({**codes, **late})

    return Opened(records, {**values, **keys}, layout)


def _frame(source: Frame, schema: Schema | OpenSchema, ignore_extra: bool) -> Opened:
    frame = collected(source)
    columns = as_columns(frame)
    before = schema.provisional
    codes = before.combined(encoded(before.reading, columns, drop=schema.unread, ignore_extra=ignore_extra))
    before.check_rules(before.records(codes))
    layout = Layout() if isinstance(frame, Mapping) else Layout.of(frame)
    return _held(schema, codes, {name: columns[name] for name in schema.open}, layout)


def _parquet(path: str | os.PathLike[str], schema: Schema | OpenSchema, ignore_extra: bool) -> Opened:
    before = schema.provisional
    codes = parquet_codes(path, before, ignore_extra=ignore_extra)
    before.check_rules(before.records(codes), os.fspath(path))
    values, types = raw_columns(path, tuple(schema.open))
    return _held(schema, codes, as_columns(values) if schema.open else {}, Layout.of_arrow(types))


def _database(
    path: str | os.PathLike[str], table: str | None, schema: Schema | OpenSchema, ignore_extra: bool
) -> Opened:
    relation, close = opened_table(path, table)
    try:
        return replace(_relation(relation, schema, ignore_extra), close=close)
    except BaseException:
        close()
        raise


def _relation(source: Any, schema: Schema | OpenSchema, ignore_extra: bool) -> Opened:  # noqa: ANN401
    scan(source, schema.provisional, ignore_extra=ignore_extra)  # refuses what does not fit
    names = [*map(quoted, (*schema.open, *schema.key_columns))] if schema.open else []
    read = guarded("reading the relation", lambda: source.select(*names).to_arrow_table()) if names else {}
    values = as_columns(read)
    layout = Layout.of(guarded("reading the relation", lambda: source.limit(0).to_arrow_table()))
    return Opened(lambda found: scan(source, found, ignore_extra=ignore_extra), values, layout)


def _engine(source: Any, schema: Schema | OpenSchema, ignore_extra: bool) -> Opened:  # noqa: ANN401
    EngineTable(source, schema.provisional, ignore_extra=ignore_extra)  # refuses what does not fit
    names = (*schema.open, *schema.key_columns) if schema.open else ()
    read = guarded("reading the engine's table", lambda: source.select(*names).to_pyarrow()) if names else {}
    values = as_columns(read)
    layout = Layout.of_arrow(guarded("asking the engine for its types", lambda: source.schema().to_pyarrow()))
    return Opened(lambda found: EngineTable(source, found, ignore_extra=ignore_extra), values, layout)
