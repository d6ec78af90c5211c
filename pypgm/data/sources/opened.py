"""Tables of any kind opened by a schema: their records, the values of open columns, and their layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import fits
from pypgm.data.columns.values import Values
from pypgm.data.dataset import Dataset
from pypgm.data.schema.schema import OpenSchema, Schema, as_schema
from pypgm.data.sources.counted_table import ForeignTable
from pypgm.data.sources.dictionaries import ordered_dictionaries
from pypgm.data.sources.duckdb_file import opened_table
from pypgm.data.sources.encoding import encoded
from pypgm.data.sources.frames import as_columns, collected
from pypgm.data.sources.layout import Layout
from pypgm.data.sources.objects import CONTAINERS, NESTED, are_of, is_nested
from pypgm.data.sources.source import (
    ArrowDataset,
    CountedRecords,
    CsvFile,
    DatabaseTable,
    EncodedRecords,
    EngineQuery,
    FileList,
    FrameTable,
    JsonFile,
    LazyFrame,
    ParquetFile,
    Relation,
    Source,
    Workbook,
)
from pypgm.data.sources.table import csv_names, read_source

if TYPE_CHECKING:
    from pypgm.data.sources.engine import EngineTable
    from pypgm.data.sources.open_values import OpenValues
    from pypgm.data.sources.streamed import StreamedTable

_PARTS = 2  # a table is read whole if it takes no more than this part of the memory that a structure may take
_RAW = 100  # bytes of a raw value as an object

Records: TypeAlias = "Dataset | StreamedTable | EngineTable | ForeignTable"
"""Kinds of tables that a mechanism counts."""


@dataclass(frozen=True)
class Opened:
    """A table that fits a schema: all refusals come when it is opened.

    Attributes
    ----------
    records : callable
        ``records(schema)`` returns the records by a schema without open columns.
    values : mapping of str to sequence, or OpenValues
        The raw values of each open column, and of those of persons and weights, which `pypgm.privacy.settle` takes.
    layout : Layout
        Layout of synthetic records.
    close : callable
        Closes the file of this table; no records can be had after it.
    """

    records: Callable[[Schema], Records]
    values: Mapping[str, Values] | OpenValues = field(default_factory=dict)
    layout: Layout = field(default_factory=Layout)
    close: Callable[[], object] = lambda: None


def opened(source: Source, schema: Schema | OpenSchema, *, ignore_extra: bool = False) -> Opened:
    """Open a table by a schema.

    Parameters
    ----------
    source : Source
    schema : Schema or OpenSchema
        Declarations of its columns.
    ignore_extra : bool
        See `pypgm.read_table`.

    Raises
    ------
    OSError
        If a file cannot be read.
    ValueError
        If anything is wrong; the message lists column and row of every fault, never a value.
    TypeError
        If the source is not a table.
    ImportError
        If a package is missing that reads it: the message names the extra.
    """
    source.check_dialect()
    if not isinstance(source, EncodedRecords | CountedRecords | CsvFile):
        _check_flat(source.name, {n: k for n, k in source.layout.types.items() if n in schema.provisional.reading})
    made = next(read for kind, read in _READERS.items() if isinstance(source, kind))(source, schema, ignore_extra)
    known = getattr(source.table, "source", None) if isinstance(source, CountedRecords) else source
    listed = {**ordered_dictionaries(known), **known.categories} if known is not None else {}
    layout = made.layout.with_orders(listed, schema.provisional.example(0)) if listed else made.layout
    return replace(made, layout=layout)


def _check_flat(table: str, types: Mapping[str, str]) -> None:
    """Raise ``ValueError`` if a column that is read holds lists, records or maps."""
    if nested := [f"column {name!r} is {NESTED}" for name, kind in types.items() if is_nested(kind)]:
        raise ValueError(f"{table}: {'; '.join(nested)}")


def _with_schema(records: Dataset, schema: Schema) -> Dataset:
    """Return records with a schema; ``ValueError`` if they have another one."""
    schema.check_domain(records.domain)
    if records.schema == schema:
        return records
    if records.schema is not None:
        raise ValueError("the records were encoded by another schema than the given one")
    schema.check_rules(records)
    return Dataset(records.columns, records.domain, records.weights, schema=schema)


def _held(
    schema: Schema | OpenSchema, codes: Mapping[str, NDArray[Any]], values: Mapping[str, Values], layout: Layout
) -> Opened:
    """Return a table of codes; those of open columns are made when their schema is known."""
    keys = {name: codes[name] for name in schema.unit_columns}

    def records(closed: Schema) -> Dataset:
        late = {}
        for name in values:
            late[name], problem = closed.columns[name].encode(values[name])
            if problem is not None:
                raise ValueError(f"the values of column {name!r} changed after the table was opened")
        return closed.records({**codes, **late})

    return Opened(records, {**values, **keys}, layout)


def _read(source: Source, schema: Schema | OpenSchema, ignore_extra: bool) -> Opened:
    if not fits(_PARTS * source.most_rows * _row_bytes(schema), None):  # said nowhere: the number of rows is private
        return _in_pieces(source, schema, ignore_extra)
    codes, values = read_source(source, schema, ignore_extra=ignore_extra)
    return _held(schema, codes, values, _layout_of(source, schema, ignore_extra))


def _row_bytes(schema: Schema | OpenSchema) -> int:
    """Return the bytes that a record takes while its codes are put together, and the raw values of open columns."""
    codes = sum(np.dtype(column.dtype).itemsize for column in schema.provisional.reading.values())
    return 2 * codes + _RAW * len(schema.open)


def _in_pieces(source: Source, schema: Schema | OpenSchema, ignore_extra: bool) -> Opened:
    return _counted(_streamed(source, schema, ignore_extra), _layout_of(source, schema, ignore_extra))


def _streamed(source: Source, schema: Schema | OpenSchema, ignore_extra: bool) -> StreamedTable:
    from pypgm.data.sources.streamed import in_pieces

    return in_pieces(source, schema, ignore_extra)


def _counted(table: StreamedTable, layout: Layout) -> Opened:
    """Return a table that is counted in pieces, with the values of its open columns if it has any."""
    if table.open_schema is None:
        return Opened(lambda _: table, layout=layout)
    from pypgm.data.sources.open_values import streamed_values

    return Opened(table.again, streamed_values(table, table.open_schema), layout)


def _layout_of(source: Source, schema: Schema | OpenSchema, ignore_extra: bool) -> Layout:
    """Return the layout of a table in files, with that of the first one's lines if they are CSV."""
    first = source.files[0] if isinstance(source, FileList) else source
    if isinstance(first, JsonFile):  # the order of names is the records' own
        return Layout()
    if not isinstance(first, CsvFile):
        return first.layout
    names = csv_names(first, schema.provisional, ignore_extra)
    dialect = first.dialect.written._replace(encoding=names.encoding)
    return Layout(types=dict.fromkeys(names, ""), dialect=dialect, crlf=names.crlf)


def _in_place(source: CountedRecords, schema: Schema | OpenSchema, ignore_extra: bool) -> Opened:
    del ignore_extra
    table = source.table
    if isinstance(table, ForeignTable):
        counted = ForeignTable(table.table, schema)
        if isinstance(schema, OpenSchema):
            from pypgm.data.sources.open_values import ForeignValues

            return Opened(counted.settled, ForeignValues(table.table))
        return Opened(lambda _: counted)
    of_table: OpenSchema | None = getattr(table, "open_schema", None)
    if (of_table or table.schema) != (schema if of_table is not None else as_schema(schema)):
        raise ValueError("the table is counted by another schema than the given one")
    known = getattr(table, "source", None)
    layout = Layout() if known is None else _layout_of(known, table.schema, ignore_extra=True)
    return _counted(table, layout) if of_table is not None else Opened(lambda _: table, layout=layout)


def _records(source: EncodedRecords, schema: Schema | OpenSchema, ignore_extra: bool) -> Opened:
    del ignore_extra
    records = _with_schema(source.frame, as_schema(schema))
    return Opened(lambda _: records)


def _frame(source: FrameTable, schema: Schema | OpenSchema, ignore_extra: bool) -> Opened:
    frame = collected(source.frame)
    columns = as_columns(frame)
    before = schema.provisional
    layout = Layout() if isinstance(frame, Mapping) else Layout.of(frame)
    read = {name: columns[name] for name in before.reading if name in columns}
    _check_flat(source.name, {n: "object[nested]" for n, values in read.items() if are_of(values, CONTAINERS)})
    codes = before.combined(encoded(before.reading, columns, drop=schema.unread, ignore_extra=ignore_extra))
    before.check_rules(before.records(codes))
    return _held(schema, codes, {name: columns[name] for name in schema.open}, layout)


def _database(source: DatabaseTable, schema: Schema | OpenSchema, ignore_extra: bool) -> Opened:
    relation, close = opened_table(source.name, source.table)
    try:
        return replace(_relation(Relation(relation), schema, ignore_extra), close=close)
    except BaseException:
        close()
        raise


def _relation(source: Relation, schema: Schema | OpenSchema, ignore_extra: bool) -> Opened:
    return _counted(_streamed(source, schema, ignore_extra), source.layout)


def _engine(source: EngineQuery, schema: Schema | OpenSchema, ignore_extra: bool) -> Opened:
    from pypgm.data.sources.engine import EngineTable
    from pypgm.data.sources.engine_values import EngineValues

    counted = partial(EngineTable, source.table, ignore_extra=ignore_extra)
    table = counted(schema.provisional)  # refuses records that do not fit
    if isinstance(schema, OpenSchema):
        return Opened(counted, EngineValues(source.table, schema), source.layout)
    return Opened(lambda _: table, layout=source.layout)


_READERS: Mapping[type[Source], Callable[[Any, Schema | OpenSchema, bool], Opened]] = {
    CsvFile: _read,
    ParquetFile: _read,
    JsonFile: _read,
    Workbook: _read,
    FileList: _read,
    ArrowDataset: _in_pieces,
    LazyFrame: _in_pieces,
    CountedRecords: _in_place,
    DatabaseTable: _database,
    Relation: _relation,
    EngineQuery: _engine,
    EncodedRecords: _records,
    FrameTable: _frame,
}
"""Readers of the kinds of tables; encoded records come before frames, of which they are a kind."""
