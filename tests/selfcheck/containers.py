"""Containers of raw records: mappings, frames, relations and files of the same values."""

from __future__ import annotations

import contextlib
import csv
import functools
import importlib
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np


class Typed(list[Any]):
    """Raw values of a column, None for a null, and its declared type, whatever its values."""

    def __init__(self, values: Iterable[Any], kind: type = object) -> None:
        super().__init__(values)
        self.kind = kind


def typed(values: Iterable[Any], possible: Iterable[Any]) -> Typed:
    """Return values of a column with the type that holds all possible values."""
    kinds = {type(value) for value in possible if value is not None}
    return Typed(values, kinds.pop() if len(kinds) == 1 else object)


Columns = Mapping[str, Typed]
"""Raw values of each column."""

Container = Callable[[Columns], AbstractContextManager[Any]]
"""Context manager that gives a container of a table."""

_BLOCK = 64  # bytes of a CSV file that Arrow reads at a time here: many blocks of a small file


def _held(make: Callable[[Columns], Any]) -> Container:
    return lambda columns: nullcontext(make(columns))


def _array(values: Sequence[Any]) -> Any:
    """Return values as an array of objects, none of them converted."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _masked(columns: Columns) -> Any:
    arrays = {}
    for name, values in columns.items():
        filled = [values.kind() if value is None else value for value in values]
        dtype = {str: "U20", int: "i8", float: "f8", bool: "?"}.get(values.kind)
        held = _array(filled) if dtype is None else np.array(filled, dtype)
        arrays[name] = np.ma.masked_array(held, [value is None for value in values])
    return arrays


def _arrow(columns: Columns) -> Any:
    arrow: Any = importlib.import_module("pyarrow")
    types = {str: arrow.string(), int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_()}
    return arrow.table({name: arrow.array(list(values), types[values.kind]) for name, values in columns.items()})


def _pandas(columns: Columns) -> Any:
    """Return a frame of nullable types."""
    pandas: Any = importlib.import_module("pandas")
    table = _arrow(columns)
    types = {kind: getattr(pandas, name)() for kind, name in _nullable(importlib.import_module("pyarrow")).items()}
    return table.to_pandas(types_mapper=types.get)


def _nullable(arrow: Any) -> dict[Any, str]:
    return {
        arrow.string(): "StringDtype",
        arrow.int64(): "Int64Dtype",
        arrow.float64(): "Float64Dtype",
        arrow.bool_(): "BooleanDtype",
    }


def _pandas_objects(columns: Columns) -> Any:
    pandas: Any = importlib.import_module("pandas")
    return pandas.DataFrame({name: pandas.Series(_array(values), dtype=object) for name, values in columns.items()})


def _pandas_of_arrow(columns: Columns) -> Any:
    pandas: Any = importlib.import_module("pandas")
    return _arrow(columns).to_pandas(types_mapper=pandas.ArrowDtype)


def _polars(columns: Columns) -> Any:
    return importlib.import_module("polars").from_arrow(_arrow(columns))


def _relation(columns: Columns) -> Any:
    return importlib.import_module("duckdb").connect().from_arrow(_arrow(columns))


def _rows(columns: Columns) -> Any:
    return [*zip(*columns.values(), strict=True)]


def _object_rows(columns: Columns) -> Any:
    rows = _rows(columns)
    array = np.empty((len(rows), len(columns)), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row
    return array


def _filled(connection: Any, columns: Columns) -> None:
    """Make a table of records in DuckDB."""
    connection.register("given", _arrow(columns))
    connection.execute("CREATE TABLE people AS SELECT * FROM given")


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return the folder of all files: a release names its file, so the name must be the same in all runs."""
    return tempfile.TemporaryDirectory()


@contextmanager
def _file(name: str) -> Iterator[Path]:
    path = Path(_folder().name) / name
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def _csv(columns: Columns) -> Iterator[Any]:
    with _file("people.csv") as path:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows([["" if v is None else v for v in row] for row in _rows(columns)])
        yield path


@contextmanager
def _csv_in_blocks(columns: Columns) -> Iterator[Any]:
    importlib.import_module("pyarrow.csv")
    with contextlib.ExitStack() as stack:
        for name, value in (("_MIN_BYTES", 0), ("_BLOCK", _BLOCK)):
            stack.enter_context(patch(f"pypgm.data.sources.arrow_csv.{name}", value))
        yield stack.enter_context(_csv(columns))


@contextmanager
def _parquet(columns: Columns) -> Iterator[Any]:
    with _file("people.parquet") as path:
        importlib.import_module("pyarrow.parquet").write_table(_arrow(columns), path, row_group_size=7)
        yield path


@contextmanager
def _database(columns: Columns) -> Iterator[Any]:
    with _file("people.duckdb") as path:
        with importlib.import_module("duckdb").connect(path) as connection:
            _filled(connection, columns)
        yield path


def _ibis(columns: Columns) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the engine's own driver
        connection = importlib.import_module("ibis").duckdb.connect()
        _filled(connection.con, columns)
        return connection.table("people")


TYPED: dict[str, Container] = {
    "masked arrays": _held(_masked),
    "Arrow": _held(_arrow),
    "pandas": _held(_pandas),
    "pandas of Arrow": _held(_pandas_of_arrow),
    "polars": _held(_polars),
    "DuckDB relation": _held(_relation),
    "CSV": _csv,
    "CSV in blocks": _csv_in_blocks,
    "Parquet": _parquet,
    "DuckDB file": _database,
    "Ibis": _held(_ibis),
}
"""Containers each of whose columns has one type."""

UNTYPED: dict[str, Container] = {
    "arrays of objects": _held(lambda columns: {name: _array(values) for name, values in columns.items()}),
    "lists": _held(lambda columns: {name: list(values) for name, values in columns.items()}),
    "tuples": _held(lambda columns: {name: tuple(values) for name, values in columns.items()}),
    "pandas of objects": _held(_pandas_objects),
}
"""Containers in which each value may have another type."""

ROWS: dict[str, Container] = {"rows": _held(_rows), "array of rows": _held(_object_rows)}
"""Containers of records without column names."""


def reading_of(source: object) -> dict[str, Any]:
    """Return the arguments of `pypgm.synthesize` for a source, besides its schema."""
    return {"table": "people"} if isinstance(source, Path) and source.suffix == ".duckdb" else {}


def is_there(container: Container) -> bool:
    """Return True if the packages that a container needs are installed."""
    with contextlib.suppress(ImportError), container({"a": Typed(["x"], str)}):
        return True
    return False
