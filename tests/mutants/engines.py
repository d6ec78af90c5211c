"""Counts of an engine that are not those of the same records in memory."""

from __future__ import annotations

from functools import partial

from mutate import Mutant
from operators import instead, off_by_one
from selfcheck.engines import check_engine

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
        "NumberColumn.is_fraction",
        instead("self._ibis.cases((inside, broken), else_=False)", "self._ibis.literal(False)"),
        duckdb,
        "not refused",
    ),
    Mutant(
        "bins of doubles in SQLite begin after their edges",
        NUMBERS,
        "NumberColumn.at_least",
        off_by_one(),
        sqlite,
        "wrong counts",
    ),
    Mutant(
        "attributes that the engine groups by are not told apart",
        TABLE,
        "EngineTable._groups_of",
        instead("~np.isnan(c)", "~np.isnan(c) | True"),
        duckdb,
        "wrong counts",
    ),
    Mutant(
        "groups of SQLite count once",
        TABLE,
        "EngineTable._scan",
        instead(
            "np.add.at(table, _cells(self.domain, clique, codes), counts)",
            "np.add.at(table, _cells(self.domain, clique, codes), np.minimum(counts, 1))",
        ),
        sqlite,
        "wrong counts",
    ),
    Mutant(
        "nulls of bins are numbers in DuckDB",
        CODES,
        "_on_line",
        instead("column.null_places.tolist()", "column.null_places.tolist()[:0]"),
        duckdb,
        "wrong counts",
    ),
    Mutant(
        "nulls of codes are codes in DuckDB",
        CODES,
        "_of_numbers",
        instead("numbers.named(column.nulls)", "numbers.named([])"),
        duckdb,
        "wrong counts",
    ),
    Mutant(
        "nulls of labels that are numbers are other numbers in SQLite",
        CODES,
        "_of_numbers",
        instead(
            "[*map(str, column.labels or ()), *column.nulls, '0', '1']", "[*map(str, column.labels or ()), '0', '1']"
        ),
        sqlite,
        "wrong counts",
    ),
    Mutant(
        "texts that are nulls are left out of the query in SQLite",
        CODES,
        "_of_texts",
        instead(
            "[(key.isin(found), code) for code, found in written.items()]",
            "[(key.isin(found), code) for code, found in written.items() if code != column.null_code]",
        ),
        sqlite,
        "wrong counts",
    ),
    Mutant(
        "texts are compared in lower case in SQLite",
        CODES,
        "bytes_of",
        instead("call('hex', 'string', text)", "call('hex', 'string', call('lower', 'string', text))"),
        sqlite,
        "wrong counts",
    ),
]
