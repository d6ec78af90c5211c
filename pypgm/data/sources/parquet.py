"""Tables of records in Parquet files, read and written in pieces."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, TypeVar

from pypgm._base.file_kind import START, file_kind
from pypgm.data.sources.files import check_no_pipe, open_bytes
from pypgm.data.sources.frames import imported

ROWS = 1 << 16  # of a piece
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


def batches(path: str | os.PathLike[str], names: Sequence[str], rows: int = ROWS) -> Iterator[Any]:
    """Yield about `rows` rows at a time of some columns of a Parquet file, of the types that the file has."""
    with _opened(path) as file:
        yield from file.pieces(list(names), rows)


def raw_columns(path: str | os.PathLike[str], names: Sequence[str]) -> tuple[Any, Any]:
    """Return some columns of a Parquet file as an Arrow table, and the Arrow schema of all of them."""
    with _opened(path) as file:
        return file.columns(names), file.types


def types_in(path: str | os.PathLike[str]) -> Any:  # noqa: ANN401 - of a package that may be missing
    """Return the Arrow schema of a Parquet file; no record is read."""
    with _opened(path) as file:
        return file.types


def rows_in(path: str | os.PathLike[str]) -> int:
    """Return the number of records of a Parquet file, as its footer states it."""
    with _opened(path) as file:
        return file.n_rows


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[_Parquet]:
    """Open a Parquet file."""
    check_parquet([path])
    check_no_pipe(path)
    with open_bytes(path) as source:
        start = source.read(START)
        kind = file_kind(start)
        if not start.startswith(_MAGIC):
            raise ValueError(f"{os.fspath(path)} is not a Parquet file{f': it is {kind}' if kind else ''}")
        source.seek(0)
        yield _Parquet(source, os.fspath(path))


class _Parquet:
    """An open Parquet file, whose reader raises errors of many kinds if it is damaged: each is a ``ValueError``."""

    def __init__(self, source: BinaryIO, name: str) -> None:
        parquet = imported("pyarrow.parquet", "Parquet", "parquet")
        self._name = name
        self._file: Any = self.step(lambda: parquet.ParquetFile(source, pre_buffer=False))  # else all of it is held
        self.names: list[str] = self.step(lambda: list(self._file.schema_arrow.names))
        if any("\0" in name for name in self.names):  # by which columns are not found
            raise self._damaged()

    def pieces(self, columns: list[str] | None = None, rows: int = ROWS) -> Iterator[Any]:
        """Yield about `rows` rows at a time."""
        pieces = self.step(lambda: self._file.iter_batches(rows, columns=columns))
        left = self.step(lambda: self._file.metadata.num_rows)
        while (piece := self.step(lambda: next(pieces, None))) is not None:
            self.step(lambda: piece.validate(full=True))
            left -= piece.num_rows
            yield piece
        if left != 0:  # a column that ends early ends all, without a word
            raise self._damaged()

    @property
    def n_rows(self) -> int:
        """The number of records in the footer."""
        return self.step(lambda: int(self._file.metadata.num_rows))

    @property
    def types(self) -> Any:  # noqa: ANN401
        """The Arrow schema."""
        return self.step(lambda: self._file.schema_arrow)

    def columns(self, names: Sequence[str]) -> Any:  # noqa: ANN401
        """Return some columns as an Arrow table."""
        return self.step(lambda: self._file.read(list(names)))

    def step(self, read: Callable[[], T]) -> T:
        """Return the result of a step of the reader; its errors may quote records, and are not kept."""
        with contextlib.suppress(Exception):
            return read()
        raise self._damaged()

    def _damaged(self) -> ValueError:
        return ValueError(f"{self._name} is damaged, or a piece of it does not fit in memory")
