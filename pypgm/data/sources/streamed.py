"""Tables larger than memory: read in pieces, each counted as it comes."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from pypgm._base.signatures import with_options
from pypgm.data import tabulate
from pypgm.data.columns.values import WHITE_SPACE
from pypgm.data.schema.person import Person, Selection, blake2b
from pypgm.data.schema.schema import OpenSchema, Schema, SchemaLike, as_any_schema, as_schema
from pypgm.data.sources.counted import CHANGED, InPlaceTable
from pypgm.data.sources.dialect import DIALECT_DEFAULTS, Dialect, DialectOptions
from pypgm.data.sources.duckdb_file import quoted
from pypgm.data.sources.encoding import encoded_pieces, name_problems, refuse
from pypgm.data.sources.foreign import guarded
from pypgm.data.sources.frames import Frame
from pypgm.data.sources.kept_codes import KeptCodes
from pypgm.data.sources.parquet_records import check_columns
from pypgm.data.sources.source import (
    CountedRecords,
    CsvFile,
    EncodedRecords,
    EngineQuery,
    FileList,
    Relation,
    Source,
    open_source,
)
from pypgm.data.sources.table import csv_names, csv_pieces
from pypgm.domain import Clique
from pypgm.errors import SourceError

if TYPE_CHECKING:
    from typing_extensions import Unpack

_ROWS = 1 << 20  # of a piece; more where the tables that are counted have more cells together
_RELATION = "reading the relation"

Pieces: TypeAlias = Callable[[Sequence[str], int], Iterable[Frame]]


class StreamedTable(InPlaceTable):
    """Records that are read in pieces and counted for `pypgm.PrivateTable` and the mechanisms, without keeping any.

    Each count is one pass over the columns it needs, and none if all counts are known already. All records are read
    once beforehand, and refused if they do not fit: a mechanism meets no error that depends on them.

    Parameters
    ----------
    pieces : callable
        ``pieces(names, rows)`` gives about `rows` rows at a time of the columns of these names, each piece a mapping
        or a data frame; the same at every call.
    names : sequence of str
        Names of the columns.
    schema : Schema, Domain, mapping or path
        Declarations of the columns.
    ignore_extra : bool
        Leave out columns that are not in the schema, instead of refusing them.

    Raises
    ------
    ValueError
        If anything is wrong; the message lists column and row of every fault, never a value.

    Examples
    --------
    >>> from pypgm import Domain
    >>> def pieces(names, rows):
    ...     yield {"sex": ["F", "M"], "age": [3, 4]}
    ...     yield {"sex": ["F"], "age": [4]}
    >>> table = StreamedTable(pieces, ["sex", "age"], Domain({"age": 5, "sex": ["F", "M"]}))
    >>> table
    StreamedTable(3 records; age: 5, sex: 2)
    >>> table.count([("sex",), ("sex", "age")])
    [array([2, 1]), array([0, 0, 0, 1, 1, 0, 0, 0, 0, 1])]
    """

    source: Source | None = None  # of a scan
    open_schema: OpenSchema | None = None  # of a scan: until its columns are settled, the schema is a provisional one
    versions: Sequence[object] = ()  # of the files of a scan, when it was opened

    def __init__(self, pieces: Pieces, names: Sequence[str], schema: SchemaLike, *, ignore_extra: bool = False) -> None:
        super().__init__(as_schema(schema))
        self._pieces = pieces
        self._chosen: tuple[NDArray[np.bool_], bytes] | None = None  # which records, and a digest of all persons' keys
        problems = name_problems(self.schema.reading, names, drop=self.schema.unread, ignore_extra=ignore_extra)
        refuse("the table", problems)
        self._open()
        self.schema.check_rules(self)

    def _open(self) -> None:
        """Read all records, refuse those that do not fit, and count what is counted best in this pass."""
        attributes = self.domain.attributes
        cliques = [] if self.schema.person else self._at_opening()
        tables = self._empty(cliques, 0)
        self._n_records = 0
        for codes in self._read((*self.schema.key_columns, *attributes), _ROWS, "the table"):
            self._n_records += len(codes[attributes[0]])
            self._add(codes, cliques, tables, 0)
        self._keep_all(cliques, tables)

    def again(self, schema: Schema) -> StreamedTable:
        """Return the table of a scan by another schema, such as that in which its open columns are settled."""
        raise ValueError(f"{type(self).__name__} is read by no other schema than its own: {schema.domain!r}")

    def kept(self, secret: bytes) -> StreamedTable:
        """Return the records that are kept of each person, chosen in one pass over all columns.

        Each later pass reads the columns of persons too, and refuses a table in which another record is in the place
        of one that was kept.
        """
        if (person := self.schema.person) is None:
            raise ValueError("the schema names no person")
        digest = blake2b()
        with Selection(person.at_most) as selection:
            for codes in self._read((*person.columns, *self.domain.attributes), _ROWS, CHANGED):
                keys = person.keys(codes)
                digest.update(keys.tobytes())
                selection.add(keys, (codes[name] for name in self.domain))
            is_kept = selection.kept(secret)
        part = self._part(int(is_kept.sum()))
        part._chosen = is_kept, digest.digest()
        return part

    def _scan(self, cliques: Sequence[Clique], tables: Sequence[NDArray[np.int64]], n_threads: int) -> None:
        needed = self.domain.canonical({a for clique in cliques for a in clique}) or self.domain.attributes[:1]
        rows = max(_ROWS, sum(table.size for table in tables))
        for codes in self._codes(needed, rows, CHANGED):
            self._add(codes, cliques, tables, n_threads)

    def _add(
        self,
        codes: dict[str, NDArray[Any]],
        cliques: Sequence[Clique],
        tables: Sequence[NDArray[np.int64]],
        n_threads: int,
    ) -> None:
        """Add the records of a piece to the tables of some cliques."""
        for i, more in enumerate(tabulate.count(codes, self.domain, cliques, n_threads)):
            np.add(tables[i], more, out=tables[i])

    def codes_of(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        """Return the codes of some columns, piece by piece, in the order of the records."""
        return self._codes(names, _ROWS, CHANGED)

    def _codes(self, names: Sequence[str], rows: int, what: str) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield the codes of some columns for the kept records; `SourceError` unless they are as many as before."""
        n_seen = 0
        for codes in self._codes_now(names, rows, what):
            lengths = set(map(len, codes.values()))
            if len(lengths) != 1:
                raise SourceError(what)
            n_seen += lengths.pop()
            yield codes
        if n_seen != self.n_records:
            raise SourceError(what)

    def _codes_now(self, names: Sequence[str], rows: int, what: str) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield the codes of some columns for the kept records, however many there are now."""
        if self._chosen is None or self.schema.person is None:
            yield from self._read(names, rows, what)
            return
        is_kept, expected = self._chosen
        digest, first = blake2b(), 0
        for codes in self._read((*self.schema.key_columns, *names), rows, what):
            keys = self.schema.person.keys(codes)
            digest.update(keys.tobytes())
            here = is_kept[first : first + len(keys)]
            first += len(keys)
            if len(here) != len(keys):
                raise SourceError(what)
            yield {name: codes[name][here] for name in names}
        if digest.digest() != expected:
            raise SourceError(what)

    def _read(self, names: Sequence[str], rows: int, what: str) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield the codes of some columns, about `rows` rows at a time: small files are put together."""
        held: list[dict[str, NDArray[Any]]] = []
        n_held, first = 0, 0
        with closing(self._encoded(self.schema.needed(names), rows, what)) as pieces:
            for read in pieces:
                whole = self.schema.combined(read, what, first)
                codes = {name: whole[name] for name in names}
                first += len(codes[names[0]])
                held.append(codes)
                n_held += len(codes[names[0]])
                if n_held >= rows // 2:
                    yield _joined(held)
                    held, n_held = [], 0
        if held:
            yield _joined(held)

    def _encoded(self, names: Sequence[str], rows: int, what: str) -> Generator[dict[str, NDArray[Any]]]:
        """Yield the codes of some columns of the table, as it is read."""
        reading, pieces = self.schema.reading, self._pieces(names, rows)
        try:
            yield from encoded_pieces({name: reading[name] for name in names}, pieces, what)
        finally:  # what a traceback keeps of an unread table holds no file open
            if isinstance(pieces, Generator):
                pieces.close()


def _joined(pieces: Sequence[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    if len(pieces) == 1:
        return pieces[0]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


@with_options(DialectOptions, DIALECT_DEFAULTS)
def scan(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | object,
    schema: SchemaLike,
    *,
    table: str | None = None,
    ignore_extra: bool = False,
    **dialect: Unpack[DialectOptions],
) -> StreamedTable:
    """Return a table that is counted in place, in files or in an embedded database, however large.

    Parameters
    ----------
    source : path, sequence of paths, DuckDB relation, pyarrow dataset or data frame, lazy or not
        Parquet files, each read by its own types, or CSV files with a header, plain or compressed with gzip, read as
        `read_table` does; a ``*`` in a path stands for all that fit, and a folder for all below it. Folders as
        ``month=01`` give columns of text to the files in them. Or any relation of an open connection:
        ``connection.sql("select … from …")``, whose types are declared: DuckDB guesses types of files from the
        records, unless `all_varchar` or `types` says otherwise.
    schema : Schema, Domain, mapping or path
        Declarations of its columns. Open columns are settled by `pypgm.synthesize` or a mechanism, which reads the
        table in pieces for it.
    table : str, optional
        Table of a DuckDB file.
    ignore_extra, **dialect
        See `read_table`; the dialect is of CSV files alone.

    Returns
    -------
    StreamedTable
        For `pypgm.PrivateTable` and the mechanisms.

    Raises
    ------
    ValueError
        If anything is wrong; the message lists column and row of every fault, never a value.
    OSError
        If a file cannot be read.
    ImportError
        If pyarrow is not installed for Parquet files, or DuckDB for a relation: the extra ``[duckdb]`` has both.

    Examples
    --------
    >>> release = pypgm.mechanisms.wide(scan("visits/*.parquet", schema), epsilon=1, delta=1e-9)  # doctest: +SKIP
    """
    given = open_source(source, table, Dialect.of_options("scan", dialect))
    given.check_dialect()
    if isinstance(given, CountedRecords | EncodedRecords | EngineQuery):
        way_in = ": EngineTable counts it" if isinstance(given, EngineQuery) else ", which is counted already"
        raise TypeError(f"scan needs a table that is read in pieces, got {type(source).__name__}{way_in}")
    return in_pieces(given, as_any_schema(schema), ignore_extra)


def in_pieces(source: Source, schema: Schema | OpenSchema, ignore_extra: bool) -> StreamedTable:
    """Return a table that is read in pieces and counted; ``ValueError`` if it does not fit.

    The order and the types of columns may differ between its files.
    """
    if isinstance(source, Relation):
        streamed: StreamedTable = RelationTable(source, schema.provisional, ignore_extra=ignore_extra)
    else:
        streamed = FileTable(source, schema.provisional, ignore_extra=ignore_extra, unkept=tuple(schema.open))
    streamed.open_schema = schema if isinstance(schema, OpenSchema) else None
    return streamed


class FileTable(StreamedTable):
    """Files, or a frame, encoded as they are read for the first time; later passes read the codes that were kept.

    Parameters
    ----------
    source : Source
    schema, ignore_extra
        See `StreamedTable`.
    unkept : sequence of str
        Columns whose codes are not kept, as those that another schema will settle.
    before : FileTable, optional
        The same table by another schema. Codes of columns that both declare alike are taken from it, if the records
        have a certain order.
    """

    def __init__(
        self,
        source: Source,
        schema: Schema,
        *,
        ignore_extra: bool,
        unkept: Sequence[str] = (),
        before: FileTable | None = None,
    ) -> None:
        files = _files_of(source)
        self.source, self._ignore_extra, self._unkept = source, ignore_extra, unkept
        self.versions = [file.version for file in files] if before is None else before.versions
        self._kept_codes = KeptCodes()
        if before is not None and source.is_ordered:
            known = before.schema.reading
            self._kept_codes = before._kept_codes.only(n for n, c in schema.reading.items() if known.get(n) == c)
        self._is_opening = True
        names = [_names_in(file, schema, ignore_extra) for file in files]
        super().__init__(pieces_of(source, schema, self.versions), names[0], schema, ignore_extra=ignore_extra)

    def again(self, schema: Schema) -> FileTable:
        """Return the table by another schema."""
        if self.source is None:
            raise ValueError("only a scan is read again")
        return FileTable(self.source, schema, ignore_extra=self._ignore_extra, before=self)

    def _open(self) -> None:
        super()._open()
        self._is_opening = False

    def _encoded(self, names: Sequence[str], rows: int, what: str) -> Generator[dict[str, NDArray[Any]]]:
        """Yield the codes of some columns: those that are kept, beside those that are read now."""
        kept = [name for name in names if name in self._kept_codes]
        others = [name for name in names if name not in self._kept_codes]
        n_kept = self._kept_codes.n_records(kept[0]) if kept else 0
        if not others:
            self._check_unchanged()
            for first in range(0, n_kept, rows):
                yield self._kept_codes.rows(kept, first, min(first + rows, n_kept))
            self._check_unchanged()
            return
        new = self._kept_codes.only(()) if self._is_opening else None
        n_read = 0
        with closing(super()._encoded(others, rows, what)) as pieces:
            for codes in pieces:
                first, n_read = n_read, n_read + len(codes[others[0]])
                if kept and n_read > n_kept:
                    break
                if new is not None and not new.add({name: codes[name] for name in others if name not in self._unkept}):
                    new = None  # later passes read the files
                yield codes | self._kept_codes.rows(kept, first, n_read)
        if kept and n_read != n_kept:
            raise SourceError(CHANGED)
        if new is not None:
            self._kept_codes.update(new)

    def _check_unchanged(self) -> None:
        for file, version in zip(_files_of(cast("Source", self.source)), self.versions, strict=True):
            _check_unchanged(file, version)


class RelationTable(StreamedTable):
    """A relation of DuckDB: its records come in no certain order, so that a query keeps some of each person's."""

    def __init__(self, source: Relation, schema: SchemaLike, *, ignore_extra: bool) -> None:
        self.source, self._ignore_extra, self._relation = source, ignore_extra, source.relation
        names = guarded(_RELATION, lambda: source.relation.columns)
        super().__init__(source.pieces, names, schema, ignore_extra=ignore_extra)

    def again(self, schema: Schema) -> RelationTable:
        """Return the relation by another schema."""
        return RelationTable(cast("Relation", self.source), schema, ignore_extra=self._ignore_extra)

    def kept(self, secret: bytes) -> StreamedTable:
        """Return the records that are kept of each person, by a query."""
        if (person := self.schema.person) is None:
            raise ValueError("the schema names no person")
        names = self.schema.needed(self.domain.attributes)
        relation = guarded(_RELATION, lambda: kept_in_duckdb(self._relation, person, names, secret))
        part = self._part(guarded(_RELATION, lambda: int(relation.aggregate("count(*)").fetchall()[0][0])))
        part._relation, part._pieces = relation, Relation(relation).pieces
        return part


def kept_in_duckdb(relation: Any, person: Person, names: Sequence[str], secret: bytes) -> Any:  # noqa: ANN401
    """Return some columns of a relation, of the records that are kept of each person, see `Selection`.

    Texts are compared by their bytes: no collation may take two persons for one.
    """
    keys = [f"p{i}" for i in range(len(person.columns))]
    type_of = dict(zip(relation.columns, map(str, relation.types), strict=True))
    spelled = [_key_in_duckdb(name, type_of[name]) for name in person.columns]
    contents = [f"encode(cast(c{i} as varchar))" for i in range(len(names))]
    columns = [f"{quoted(name)} as c{i}" for i, name in enumerate(names)]
    columns += [f"{text} as {key}" for key, text in zip(keys, spelled, strict=True)]
    of_person = f"row_number() over (partition by {', '.join(keys)} order by"
    drawn = f"md5(concat_ws('|', '{secret.hex()}', {', '.join(f'cast({key} as varchar)' for key in keys)}, place))"
    placed = relation.project(", ".join(columns)).project(f"*, {of_person} {', '.join(contents)}) as place")
    ranked = placed.project(f"*, {of_person} {drawn}, place) as rank")
    is_kept = " or ".join([f"rank <= {person.at_most}", *(f"{key} is null" for key in keys)])
    return ranked.filter(is_kept).project(", ".join(f"c{i} as {quoted(name)}" for i, name in enumerate(names)))


def _key_in_duckdb(name: str, kind: str) -> str:
    """Return an expression of the key of each value of a column; NaN has none, and both zeros have one."""
    value = f"nullif({quoted(name)}, 'nan') + 0" if kind in {"FLOAT", "DOUBLE"} else quoted(name)
    return f"encode(nullif(trim(cast({value} as varchar), '{WHITE_SPACE}'), ''))"


def pieces_of(source: Source, schema: Schema, versions: Sequence[object]) -> Pieces:
    """Return a function that reads columns of files in pieces, spelled as a schema reads them, while none changes."""
    reading = schema.reading

    def pieces(wanted: Sequence[str], rows: int) -> Iterator[Frame]:
        columns = {name: reading[name] for name in wanted}
        for file, version in zip(_files_of(source), versions, strict=True):
            _check_unchanged(file, version)
            yield from csv_pieces(file, columns, rows) if isinstance(file, CsvFile) else file.pieces(wanted, rows)
            _check_unchanged(file, version)

    return pieces


def _files_of(source: Source) -> Sequence[Source]:
    return source.files if isinstance(source, FileList) else [source]


def _check_unchanged(file: Source, version: object) -> None:
    """Raise `SourceError` if a file is gone, or another than when its table was opened."""
    try:
        now = file.version
    except OSError as error:
        raise SourceError(f"{file.name} cannot be reached any more: {type(error).__name__}") from None
    if now != version:
        raise SourceError(f"{file.name} changed while it was counted")


def _names_in(file: Source, schema: Schema, ignore_extra: bool) -> list[str]:
    """Return the names of a table's columns; ``ValueError`` if they do not fit the schema."""
    if isinstance(file, CsvFile):
        return csv_names(file, schema, ignore_extra)
    return check_columns(file, schema, ignore_extra=ignore_extra)
