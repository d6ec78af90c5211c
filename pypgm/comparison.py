"""Comparison of two tables of any kind, each value as the text that its file would have."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from pypgm._base.file_kind import RELEASE, START, file_kind
from pypgm.data import OpenSchema, Schema
from pypgm.data.columns.column import Column
from pypgm.data.columns.number_text import PLAIN, plain_number
from pypgm.data.columns.numbers import Numeric
from pypgm.data.columns.values import as_list, read_number
from pypgm.data.schema.schema import as_schema
from pypgm.data.sources.dialect import COMMAS, Dialect, marked
from pypgm.data.sources.duckdb_file import is_database
from pypgm.data.sources.files import as_path, check_no_pipe
from pypgm.data.sources.frames import Frame, as_columns
from pypgm.data.sources.parquet import is_parquet
from pypgm.data.sources.paths import is_several
from pypgm.data.sources.source import Source, open_source, value_texts
from pypgm.files.stored_model import ReleasedModel
from pypgm.release import Release
from pypgm.reporting.compared import ComparedTables, compare_texts

__all__ = ["ComparedTables", "compare", "is_table", "synthetic_texts", "text_table"]


def compare(
    synthetic: Release | ReleasedModel | Frame, unsafe_data: Frame, *, schema: Schema | OpenSchema | None = None
) -> ComparedTables:
    """Compare a release, or a synthetic table, with the real one: columns, pairs, missing values, one score.

    Values are compared as files have them: what became "other", or was drawn within a bin, counts too. Ids and other
    values that were made up count in no score.

    Parameters
    ----------
    synthetic : Release, model, data frame, mapping of str to sequence, path, DuckDB relation or ibis.Table
        From a release the same records are drawn every time.
    unsafe_data : data frame, mapping of str to sequence, path, DuckDB relation or ibis.Table
        The real table. The result is not private.
    schema : Schema or OpenSchema, optional
        Says which texts are missing values, how numbers and dates are written, and which columns are made up; by
        default the schema of the release.

    Returns
    -------
    ComparedTables
        ``.score``, ``.columns``, ``.pairs``, ``.report_html(path)``, ``.sdmetrics()``; only for the owner of the table.

    Raises
    ------
    ValueError
        If the tables have no column in common, or a table has no records.
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
        made = text_table(open_source(synthetic), schema)
    return compare_texts(text_table(open_source(unsafe_data), schema), made, schema)


def is_table(path: str) -> bool:
    """Return whether a file is a table and no release, by its name or its beginning."""
    if path.endswith((".csv", ".csv.gz")) or is_parquet(path) or is_database(path) or is_several(path):
        return True
    check_no_pipe(path, "a table or a release")
    with as_path(path).open("rb") as file:
        return not path.endswith(".pgm") and file_kind(file.read(START)) != RELEASE


def text_table(source: Source, schema: Schema | OpenSchema | None = None) -> dict[str, list[str]]:
    """Return the columns of a table as texts; numbers have a decimal point and no other mark.

    Numbers are read with the marks that the schema states for their column, else with those of the file.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it is not a table with a header; the message names the row, never a value.
    """
    source.dialect.check()
    dialect = source.dialect if source.has_header else COMMAS
    declared = {} if schema is None else marked(schema.provisional.written, dialect)
    spell = {name: _spelling(declared.get(name), dialect) for name in source.layout.types}
    columns: dict[str, list[str]] = {name: [] for name in spell}
    for piece in map(as_columns, source.pieces()):
        for name, plain in spell.items():
            values = as_list(piece[name])
            texts = value_texts(source.name, name, values)
            if plain is not None:  # only texts have marks
                pairs = zip(values, texts, strict=True)
                texts = [_plain(text, plain) if isinstance(value, str) else text for value, text in pairs]
            columns[name] += texts
    return columns


def _spelling(column: Column | None, dialect: Dialect) -> Callable[[str], str] | None:
    """Return a function that removes the marks from the numbers of a column that has them."""
    if isinstance(column, Numeric):
        return None if column.is_plain else column.plain_text
    is_known = column is not None or (dialect.decimal, dialect.thousands) == PLAIN
    return None if is_known else partial(plain_number, decimal=dialect.decimal, thousands=dialect.thousands)


def _plain(text: str, spell: Callable[[str], str]) -> str:
    """Return a number without marks, and any other text as it is."""
    number = spell(text)
    return text if read_number(number) is None else number


def synthetic_texts(release: Release | ReleasedModel) -> dict[str, list[str]]:
    """Return records drawn from a release, the same every time, as `text_table` gives those of their file."""
    draws = np.random.default_rng(0)
    records = release.synthetic_data(rng=draws)
    schema = as_schema((release.schema if isinstance(release, Release) else None) or records.domain)
    return {n: list(map(str, cells.plain().texts())) for n, cells in schema.cells(records.columns, draws).items()}
