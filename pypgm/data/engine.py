"""Tables in a database or warehouse: counts are computed where the records are, by one query a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pypgm.data import tabulate
from pypgm.data.bins import Binned
from pypgm.data.closed import Codes
from pypgm.data.columns import Column
from pypgm.data.dates import Date
from pypgm.data.encoding import name_problems, problems_error
from pypgm.data.frames import as_columns, imported
from pypgm.data.schema import Schema, as_schema
from pypgm.data.source import Source
from pypgm.domain import Clique, Domain, as_clique

__all__ = ["EngineTable"]

_MOST_VALUES = 20_000  # of a column whose values are listed in the query
_NONE = -1  # the code of what has none

Expression: TypeAlias = Any
Groups: TypeAlias = "tuple[dict[str, NDArray[np.int64]], NDArray[np.int64]]"


class EngineTable(Source):
    """Records of any engine that Ibis speaks to: DuckDB, PostgreSQL, Spark, BigQuery, Snowflake and others.

    Values become codes in the query, and nothing but counts of the public cells comes back. Numbers are put into their
    bins by comparisons; of all other columns the distinct values are asked for once, and encoded as those of a file
    are. All records are checked at the beginning: a mechanism meets no error that depends on them.

    Parameters
    ----------
    table : ibis.Table
        A table or a query of an open connection.
    schema : Schema or Domain
        What its columns hold.
    ignore_extra : bool
        Leave out columns that the schema has not, instead of refusing them.

    Raises
    ------
    ValueError
        With all that is wrong: the column, never a value; rows of an engine have no order to name.
    TypeError
        If the table is none of Ibis.
    ImportError
        If Ibis is not installed: the extra ``[ibis]``.

    Notes
    -----
    One call of `count` is one query with GROUPING SETS, which the engine must have.

    Examples
    --------
    >>> import ibis  # doctest: +SKIP
    >>> table = EngineTable(ibis.postgres.connect(...).table("visits"), schema)  # doctest: +SKIP
    >>> release = pypgm.mechanisms.wide(table, epsilon=1, delta=1e-9)  # doctest: +SKIP
    """

    def __init__(self, table: Expression, schema: Schema | Domain, *, ignore_extra: bool = False) -> None:
        ibis = imported("ibis", "a table of an engine", "ibis")
        if not isinstance(table, ibis.Table):
            raise TypeError(f"an engine's table needs an ibis.Table, got {type(table).__name__}")
        self.schema = as_schema(schema)
        problems = name_problems(self.schema.columns, table.columns, drop=self.schema.drop, ignore_extra=ignore_extra)
        if problems:
            raise problems_error("the table", problems)
        self._backend = table.get_backend()
        self._ibis = ibis
        codes: dict[str, Expression] = {}
        for name, column in self.schema.columns.items():
            code, problem = _code(ibis, table, name, column)
            codes[f"c{len(codes)}"] = code.cast("int64")
            problems += [] if problem is None else [f"column {name!r}: {problem}"]
        if problems:
            raise problems_error("the table", problems)
        self._coded = f"({self._backend.compile(table.select(**codes))}) AS coded"
        self._n_records = self._checked()
        self.schema.check_rules(self)

    def count(self, cliques: Sequence[str | Clique], n_threads: int = 0) -> list[NDArray[np.int64]]:
        """Count the records of each cell of some cliques' tables by one query, as `Dataset.count` does.

        Raises
        ------
        ValueError
            If a clique does not fit the domain, or the table is no more what it was.
        ModelTooLargeError
            If the tables do not fit half of the memory available.
        """
        asked = [as_clique(c) for c in cliques]
        empty = {a: np.zeros(0, np.uint8) for a in self.domain}
        tables = tabulate.count(empty, self.domain, asked, n_threads)
        sets = list(dict.fromkeys(self.domain.canonical(clique) for clique in asked))
        found = self._grouped(sets) if sets else {}
        for clique, table in zip(asked, tables, strict=True):
            codes, counts = found[self.domain.canonical(clique)]
            if any(((codes[a] < 0) | (codes[a] >= self.domain.size(a))).any() for a in clique) or (
                counts.sum() != self.n_records
            ):
                raise ValueError("the table changed while it was counted")
            np.add.at(table, _cells(self.domain, clique, codes), counts)
        return tables

    def _checked(self) -> int:
        """Return the number of records; ``ValueError`` if a value has no code."""
        outside = {
            f"n{i}": f"COUNT(CASE WHEN {code} IS NULL OR {code} < 0 OR {code} >= {size} THEN 1 END)"
            for i, (code, size) in enumerate(zip(self._names.values(), self.domain.shape, strict=True))
        }
        found = self._asked({"total": "COUNT(*)", **outside}, "")
        problems = [
            f"column {a!r}: needs {self.schema.columns[a].allowed}, and has another value or none"
            for a, name in zip(self.domain, outside, strict=True)
            if found[name][0]
        ]
        if problems:
            raise problems_error("the table", problems)
        return int(found["total"][0])

    def _grouped(self, sets: Sequence[Clique]) -> dict[Clique, Groups]:
        """Return for each set of attributes the codes of its groups and the records of each.

        No code is NULL, so that the attributes of a row that are not NULL tell the set it belongs to.
        """
        used = self.domain.canonical({a for clique in sets for a in clique})
        grouping = ", ".join(f"({', '.join(self._names[a] for a in clique)})" for clique in sets)
        chosen = {f"c{self.domain.index(a)}": self._names[a] for a in used}
        found = self._asked({**chosen, "n": "COUNT(*)"}, f" GROUP BY GROUPING SETS ({grouping})")
        columns = {a: found[f"c{self.domain.index(a)}"] for a in used}
        present = np.array([~np.isnan(c) for c in columns.values()], dtype=bool).reshape(len(used), len(found["n"]))
        answers = {}
        for clique in sets:
            member = np.array([a in clique for a in used], dtype=bool).reshape(-1, 1)
            own = (present == member).all(axis=0)
            codes = {a: columns[a][own].astype(np.int64) for a in clique}
            answers[clique] = codes, found["n"][own].astype(np.int64)
        return answers

    @cached_property
    def _names(self) -> dict[str, str]:
        """The names of the columns of codes, as the engine quotes them."""
        return {a: self._quoted(f"c{i}") for i, a in enumerate(self.domain)}

    def _quoted(self, name: str) -> str:
        quoted: str = (
            imported("sqlglot", "a table of an engine", "ibis")
            .to_identifier(name, quoted=True)
            .sql(dialect=self._backend.dialect)
        )
        return quoted

    def _asked(self, chosen: Mapping[str, str], rest: str) -> dict[str, NDArray[np.float64]]:
        """Return named columns of integers below 2^53 from a query on the codes, as floats: NaN for NULL."""
        columns = ", ".join(f"{expression} AS {self._quoted(name)}" for name, expression in chosen.items())
        schema = self._ibis.schema(dict.fromkeys(chosen, "int64"))
        answer = self._backend.sql(f"SELECT {columns} FROM {self._coded}{rest}", schema=schema).to_pyarrow()
        return {n: answer[n].cast("float64").to_numpy(zero_copy_only=False) for n in chosen}


def _cells(domain: Domain, clique: Clique, codes: dict[str, NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the flat cell of each group, in C order over a clique as given."""
    cells = np.zeros(1, dtype=np.int64)
    for a in clique:
        cells = cells * domain.size(a) + codes[a]
    return cells


def _code(ibis: Any, table: Expression, name: str, column: Column) -> tuple[Expression, str | None]:  # noqa: ANN401
    """Return the expression of a column's codes, -1 where a value has none, and what is wrong with the column."""
    value = table[name]
    if isinstance(column, Binned) and not isinstance(column, Date):
        if not value.type().is_numeric():
            return value, f"needs numbers, and is of the engine's type {value.type()}"
        return _binned(ibis, value.cast("float64"), column), None
    if isinstance(column, Codes) and value.type().is_integer():
        null = _NONE if column.null_code is None else column.null_code
        inside = (value >= 0) & (value < column.codes)
        return ibis.cases((value.isnull(), null), (inside, value), else_=_NONE), None
    return _listed(ibis, table, name, column)


def _binned(ibis: Any, value: Expression, column: Binned) -> Expression:  # noqa: ANN401
    """Return the bin of a number: compared with where bins begin, as exactly as in memory."""
    low, high, starts = column.bounds_and_starts()
    outside = {"null": column.null_code, "other": column.other_code}.get(column.outside)
    below, above = (0, len(starts) - 1) if column.outside == "clip" else (outside, outside)
    null = _NONE if column.null_code is None else column.null_code
    return ibis.cases(
        (value.isnull() | value.isnan(), null),
        (value < low, _NONE if below is None else below),
        (value > high, _NONE if above is None else above),
        *((value < start, code) for code, start in enumerate(starts[1:].tolist())),
        else_=len(starts) - 1,
    )


def _listed(ibis: Any, table: Expression, name: str, column: Column) -> tuple[Expression, str | None]:  # noqa: ANN401
    """Return the code of each distinct value, encoded as those of a file are."""
    value = table[name]
    distinct = table.select(value.name("value")).distinct().limit(_MOST_VALUES + 1).to_pyarrow()
    values = list(as_columns(distinct)["value"])
    if len(values) > _MOST_VALUES:
        return value, f"has more than {_MOST_VALUES:,} values; give them codes in a query of the engine"
    codes, problem = column.encode(values)
    if problem is not None:
        return value, problem.what
    pairs = [(v, int(c)) for v, c in zip(values, codes, strict=True) if v is not None]
    null = _NONE if column.null_code is None else column.null_code
    if not pairs:
        return ibis.literal(null), None
    return ibis.cases((value.isnull(), null), *((value == v, c) for v, c in pairs), else_=_NONE), None
