"""Tables in a database or warehouse, counted where the records are, some of each person's at the most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.bins import Binned
from pypgm.data.columns.column import Column
from pypgm.data.columns.dates import MONTH, MONTHS, SECONDS, places_of, units_per
from pypgm.data.columns.difference import Difference, Steps
from pypgm.data.columns.listed_numbers import line_of
from pypgm.data.columns.numbers import Integer
from pypgm.data.schema.one_of import Block
from pypgm.data.schema.person import NO_KEY, Person
from pypgm.data.schema.schema import SchemaLike, as_schema
from pypgm.data.sources.connection import connection_of, with_connection
from pypgm.data.sources.counted import CHANGED, CountedTable
from pypgm.data.sources.encoding import name_problems, refuse
from pypgm.data.sources.engine_codes import (
    UnfitError,
    beyond,
    bin_of,
    bytes_of,
    code_of,
    in_microseconds,
    quotient,
    steps_of,
)
from pypgm.data.sources.engine_numbers import Expression, call
from pypgm.data.sources.foreign import guarded
from pypgm.data.sources.frames import imported
from pypgm.domain import Clique, Domain, listed
from pypgm.errors import SourceError

_WITH_MD5 = {"duckdb", "postgres", "risingwave", "pyspark", "databricks", "snowflake"}


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
    if engine == "bigquery":
        return call("to_hex", "string", call("md5", "binary", text))
    if engine in {"trino", "athena"}:
        return call("to_hex", "string", call("md5", "binary", call("to_utf8", "binary", text)))
    raise UnfitError(f"names persons, and {engine} has no hash to choose among their records: read them elsewhere")


def difference_of(
    table: Expression, names: tuple[str, str], column: Difference, base: Column, second: Binned
) -> tuple[Expression, str | None]:
    """Return the code of each difference, -1 for a misfit, and the problem of the columns, if any.

    Parameters
    ----------
    table : ibis.Table
    names : pair of str
        Names of the other column, and of the column measured as its difference from it.
    column : Difference
    base, second : Column
        Declarations of the two.
    """
    first: Any = line_of(base)
    ibis = imported("ibis", "a table of an engine", "ibis")
    values = [table[name] for name in names]
    kinds = [value.type() for value in values]
    is_date, has_times = first.has_dates, first.has_times
    if is_date:
        fit = [(k.is_timestamp() and k.timezone is None) or k.is_date() for k in kinds]
    else:
        fit = [first.scale == "numbers" and k.is_integer() for k in kinds]
    if not all(fit) or (has_times and any(k.is_date() for k in kinds)) or not isinstance(column.span, Integer):
        needed = "dates, or times without a zone" if is_date else "whole numbers"
        return values[1], f"is measured as a difference, which an engine counts of {needed} alone: cast them in a query"
    places = [_place(value, column.unit, has_times) if is_date else value.cast("int64") for value in values]
    if first.outside == "clip":
        ends = [end[[i]] for end, i in zip(first.ends(), (0, -1), strict=True)]
        low, high = (
            int(places_of(end // first.per_unit, column.unit, has_times)[0]) if is_date else int(end[0]) for end in ends
        )
        places[0] = ibis.cases((places[0] < low, low), (places[0] > high, high), else_=places[0])
    per = units_per(column.unit, has_times) if is_date else 1
    apart = places[1] - places[0]
    span = column.span
    if span.edges:
        inside = bin_of(ibis, lambda start: apart >= int(start) * per, span.bounds_and_starts()[2].tolist(), 0)
    else:
        inside = quotient(apart - span.low * per, span.width * per)
    code, problem = code_of(table, names[0], base)
    if problem is not None:
        return code, problem
    is_missing = values[0].isnull() | values[1].isnull() | (code >= first.n_values)
    below, above, _ = beyond(span)
    none = -1 if column.none_code is None else column.none_code
    at_places = zip(second.null_places.tolist(), second.null_codes_at_places, strict=True)
    nulls = [] if is_date else [(values[1] == int(p), null - second.size + column.size) for p, null in at_places]
    arms = [*nulls, (is_missing, none), (apart < span.low * per, below), (apart >= (span.high + 1) * per, above)]
    return ibis.cases(*arms, else_=inside).cast("int64"), None


def _block_of(table: Expression, block: Block, reading: Mapping[str, Any]) -> tuple[Expression, str | None]:
    """Return the code of the one column of a block that is true, -1 for none or several, and the problem, if any."""
    ibis = imported("ibis", "a table of an engine", "ibis")
    of_columns = [code_of(table, str(name), reading[str(name)]) for name in block.values]
    problem = next((problem for _, problem in of_columns if problem is not None), None)
    if problem is not None:
        return of_columns[0][0], problem
    n_true, place, is_fit = ibis.literal(0), ibis.literal(0), ibis.literal(True)
    for i, (code, _) in enumerate(of_columns):
        is_true = ibis.cases((code == 1, 1), else_=0)
        n_true, place, is_fit = n_true + is_true, place + i * is_true, is_fit & (code >= 0) & (code <= 1)
    return ibis.cases((is_fit & (n_true == 1), place), else_=-1).cast("int64"), None


def _place(value: Expression, unit: Any, has_times: bool) -> Expression:  # noqa: ANN401 - one of several literals
    """Return the result of `places_of` for dates of an engine."""
    if value.type().is_timestamp() and value.get_backend().name == "duckdb":
        value = in_microseconds(value)
    if unit not in MONTHS:
        step: Any = "second" if has_times else "day"
        origin = np.datetime64(0, "s" if has_times else "D").item()
        return steps_of(value, step) - steps_of(origin, step)
    months = value.year().cast("int64") * 12 + value.month().cast("int64") - 3  # from the first March on
    days = months * MONTH + value.day().cast("int64") - 1
    if not has_times:
        return days
    hours = value.hour().cast("int64") * 3600
    return days * SECONDS + hours + value.minute().cast("int64") * 60 + value.second().cast("int64")


_MOST_SELECTS = 100  # in one query of an engine without GROUPING SETS; SQLite takes 500

Groups: TypeAlias = "tuple[dict[str, NDArray[np.int64]], NDArray[np.int64]]"


class EngineTable(CountedTable):
    """Records of any engine that Ibis speaks to: DuckDB, PostgreSQL, Spark, BigQuery, Snowflake and others.

    Values become codes in the query, by the rules of `Schema.encode`, and nothing but counts of the public cells comes
    back. Numbers and dates are compared with those that the schema names; distinct texts are queried once, by their
    bytes, and encoded as those of a file are. All records are checked at the beginning: a mechanism meets no error
    that depends on them, and no error repeats the engine's message.

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
    One call of `count` is one query with GROUPING SETS, or, in an engine without them, of one part for each marginal;
    earlier counts are used again. In PostgreSQL and DuckDB, all counts until a private table is closed, or until
    `end_snapshot`, are read in one transaction, and nothing can be written over the connection meanwhile.
    docs/your_table.md lists what each engine counts and refuses.

    Examples
    --------
    >>> import ibis  # doctest: +SKIP
    >>> table = EngineTable(ibis.postgres.connect(...).table("visits"), schema)  # doctest: +SKIP
    >>> release = pypgm.mechanisms.wide(table, epsilon=1, delta=1e-9)  # doctest: +SKIP
    """

    @with_connection
    def __init__(self, table: Expression, schema: SchemaLike, *, ignore_extra: bool = False) -> None:
        ibis = imported("ibis", "a table of an engine", "ibis")
        if not isinstance(table, ibis.Table):
            raise TypeError(f"an engine's table needs an ibis.Table, got {type(table).__name__}")
        super().__init__(as_schema(schema))
        self._ibis = ibis
        self._backend = guarded("asking for the engine", table.get_backend)
        self._connection = connection_of(self._backend)
        names = guarded("asking the engine for its columns", lambda: list(table.columns))
        problems = name_problems(self.schema.reading, names, drop=self.schema.unread, ignore_extra=ignore_extra)
        refuse("the table", problems)
        codes: dict[str, Expression] = {}
        reading = self.schema.reading
        for name, column in self.schema.columns.items():
            if isinstance(column, Difference):
                both: Any = [reading[a] for a in (column.first, name)]
                declared = [steps.column if isinstance(steps, Steps) else steps for steps in both]
                code, problem = difference_of(table, (column.first, name), column, *declared)
            elif isinstance(column, Block):
                code, problem = _block_of(table, column, reading)
            else:
                code, problem = code_of(table, name, column)
            codes[f"c{len(codes)}"] = code
            problems += [] if problem is None else [f"column {name!r}: {problem}"]
        self._n_keys = len(self.schema.key_columns)
        for name in self.schema.key_columns:
            codes[f"p{len(codes) - len(self.domain)}"], problem = key_of(table, name)
            problems += [] if problem is None else [f"column {name!r}: {problem}"]
        refuse("the table", problems)
        self._records = table.select(**codes)
        self._coded = self._query_of(self._records)
        self._n_records = self._checked()
        self._has_grouping_sets = self._groups_by_sets()
        self.schema.check_rules(self)

    def kept(self, secret: bytes) -> EngineTable:
        """Return the records that are kept of each person, by a query with window functions."""
        if (person := self.schema.person) is None:
            raise ValueError("the schema names no person")
        records = kept_in_engine(self._records, len(self.domain), person, secret)
        part = self._part(0)
        part._records, part._coded = records, self._query_of(records)
        (count,) = self._answers(f"SELECT COUNT(*) AS {self._quoted('n')} FROM {part._coded} AS coded", ["n"])["n"]
        part._n_records = int(count)
        return part

    def end_snapshot(self) -> None:
        """End the transaction in which the engine is read; a later count begins another."""
        self._connection.end()

    def _query_of(self, records: Expression) -> str:
        query: str = guarded("writing a query of codes", lambda: self._backend.compile(records))
        return f"({query})"

    def _scan(self, cliques: Sequence[Clique], tables: Sequence[NDArray[np.int64]], n_threads: int) -> None:
        del n_threads  # the engine has its own
        sets = list(dict.fromkeys(self.domain.canonical(clique) for clique in cliques))
        grouped = self._grouped(sets)
        for clique, table in zip(cliques, tables, strict=True):
            codes, counts = grouped[self.domain.canonical(clique)]
            if any(((codes[a] < 0) | (codes[a] >= self.domain.size(a))).any() for a in clique) or (
                counts.sum() != self.n_records
            ):
                raise SourceError(CHANGED)
            np.add.at(table, _cells(self.domain, clique, codes), counts)

    def _checked(self) -> int:
        """Return the number of records; ``ValueError`` if a value has no code."""
        outside = {
            f"n{i}": f"COUNT(CASE WHEN {code} IS NULL OR {code} < 0 OR {code} >= {size} THEN 1 END)"
            for i, (code, size) in enumerate(zip(self._names.values(), self.domain.shape, strict=True))
        }
        keys = [self._quoted(f"p{i}") for i in range(self._n_keys)]
        is_missing = " OR ".join(f"{key} IS NULL" for key in keys)
        nobody = {"nobody": f"COUNT(CASE WHEN {is_missing} THEN 1 END)"} if keys else {}
        expressions = {"total": "COUNT(*)", **outside, **nobody}
        chosen = ", ".join(f"{expression} AS {self._quoted(name)}" for name, expression in expressions.items())
        answers = self._answers(f"SELECT {chosen} FROM {self._coded} AS coded", list(expressions))
        problems = [
            f"column {a!r}: needs {self.schema.columns[a].allowed}, and has another value or none"
            for a, name in zip(self.domain, outside, strict=True)
            if answers[name][0]
        ]
        if (person := self.schema.person) and person.null == "refuse" and answers["nobody"][0]:
            names = listed([repr(name) for name in self.schema.key_columns])
            needed = f"needs a value that names a person in each record, and has none in some{NO_KEY}"
            problems.append(f"column {names}: {needed}")
        refuse("the table", problems)
        return int(answers["total"][0])

    def _groups_by_sets(self) -> bool:
        """Return whether the engine has GROUPING SETS, tried on a made-up record."""
        name, number = self._quoted("c0"), self._quoted("n")
        made = f"SELECT {name}, COUNT(*) AS {number} FROM (SELECT 1 AS {name}) AS made"
        try:
            self._answers(f"{made} GROUP BY GROUPING SETS (({name}), ())", ["c0", "n"])
        except ValueError:
            return False
        return True

    def _grouped(self, sets: Sequence[Clique]) -> dict[Clique, Groups]:
        """Return the codes and counts of the groups of each set of attributes.

        No code is NULL, so that the attributes of a row that are not NULL tell the set it belongs to.
        """
        if self._has_grouping_sets:
            return self._groups_of(sets)
        answers: dict[Clique, Groups] = {}
        for start in range(0, len(sets), _MOST_SELECTS):
            answers |= self._groups_of(sets[start : start + _MOST_SELECTS])
        return answers

    def _groups_of(self, sets: Sequence[Clique]) -> dict[Clique, Groups]:
        """Return the groups of some sets by one query."""
        used = self.domain.canonical({a for clique in sets for a in clique})
        chosen = {a: f"c{self.domain.index(a)}" for a in used}
        results = self._answers(self._query(sets, used), [*chosen.values(), "n"])
        columns = {a: results[name] for a, name in chosen.items()}
        present = np.array([~np.isnan(c) for c in columns.values()], dtype=bool).reshape(len(used), len(results["n"]))
        answers = {}
        for clique in sets:
            member = np.array([a in clique for a in used], dtype=bool).reshape(-1, 1)
            rows = (present == member).all(axis=0)
            codes = {a: columns[a][rows].astype(np.int64) for a in clique}
            answers[clique] = codes, results["n"][rows].astype(np.int64)
        return answers

    def _query(self, sets: Sequence[Clique], used: Clique) -> str:
        """Return the query that counts the groups of some sets: by GROUPING SETS, or set after set."""
        count = f"COUNT(*) AS {self._quoted('n')}"
        of_set = {clique: ", ".join(self._names[a] for a in clique) for clique in sets}
        if self._has_grouping_sets:
            chosen = "".join(f"{self._names[a]}, " for a in used)
            grouping = ", ".join(f"({names})" for names in of_set.values())
            return f"SELECT {chosen}{count} FROM {self._coded} AS coded GROUP BY GROUPING SETS ({grouping})"
        selects = []
        for clique, names in of_set.items():
            chosen = "".join(f"{self._names[a] if a in clique else self._null} AS {self._names[a]}, " for a in used)
            selects.append(f"SELECT {chosen}{count} FROM coded" + (f" GROUP BY {names}" if clique else ""))
        return f"WITH coded AS {self._coded} " + " UNION ALL ".join(selects)

    @cached_property
    def _names(self) -> dict[str, str]:
        """The names of the columns of codes, as the engine quotes them."""
        return {a: self._quoted(f"c{i}") for i, a in enumerate(self.domain)}

    @property
    def _null(self) -> str:
        """An integer that is NULL."""
        sqlglot = imported("sqlglot", "a table of an engine", "ibis")
        null: str = sqlglot.exp.cast(sqlglot.exp.null(), "bigint").sql(dialect=self._backend.dialect)
        return null

    def _quoted(self, name: str) -> str:
        sqlglot = imported("sqlglot", "a table of an engine", "ibis")
        quoted: str = sqlglot.to_identifier(name, quoted=True).sql(dialect=self._backend.dialect)
        return quoted

    def _answers(self, query: str, names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
        """Return named columns of integers below 2^53 from a query, as floats: NaN for NULL."""
        schema = self._ibis.schema(dict.fromkeys(names, "int64"))

        def columns() -> dict[str, NDArray[np.float64]]:
            answer = self._backend.sql(query, schema=schema).to_pyarrow()
            return {n: answer[n].cast("float64").to_numpy(zero_copy_only=False) for n in names}

        return self._connection.read("counting in the engine", columns)


def _cells(domain: Domain, clique: Clique, codes: dict[str, NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the flat cell of each group, in C order over a clique as given."""
    cells = np.zeros(1, dtype=np.int64)
    for a in clique:
        cells = cells * domain.size(a) + codes[a]
    return cells
