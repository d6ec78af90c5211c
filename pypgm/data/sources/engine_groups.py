"""Queries that group records by several sets of columns at once, and the sets that make them few."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
_ENDS = 1 << 62  # of numbers in an answer
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
        self, records: str, sets: Sequence[tuple[str, ...]], sizes: Mapping[str, int], limit: int | None = None
    ) -> dict[tuple[str, ...], Groups]:
        """Return the groups of records by each set of columns, of which none is NULL.

        The answer is narrow: the set and the codes of a group are the digits of one number, in mixed radix.

        Parameters
        ----------
        records : str
            Query of the records, in parentheses.
        sets : sequence of tuples of str
            A set has one column of texts at most.
        sizes : mapping from str to int
            Number of codes of a column, which may be -1 too. Columns without a size have texts.
        limit : int, optional
            Number of groups at most, of all sets together.
        """
        answers: dict[tuple[str, ...], Groups] = {}
        n_sets = len(sets) if self.has_sets else _MAX_SELECTS
        for start in range(0, len(sets), n_sets):
            answers |= self._groups_of(records, sets[start : start + n_sets], sizes, limit)
        return answers

    def _groups_of(
        self, records: str, sets: Sequence[tuple[str, ...]], sizes: Mapping[str, int], limit: int | None
    ) -> dict[tuple[str, ...], Groups]:
        numbers = {names: _in_numbers(names, sizes, len(sets)) for names in sets}
        kinds = {f"k{i}": "int64" for i in range(max(map(len, numbers.values())))}
        if any(name not in sizes for names in sets for name in names):
            kinds["t"] = "string"
        rows = {names: {**dict.fromkeys(kinds, "0"), "t": self._cast(None, "text")} for names in sets}
        for i, names in enumerate(sets):
            rows[names] |= {f"k{k}": self._number(radices) for k, radices in enumerate(numbers[names])}
            rows[names]["k0"] += f" * {len(sets)} + {i}"
            for text in (name for name in names if name not in sizes):
                rows[names]["t"] = self.quoted(text)
        chosen = {names: {key: row[key] for key in kinds} for names, row in rows.items()}
        query = self._query(records, chosen) + ("" if limit is None else f" LIMIT {limit}")
        answer = self._answer(query, {**kinds, "n": "int64"})
        of_rows = answer["k0"] % len(sets)
        order = np.argsort(of_rows, kind="stable")
        ends = np.searchsorted(of_rows[order], np.arange(len(sets)), side="right")
        groups = {}
        for names, of_set in zip(sets, np.split(order, ends[:-1]), strict=True):
            columns = {name: answer["t"][of_set] for name in names if name not in sizes}
            for k, radices in enumerate(numbers[names]):
                number = answer[f"k{k}"][of_set] // (1 if k else len(sets))
                for name in reversed(radices):
                    number, digit = np.divmod(number, radices[name])
                    columns[name] = digit - 1
            groups[names] = {name: columns[name] for name in names}, answer["n"][of_set]
        return groups

    def _query(self, records: str, rows: Mapping[tuple[str, ...], Mapping[str, str]]) -> str:
        """Return the query of the groups of some sets, by GROUPING SETS or set after set, and of what each row has."""
        n = self.quoted("n")
        grouping = {names: ", ".join(map(self.quoted, names)) for names in rows}
        if not self.has_sets:
            selects = (
                f"SELECT {self._listed(row)}, COUNT(*) AS {n} FROM coded"
                + (f" GROUP BY {grouping[names]}" * bool(names))
                for names, row in rows.items()
            )
            return f"WITH coded AS {records} " + " UNION ALL ".join(selects)
        columns = "".join(f"{self.quoted(name)}, " for name in dict.fromkeys(itertools.chain(*rows)))
        sets = ", ".join(f"({names})" for names in grouping.values())
        counted = f"SELECT {columns}COUNT(*) AS {n} FROM {records} AS coded GROUP BY GROUPING SETS ({sets})"
        # Columns outside the set of a row are NULL: its set is the largest that has no NULL.
        present = {names: " AND ".join(f"{self.quoted(a)} IS NOT NULL" for a in names) or "1 = 1" for names in rows}
        largest_first = sorted(rows, key=len, reverse=True)
        row = {
            key: f"CASE {' '.join(f'WHEN {present[names]} THEN {rows[names][key]}' for names in largest_first)} END"
            for key in rows[largest_first[0]]
        }
        return f"SELECT {self._listed(row)}, {n} FROM ({counted}) AS counted"

    def _listed(self, row: Mapping[str, str]) -> str:
        return ", ".join(f"{value} AS {self.quoted(key)}" for key, value in row.items())

    def _number(self, radices: Mapping[str, int]) -> str:
        """Return the number whose digits are the codes of some columns plus 1."""
        number = self._cast(0, "bigint")
        for name, radix in radices.items():
            number = f"({number} * {radix} + {self.quoted(name)} + 1)"
        return number

    def quoted(self, name: str) -> str:
        """Return a name as the engine quotes it."""
        quoted: str = self._sqlglot.to_identifier(name, quoted=True).sql(dialect=self._backend.dialect)
        return quoted

    def _cast(self, value: int | None, to: str) -> str:
        """Return a literal of a type."""
        cast: str = self._sqlglot.exp.cast(self._sqlglot.exp.convert(value), to).sql(dialect=self._backend.dialect)
        return cast

    def _answer(self, query: str, kinds: Mapping[str, str]) -> dict[str, NDArray[Any]]:
        """Return the columns of a query."""
        schema = self._ibis.schema(dict(kinds))
        options = {"settings": {"max_query_size": _LONGEST}} if self._backend.name == "clickhouse" else {}

        def columns() -> dict[str, NDArray[Any]]:
            answer = self._backend.sql(query, schema=schema).to_pyarrow(**options)
            return {
                name: np.array(answer[name].to_pylist(), dtype=object)
                if kind == "string"
                else answer[name].cast("int64").to_numpy()
                for name, kind in kinds.items()
            }

        # The connection is not kept here: frames of an error hold queries.
        return connection_of(self._backend).read("counting in the engine", columns)


def _in_numbers(names: Iterable[str], sizes: Mapping[str, int], n_sets: int) -> list[dict[str, int]]:
    """Return the radix of each column of codes, number by number: what has more cells than 64 bits takes several.

    Examples
    --------
    >>> _in_numbers(["a", "b", "text"], {"a": 4, "b": 2**60 - 1}, 10)
    [{'a': 5}, {'b': 1152921504606846976}]
    """
    numbers, n_cells = [dict[str, int]()], n_sets  # the first number has the set as another digit
    for name in names:
        if name in sizes:
            n_cells *= (radix := sizes[name] + 1)  # of 0 to the size, for -1 and the codes
            if n_cells >= _ENDS:
                numbers.append({})
                n_cells = radix
            numbers[-1][name] = radix
    return numbers


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
