"""A table as it is before anything is declared of it: names, types, and its values in pieces."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pypgm.data.dataset import check_lengths
from pypgm.data.dialect import COMMAS, Dialect
from pypgm.data.duckdb_file import check_table, duckdb_table, is_database, not_null
from pypgm.data.encoding import problems_error
from pypgm.data.enumerations import values_in_arrow, values_of_types
from pypgm.data.files import check_no_pipe, csv_chunks, csv_rows, open_text, separator_hint
from pypgm.data.foreign import guarded_pieces
from pypgm.data.frames import Frame, as_columns, collected
from pypgm.data.layout import Layout, layout_of
from pypgm.data.parquet import batches, is_parquet, types_in
from pypgm.data.values import Values, as_list, value_text
from pypgm.domain import first_repeat
from pypgm.numeric import is_masked

_ROWS = 8192  # of a piece
_PLAIN = re.compile(r"u?int\d+|bool")  # types of NumPy, and of pandas, that have no missing value


@dataclass(frozen=True)
class RawTable:
    """A table of any kind that no schema declares.

    Attributes
    ----------
    name : str
        What errors call it.
    layout : Layout
        Its names and types; a CSV file has none of these.
    listed : mapping of str to sequence
        The values of columns whose type has a definition that lists them.
    complete : frozenset of str
        Columns whose type lets no value be missing.
    has_header : bool
        Whether the names are a line of a file.
    pieces : callable
        Reads the records: yields mappings of names to values.
    """

    name: str
    layout: Layout
    pieces: Callable[[], Iterator[Mapping[str, Values]]]
    listed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    complete: frozenset[str] = frozenset()
    has_header: bool = False


def raw_table(source: Frame, how: Dialect = COMMAS, *, table: str | None = None) -> RawTable:
    """Return a table of any kind; no record is read, but by its `pieces`.

    Parameters
    ----------
    source : data frame, mapping of str to sequence, path, DuckDB relation or ibis.Table
    how : Dialect
        Of a CSV file.
    table : str, optional
        As for `pypgm.synthesize`.

    Raises
    ------
    OSError
        If a file cannot be read.
    ValueError
        If it is no table with a header, or a name comes twice in it.
    """
    check_table(source, table)
    if not isinstance(source, str | os.PathLike):
        return _of_frame(source)
    name = os.fspath(source)
    check_no_pipe(source)
    if is_parquet(source):
        types = types_in(source)
        layout = Layout.of_arrow(types)
        _check_names(name, list(layout.types))
        pieces_of = partial(batches, source, list(layout.types), _ROWS)
        return RawTable(
            name, layout, lambda: map(as_columns, pieces_of()), values_in_arrow(types), complete=_complete_in(types)
        )
    if is_database(source):
        return _of_database(source, name, table)
    with open_text(source, how.encoding) as file:
        header = [name.strip() for name in next(csv_rows(source, file, how.delimiter), [])]
    _check_header(name, header, how.delimiter)

    def pieces() -> Iterator[Mapping[str, Values]]:
        with open_text(source, how.encoding) as file:
            rows = csv_rows(source, file, how.delimiter)
            next(rows)
            for chunk, problem in csv_chunks(rows, len(header), _ROWS):
                if problem:
                    raise problems_error(name, [problem])
                yield dict(zip(header, map(list, zip(*chunk, strict=True)), strict=True))

    layout = Layout(types=dict.fromkeys(header, ""), delimiter=how.delimiter, encoding=how.encoding)
    return RawTable(name, layout, pieces, has_header=True)


def value_texts(table: str, name: str, values: Values) -> list[str]:
    """Return values as the texts that a file would have."""
    given = as_list(values)
    if set(map(type, given)) <= {str}:
        return [value.strip() for value in given]
    texts = [value_text(value) for value in given]
    if None in texts:
        raise ValueError(f"{table}: column {name!r} has bytes that are no text in UTF-8")
    return [text or "" for text in texts]


def _of_frame(source: Frame, name: str = "the table") -> RawTable:
    layout = layout_of(source)
    package = type(source).__module__.partition(".")[0]

    def pieces() -> Iterator[Mapping[str, Values]]:
        if package in {"duckdb", "_duckdb"}:
            yield from map(as_columns, guarded_pieces(f"reading {name}", lambda: source.to_arrow_reader(_ROWS)))
        elif package == "ibis":
            batches = guarded_pieces(f"reading {name}", lambda: source.to_pyarrow_batches(chunk_size=_ROWS))
            yield from map(as_columns, batches)
        else:
            columns = as_columns(collected(source))
            check_lengths(columns)
            n_rows = max(map(len, columns.values()), default=0)
            for start in range(0, n_rows, _ROWS):
                yield {name: values[start : start + _ROWS] for name, values in columns.items()}

    return RawTable(name, layout, pieces, values_of_types(source), _complete_of(source, layout))


def _complete_of(source: Frame, layout: Layout) -> frozenset[str]:
    """Return the columns of a frame, or of an engine's table, whose type lets no value be missing."""
    package = type(source).__module__.partition(".")[0]
    if package in {"ibis", "pyarrow"}:
        return _complete_in(source.schema().to_pyarrow() if package == "ibis" else source.schema)
    if package in {"duckdb", "_duckdb"}:
        return not_null(source)
    masked = [name for name, values in source.items() if is_masked(values)] if isinstance(source, Mapping) else ()
    found = layout.types if layout.library == "pandas" else {}
    return frozenset(name for name, kind in found.items() if _PLAIN.fullmatch(kind)) - {*masked}


def _complete_in(types: Any) -> frozenset[str]:  # noqa: ANN401 - of a package that may be missing
    """Return the columns of an Arrow schema that it says no value is missing of."""
    return frozenset(entry.name for entry in types if not entry.nullable)


def _of_database(path: str | os.PathLike[str], name: str, table: str | None) -> RawTable:
    with duckdb_table(path, table) as relation:
        found = _of_frame(relation, name)

    def pieces() -> Iterator[Mapping[str, Values]]:
        with duckdb_table(path, table) as relation:
            yield from _of_frame(relation, name).pieces()

    return replace(found, pieces=pieces)


def _check_header(name: str, header: Sequence[str], delimiter: str) -> None:
    """Raise ``ValueError`` unless the first line of a file is a header."""
    if not any(header):
        raise ValueError(
            f"{name} is empty, or begins with a blank line; it needs a header line with the names of the columns"
        )
    if hint := separator_hint(header, delimiter):
        raise ValueError(f"{name} has one column{hint}")
    _check_names(name, header)


def _check_names(name: str, names: Sequence[str]) -> None:
    needed = f"{name} needs a header line with a name for each column, each once"
    if names.count("") > 1:
        places = [str(i + 1) for i, own in enumerate(names) if not own]
        raise ValueError(f"{needed}: columns {' and '.join(places[:2])} have none")
    if len(set(names)) != len(names):
        raise ValueError(f"{needed}: {first_repeat(names)!r} comes more than once")
