"""Tables as their files have them, text by text: what two tables are compared by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pypgm.data.file_kind import RELEASE, START, file_kind
from pypgm.data.files import as_path, csv_rows, open_text
from pypgm.data.parquet import is_parquet, text_rows
from pypgm.data.schema import as_schema
from pypgm.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pypgm.data.files import DecimalMark
    from pypgm.models.stored_model import ReleasedModel

__all__ = ["is_table", "synthetic_texts", "text_table"]


def is_table(path: str) -> bool:
    """Return whether a file is a table and no release, by its name or its beginning."""
    if path.endswith((".csv", ".csv.gz")) or is_parquet(path):
        return True
    with as_path(path).open("rb") as file:
        return path.endswith(".gz") or (file_kind(file.read(START)) != RELEASE and not path.endswith(".pgm"))


def text_table(
    path: str, *, delimiter: str = ",", encoding: str = "utf-8", decimal: DecimalMark = "."
) -> dict[str, list[str]]:
    """Return the columns of a CSV or Parquet file as texts; numbers have a point before decimals.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it is no table with a header: the row is named, no value is.
    """
    if is_parquet(path):
        return _columns(path, text_rows(path))
    with open_text(path, encoding) as file:
        found = _columns(path, csv_rows(path, file, delimiter))
    if decimal == ",":
        return {name: [_with_point(text) for text in column] for name, column in found.items()}
    return found


def _columns(path: str, rows: Iterable[list[str]]) -> dict[str, list[str]]:
    reader = iter(rows)
    header = next(reader, [])
    if not header or len(set(header)) != len(header):
        raise ValueError(f"{path} needs a header in which each name comes once")
    held: list[list[str]] = [[] for _ in header]
    for number, row in enumerate(reader):
        if not row:
            continue
        if len(row) != len(header):
            told = f"{len(row)} fields, the header has {len(header)}"
            raise ValueError(f"{path}, row {number + 1} (the header is row 0) has {told}")
        for column, text in zip(held, row, strict=True):
            column.append(text)
    return dict(zip(header, held, strict=True))


def _with_point(text: str) -> str:
    whole, mark, rest = text.partition(",")
    plain = whole.replace(".", "")
    return f"{plain}.{rest}" if mark and rest.isdigit() and plain.lstrip("+-").isdigit() else text


def synthetic_texts(found: Release | ReleasedModel) -> dict[str, list[str]]:
    """Return records drawn from a release, the same every time, as their file would have them."""
    draws = np.random.default_rng(0)
    records = found.synthetic_data(rng=draws)
    schema = found.schema if isinstance(found, Release) else None
    columns = as_schema(schema or records.domain).columns
    return {n: list(map(str, columns[n].texts(records.columns[n], draws))) for n in columns}
