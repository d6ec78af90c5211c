"""Tables of records in Parquet files, read and written in pieces."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns import Column
from pypgm.data.dataset import Dataset
from pypgm.data.encoding import encoded_pieces, name_problems, problems_error
from pypgm.data.files import replacing
from pypgm.data.frames import imported
from pypgm.domain import Domain

__all__ = ["check_parquet", "is_parquet", "read_parquet", "text_rows", "write_parquet"]

_ROWS = 1 << 16  # of a piece


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is Parquet, by its name.

    Examples
    --------
    >>> is_parquet("people.parquet"), is_parquet("people.csv.gz")
    (True, False)
    """
    return os.fspath(path).endswith((".parquet", ".pq"))


def check_parquet(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Raise ``ImportError`` if a file is Parquet, and pyarrow is not installed."""
    for path in filter(is_parquet, paths):
        imported("pyarrow.parquet", f"{os.fspath(path)} is Parquet, which", "parquet")


def read_parquet(
    path: str | os.PathLike[str],
    domain: Domain,
    columns: Mapping[str, Column],
    *,
    drop: tuple[str, ...] = (),
    ignore_extra: bool = False,
) -> Dataset:
    """Read records from a Parquet file, as `pypgm.read_table` does."""
    check_parquet([path])
    parquet = imported("pyarrow.parquet", "Parquet", "parquet")
    errors = imported("pyarrow", "Parquet", "parquet").ArrowException
    name = os.fspath(path)
    try:
        with parquet.ParquetFile(name) as file:
            problems = name_problems(columns, file.schema_arrow.names, drop=drop, ignore_extra=ignore_extra)
            if problems:
                raise problems_error(name, problems)
            pieces = file.iter_batches(_ROWS, columns=list(columns))
            parts = list(encoded_pieces(columns, pieces, name))
    except errors:
        raise ValueError(f"{name} is no Parquet file, or is damaged") from None
    codes = {n: np.concatenate([np.empty(0, c.dtype), *(part[n] for part in parts)]) for n, c in columns.items()}
    return Dataset(codes, domain)


def text_rows(path: str | os.PathLike[str]) -> Iterator[list[str]]:
    """Yield the names of a Parquet file's columns, then its rows as the texts a CSV file would have; null is empty."""
    check_parquet([path])
    parquet = imported("pyarrow.parquet", "Parquet", "parquet")
    errors = imported("pyarrow", "Parquet", "parquet").ArrowException
    try:
        with parquet.ParquetFile(os.fspath(path)) as file:
            yield list(file.schema_arrow.names)
            for piece in file.iter_batches(_ROWS):
                texts = [[_text(value) for value in column.to_pylist()] for column in piece.columns]
                yield from map(list, zip(*texts, strict=True))
    except errors:
        raise ValueError(f"{os.fspath(path)} is no Parquet file, or is damaged") from None


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def write_parquet(
    data: Dataset, path: str | os.PathLike[str], columns: Mapping[str, Column], rng: np.random.Generator
) -> None:
    """Write records to a Parquet file, as `pypgm.write_table` does."""
    check_parquet([path])
    arrow = imported("pyarrow", "Parquet", "parquet")
    parquet = imported("pyarrow.parquet", "Parquet", "parquet")
    types = {name: _type(arrow, column) for name, column in columns.items()}
    schema = arrow.schema([arrow.field(name, kind or arrow.string()) for name, kind in types.items()])
    with replacing(path) as file, parquet.ParquetWriter(file, schema) as writer:
        for start in range(0, data.n_records, _ROWS):
            found = []
            for name, column in columns.items():
                codes = data.columns[name][start : start + _ROWS]
                values: NDArray[Any] = column.texts(codes, rng) if types[name] is None else column.decode(codes, rng)
                found.append(arrow.array(values, types[name] or arrow.string(), from_pandas=True))
            writer.write_table(arrow.table(found, schema=schema))


def _type(arrow: Any, column: Column) -> Any:  # noqa: ANN401 - of a package that may be missing
    """Return the type of a column's values in a file; None where they are of several kinds, and written as texts."""
    values = column.decode(np.arange(column.size), 0)
    try:
        return arrow.array(values if values.dtype != object else values.tolist()).type
    except (arrow.ArrowInvalid, arrow.ArrowTypeError):
        return None
