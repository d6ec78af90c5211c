"""Counts of an engine that are not those of the same records in memory."""

from __future__ import annotations

from functools import partial

from mutate import Mutant

from pypgm.audit.engines import check_engine

duckdb, sqlite = partial(check_engine, "duckdb"), partial(check_engine, "sqlite")
TABLE, CODES, NUMBERS = "pypgm.data.engine", "pypgm.data.engine_codes", "pypgm.data.engine_numbers"

_TEXTS = (
    "_cases(ibis, [(key.isin(found), code)",
    "_cases(ibis, [(value.isin([bytes.fromhex(f).decode() for f in found]), code)",
)
_MISSING = "ibis.cases((value.isnull(), _code(column, None)), else_=found)"

MUTANTS = [
    Mutant("texts are equal by DuckDB's collation", CODES, *_TEXTS, duckdb, "wrong counts"),
    Mutant("texts are equal by SQLite's collation", CODES, *_TEXTS, sqlite, "wrong counts"),
    Mutant(
        "what is missing in DuckDB is counted as the first value",
        CODES,
        _MISSING,
        "ibis.cases((value.isnull(), 0), else_=found)",
        duckdb,
        "wrong counts",
    ),
    Mutant(
        "fractions are cut off in DuckDB",
        NUMBERS,
        "return self._ibis.cases((inside, broken), else_=False)",
        "return self._ibis.literal(False)",
        duckdb,
        "not refused",
    ),
    Mutant(
        "bins of doubles in SQLite begin after their edges",
        NUMBERS,
        "self._value >= self._double(double)",
        "self._value > self._double(double)",
        sqlite,
        "wrong counts",
    ),
    Mutant(
        "attributes that the engine groups by are not told apart",
        TABLE,
        "present = np.array([~np.isnan(c) for c in columns.values()], dtype=bool)",
        "present = np.array([~np.isnan(c) | True for c in columns.values()], dtype=bool)",
        duckdb,
        "wrong counts",
    ),
    Mutant(
        "groups of SQLite count once",
        TABLE,
        "np.add.at(table, _cells(self.domain, clique, codes), counts)",
        "np.add.at(table, _cells(self.domain, clique, codes), np.minimum(counts, 1))",
        sqlite,
        "wrong counts",
    ),
    Mutant(
        "nulls of bins are numbers in DuckDB",
        CODES,
        "for p in column.null_places.tolist()]",
        "for p in column.null_places.tolist()[:0]]",
        duckdb,
        "wrong counts",
    ),
    Mutant(
        "nulls of codes are codes in DuckDB",
        CODES,
        "for n in numbers.named(column.nulls)]",
        "for n in numbers.named([])]",
        duckdb,
        "wrong counts",
    ),
    Mutant(
        "nulls of labels that are numbers are other numbers in SQLite",
        CODES,
        '*column.nulls, "0", "1"])',
        '"0", "1"])',
        sqlite,
        "wrong counts",
    ),
    Mutant(
        "texts that are nulls are left out of the query in SQLite",
        CODES,
        "for code, found in written.items()], _NONE)",
        "for code, found in written.items() if code != column.null_code], _NONE)",
        sqlite,
        "wrong counts",
    ),
    Mutant(
        "texts are compared in lower case in SQLite",
        CODES,
        'return call("hex", "string", text)',
        'return call("hex", "string", call("lower", "string", text))',
        sqlite,
        "wrong counts",
    ),
]
