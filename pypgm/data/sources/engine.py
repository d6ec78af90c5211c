"""Tables in a database or warehouse, counted where the records are, some of each person's at the most."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm.data.schema.person import Person
from pypgm.data.schema.schema import SchemaLike, as_schema
from pypgm.data.sources.connection import connection_of, with_connection
from pypgm.data.sources.counted import CHANGED, InPlaceTable
from pypgm.data.sources.encoding import name_problems, refuse
from pypgm.data.sources.engine_codes import UnfitError, bytes_of
from pypgm.data.sources.engine_groups import Groups, Queries, covers
from pypgm.data.sources.engine_numbers import Expression, call
from pypgm.data.sources.engine_opening import MisfitsError, Opening, columns_of, sizes_of, tables_of
from pypgm.data.sources.engine_records import Codes
from pypgm.data.sources.foreign import guarded
from pypgm.data.sources.frames import imported
from pypgm.domain import Clique
from pypgm.errors import SourceError

_LONGEST_LISTS = 800_000  # characters of texts in a query; BigQuery, Snowflake and Trino take about a million
_WITH_MD5 = {"duckdb", "mysql", "postgres", "risingwave", "pyspark", "databricks", "snowflake"}


def key_of(table: Expression, name: str) -> tuple[Expression, str | None]:
    """Return the key of the person of each value of a column, NULL for none, and the problem of the column, if any.

    Texts are compared by their bytes: no collation may take two persons for one.

    Parameters
    ----------
    table : ibis.Table
    name : str
    """
    ibis = imported("ibis", "a table of an engine", "ibis")
    value, engine = table[name], table.get_backend().name
    kind = value.type()
    try:
        _hashed(engine, value)
        if kind.is_string():
            return bytes_of(ibis, engine, value.strip()).nullif(""), None
    except UnfitError as error:
        return value, str(error)
    if kind.is_integer() or kind.is_uuid():
        return value.cast("string"), None
    return value, f"is of the engine's type {kind}; a person is named by texts or whole numbers, made in a query"


def kept_in_engine(records: Expression, n_codes: int, person: Person, secret: bytes) -> Expression:
    """Return the records that are kept of each person, see `pypgm.data.schema.person.Selection`.

    Parameters
    ----------
    records : ibis.Table
        Codes ``c0``, ``c1``, … and keys ``p0``, ….
    n_codes : int
    person : Person
    secret : bytes
    """
    ibis = imported("ibis", "a table of an engine", "ibis")
    keys = [f"p{i}" for i in range(len(person.columns))]
    codes = [f"c{i}" for i in range(n_codes)]
    placed = records.mutate(place=ibis.row_number().over(group_by=keys, order_by=codes))
    parts = [ibis.literal(secret.hex()), *(placed[key].fill_null("") for key in keys), placed.place.cast("string")]
    drawn = placed.mutate(drawn=_hashed(records.get_backend().name, ibis.literal("|").join(parts)))
    ranked = drawn.mutate(rank=ibis.row_number().over(group_by=keys, order_by=["drawn", "place"]))
    is_kept = ranked["rank"] < person.at_most
    for key in keys:
        is_kept |= ranked[key].isnull()
    return ranked.filter(is_kept).select(*codes)


def _hashed(engine: str, text: Expression) -> Expression:
    """Return a hash of a text; `UnfitError` where the engine is known to have none."""
    if engine in _WITH_MD5:
        return call("md5", "string", text)
    if engine in {"bigquery", "clickhouse"}:
        name, md5 = ("to_hex", "md5") if engine == "bigquery" else ("hex", "MD5")
        return call(name, "string", call(md5, "binary", text))
    if engine in {"trino", "athena"}:
        return call("to_hex", "string", call("md5", "binary", call("to_utf8", "binary", text)))
    raise UnfitError(f"names persons, and {engine} has no hash to choose among their records: read them elsewhere")


class EngineTable(InPlaceTable):
    """Records of any engine that Ibis speaks to: DuckDB, PostgreSQL, Spark, BigQuery, Snowflake and others.

    Values become codes in the query, by the rules of `Schema.encode`, and nothing but counts of the public cells comes
    back. Numbers and dates are compared with those that the schema names; distinct texts are queried by their bytes,
    and encoded as those of a file are. One query at the beginning counts each column, and whatever has no code: a
    mechanism meets no error that depends on the records, and no error repeats the engine's message.

    Parameters
    ----------
    table : ibis.Table
        A table or a query of an open connection.
    schema : Schema, Domain, mapping or path
        Declarations of its columns.
    ignore_extra : bool
        Leave out columns that the schema does not have, instead of refusing them.

    Raises
    ------
    ValueError
        If anything is wrong; the message lists the column of every fault, never a value, and no row, as rows of an
        engine have no order.
    TypeError
        If the table is none of Ibis.
    ImportError
        If Ibis is not installed: the extra ``[ibis]``.

    Notes
    -----
    One call of `count` is one query with GROUPING SETS, or, in an engine without them, of one part for each set; small
    marginals are counted several in a set. Earlier counts are used again. In PostgreSQL and DuckDB, all counts until a
    private table is closed, or until `end_snapshot`, are read in one transaction, and nothing can be written over the
    connection meanwhile. docs/your_table.md lists what each engine counts and refuses.

    Examples
    --------
    >>> import ibis  # doctest: +SKIP
    >>> table = EngineTable(ibis.postgres.connect(...).table("visits"), schema)  # doctest: +SKIP
    >>> release = pypgm.mechanisms.wide(table, epsilon=1, delta=1e-9)  # doctest: +SKIP
    """

    _query_of_kept = ""  # of a part of the records

    @with_connection
    def __init__(self, table: Expression, schema: SchemaLike, *, ignore_extra: bool = False) -> None:
        ibis = imported("ibis", "a table of an engine", "ibis")
        if not isinstance(table, ibis.Table):
            raise TypeError(f"an engine's table needs an ibis.Table, got {type(table).__name__}")
        super().__init__(as_schema(schema))
        self._backend = guarded("asking for the engine", table.get_backend)
        self._connection = connection_of(self._backend)
        names = guarded("asking the engine for its columns", lambda: list(table.columns))
        problems = name_problems(self.schema.reading, names, drop=self.schema.unread, ignore_extra=ignore_extra)
        refuse("the table", problems)
        self._queries = Queries(self._backend)
        self._open(table, Codes(table, self.schema))
        self.schema.check_rules(self)

    def _open(self, table: Expression, codes: Codes) -> None:
        """Write the query of codes, and count each attribute; ``ValueError`` if a value has no code.

        The first query has the keys of all texts, and the codes of other values. Attributes that are computed from
        several columns, texts among them, need a second one.
        """
        made = {a: codes.of(a) for a in self.domain} | {name: key_of(table, name) for name in self.schema.key_columns}
        opening = Opening(self._queries, self.schema)
        opening.problems = codes.texts.problems | {name: text for name, (_, text) in made.items() if text is not None}
        opening.refuse()
        persons = {f"p{i}": made[name][0] for i, name in enumerate(self.schema.key_columns)}
        opening.count_first(table, codes, persons)
        opening.refuse()
        self._codes, self._persons = codes, persons
        opening.count_rest(self._query)
        opening.refuse()
        self._n_records = opening.n_records
        self._keep_all(list(opening.tables), list(opening.tables.values()))

    def kept(self, secret: bytes) -> EngineTable:
        """Return the records that are kept of each person, by a query with window functions."""
        if (person := self.schema.person) is None:
            raise ValueError("the schema names no person")
        records, lists = self._coded(self.domain.attributes, self._persons)
        kept = self._queries.query(kept_in_engine(records, len(self.domain), person, secret), lists)
        part = self._part(int(self._queries.groups(kept, [()], {})[()][1].sum()))
        part._query_of_kept = kept
        return part

    def end_snapshot(self) -> None:
        """End the transaction in which the engine is read; a later count begins another."""
        self._connection.end()

    def _scan(self, cliques: Sequence[Clique], tables: Sequence[NDArray[np.int64]], n_threads: int) -> None:
        del n_threads  # the engine has its own
        sets, sizes = covers(self.domain, cliques), sizes_of(self.domain)
        answer: dict[tuple[str, ...], Groups] = {}
        for together in self._in_queries(sets):
            names = [columns_of(self.domain, clique) for clique in together]
            answer |= self._queries.groups(self._query({a for clique in together for a in clique}), names, sizes)
        try:
            counted = self._tables(sets, list(answer.values()))
        except MisfitsError:
            counted = None
        if counted is None:  # raised here, the error has no context
            raise SourceError(CHANGED)
        for clique, table in zip(cliques, tables, strict=True):
            table[:] = counted[clique]

    def _coded(
        self, attributes: Collection[str], beside: Mapping[str, Expression]
    ) -> tuple[Expression, dict[str, str]]:
        """Return the records' codes of some attributes, and SQL for the lists of texts that these need."""
        codes, lists = self._codes.joined(self.schema.needed(list(attributes)))
        of_codes = {columns_of(self.domain, (a,))[0]: codes.of(a)[0] for a in self.domain if a in attributes}
        return codes.table.select(**of_codes, **beside), lists

    def _query(self, attributes: Collection[str]) -> str:
        """Return the query of the codes of some attributes, at least; it contains no lists of other texts."""
        return self._query_of_kept or self._queries.query(*self._coded(attributes or self.domain.attributes[:1], {}))

    def _in_queries(self, sets: Iterable[Clique]) -> list[list[Clique]]:
        """Return sets by the queries that count them: engines limit the length of one."""
        queries: list[list[Clique]] = []
        for clique in sets:
            together = [*queries[-1], clique] if queries else []
            needed = self.schema.needed([a for other in together for a in other])
            if together and self._codes.texts.n_characters(dict.fromkeys(needed)) <= _LONGEST_LISTS:
                queries[-1] = together
            else:
                queries.append([clique])
        return queries

    def _tables(self, sets: dict[Clique, list[Clique]], answer: Sequence[Groups]) -> dict[Clique, NDArray[np.int64]]:
        """Return the tables of cliques from the groups of larger ones."""
        counted: dict[Clique, NDArray[np.int64]] = {}
        for (clique, within), (codes, counts) in zip(sets.items(), answer, strict=True):
            if counts.sum() != self.n_records:
                raise MisfitsError(clique)
            counted |= tables_of(self.domain, within, dict(zip(clique, codes.values(), strict=True)), counts)
        return counted
