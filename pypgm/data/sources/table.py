"""Tables of records in files."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from io import BufferedReader
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from pypgm._base.file_kind import START, TABLE, TABLES, check_suffix, it_looks_like
from pypgm._base.numeric import as_generator
from pypgm._base.signatures import with_options
from pypgm.data.columns.closed import Codes
from pypgm.data.columns.codebook import label_texts
from pypgm.data.columns.column import Readable
from pypgm.data.columns.made import Cells
from pypgm.data.columns.values import Values
from pypgm.data.dataset import Dataset
from pypgm.data.schema.schema import OpenSchema, Schema, SchemaLike, as_schema
from pypgm.data.sources.arrow_csv import arrow_codes
from pypgm.data.sources.dialect import COMMAS, DIALECT_DEFAULTS, Dialect, DialectOptions, marked, respelling
from pypgm.data.sources.encoding import Growing, name_problems, problems_error, refuse
from pypgm.data.sources.files import (
    NO_TEXT,
    check_encoding,
    check_no_pipe,
    csv_chunks,
    csv_rows,
    open_text,
    replacing_text,
    separator_hint,
    write_header,
    write_rows,
)
from pypgm.data.sources.header_lines import lines_hint
from pypgm.data.sources.json_lines import is_json, write_records
from pypgm.data.sources.layout import Layout
from pypgm.data.sources.parquet import ROWS, check_parquet, is_parquet
from pypgm.data.sources.parquet_records import codes_in_pieces, write_parquet
from pypgm.data.sources.source import CsvFile, FileList, Source, joined, open_file
from pypgm.domain import Domain, listed

if TYPE_CHECKING:
    from typing_extensions import Unpack

_CHUNK = 8192  # records held as text at a time
_HALF_PAIR = re.compile("[\ud800-\udfff]")  # of a surrogate pair


@with_options(DialectOptions, DIALECT_DEFAULTS)
def read_table(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    schema: SchemaLike,
    *,
    ignore_extra: bool = False,
    **dialect: Unpack[DialectOptions],
) -> Dataset:
    """Read records from a CSV file with a header, plain or compressed with gzip, or from a Parquet file.

    Columns are matched by name; values become codes as the schema declares. With a domain, labels become codes, and
    the file holds the codes of an attribute without labels.

    Parameters
    ----------
    path : str, path-like or list of them
        The file; Parquet where its name ends in ``.parquet`` or ``.pq``, which needs the extra ``[parquet]``. Blank
        lines are skipped. A folder, a pattern with ``*``, or a list stands for all its files, one after the other.
    schema : Schema, Domain, mapping or path
        The attributes to read, known before the file is (see `read_schema`).
    ignore_extra : bool, default False
        Leave out columns that are not declared, instead of refusing the file. Columns that the schema drops are always
        left out.
    delimiter : str, default ","
        The one character between fields.
    encoding : str, default "utf-8"
        As Python names it, such as "latin-1".
    decimal : {".", ","}
        The mark of the decimals of numbers; with a comma no number has a point.
    thousands : str, optional
        The mark between groups of digits, where numbers have one: ``,`` of ``62,347.69``. Columns that state their own
        marks keep them.
    skip : int, default 0
        Number of lines before the header, such as a title. Synthetic files have none of them: they may hold private
        text.
    comment : str, optional
        The character that begins lines which are no records.
    header_lines : int, default 1
        Number of lines of the header, of which the first has the names; units or questions may follow. Synthetic files
        have the first alone.

    Returns
    -------
    Dataset
        With columns of the smallest unsigned type that holds the attribute's codes.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is truncated, not text, has no header, lacks a column, has one twice or one too many, a row has too
        few or too many fields, or a value does not fit. The message names for each column the first misfit's row (the
        header is row 0; a Parquet file has none, and the first row is 0) and the allowed values, never the value.
    ImportError
        If the file is Parquet, and pyarrow is not installed.

    Examples
    --------
    >>> read_table("adult.csv.gz", read_schema("schema.json"))  # doctest: +SKIP
    Dataset(48842 records; age: 85, workclass: 9, …)
    """
    source = open_file(path, Dialect.of_options("read_table", dialect))
    source.check_dialect()
    codes, _ = read_source(source, as_schema(schema), ignore_extra=ignore_extra)
    return Dataset(codes, schema) if isinstance(schema, Domain) else as_schema(schema).records(codes)


def read_source(
    source: Source, schema: Schema | OpenSchema, *, ignore_extra: bool = False
) -> tuple[dict[str, NDArray[Any]], dict[str, Values]]:
    """Return the codes of a table that is read record by record, and the values of its open columns, all checked."""
    if isinstance(source, FileList):
        parts = [read_source(file, schema, ignore_extra=ignore_extra) for file in source.files]
        codes = {name: np.concatenate([part.pop(name) for part, _ in parts]) for name in [*parts[0][0]]}
        return codes, {name: joined([part[name] for _, part in parts]) for name in schema.open}
    if isinstance(source, CsvFile):
        codes, texts = read_open_table(
            source.name, schema, source.dialect, ignore_extra=ignore_extra, values=source.values
        )
        return codes, {**texts}
    before = schema.provisional
    codes = codes_in_pieces(source, before, ignore_extra=ignore_extra)
    before.check_rules(before.records(codes), source.name)
    return codes, source.columns(tuple(schema.open)) if schema.open else {}


def read_open_table(
    path: str | os.PathLike[str],
    schema: Schema | OpenSchema,
    dialect: Dialect = COMMAS,
    *,
    ignore_extra: bool = False,
    values: Mapping[str, str] | None = None,
) -> tuple[dict[str, NDArray[Any]], dict[str, list[str]]]:
    """Read a CSV file as `read_table` does, by a schema that may have open columns.

    All that may be refused is refused here. The codes of all columns are returned, those of open ones before their
    values are settled, and the texts of open ones.
    """
    texts: dict[str, list[str]] = {name: [] for name in schema.open}
    before = schema.provisional
    codes = _read(CsvFile(path, dialect, values), before, texts, ignore_extra)
    spell = respelling({name: before.columns[name] for name in texts}, dialect)
    texts = {name: list(spell[name](fields)) if name in spell else fields for name, fields in texts.items()}
    before.check_rules(before.records(codes), os.fspath(path), 1)
    _check_writable(path, texts)
    return codes, texts


def _check_writable(path: str | os.PathLike[str], texts: Mapping[str, list[str]]) -> None:
    """Refuse values that could not be written as labels: some encodings, such as utf-7, have such."""
    for name, values in texts.items():
        if any(map(_HALF_PAIR.search, values)):
            raise ValueError(f"{os.fspath(path)}: column {name!r}: {NO_TEXT}")


def write_table(
    data: Dataset,
    path: str | os.PathLike[str],
    schema: Schema | None = None,
    rng: np.random.Generator | int | None = None,
    *,
    layout: Layout | None = None,
) -> None:
    """Write records to a CSV file with a header, to Parquet or lines of JSON, by the name of the file.

    A name that ends in ``.gz`` compresses it. Codes become labels where an attribute has them, and with a schema values
    as its tables have them. The file appears when it is complete, and not at all if writing fails.

    Parameters
    ----------
    data : Dataset
    path : str or path-like
    schema : Schema, optional
        The one whose domain the records are over.
    rng : numpy.random.Generator or int, optional
        Source of the values within bins.
    layout : Layout, optional
        The order of the columns, the types that they have in Parquet, and how a CSV file is written.

    Raises
    ------
    OSError
        If the file cannot be written.
    ValueError
        If the records have weights or are not over the schema's domain, two labels of an attribute read the same as
        text, or the name of the file ends as that of another format.
    ImportError
        If the file is Parquet, and pyarrow is not installed.

    Examples
    --------
    >>> write_table(release.synthetic_data(), "synthetic.csv")  # doctest: +SKIP
    """
    if not isinstance(data, Dataset):
        raise TypeError(f"data needs a pypgm.Dataset, got {type(data).__name__}")
    if data.weights is not None:
        raise ValueError("a table file has no place for weights; write records without them")
    if schema is not None:
        as_schema(schema).check_domain(data.domain)
    write_pieces(partial(pieces_of, data, as_generator(rng)), path, data.domain, schema, layout=layout)


class Piece(NamedTuple):
    """Some records of a table that is written piece by piece."""

    codes: Mapping[str, NDArray[Any]]
    start: int
    """Number of the first one in the table."""
    rng: np.random.Generator
    """Source of the values within bins, drawn for all records of the piece."""
    kept: slice = slice(None)
    """Records that are written."""

    def cells(self, schema: Schema) -> dict[str, Cells]:
        """Return the cells of the records that are written."""
        drawn = schema.cells(self.codes, self.rng, self.start)
        return drawn if self.kept == slice(None) else {name: cells.some(self.kept) for name, cells in drawn.items()}


Pieces: TypeAlias = Callable[[int], Iterator[Piece]]
"""Yields the records of a table, at most so many at a time, and at least one piece."""


def pieces_of(data: Dataset, rng: np.random.Generator, size: int, start: int = 0) -> Iterator[Piece]:
    """Yield records piece by piece, the first of them with a number."""
    for first in range(0, max(1, len(data)), size):
        yield Piece({name: c[first : first + size] for name, c in data.columns.items()}, start + first, rng)


def arrow_pieces(pieces: Pieces, schema: Schema, layout: Layout) -> Iterator[Any]:
    """Yield records as tables of pyarrow, all of the same types, at least one."""
    arrow = layout.in_arrow(schema.example(0))
    return (arrow.frame(piece.cells(schema), keeps_nulls=True) for piece in pieces(ROWS))


def write_pieces(
    pieces: Pieces,
    path: str | os.PathLike[str],
    domain: Domain,
    schema: Schema | None = None,
    *,
    layout: Layout | None = None,
) -> None:
    """Write records that come in pieces, as `write_table` does."""
    check_suffix(path, TABLES)
    layout = layout or Layout()
    dialect, names = layout.dialect, layout.order(domain if schema is None else schema.declared)
    if is_parquet(path):
        check_parquet([path])
        write_parquet(arrow_pieces(pieces, as_schema(schema or domain), layout), path)
        return
    if is_json(path):
        with replacing_text(path) as file:
            for piece in pieces(_CHUNK):
                write_records(file, names, piece.cells(as_schema(schema or domain)))
        return
    texts = {name: label_texts(domain, name) for name in domain} if schema is None else {}
    labels = {name: np.array(t, dtype=object) for name, t in texts.items() if t is not None}
    numbers = {name: Codes(domain.size(name)) for name, t in texts.items() if t is None}
    with replacing_text(path, dialect.encoding) as file:
        write_header(file, names, dialect, layout.line_end)
        for piece in pieces(_CHUNK):
            if schema is None:
                codes = {name: column[piece.kept] for name, column in piece.codes.items()}
                values = [
                    labels[name][codes[name]] if name in labels else numbers[name].written(codes[name], None)
                    for name in names
                ]
            else:
                cells = piece.cells(schema)
                columns = marked({name: cell.column for name, cell in cells.items()}, dialect)
                values = [cells[name]._replace(column=columns[name]).texts() for name in names]
            rows = zip(*(column.tolist() for column in values), strict=True)
            write_rows(file, rows, dialect, line_end=layout.line_end)


def csv_names(file: CsvFile, schema: Schema, ignore_extra: bool) -> _Header:
    """Return the names in a CSV file's header; raise ``ValueError`` if they do not fit the schema."""
    path, dialect = file.name, file.dialect
    dialect.check()
    with _opened(file, [*schema.reading, *schema.unread]) as (header, _):
        problems = _header_problems(header, schema.reading, schema.unread, ignore_extra)
    refuse(os.fspath(path), _with_hint(problems, path, dialect))
    return header


def _with_hint(problems: list[str], path: str | os.PathLike[str], dialect: Dialect) -> list[str]:
    """Return problems, the last of them with a hint at lines that are no records."""
    if problems and (hint := lines_hint(path, dialect)):
        return [*problems[:-1], f"{problems[-1]}; {hint}"]
    return problems


def csv_pieces(file: CsvFile, columns: Mapping[str, Readable], n_rows: int) -> Iterator[dict[str, Sequence[str]]]:
    """Yield the texts of some columns, about `rows` rows at a time, as `read_table` reads them."""
    spell, path, dialect = respelling(columns, file.dialect), file.name, file.dialect
    parts: dict[str, list[str]] = {name: [] for name in columns}
    n_held = 0
    with _opened(file, columns) as (header, rows):
        places = {name: place for place, name in enumerate(header)}
        for chunk, problem in csv_chunks(rows, len(header), _CHUNK):
            if problem:
                raise problems_error(os.fspath(path), _with_hint([problem], path, dialect))
            fields = list(zip(*chunk, strict=True))
            for name, held in parts.items():
                given = fields[places[name]]
                held.extend(spell[name](given) if name in spell else given)
            n_held += len(chunk)
            if n_held >= n_rows:
                yield dict(parts)
                parts, n_held = {name: [] for name in columns}, 0
    yield dict(parts)


def _read(file: CsvFile, schema: Schema, texts: dict[str, list[str]], ignore_extra: bool) -> dict[str, NDArray[Any]]:
    """Return the codes of each column, and append the texts of some to lists; raise all that is wrong at once."""
    path, dialect = file.name, file.dialect
    name, drop = os.fspath(path), schema.unread
    dialect.check()
    columns = marked(schema.reading, dialect)
    whole = partial(schema.combined, table=name, first_row=1, begin="the header is row 0")
    with _opened(file, [*columns, *drop]) as (header, rows):
        problems = _header_problems(header, columns, drop, ignore_extra)
        if not problems and not header.has_separator and not header.has_values:
            codes = arrow_codes(path, header, columns, dialect=dialect, texts=texts)
            if codes is not None:
                return whole(codes)
        codes, wrong = _read_columns(rows, header, columns, texts)
    refuse(name, _with_hint(problems + wrong, path, dialect))
    return whole(codes)


@contextlib.contextmanager
def _opened(table: CsvFile, names: Collection[str]) -> Iterator[tuple[_Header, Iterator[list[str]]]]:
    """Open a CSV file: the names in its header, and the rows after it.

    A field of the header is the column of exactly that name, if there is one, otherwise of the name without white
    space around it. Columns that folders name are the last, where they are among the names and not in the file.
    """
    path, dialect = table.name, table.dialect
    check_no_pipe(path)
    with open_text(path, dialect.encoding) as file:
        start = cast("BufferedReader", file.buffer).peek(START)
        rows = csv_rows(path, file, dialect)
        exact = set(names)
        header = _Header(field if field in exact else field.strip() for field in next(rows, []))
        is_marked = start.startswith(codecs.BOM_UTF8) and check_encoding(dialect.encoding) == "utf-8"
        header.encoding = "utf-8-sig" if is_marked else dialect.encoding
        header.has_separator = start.removeprefix(codecs.BOM_UTF8).startswith(b"sep=")
        text = start.decode(dialect.encoding, "replace")
        header.crlf = re.split(r"(\r\n|\r|\n)", text, maxsplit=1)[1:2] == ["\r\n"]  # of the line of names alone
        header.hint = separator_hint(header, dialect.delimiter) or it_looks_like(text, TABLE)
        more = {name: value for name, value in table.values.items() if name in exact and name not in header}
        if header and more:
            header += more
            header.has_values = True
            rows = ([*row, *more.values()] for row in filter(None, rows))
        yield header, rows


class _Header(list[str]):
    """Header names, the hint for a header that matches no column, and the file's encoding and line ends."""

    crlf = False
    hint = ""
    encoding = "utf-8"
    has_separator = False  # in a line before the header
    has_values = False  # the last names are of folders


def _read_columns(
    rows: Iterator[list[str]],
    header: Sequence[str],
    columns: Mapping[str, Readable],
    texts: dict[str, list[str]],
) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """Return the codes of each column, and all that is wrong with the records; append the texts of some columns."""
    problems: list[str] = []
    if not set(columns).intersection(header):
        return {}, problems
    places = {name: place for place, name in reversed([*enumerate(header)])}  # the first of each name
    alike = {id(column): column.encoder() for column in columns.values()}  # equal texts are looked up once
    encoders = {name: alike[id(column)] for name, column in columns.items() if name in places}
    all_codes = Growing(columns)
    pools: dict[str, dict[str, str]] = {name: {} for name in texts}  # equal texts are one object
    first_row = 1
    for chunk, problem in csv_chunks(rows, len(header), _CHUNK):
        fields = list(zip(*chunk, strict=True))
        for name, encode in list(encoders.items()) if chunk else ():
            given = fields[places[name]]
            codes, wrong = encode(given)
            all_codes.append(name, codes)
            if name in texts:
                texts[name].extend(map(pools[name].setdefault, given, given))
            if wrong is not None:
                problems.append(wrong.of(name, first_row, "the header is row 0"))
                del encoders[name]
        first_row += len(chunk)
        if problem:
            problems.append(problem)
            break
    return all_codes.whole(), problems


def _header_problems(
    header: _Header, columns: Mapping[str, Readable], drop: Sequence[str], ignore_extra: bool
) -> list[str]:
    """Return the problems of a header; without one the first line is a record, and its content is never shown."""
    if not any(header) and not set(header).intersection(columns):
        return ["is empty, or begins with a blank line; it needs a header line with the names of the columns"]
    if not {name.casefold() for name in columns}.intersection(name.casefold() for name in header):
        names = listed([repr(name) for name in columns])
        needed = "needs a header line that names the columns; the first line names none of them"
        return [f"lacks a column for {names}: {needed}{header.hint}"]
    return name_problems(columns, header, drop=drop, ignore_extra=ignore_extra)
