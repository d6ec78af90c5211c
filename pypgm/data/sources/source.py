"""Tables of any kind before a schema declares them: the one definition of a table."""

from __future__ import annotations

import contextlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from pypgm._base.numeric import is_masked
from pypgm.data.columns.column import taken
from pypgm.data.columns.values import Values, as_list, is_plain, value_text
from pypgm.data.dataset import Dataset, check_lengths
from pypgm.data.sources.dialect import COMMAS, MARKS, Dialect
from pypgm.data.sources.duckdb_file import check_table, duckdb_table, is_database, not_null, quoted
from pypgm.data.sources.encoding import problems_error
from pypgm.data.sources.files import check_no_pipe, csv_chunks, csv_rows, open_text, separator_hint
from pypgm.data.sources.foreign import guarded, guarded_pieces
from pypgm.data.sources.frames import Frame, as_columns, collected, imported
from pypgm.data.sources.header_lines import lines_hint
from pypgm.data.sources.json_lines import is_json, json_names, json_pieces
from pypgm.data.sources.layout import Layout, layout_of
from pypgm.data.sources.parquet import batches, is_parquet, raw_columns, rows_in, types_in
from pypgm.data.sources.paths import is_several, places_of
from pypgm.data.sources.remote import is_remote
from pypgm.data.sources.type_values import values_in_arrow, values_of_types
from pypgm.data.sources.versions import footer_digest, size_and_time
from pypgm.data.sources.workbook import is_workbook, sheet_rows
from pypgm.domain import Label, first_repeat, listed

_ROWS = 8192  # of a piece
_UNPACKED = 10  # times the size of a file in gzip
_PLAIN = re.compile(r"u?int\d+|bool")  # types of NumPy, and of pandas, that have no missing value


class Source(ABC):
    """A table of any kind that no schema declares; its types are public, and no record is read but by its methods.

    Attributes
    ----------
    name : str
        Name of the table in errors.
    dialect : Dialect
        The dialect it was opened with, in which numbers may be written in any table of texts.
    has_header : bool
        True if the names are a line of a file.
    has_public_names : bool
        True unless names come from the records, as those of objects in JSON do.
    has_rows : bool
        True if single records can be read; an engine's table gives only counts.
    is_ordered : bool
        True if its records come in the same order each time, as those of a file that is not written again.
    """

    name: str = "the table"
    has_header = False
    has_public_names = True
    has_rows = True
    is_ordered = False

    def __init__(self, dialect: Dialect = COMMAS) -> None:
        self.dialect = dialect

    @property
    def path(self) -> str:
        """Absolute path of its file; empty for a table that is in none."""
        return ""

    @property
    def places(self) -> tuple[str, ...]:
        """Absolute paths of its files, and the folder or pattern that they were found by."""
        return (self.path,) if self.path else ()

    @property
    def version(self) -> object:
        """Sizes, times and footers of its files, which differ once a file was written again; None without files."""
        return None

    @property
    def most_rows(self) -> int:
        """The number of records, or a bound of it, found without reading any; 0 if unknown."""
        return 0

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """Names and types of the columns; a CSV file has no types."""

    @property
    def categories(self) -> Mapping[str, Sequence[Label]]:
        """Values of the columns whose type has a definition that lists them."""
        return {}

    @property
    def complete(self) -> frozenset[str]:
        """Columns whose type lets no value be missing."""
        return frozenset()

    @abstractmethod
    def pieces(self, names: Sequence[str] | None = None, rows: int = _ROWS) -> Iterator[Frame]:
        """Yield about `rows` records at a time of some columns, or of all: each piece a mapping or a frame."""

    def columns(self, names: Sequence[str]) -> dict[str, Values]:
        """Return the raw values of some columns."""
        parts = [as_columns(piece) for piece in self.pieces(names)]
        return {name: joined([part[name] for part in parts]) for name in names}

    @property
    def lines_hint(self) -> str:
        """Hint at lines that look like no records; only files of text have such."""
        return ""

    def check_dialect(self) -> None:
        """Raise ``ValueError`` if the table has a dialect and is not a CSV file."""
        if self.dialect != COMMAS and not self.has_header:
            raise ValueError(f"only a CSV file has a dialect ({', '.join(MARKS)})")


class _File(Source):
    """A table in a file, and columns of one value each that folders around it name."""

    is_ordered = True

    def __init__(
        self, path: str | os.PathLike[str], dialect: Dialect = COMMAS, values: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(dialect)
        self.name = os.fspath(path)
        self.values = values or {}

    def with_values(self, columns: Mapping[str, Values], n_rows: int) -> Mapping[str, Values]:
        """Return columns of some records, and those that folders name; a column of the file comes first."""
        more = {name: [value] * n_rows for name, value in self.values.items()}
        return {**columns, **{name: texts for name, texts in more.items() if name not in columns}} if more else columns

    @property
    def most_rows(self) -> int:
        """The number of records in a file of this size, if each value takes two bytes."""
        size = size_and_time(self.name)[0] * (_UNPACKED if self.name.endswith(".gz") else 1)
        n_columns = 1
        with contextlib.suppress(ValueError):  # what is wrong with the names, whoever reads them says
            n_columns = max(1, len(self.layout.types))
        return size // (2 * n_columns)

    @property
    def path(self) -> str:
        """Absolute path of the file."""
        return self.name if is_remote(self.name) else os.path.abspath(self.name)

    @property
    def version(self) -> object:
        """Size and time of the file."""
        return size_and_time(self.name)


class CsvFile(_File):
    """A CSV file with a header."""

    has_header = True

    @property
    def lines_hint(self) -> str:
        """Hint at lines that look like no records, with the option for it; "" if there are none."""
        return lines_hint(self.name, self.dialect)

    @cached_property
    def layout(self) -> Layout:
        """Names of the columns; ``ValueError`` where the first line is no header."""
        self.dialect.check()
        with open_text(self.name, self.dialect.encoding) as file:
            header = [name.strip() for name in next(csv_rows(self.name, file, self.dialect), [])]
        try:
            _check_header(self.name, header, self.dialect.delimiter)
        except ValueError as error:
            raise ValueError("; ".join(filter(None, [str(error), self.lines_hint]))) from None
        return Layout(types=dict.fromkeys([*header, *self.values], ""), dialect=self.dialect.written)

    def pieces(self, names: Sequence[str] | None = None, rows: int = _ROWS) -> Iterator[Mapping[str, Values]]:
        """Yield the texts of about `rows` records at a time."""
        self.layout  # noqa: B018 - checks the header
        with open_text(self.name, self.dialect.encoding) as file:
            lines = csv_rows(self.name, file, self.dialect)
            header = [name.strip() for name in next(lines)]
            for chunk, problem in csv_chunks(lines, len(header), rows):
                if problem:
                    raise problems_error(self.name, [problem, *filter(None, [self.lines_hint])])
                fields = dict(zip(header, map(list, zip(*chunk, strict=True)), strict=True))
                columns = self.with_values(fields, len(chunk))
                yield columns if names is None else {name: columns[name] for name in names}


class JsonFile(_File):
    """Records in JSON, whose names are those that any of them has."""

    has_public_names = False

    @cached_property
    def layout(self) -> Layout:
        """Names of the columns."""
        if not (names := json_names(self.name)):
            raise ValueError(f"{self.name} has no records")
        return Layout(types=dict.fromkeys([*names, *self.values], ""))

    def pieces(self, names: Sequence[str] | None = None, rows: int = _ROWS) -> Iterator[Mapping[str, Values]]:
        """Yield the values of about `rows` records at a time."""
        held = list(self.layout.types)
        read = [name for name in held if name not in self.values] or held[:1]
        for piece in json_pieces(self.name, read, rows):
            columns = self.with_values(piece, len(piece[read[0]]))
            yield {name: columns[name] for name in (held if names is None else names)}


class Workbook(_File):
    """A sheet of a workbook, with the names of the columns in its first row."""

    has_header = True
    sheet: str | None = None

    @cached_property
    def _rows(self) -> tuple[list[str], list[list[Any]]]:
        self.dialect.check()
        header, *rows = sheet_rows(self.name, self.sheet, self.dialect)
        _check_header(self.name, header, self.dialect.delimiter)
        return header, rows

    @property
    def layout(self) -> Layout:
        """Names of the columns."""
        return Layout(types=dict.fromkeys(self._rows[0], ""))

    def pieces(self, names: Sequence[str] | None = None, rows: int = _ROWS) -> Iterator[Mapping[str, Values]]:
        """Yield the values of about `rows` records at a time."""
        header, records = self._rows
        wanted = header if names is None else names
        places = [header.index(name) for name in wanted]
        for start in range(0, len(records), rows):
            some = records[start : start + rows]
            yield {name: [row[place] for row in some] for name, place in zip(wanted, places, strict=True)}

    def check_dialect(self) -> None:
        """Raise ``ValueError`` for marks of texts, which a workbook has not."""
        if self.dialect._replace(skip=0, header_lines=1) != COMMAS:
            raise ValueError(f"a workbook has no marks but skip and header_lines, and {self.name} is one")


class _TypedByArrow(Source):
    """A table whose columns have types of Arrow."""

    @property
    @abstractmethod
    def arrow(self) -> Any:  # noqa: ANN401 - of a package that may be missing
        """The Arrow schema."""

    @property
    def layout(self) -> Layout:
        """Names and types of the columns."""
        return Layout.of_arrow(self.arrow)

    @property
    def categories(self) -> Mapping[str, Sequence[Label]]:
        """Values of the columns that polars notes to be enumerations."""
        return values_in_arrow(self.arrow)

    @property
    def complete(self) -> frozenset[str]:
        """Columns that are not nullable."""
        return _not_nullable(self.arrow)


class ParquetFile(_File, _TypedByArrow):
    """A Parquet file."""

    @cached_property
    def arrow(self) -> Any:  # noqa: ANN401 - of a package that may be missing
        """The Arrow schema; ``ValueError`` where two columns have one name."""
        types = types_in(self.name)
        _check_names(self.name, types.names)
        text = imported("pyarrow", "Parquet", "parquet").string()
        for name in self.values:
            types = types if name in types.names else types.append(types.field(0).with_name(name).with_type(text))
        return types

    @property
    def most_rows(self) -> int:
        """The number of records in the footer."""
        return rows_in(self.name)

    def pieces(self, names: Sequence[str] | None = None, rows: int = _ROWS) -> Iterator[Frame]:
        """Yield about `rows` records at a time."""
        if not self.values:
            yield from batches(self.name, self.arrow.names if names is None else names, rows)
            return
        wanted, held = list(self.arrow.names if names is None else names), types_in(self.name).names
        read = [name for name in wanted if name in held]
        for piece in batches(self.name, read or held[:1], rows):
            columns = self.with_values(as_columns(piece), piece.num_rows)
            yield {name: columns[name] for name in wanted}

    @property
    def version(self) -> object:
        """Size and time of the file, and a digest of its footer."""
        return super().version, footer_digest(self.name)

    def columns(self, names: Sequence[str]) -> dict[str, Values]:
        """Return the raw values of some columns."""
        return super().columns(names) if self.values else as_columns(raw_columns(self.name, names)[0])


class Relation(_TypedByArrow):
    """A relation of an open connection of DuckDB."""

    def __init__(self, relation: Any, dialect: Dialect = COMMAS, name: str = "the table") -> None:  # noqa: ANN401
        super().__init__(dialect)
        duckdb = imported("duckdb", "a table in DuckDB", "duckdb")
        imported("pyarrow", "a table in DuckDB", "duckdb")
        if not isinstance(relation, duckdb.DuckDBPyRelation):
            raise TypeError(f"a table in DuckDB needs a relation, got {type(relation).__name__}")
        self.relation, self.name = relation, name

    @cached_property
    def arrow(self) -> Any:  # noqa: ANN401 - of a package that may be missing
        """The Arrow schema."""
        return guarded("reading the relation", lambda: self.relation.limit(0).to_arrow_table().schema)

    @property
    def complete(self) -> frozenset[str]:
        """Columns of a table that are declared NOT NULL."""
        return not_null(self.relation)

    def pieces(self, names: Sequence[str] | None = None, rows: int = _ROWS) -> Iterator[Frame]:
        """Yield about `rows` records at a time."""
        label = self.name if names is None else "the relation"
        yield from guarded_pieces(f"reading {label}", lambda: self._selected(names).to_arrow_reader(rows))

    def _selected(self, names: Sequence[str] | None) -> Any:  # noqa: ANN401 - of a package that may be missing
        return self.relation if names is None else self.relation.select(*map(quoted, names))


class DatabaseTable(_File, _TypedByArrow):
    """A table of a DuckDB file, which is open only while it is read."""

    is_ordered = False

    def __init__(self, path: str | os.PathLike[str], table: str | None, dialect: Dialect = COMMAS) -> None:
        super().__init__(path, dialect)
        self.table = table

    @cached_property
    def _types(self) -> tuple[Any, frozenset[str]]:
        with duckdb_table(self.name, self.table) as relation:
            source = Relation(relation)
            return source.arrow, source.complete

    @property
    def arrow(self) -> Any:  # noqa: ANN401 - of a package that may be missing
        """The Arrow schema."""
        return self._types[0]

    @property
    def version(self) -> object:
        """Size and time of the file, and of the log of changes that are not in it yet."""
        log = f"{self.name}.wal"
        return super().version, os.path.exists(log) and size_and_time(log)

    @property
    def complete(self) -> frozenset[str]:
        """Columns that are declared NOT NULL."""
        return self._types[1]

    def pieces(self, names: Sequence[str] | None = None, rows: int = _ROWS) -> Iterator[Frame]:
        """Yield about `rows` records at a time."""
        with duckdb_table(self.name, self.table) as relation:
            yield from Relation(relation, name=self.name).pieces(names, rows)


class EngineQuery(_TypedByArrow):
    """A table or query of an engine that Ibis speaks to."""

    has_rows = False

    def __init__(self, table: Any, dialect: Dialect = COMMAS) -> None:  # noqa: ANN401
        super().__init__(dialect)
        self.table = table

    @cached_property
    def arrow(self) -> Any:  # noqa: ANN401 - of a package that may be missing
        """The Arrow schema."""
        return guarded("asking the engine for its types", lambda: self.table.schema().to_pyarrow())

    def pieces(self, names: Sequence[str] | None = None, rows: int = _ROWS) -> Iterator[Frame]:
        """Yield about `rows` records at a time."""
        table = self.table if names is None else self.table.select(*names)
        yield from guarded_pieces(f"reading {self.name}", lambda: table.to_pyarrow_batches(chunk_size=rows))


class FrameTable(Source):
    """A data frame of any library, or a mapping of columns; any other object is refused when its types are read."""

    def __init__(self, frame: Frame, dialect: Dialect = COMMAS) -> None:
        super().__init__(dialect)
        self.frame = frame

    @cached_property
    def layout(self) -> Layout:
        """Names and types of the columns."""
        return layout_of(self.frame)

    @property
    def categories(self) -> Mapping[str, Sequence[Label]]:
        """Values of the columns of an enumeration of polars."""
        return values_of_types(self.frame)

    @property
    def complete(self) -> frozenset[str]:
        """Columns whose type lets no value be missing."""
        if type(self.frame).__module__.partition(".")[0] == "pyarrow":
            return _not_nullable(self.frame.schema)
        columns = self.frame.items() if isinstance(self.frame, Mapping) else ()
        masked = {name for name, values in columns if is_masked(values)}
        types = self.layout.types if self.layout.library == "pandas" else {}
        return frozenset(name for name, kind in types.items() if _PLAIN.fullmatch(kind)) - masked

    def pieces(self, names: Sequence[str] | None = None, rows: int = _ROWS) -> Iterator[Mapping[str, Values]]:
        """Yield about `rows` records at a time."""
        columns = as_columns(collected(self.frame))
        check_lengths(columns)
        n_rows = max(map(len, columns.values()), default=0)
        for start in range(0, n_rows, rows):
            yield {name: columns[name][start : start + rows] for name in names or columns}


class LazyFrame(FrameTable):
    """A lazy frame of polars or dask, which is computed in pieces each time that it is read."""

    @property
    def _is_dask(self) -> bool:
        return hasattr(self.frame, "partitions")

    @cached_property
    def _example(self) -> FrameTable:
        """A frame of the same columns without records."""
        empty = (lambda: self.frame._meta) if self._is_dask else self.frame.collect_schema().to_frame
        return FrameTable(guarded("reading the types of the frame", empty))

    @property
    def layout(self) -> Layout:
        """Names and types of the columns."""
        return self._example.layout

    @property
    def categories(self) -> Mapping[str, Sequence[Label]]:
        """Values of the columns of an enumeration of polars."""
        return self._example.categories

    @property
    def complete(self) -> frozenset[str]:
        """Columns whose type lets no value be missing."""
        return self._example.complete

    def pieces(self, names: Sequence[str] | None = None, rows: int = _ROWS) -> Iterator[Mapping[str, Values]]:
        """Yield about `rows` records at a time, of dask a partition."""
        wanted = list(self.layout.types if names is None else names)
        yield from map(as_columns, guarded_pieces("collecting the frame", lambda: self._parts(wanted, rows)))

    def _parts(self, names: list[str], rows: int) -> Iterator[Any]:
        if self._is_dask:
            return (part[names].compute() for part in self.frame.partitions)
        pieces: Iterator[Any] = self.frame.select(names).collect_batches(chunk_size=rows, maintain_order=True)
        return pieces


class EncodedRecords(FrameTable):
    """Records that are encoded already: they have no types."""

    frame: Dataset


class CountedRecords(Source):
    """A table that is counted in place by a schema of its own, as `pypgm.data.scan` gives it."""

    def __init__(self, table: Any, dialect: Dialect = COMMAS) -> None:  # noqa: ANN401 - of a class that imports this one
        super().__init__(dialect)
        self.table = table
        self.has_rows = hasattr(table, "codes_of")

    @property
    def source(self) -> Source:
        """The table before it was counted; ``TypeError`` if only its counts can be read."""
        given: Source | None = getattr(self.table, "source", None)
        if given is None:
            raise TypeError(f"{type(self.table).__name__} gives counts alone: pass the table that it counts")
        return given

    @property
    def layout(self) -> Layout:
        """Names and types of the columns."""
        return self.source.layout

    def pieces(self, names: Sequence[str] | None = None, rows: int = _ROWS) -> Iterator[Frame]:
        """Yield about `rows` records at a time."""
        return self.source.pieces(names, rows)


class ArrowDataset(_TypedByArrow):
    """A dataset of pyarrow: files that it reads in pieces, with columns that folders name."""

    def __init__(self, dataset: Any, dialect: Dialect = COMMAS) -> None:  # noqa: ANN401
        super().__init__(dialect)
        self.dataset = dataset

    @cached_property
    def arrow(self) -> Any:  # noqa: ANN401 - of a package that may be missing
        """The Arrow schema; ``ValueError`` where two columns have one name."""
        _check_names("the dataset", self.dataset.schema.names)
        return self.dataset.schema

    def pieces(self, names: Sequence[str] | None = None, rows: int = _ROWS) -> Iterator[Frame]:
        """Yield about `rows` records at a time."""
        wanted = self.arrow.names if names is None else list(names)
        read = partial(self.dataset.to_batches, columns=wanted, batch_size=rows, use_threads=False)
        yield from guarded_pieces("reading the dataset", read)

    @property
    def places(self) -> tuple[str, ...]:
        """Paths of its files."""
        return tuple(map(os.path.abspath, getattr(self.dataset, "files", ())))

    @property
    def version(self) -> object:
        """Sizes and times of its files; None if it has none, as one in memory."""
        if not (files := getattr(self.dataset, "files", None)):
            return None
        infos = guarded("looking at the dataset", lambda: self.dataset.filesystem.get_file_info(files))
        return [(info.size, info.mtime_ns) for info in infos]


SEVERAL = "the files"
"""Name of files that are listed one by one."""


class FileList(Source):
    """Files that make up one table, all of one kind and with the same columns."""

    is_ordered = True

    def __init__(self, name: str, files: Sequence[_File]) -> None:
        super().__init__(files[0].dialect)
        if len(set(map(type, files))) != 1:
            raise ValueError("a table needs files of one kind: all Parquet, all CSV, or all JSON")
        self.name, self.files, self.has_header = name, files, files[0].has_header

    @property
    def places(self) -> tuple[str, ...]:
        """Paths of all files, and of the folder or pattern."""
        found_by = () if self.name == SEVERAL else (os.path.abspath(self.name),)
        return (*found_by, *(file.path for file in self.files))

    @cached_property
    def layout(self) -> Layout:
        """Names and types of the columns, in the order of the first file; ``ValueError`` if another has others."""
        first = self.files[0].layout
        for file in self.files[1:]:
            names = file.layout.types
            if lacking := [repr(name) for name in first.types if name not in names]:
                raise ValueError(f"files of one table have the same columns: {file.name} lacks {listed(lacking)}")
            if extra := [repr(name) for name in names if name not in first.types]:
                has = f"{file.name} has {listed(extra)}, {self.files[0].name} has not"
                raise ValueError(f"files of one table have the same columns: {has}")
        return first

    @property
    def categories(self) -> Mapping[str, Sequence[Label]]:
        """Values of the columns whose type lists the same ones in each file."""
        first, *others = [file.categories for file in self.files]
        return {name: values for name, values in first.items() if all(o.get(name) == values for o in others)}

    @property
    def complete(self) -> frozenset[str]:
        """Columns whose type lets no value be missing in any file."""
        return frozenset.intersection(*(file.complete for file in self.files))

    @property
    def most_rows(self) -> int:
        """The number of records of all files, or a bound of it."""
        return sum(file.most_rows for file in self.files)

    @property
    def lines_hint(self) -> str:
        """Hint at lines of the first file that look like no records."""
        return self.files[0].lines_hint

    def pieces(self, names: Sequence[str] | None = None, rows: int = _ROWS) -> Iterator[Frame]:
        """Yield about `rows` records at a time, file by file."""
        wanted = list(self.layout.types) if names is None else names
        for file in self.files:
            yield from file.pieces(wanted, rows)


def open_source(source: Frame, table: str | None = None, dialect: Dialect = COMMAS) -> Source:
    """Return a table of any kind as a source; no record is read.

    Parameters
    ----------
    source : data frame, mapping of str to sequence, path, paths, DuckDB relation, ibis.Table, Dataset or scan
        A path is one of a CSV, Parquet, JSON or DuckDB file or of a workbook, by its name; or of a folder, or a pattern
        with ``*``.
    table : str, optional
        Table of a DuckDB file, or sheet of a workbook with several.
    dialect : Dialect
        Dialect of a CSV file.

    Raises
    ------
    ValueError
        If a table is named of anything but a DuckDB file, or of none of it, or the file is a pipe.

    Examples
    --------
    >>> list(open_source({"age": [31, 7]}).pieces())
    [{'age': [31, 7]}]
    """
    check_table(source, table)
    if isinstance(source, str | os.PathLike) and is_database(source):
        check_no_pipe(source)
        return DatabaseTable(source, table, dialect)
    if isinstance(source, str | os.PathLike) or is_several(source):
        file = open_file(source, dialect)
        if isinstance(file, Workbook):
            file.sheet = table
        return file
    if isinstance(source, list | tuple) and (not source or any(isinstance(p, str | os.PathLike) for p in source)):
        kinds = ", ".join(sorted({type(p).__name__ for p in source if not isinstance(p, str | os.PathLike)}))
        raise TypeError(f"a list of files needs one path or more, and nothing else, got {kinds or 'an empty list'}")
    kind: type[Relation | EngineQuery | ArrowDataset | CountedRecords | FrameTable] = FrameTable
    package = type(source).__module__.partition(".")[0]
    if package in {"duckdb", "_duckdb"}:
        kind = Relation
    elif package == "ibis":
        kind = EngineQuery
    elif type(source).__module__ == "pyarrow._dataset" and hasattr(source, "to_batches"):
        kind = ArrowDataset
    elif package in {"dask", "polars"} and (hasattr(source, "partitions") or hasattr(source, "collect_batches")):
        kind = LazyFrame
    elif hasattr(type(source), "n_records"):
        kind = EncodedRecords if isinstance(source, Dataset) else CountedRecords
    return kind(source, dialect)


def open_file(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], dialect: Dialect = COMMAS
) -> CsvFile | ParquetFile | JsonFile | Workbook | FileList:
    """Return the table in a file, or in all files of a folder, a pattern or a list; ``ValueError`` if one is a pipe."""
    if not is_several(path):
        return _file(cast("str | os.PathLike[str]", path), dialect)
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else SEVERAL
    return FileList(name, [_file(place.path, dialect, place.values) for place in places_of(path)])


def _file(
    path: str | os.PathLike[str], dialect: Dialect, values: Mapping[str, str] | None = None
) -> CsvFile | ParquetFile | JsonFile | Workbook:
    """Return the table in a file, of the kind that its name says."""
    check_no_pipe(path)
    kinds = ((is_parquet, ParquetFile), (is_json, JsonFile), (is_workbook, Workbook))
    return next((kind for is_one, kind in kinds if is_one(path)), CsvFile)(path, dialect, values)


def joined(parts: Sequence[Values]) -> Values:
    """Return the values of one column in several pieces; numbers of two types stay as they are."""
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if arrays and len(arrays) == len(parts) and len({array.dtype for array in arrays}) == 1:
        return np.concatenate(arrays)
    return [value for part in parts for value in as_list(part)]


def value_texts(table: str, name: str, values: Values) -> list[str]:
    """Return values as the texts that a file would have."""
    if is_plain(values, "iub"):  # whose different values are few, or quickly found
        distinct, rows = np.unique(values, return_inverse=True)
        of_rows: list[str] = taken([value_text(value) or "" for value in distinct.tolist()], rows).tolist()
        return of_rows
    given = as_list(values)
    if set(map(type, given)) <= {str}:
        return [value.strip() for value in given]
    texts = [value_text(value) for value in given]
    if None in texts:
        raise ValueError(f"{table}: column {name!r} has bytes that are no text in UTF-8")
    return [text or "" for text in texts]


def _not_nullable(types: Any) -> frozenset[str]:  # noqa: ANN401 - of a package that may be missing
    """Return the columns of an Arrow schema that are declared to have no missing value."""
    return frozenset(entry.name for entry in types if not entry.nullable)


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
    """Raise ``ValueError`` unless the names of columns differ."""
    needed = f"{name} needs a header line with a name for each column, each once"
    if names.count("") > 1:
        places = [str(i + 1) for i, label in enumerate(names) if not label]
        raise ValueError(f"{needed}: columns {' and '.join(places[:2])} have none")
    if len(set(names)) != len(names):
        raise ValueError(f"{needed}: {first_repeat(names)!r} comes more than once")
