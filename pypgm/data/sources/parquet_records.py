"""Records in Parquet files, encoded and decoded by a schema in pieces."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.dataset import Dataset
from pypgm.data.schema.schema import Schema
from pypgm.data.sources.encoding import encoded_pieces
from pypgm.data.sources.files import replacing
from pypgm.data.sources.frames import imported
from pypgm.data.sources.layout import Layout
from pypgm.data.sources.parquet import ROWS, batches, check_names, check_parquet


def parquet_codes(
    path: str | os.PathLike[str], schema: Schema, *, ignore_extra: bool = False
) -> dict[str, NDArray[Any]]:
    """Return the codes of the columns of a Parquet file, and the keys of persons, as `pypgm.read_table` reads them."""
    columns = schema.reading
    check_names(path, columns, drop=schema.unread, ignore_extra=ignore_extra)
    parts = list(encoded_pieces(columns, batches(path, list(columns)), os.fspath(path)))
    codes = {n: np.concatenate([np.empty(0, c.dtype), *(part[n] for part in parts)]) for n, c in columns.items()}
    return schema.combined(codes, os.fspath(path))


def write_parquet(
    data: Dataset,
    path: str | os.PathLike[str],
    schema: Schema,
    rng: np.random.Generator,
    layout: Layout,
) -> None:
    """Write records to a Parquet file, as `pypgm.write_table` does."""
    check_parquet([path])
    parquet = imported("pyarrow.parquet", "Parquet", "parquet")
    layout = layout.in_arrow(schema.example(0))
    pieces = range(0, max(1, data.n_records), ROWS)
    with replacing(path) as file, contextlib.ExitStack() as stack:
        writer = None
        for start in pieces:
            codes = {name: column[start : start + ROWS] for name, column in data.columns.items()}
            piece = layout.frame(schema.cells(codes, rng, start), keeps_nulls=True)
            writer = writer or stack.enter_context(parquet.ParquetWriter(file, piece.schema))
            writer.write_table(piece)
