"""Tables of records in Parquet files, read and written in pieces."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns import Column
from pypgm.data.dataset import Dataset
from pypgm.data.encoding import encoded_pieces, name_problems, problems_error
from pypgm.data.file_kind import START, file_kind
from pypgm.data.files import replacing
from pypgm.data.frames import imported
from pypgm.domain import Domain

__all__ = ["check_parquet", "is_parquet", "read_parquet", "text_rows", "write_parquet"]

_ROWS = 1 << 16  # of a piece
_MAGIC = b"PAR1"  # that a file begins with

T = TypeVar("T")


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
    name = os.fspath(path)
    with _opened(path) as file:
        problems = name_problems(columns, file.names, drop=drop, ignore_extra=ignore_extra)
        if problems:
            raise problems_error(name, problems)
        parts = list(encoded_pieces(columns, file.pieces(list(columns)), name))
    codes = {n: np.concatenate([np.empty(0, c.dtype), *(part[n] for part in parts)]) for n, c in columns.items()}
    return Dataset(codes, domain)


def text_rows(path: str | os.PathLike[str]) -> Iterator[list[str]]:
    """Yield the names of a Parquet file's columns, then its rows as the texts a CSV file would have; null is empty."""
    with _opened(path) as file:
        yield file.names
        for piece in file.pieces():
            texts = file.step(partial(_column_texts, piece))
            yield from map(list, zip(*texts, strict=True))


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[_Parquet]:
    """Open a Parquet file."""
    check_parquet([path])
    with Path(path).open("rb") as source:
        start = source.read(START)
        kind = file_kind(start)
        if not start.startswith(_MAGIC):
            raise ValueError(f"{os.fspath(path)} is no Parquet file{f': it is {kind}' if kind else ''}")
        source.seek(0)
        yield _Parquet(source, os.fspath(path))


class _Parquet:
    """An open Parquet file: a damaged one makes its reader raise errors of many kinds, and each becomes one of ours."""

    def __init__(self, source: BinaryIO, name: str) -> None:
        parquet = imported("pyarrow.parquet", "Parquet", "parquet")
        self._name = name
        self._file: Any = self.step(lambda: parquet.ParquetFile(source))
        self.names: list[str] = self.step(lambda: list(self._file.schema_arrow.names))

    def pieces(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Yield some thousand rows at a time."""
        batches = self.step(lambda: self._file.iter_batches(_ROWS, columns=columns))
        while (piece := self.step(lambda: next(batches, None))) is not None:
            self.step(lambda: piece.validate(full=True))
            yield piece

    def step(self, read: Callable[[], T]) -> T:
        """Return what a step of the reader gives; what its errors quote may be records, and is not kept."""
        with contextlib.suppress(Exception):
            return read()
        raise ValueError(f"{self._name} is damaged, or a piece of it does not fit in memory")


def _column_texts(piece: Any) -> list[list[str]]:  # noqa: ANN401 - of a package that may be missing
    return [[_text(value) for value in column.to_pylist()] for column in piece.columns]


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
