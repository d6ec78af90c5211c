"""Keys of persons in any spelling: two persons are never taken for one, nor one for two, from any container."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from pypgm.audit.finding import Finding, finding, skipped
from pypgm.data import EngineTable, Person, Schema, StreamedTable, scan
from pypgm.domain import listed

_EACH, _AT_MOST = 5, 2
_SECRET = bytes(range(16))
_PIECE, _AT_ONCE = 6, 8  # records of a piece, and records sorted at once: far fewer than there are
_ALONE = ((None,), (" ", "\t"))

_ONE: Sequence[Sequence[Any]] = [
    ("7", " 7", "7\t"),
    ("07",),
    ("7.0",),
    ("a",),
    ("A",),
    ("ä",),
    *[("x" * n,) for n in (15, 16, 17)],
    ("x" * 15 + "y",),
]
_TWO: Sequence[Sequence[Any]] = [
    *[(pair,) for pair in (("a", "bc"), ("ab", "c"), ("a|b", "c"), ("a", "b|c"), ("a", "c"), ("A", "c"))],
    (("a", "d "), (" a", "d")),
]
_NAMELESS: Sequence[Sequence[Any]] = [((None, "c"), ("a", None)), ((None, None), (" ", "c"))]

Raw: TypeAlias = Mapping[str, Sequence[Any]]


def check_person_keys(sources: Sequence[str] = ("columns", "pieces", "duckdb", "ibis")) -> Finding:
    """Count the records kept of persons whose keys are nearly alike, or spelled in several ways, from several sources.

    Each person has a cell of the table, so that the counts say how many records of each are kept. Pieces are smaller
    than the table, and so is what is sorted at once; those that come in another order later are refused.
    """
    there = {name: _SOURCES[name] for name in sources if _is_there(name)}
    if not there:
        return skipped("persons", "keys of persons", f"{listed(sources)} is not installed")
    wrong = []
    in_parts = (
        patch("pypgm.data.sources.streamed._ROWS", _PIECE),
        patch("pypgm.data.schema.person._SORTED_AT_ONCE", _AT_ONCE),
    )
    with warnings.catch_warnings(), in_parts[0], in_parts[1]:
        warnings.simplefilter("ignore")  # of an engine's own driver
        for name, source in there.items():
            wrong += [(defect, f"{name}: {sentence}") for defect, sentence in _of_source(source)]
        wrong += list(_of_turned_pieces()) if "pieces" in there else []
    return finding("persons", "keys of persons", wrong, f"{len(_ONE) + len(_TWO)} keys in {len(there)} sources")


def _of_source(source: Callable[[Raw, Schema], Any]) -> Iterator[tuple[str, str]]:
    for columns, persons, nameless in ((("id",), _ONE, _ALONE), (("id", "more"), _TWO, _NAMELESS)):
        for null, known in (("refuse", persons), ("alone", [*persons, *nameless])):
            raw, schema = _table(columns, known, null)
            counts = source(raw, schema).kept(_SECRET).count([("who",)])[0]
            wanted = np.full(len(known), _AT_MOST)
            wanted[len(persons) :] = _EACH
            yield from _wrong(counts, wanted, f"{' and '.join(columns)}, null {null!r}")


def _wrong(counts: NDArray[np.int64], wanted: NDArray[np.int64], where: str) -> Iterator[tuple[str, str]]:
    if (counts > wanted).any():
        yield "lost user bound", f"{where}: more records of a person are kept than the schema says"
    if (counts < wanted).any():
        yield (
            "sensitivity",
            f"{where}: two persons are taken for one, so that either affects the records kept of the other",
        )


def _table(columns: Sequence[str], persons: Sequence[Sequence[Any]], null: Any) -> tuple[Raw, Schema]:
    """Return records of persons in turn, each in all spellings of the key, and their schema."""
    rows = [(spellings[i % len(spellings)], who) for i in range(_EACH) for who, spellings in enumerate(persons)]
    keys = [key if isinstance(key, tuple) else (key,) for key, _ in rows]
    raw = {name: [key[i] for key in keys] for i, name in enumerate(columns)} | {"who": [who for _, who in rows]}
    return raw, Schema({"who": len(persons)}, person=Person(columns, _AT_MOST, null))


def _in_pieces(raw: Raw, schema: Schema, turned_from: float = float("inf")) -> StreamedTable:
    """Return a table in pieces, whose records are in reverse order from some pass on."""
    passes = count(1)

    def pieces(names: Sequence[str], rows: int) -> Iterator[Raw]:
        del rows
        step = -1 if next(passes) >= turned_from else 1
        for start in range(0, len(raw["who"]), _PIECE):
            yield {name: raw[name][::step][start : start + _PIECE] for name in names}

    return StreamedTable(pieces, list(raw), schema)


def _of_turned_pieces() -> Iterator[tuple[str, str]]:
    raw, schema = _table(("id",), _ONE, "refuse")
    kept = _in_pieces(raw, schema, turned_from=3).kept(_SECRET)
    with contextlib.suppress(ValueError):
        kept.count([("who",)])
        yield "not refused", "pieces in another order than that in which records were chosen are counted"


def _in_duckdb(raw: Raw, schema: Schema) -> Any:
    return scan(_filled(importlib.import_module("duckdb").connect(), raw), schema)


def _in_ibis(raw: Raw, schema: Schema) -> Any:
    connection = importlib.import_module("ibis").duckdb.connect()
    _filled(connection.con, raw)
    return EngineTable(connection.table("records"), schema)


def _filled(connection: Any, raw: Raw) -> Any:
    """Return a table whose texts are compared without case and accents."""
    kinds = [f"{name} {'INTEGER' if name == 'who' else 'VARCHAR COLLATE NOCASE.NOACCENT'}" for name in raw]
    connection.execute(f"CREATE TABLE records ({', '.join(kinds)})")
    rows = [list(row) for row in zip(*raw.values(), strict=True)]
    connection.executemany(f"INSERT INTO records VALUES ({', '.join('?' * len(raw))})", rows)
    return connection.table("records")


_SOURCES: dict[str, Callable[[Raw, Schema], Any]] = {
    "columns": lambda raw, schema: schema.encode(raw),
    "pieces": _in_pieces,
    "duckdb": _in_duckdb,
    "ibis": _in_ibis,
}


def _is_there(name: str) -> bool:
    """Return True if the packages of a source are installed."""
    needed = {"duckdb": ("duckdb", "pyarrow"), "ibis": ("ibis", "duckdb", "pyarrow")}.get(name, ())
    try:
        return all(importlib.import_module(package) for package in needed)
    except ImportError:
        return False
