"""Tables of engines compared with the same records in memory: equal counts and refusals."""

from __future__ import annotations

import importlib
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pypgm.audit.finding import Finding, finding, skipped
from pypgm.data import Boolean, Categorical, Codes, Column, Date, EngineTable, Integer, Real, Schema
from pypgm.data.sources.foreign import missing_package

ENGINES: dict[str, Callable[[Any], Any]] = {
    "duckdb": lambda ibis: ibis.duckdb.connect(),
    "sqlite": lambda ibis: ibis.sqlite.connect(),
}
"""Engines that need no server, with functions that open a connection."""

_CONVERTERS = ("ibis.formats.pyarrow", "ibis.formats.pandas")  # modules that Ibis leaves out if a package is missing
_NULLS = ("", "-1")
_SCHEMA: dict[str, Column] = {
    "text": Categorical(["a", "A", "b"], null=_NULLS, other=True),
    "flag": Boolean(["no", "yes"], null=_NULLS),
    "whole": Integer(0, 9, width=5, null=_NULLS),
    "share": Real(0, 1, edges=[0.1, 0.3], outside="clip", null=_NULLS),
    "day": Date("2020-01-15", "2020-03-31", "month", null=_NULLS),
    "size": Categorical([1, 2.5], null=_NULLS),
    "code": Codes(3, null=_NULLS),
}
_TYPES = {
    "duckdb": ("VARCHAR COLLATE NOCASE", "VARCHAR COLLATE NOACCENT", "DOUBLE", "DOUBLE", "DATE", "DOUBLE", "INTEGER"),
    "sqlite": ("text COLLATE NOCASE", "text COLLATE RTRIM", "real", "real", "text", "real", "integer"),
}
_RECORDS: list[tuple[Any, ...]] = [
    ("a", "no", 0, 0.0, "2020-01-15", 1, 0),
    ("A", "yes", 4, 0.1, "2020-01-31", 2.5, 1),
    ("B", "yes", 5, 0.3, "2020-02-01", -1, 2),
    ("b", None, 9, 0.29999999999999993, "2020-02-29", None, -1),
    ("ä", "", None, 0.30000000000000004, "2020-03-01", 1, None),
    (None, "no", -1, None, None, 2.5, -1),
    ("a ", "NO", 4, 1.5, "2020-03-31", -1, 0),
    ("", "yes", 5, -0.5, "2020-03-01", -1, -1),
]
_UNFIT = {"flag": "maybe", "whole": 4.5, "day": "2020-04-01", "size": 2, "code": 3}  # refused in memory


def check_engine(engine: str) -> Finding:
    """Compare the counts of a table in an engine with those of the same records in memory.

    Among them are texts that the engine takes for equal, what is missing, and numbers beside those that bins begin
    with. What encoding refuses is to be refused.

    Parameters
    ----------
    engine : {"duckdb", "sqlite"}
    """
    parts = ["ibis", engine.replace("sqlite", "sqlite3"), "pyarrow", "pandas", *_CONVERTERS]
    if missing := next(filter(None, map(_missing, parts)), ""):
        return skipped("engine", engine, f"{missing} is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the engine's own driver
        connection = ENGINES[engine](importlib.import_module("ibis"))
        try:
            defects = [*_wrong_counts(engine, connection), *_taken(engine, connection)]
        finally:
            connection.disconnect()
    return finding("engine", engine, defects, f"counts of {len(_SCHEMA)} columns and all pairs, {len(_UNFIT)} refusals")


def _missing(module: str) -> str:
    """Return the missing package that prevents the import of a module; "" if it is imported."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        return missing_package(error) or module
    return ""


def _wrong_counts(engine: str, connection: Any) -> Iterator[tuple[str, str]]:
    schema = Schema(_SCHEMA)
    cliques = [c for k in (0, 1, 2) for c in itertools.combinations(_SCHEMA, k)]
    records = [row for i, row in enumerate(_RECORDS) for _ in range(1 + i % 3)]
    held = zip(*records, strict=True)
    in_memory = schema.encode({name: list(values) for name, values in zip(_SCHEMA, held, strict=True)}).count(cliques)
    try:
        counts = EngineTable(_table(engine, connection, records), schema).count(cliques)
    except ValueError as error:
        yield "wrong counts", f"records that are encoded in memory are refused: {error}"
        return
    for clique, one, other in zip(cliques, counts, in_memory, strict=True):
        if not np.array_equal(one, other):
            yield "wrong counts", f"{clique} has {one.tolist()}, {other.tolist()} in memory"


def _taken(engine: str, connection: Any) -> Iterator[tuple[str, str]]:
    """Yield the columns that accept a value refused by encoding."""
    for name, value in _UNFIT.items():
        row = tuple(value if other == name else None for other in _SCHEMA)
        try:
            EngineTable(_table(engine, connection, [row]), Schema(_SCHEMA))
        except ValueError:
            continue
        yield "not refused", f"column {name!r} accepts {value!r}, which is refused in memory"


def _table(engine: str, connection: Any, records: list[tuple[Any, ...]]) -> Any:
    """Return a table of records in an engine, which compares texts by its collations."""
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(_SCHEMA, _TYPES[engine], strict=True))
    connection.con.execute("DROP TABLE IF EXISTS records")
    connection.con.execute(f"CREATE TABLE records ({columns})")
    places = ", ".join("?" * len(_SCHEMA))
    connection.con.executemany(f"INSERT INTO records VALUES ({places})", records)
    return connection.table("records")
