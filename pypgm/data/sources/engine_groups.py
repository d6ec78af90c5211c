"""Queries that group records by several sets of columns at once, and the sets that make them few."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pypgm.data.sources.connection import connection_of
from pypgm.data.sources.foreign import guarded
from pypgm.data.sources.frames import imported
from pypgm.domain import Clique, Domain

Groups: TypeAlias = "tuple[dict[str, NDArray[Any]], NDArray[np.int64]]"
"""Values of each column of a set in each group, and the number of records."""

_CELLS = 1 << 14
"""Cells of a set by which several cliques are counted together: a cell is a row of the answer at most, and a set is one
more grouping of all records. Of 66 pairs of 12 columns in PostgreSQL, sets of 20,000 cells take half as long as pairs,
and larger ones little less."""
_WITH_SETS = "athena bigquery databricks duckdb mssql oracle postgres pyspark risingwave snowflake trino"
"""Engines with GROUPING SETS; in ClickHouse what is not in a set is no NULL."""
_MAX_SELECTS = 100  # in one query of an engine without GROUPING SETS; SQLite takes 500
_LONGEST = 1 << 26  # characters of a query in ClickHouse, which otherwise parses 262,144 of them
_FENCED = {"postgres", "risingwave"}  # which copy an expression to each place that names it, but over no OFFSET


class Queries:
    """Queries in the SQL of an engine.

    Parameters
    ----------
    backend : ibis.BaseBackend
    """

    def __init__(self, backend: Any) -> None:  # noqa: ANN401 - of a package that may be missing
        self._ibis = imported("ibis", "a table of an engine", "ibis")
        self._sqlglot = imported("sqlglot", "a table of an engine", "ibis")
        self._backend = backend
        self.has_sets = backend.name in _WITH_SETS.split()

    def query(self, records: Any, lists: Mapping[str, str]) -> str:  # noqa: ANN401
        """Return the query of some records, in parentheses.

        Parameters
        ----------
        records : ibis.Table
        lists : mapping from str to str
            Query for each name of a table that is none of the engine.
        """
        query: str = guarded("writing a query of codes", lambda: self._backend.compile(records))
        for name, of_list in lists.items():
            query = query.replace(self.quoted(name), f"({of_list})")
        return f"(SELECT * FROM ({query}) AS records OFFSET 0)" if self._backend.name in _FENCED else f"({query})"

    def groups(
        self, records: str, sets: Sequence[tuple[str, ...]], texts: Collection[str] = (), limit: int | None = None
    ) -> dict[tuple[str, ...], Groups]:
        """Return the groups of records by each set of columns, of which none is NULL.

        The columns of a row that are not NULL tell the set that it belongs to.

        Parameters
        ----------
        records : str
            Query of the records, in parentheses.
        sets : sequence of tuples of str
        texts : collection of str
            Columns that have texts, where all others have integers below 2^53.
        limit : int, optional
            Number of groups at most, of all sets together.
        """
        answers: dict[tuple[str, ...], Groups] = {}
        n_sets = len(sets) if self.has_sets else _MAX_SELECTS
        for start in range(0, len(sets), n_sets):
            answers |= self._groups_of(records, sets[start : start + n_sets], texts, limit)
        return answers

    def _groups_of(
        self, records: str, sets: Sequence[tuple[str, ...]], texts: Collection[str], limit: int | None
    ) -> dict[tuple[str, ...], Groups]:
        kinds = {name: "string" if name in texts else "int64" for names in sets for name in names}
        query = self._query(records, sets, kinds) + ("" if limit is None else f" LIMIT {limit}")
        answer, present = self._answer(query, {**kinds, "n": "int64"})
        groups = {}
        for names in sets:
            rows = np.array([present[name] == (name in names) for name in kinds], dtype=bool).all(axis=0)
            chosen = rows if kinds else present["n"]
            groups[names] = {a: answer[a][chosen] for a in names}, answer["n"][chosen].astype(np.int64)
        return groups

    def _query(self, records: str, sets: Sequence[tuple[str, ...]], kinds: Mapping[str, str]) -> str:
        """Return the query that counts the groups of some sets: by GROUPING SETS, or set after set."""
        count = f"COUNT(*) AS {self.quoted('n')}"
        of_set = {names: ", ".join(map(self.quoted, names)) for names in sets}
        if self.has_sets:
            chosen = "".join(f"{self.quoted(name)}, " for name in kinds)
            grouping = ", ".join(f"({names})" for names in of_set.values())
            return f"SELECT {chosen}{count} FROM {records} AS coded GROUP BY GROUPING SETS ({grouping})"
        nulls = {name: f"{self._null(kind)} AS {self.quoted(name)}" for name, kind in kinds.items()}
        selects = []
        for names, grouping in of_set.items():
            chosen = "".join(f"{self.quoted(name) if name in names else nulls[name]}, " for name in kinds)
            selects.append(f"SELECT {chosen}{count} FROM coded" + (f" GROUP BY {grouping}" if names else ""))
        return f"WITH coded AS {records} " + " UNION ALL ".join(selects)

    def quoted(self, name: str) -> str:
        """Return a name as the engine quotes it."""
        quoted: str = self._sqlglot.to_identifier(name, quoted=True).sql(dialect=self._backend.dialect)
        return quoted

    def _null(self, kind: str) -> str:
        """Return an integer or a text that is NULL."""
        to = {"int64": "bigint", "string": "text"}[kind]
        null: str = self._sqlglot.exp.cast(self._sqlglot.exp.null(), to).sql(dialect=self._backend.dialect)
        return null

    def _answer(
        self, query: str, kinds: Mapping[str, str]
    ) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[np.bool_]]]:
        """Return the columns of a query, and which of their values are not NULL."""
        schema = self._ibis.schema(dict(kinds))
        options = {"settings": {"max_query_size": _LONGEST}} if self._backend.name == "clickhouse" else {}

        def columns() -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[np.bool_]]]:
            answer = self._backend.sql(query, schema=schema).to_pyarrow(**options)
            present = {name: np.array(answer[name].is_valid(), dtype=bool) for name in kinds}
            values = {
                name: np.array(answer[name].to_pylist(), dtype=object)
                if kind == "string"
                else answer[name].fill_null(0).cast("int64").to_numpy()
                for name, kind in kinds.items()
            }
            return values, present

        # The connection is not kept here: frames of an error hold queries.
        return connection_of(self._backend).read("counting in the engine", columns)


def covers(domain: Domain, cliques: Iterable[Clique], n_cells: int = _CELLS) -> dict[Clique, list[Clique]]:
    """Return larger cliques of few cells, and the given ones within each; a clique of more cells stays alone.

    Attributes are added as long as the cells permit, those first that bring in the most cliques for their size.

    Examples
    --------
    >>> pairs = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]
    >>> covers(Domain({"a": 4, "b": 4, "c": 4, "d": 50}), pairs, 100)
    {('c', 'd'): [('c', 'd')], ('a', 'b', 'c'): [('a', 'b'), ('a', 'c'), ('b', 'c')]}
    """
    left = dict.fromkeys(sorted(dict.fromkeys(cliques), key=domain.size, reverse=True))
    of_attribute: dict[str, list[Clique]] = {a: [] for a in domain}
    for clique in left:
        for a in clique:
            of_attribute[a].append(clique)
    covering: dict[Clique, list[Clique]] = {}
    while left:
        inside, size = dict.fromkeys(next(iter(left))), domain.size(next(iter(left)))
        outside = {clique: set(clique) for clique in left if len(clique) < 2}
        added: Iterable[str] = inside
        while added:
            for a in added:
                for clique in of_attribute[a]:
                    if clique in left:
                        outside.setdefault(clique, set(clique)).discard(a)
            gains = Counter(next(iter(others)) for others in outside.values() if len(others) == 1)
            fitting = [a for a in gains if size * domain.size((a,)) <= n_cells]
            added = sorted(fitting, key=lambda a: -gains[a] / math.log1p(domain.size((a,))))[:1]
            inside |= dict.fromkeys(added)
            size *= domain.size(tuple(added))
        within = [clique for clique, others in outside.items() if not others]
        covering[domain.canonical(tuple(inside))] = within
        for clique in within:
            del left[clique]
    return covering
