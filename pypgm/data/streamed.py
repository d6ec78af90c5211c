"""Tables larger than memory: read in pieces, each counted as it comes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pypgm.data import tabulate
from pypgm.data.encoding import encoded_pieces, name_problems, problems_error
from pypgm.data.frames import Frame, imported
from pypgm.data.schema import Schema, as_schema
from pypgm.data.source import Source
from pypgm.domain import Clique, Domain, as_clique

__all__ = ["StreamedTable", "scan"]

_ROWS = 1 << 20  # of a piece; more where the tables that are counted have more cells together
_DROPPED = " changed while it was counted"

Pieces: TypeAlias = Callable[[Sequence[str], int], Iterable[Frame]]


class StreamedTable(Source):
    """Records that are read in pieces: what `pypgm.PrivateTable` and the mechanisms need of them, and nothing kept.

    Each count is one pass over the columns it needs. All records are read once before, and refused where they do not
    fit: a mechanism meets no error that depends on them.

    Parameters
    ----------
    pieces : callable
        ``pieces(names, rows)`` gives about so many rows at a time of the columns of these names, each piece a mapping
        or a data frame; the same at every call.
    names : sequence of str
        The columns there are.
    schema : Schema or Domain
        What they hold.
    ignore_extra : bool
        Leave out columns that the schema has not, instead of refusing them.

    Raises
    ------
    ValueError
        With all that is wrong: column and row, never a value.

    Examples
    --------
    >>> def pieces(names, rows):
    ...     yield {"sex": ["F", "M"], "age": [3, 4]}
    ...     yield {"sex": ["F"], "age": [4]}
    >>> table = StreamedTable(pieces, ["sex", "age"], Domain({"age": 5, "sex": ["F", "M"]}))
    >>> table
    StreamedTable(3 records; age: 5, sex: 2)
    >>> table.count([("sex",), ("sex", "age")])
    [array([2, 1]), array([0, 0, 0, 1, 1, 0, 0, 0, 0, 1])]
    """

    def __init__(
        self, pieces: Pieces, names: Sequence[str], schema: Schema | Domain, *, ignore_extra: bool = False
    ) -> None:
        self.schema = as_schema(schema)
        self._pieces = pieces
        problems = name_problems(self.schema.columns, names, drop=self.schema.drop, ignore_extra=ignore_extra)
        if problems:
            raise problems_error("the table", problems)
        checked = self._codes(self.domain.attributes, _ROWS, "the table")
        self._n_records = sum(len(codes[self.domain.attributes[0]]) for codes in checked)
        self.schema.check_rules(self)

    def count(self, cliques: Sequence[str | Clique], n_threads: int = 0) -> list[NDArray[np.int64]]:
        """Count the records of each cell of some cliques' tables in one pass, as `Dataset.count` does.

        Raises
        ------
        ValueError
            If a clique does not fit the domain, or the table is no more what it was.
        ModelTooLargeError
            If the tables do not fit half of the memory available.
        """
        asked = [as_clique(c) for c in cliques]
        needed = self.domain.canonical({a for clique in asked for a in clique}) or self.domain.attributes[:1]
        tables = tabulate.count({a: np.zeros(0, np.uint8) for a in needed}, self.domain, asked, n_threads)
        rows = max(_ROWS, sum(table.size for table in tables))
        seen = 0
        for codes in self._codes(needed, rows, f"the table{_DROPPED}"):
            seen += len(codes[needed[0]])
            for i, more in enumerate(tabulate.count(codes, self.domain, asked, n_threads)):
                tables[i] += more
        if seen != self.n_records:
            raise ValueError(f"the table{_DROPPED}")
        return tables

    def _codes(self, names: Sequence[str], rows: int, what: str) -> Iterator[dict[str, NDArray[Any]]]:
        """Return the codes of some columns, piece by piece."""
        return encoded_pieces({n: self.schema.columns[n] for n in names}, self._pieces(names, rows), what)


def scan(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | object,
    schema: Schema | Domain,
    *,
    ignore_extra: bool = False,
) -> StreamedTable:
    """Return a table that stays where it is, in files or in an embedded database, however large.

    Parameters
    ----------
    source : path, sequence of paths, or DuckDB relation
        Parquet files, or CSV files with a header (plain or compressed), read by DuckDB; a ``*`` in a path stands for
        all that fit. Or any relation of an open connection: ``connection.sql("select … from …")``.
    schema : Schema or Domain
        What its columns hold.
    ignore_extra : bool
        As for `read_table`.

    Returns
    -------
    StreamedTable
        For `pypgm.PrivateTable` and the mechanisms.

    Raises
    ------
    ValueError
        With all that is wrong: column and row, never a value.
    OSError
        If a file cannot be read.
    ImportError
        If DuckDB or pyarrow is not installed: the extra ``[duckdb]``.

    Examples
    --------
    >>> release = pypgm.mechanisms.wide(scan("visits/*.parquet", schema), epsilon=1, delta=1e-9)  # doctest: +SKIP
    """
    duckdb = imported("duckdb", "a table in files or in DuckDB", "duckdb")
    imported("pyarrow", "a table in files or in DuckDB", "duckdb")
    relation = source if isinstance(source, duckdb.DuckDBPyRelation) else _relation(duckdb, source)

    def pieces(names: Sequence[str], rows: int) -> Iterable[Frame]:
        found: Iterable[Frame] = relation.select(*map(duckdb.ColumnExpression, names)).to_arrow_reader(rows)
        return found

    return StreamedTable(pieces, relation.columns, schema, ignore_extra=ignore_extra)


def _relation(duckdb: Any, source: Any) -> Any:  # noqa: ANN401 - of a package that may be missing
    """Return the rows of files, in their order."""
    paths = [os.fspath(p) for p in ([source] if isinstance(source, str | os.PathLike) else source)]
    connection = duckdb.connect()
    is_parquet = {p.removesuffix(".gz").endswith((".parquet", ".pq")) for p in paths}
    if len(is_parquet) != 1:
        raise ValueError("a table needs files of one kind: all Parquet, or all CSV")
    try:
        if is_parquet == {True}:
            return connection.read_parquet(paths)
        # As texts: the schema says what they are, and nothing is guessed.
        return connection.read_csv(paths, header=True, all_varchar=True, strict_mode=True)
    except duckdb.IOException:
        raise FileNotFoundError(f"no such file can be read: {', '.join(paths)}") from None
