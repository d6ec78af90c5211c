"""Records of tables that are encoded by a schema in pieces, and of Parquet files that are written in pieces."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray

from pypgm.data.schema.schema import Schema
from pypgm.data.sources.encoding import Growing, encoded_pieces, name_problems, refuse
from pypgm.data.sources.files import replacing
from pypgm.data.sources.frames import imported
from pypgm.data.sources.parquet import ROWS
from pypgm.data.sources.source import Source


def codes_in_pieces(source: Source, schema: Schema, *, ignore_extra: bool = False) -> dict[str, NDArray[Any]]:
    """Return the codes of the columns of a table that is read in pieces, and the keys of persons."""
    columns = schema.reading
    check_columns(source, schema, ignore_extra=ignore_extra)
    codes = Growing(columns)
    for piece in encoded_pieces(columns, source.pieces(list(columns), ROWS), source.name):
        for name, some in piece.items():
            codes.append(name, some)
    return schema.combined(codes.whole(), source.name)


def check_columns(source: Source, schema: Schema, *, ignore_extra: bool) -> list[str]:
    """Return the names of a table's columns; ``ValueError`` if they do not fit the schema."""
    columns = schema.reading
    values = getattr(source, "values", {})
    names = [name for name in source.layout.types if name in columns or name not in values]
    left_out = {*schema.unread}
    if not source.has_public_names and not ignore_extra and any(n not in columns and n not in left_out for n in names):
        way_out = "ignore_extra=True or --ignore-extra leaves them out"
        refuse(source.name, [f"has records with names that the schema does not declare: {way_out}"])
    refuse(source.name, name_problems(columns, names, drop=schema.unread, ignore_extra=ignore_extra))
    return names


def write_parquet(frames: Iterable[Any], path: str | os.PathLike[str]) -> None:
    """Write tables of pyarrow, at least one and all of the same types, to a Parquet file, one after the other."""
    parquet = imported("pyarrow.parquet", "Parquet", "parquet")
    with replacing(path) as file, contextlib.ExitStack() as stack:
        writer = None
        for frame in frames:
            writer = writer or stack.enter_context(parquet.ParquetWriter(file, frame.schema))
            if len(frame):
                writer.write_table(frame)
