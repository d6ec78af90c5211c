"""Tables of DuckDB files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pypgm._base.file_kind import DATABASE, START, file_kind
from pypgm.data.sources.files import as_path, check_no_pipe
from pypgm.data.sources.foreign import guarded
from pypgm.data.sources.frames import imported
from pypgm.data.sources.workbook import is_workbook
from pypgm.domain import listed


def is_database(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is one of DuckDB, by its name."""
    return os.fspath(path).endswith((".duckdb", ".ddb"))


def check_table(source: Any, table: str | None) -> None:  # noqa: ANN401 - a table of any kind
    """Raise ``ValueError`` unless a table is named of a DuckDB file, or a sheet of a workbook, and of nothing else."""
    is_path = isinstance(source, str | os.PathLike)
    if is_path and is_workbook(source):
        return
    if (table is not None) != (is_path and is_database(source)):
        needed = "a DuckDB file needs table=, the name of one of its tables, and a workbook may have it, of one sheet"
        raise ValueError(f"{needed}; no other source takes it")


@contextmanager
def duckdb_table(path: str | os.PathLike[str], table: str | None) -> Iterator[Any]:
    """Open a table of a DuckDB file, for as long as it is read."""
    relation, close = opened_table(path, table)
    try:
        yield relation
    finally:
        close()


def opened_table(path: str | os.PathLike[str], table: str | None) -> tuple[Any, Callable[[], object]]:
    """Return a table of a DuckDB file, and a function that closes the file."""
    imported("pyarrow", "a DuckDB file", "duckdb")
    connect = imported("duckdb", "a DuckDB file", "duckdb").connect
    name = os.fspath(path)
    check_no_pipe(path)
    with as_path(path).open("rb") as file:
        start = file.read(START)
    if (kind := file_kind(start)) != DATABASE:
        kind_hint = f"it is {kind}" if kind else "" if start else "it is empty"
        raise ValueError(f"{name} is not a DuckDB file{kind_hint and f': {kind_hint}'}")
    alone = {"enable_external_access": "false"}
    connection = guarded(name, lambda: connect(name, read_only=True, config=alone))
    try:
        return _table_of(connection, name, table), connection.close
    except BaseException:
        connection.close()
        raise


def quoted(name: str) -> str:
    """Return the name of a column or table in quotes for DuckDB, where an unquoted name may be any expression.

    Examples
    --------
    >>> print(quoted('a "b" c'))
    "a ""b"" c"
    """
    return '"' + name.replace('"', '""') + '"'


def not_null(relation: Any) -> frozenset[str]:  # noqa: ANN401 - of a package that may be missing
    """Return the columns of a table that are declared NOT NULL; none of a query, whose joins may have made nulls."""
    if str(relation.type) != "TABLE_RELATION":
        return frozenset()
    describe = f"describe {relation.sql_query()}"
    rows = guarded("describing the table", lambda: relation.query("pypgm_described", describe).fetchall())
    return frozenset(name for name, _, null, *_ in rows if null == "NO")


def _table_of(connection: Any, name: str, table: str | None) -> Any:  # noqa: ANN401 - of a package that may be missing
    listing = "select schema_name, table_name from duckdb_tables() where not internal order by schema_name != 'main'"
    tables = guarded(name, lambda: connection.execute(listing).fetchall())
    matches = [row for row in tables if table in {row[1], ".".join(row)}]
    if not matches:
        # A view is a query of whoever made the file: it may read anything, and never end.
        needed = f"{name} has no table {table!r}, only {listed([repr(row[1]) for row in tables]) or 'none'}"
        raise ValueError(f"{needed}; for a view, open the file with duckdb and pass the relation")
    return guarded(name, lambda: connection.table(".".join(map(quoted, matches[0]))))
