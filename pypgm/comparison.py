"""Two tables of any kind side by side, text by text as their files would have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pypgm.data import OpenSchema, Schema
from pypgm.data.dialect import Dialect
from pypgm.data.duckdb_file import is_database
from pypgm.data.file_kind import RELEASE, START, file_kind
from pypgm.data.files import as_path
from pypgm.data.frames import Frame
from pypgm.data.number_text import PLAIN, DecimalMark, plain_number
from pypgm.data.parquet import is_parquet
from pypgm.data.raw_table import raw_table, value_texts
from pypgm.data.schema import as_schema
from pypgm.data.values import read_number
from pypgm.models.stored_model import ReleasedModel
from pypgm.release import Release
from pypgm.reporting.compared import ComparedTables, compare_texts

__all__ = ["ComparedTables", "compare", "is_table", "synthetic_texts", "text_table"]


def compare(
    synthetic: Release | ReleasedModel | Frame, unsafe_data: Frame, *, schema: Schema | OpenSchema | None = None
) -> ComparedTables:
    """Compare a release, or a synthetic table, with the real one: columns, pairs, missing values, one score.

    Values are compared as files have them: what became "other", or was drawn within a bin, counts too.

    Parameters
    ----------
    synthetic : Release, model, data frame, mapping of str to sequence, path, DuckDB relation or ibis.Table
        Of a release records are drawn, the same every time.
    unsafe_data : data frame, mapping of str to sequence, path, DuckDB relation or ibis.Table
        The real table. What comes of it is not private.
    schema : Schema or OpenSchema, optional
        Says which texts are missing values, and how dates are written; by default that of the release.

    Returns
    -------
    ComparedTables
        ``.score``, ``.columns``, ``.pairs``, ``.report_html(path)``, ``.sdmetrics()``; for whom the table belongs to.

    Raises
    ------
    ValueError
        If they have no column in common, or one has no records.
    OSError
        If a file cannot be read.

    Examples
    --------
    >>> import pypgm
    >>> found = pypgm.compare({"a": ["x", "x"], "n": [1, 2]}, {"a": ["x", "y"], "n": [1, 2]})
    >>> found.score, [(c.name, c.points) for c in found.columns]
    (62.5, [('a', 50.0), ('n', 0.0)])
    """
    if hasattr(synthetic, "synthetic_data"):
        made = synthetic_texts(synthetic)
        schema = schema or getattr(synthetic, "schema", None)
    else:
        made = text_table(synthetic)
    return compare_texts(text_table(unsafe_data), made, schema)


def is_table(path: str) -> bool:
    """Return whether a file is a table and no release, by its name or its beginning."""
    if path.endswith((".csv", ".csv.gz")) or is_parquet(path) or is_database(path):
        return True
    with as_path(path).open("rb") as file:
        return not path.endswith(".pgm") and file_kind(file.read(START)) != RELEASE


def text_table(path: Frame, *, table: str | None = None, **marks: Any) -> dict[str, list[str]]:  # noqa: ANN401
    """Return the columns of a table as texts; what is a number has a decimal point and no other mark.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it is no table with a header: the row is named, no value is.
    """
    how = Dialect(**marks)
    how.check()
    raw = raw_table(path, how, table=table)
    found: dict[str, list[str]] = {name: [] for name in raw.layout.types}
    for piece in raw.pieces():
        for name in found:
            found[name] += value_texts(raw.name, name, piece[name])
    numbers = how.decimal, how.thousands
    if numbers == PLAIN or not raw.has_header:
        return found
    return {name: [_plain(text, *numbers) for text in column] for name, column in found.items()}


def _plain(text: str, decimal: DecimalMark, thousands: str) -> str:
    """Return a number without marks, and any other text as it is."""
    number = plain_number(text, decimal, thousands)
    return text if read_number(number) is None else number


def synthetic_texts(found: Release | ReleasedModel) -> dict[str, list[str]]:
    """Return records drawn from a release, the same every time, as their file would have them."""
    draws = np.random.default_rng(0)
    records = found.synthetic_data(rng=draws)
    schema = as_schema((found.schema if isinstance(found, Release) else None) or records.domain)
    return {n: list(map(str, cells.texts())) for n, cells in schema.cells(records.columns, draws).items()}
