"""Counts of an engine that are not those of the same records in memory."""

from __future__ import annotations

from functools import partial

from mutate import at
from operators import off_by_one
from selfcheck.engines import check_engine

duckdb, sqlite = partial(check_engine, "duckdb"), partial(check_engine, "sqlite")

_BY_COLLATION = (
    "key.cases(*of_texts.items(), else_=_MISFIT)",
    "self._table[name].cases(*((bytes.fromhex(t).decode(), c) for t, c in of_texts.items()), else_=_MISFIT)",
)

MUTANTS = {
    "texts are equal by DuckDB's collation": at("data.sources.engine_texts:Texts.joined", duckdb, "wrong counts")(
        *_BY_COLLATION
    ),
    "texts are equal by SQLite's collation": at("data.sources.engine_texts:Texts.joined", sqlite, "wrong counts")(
        *_BY_COLLATION
    ),
    "what is missing in DuckDB is counted as the first value": at(
        "data.sources.engine_codes:code_of", duckdb, "wrong counts"
    )("_code(column, None)", "0"),
    "fractions are cut off in DuckDB": at(
        "data.sources.engine_numbers:NumberColumn.is_fraction", duckdb, "not refused"
    )("self._ibis.cases((inside, broken), else_=False)", "self._ibis.literal(False)"),
    "bins of doubles in SQLite begin after their edges": at(
        "data.sources.engine_numbers:NumberColumn.at_least", sqlite, "wrong counts"
    )(off_by_one()),
    "attributes that the engine groups by are not told apart": at(
        "data.sources.engine_groups:Queries._groups_of", duckdb, "wrong counts"
    )("reversed(radices)", "radices"),
    "groups of SQLite count once": at("data.sources.engine_opening:tables_of", sqlite, "wrong counts")(
        "np.add.at(tables[clique], cells, counts)", "np.add.at(tables[clique], cells, np.minimum(counts, 1))"
    ),
    "nulls of bins are numbers in DuckDB": at("data.sources.engine_codes:_on_line", duckdb, "wrong counts")(
        "column.null_places.tolist()", "column.null_places.tolist()[:0]"
    ),
    "nulls of codes are codes in DuckDB": at("data.sources.engine_codes:_of_numbers", duckdb, "wrong counts")(
        "numbers.named(column.nulls)", "numbers.named([])"
    ),
    "nulls of labels that are numbers are other numbers in SQLite": at(
        "data.sources.engine_codes:_of_numbers", sqlite, "wrong counts"
    )("[*map(str, column.labels or ()), *column.nulls, '0', '1']", "[*map(str, column.labels or ()), '0', '1']"),
    "texts that are nulls are left out of the query in SQLite": at(
        "data.sources.engine_texts:Texts.joined", sqlite, "wrong counts"
    )(
        "key.cases(*of_texts.items(), else_=_MISFIT)",
        "key.cases(*((t, c) for t, c in of_texts.items() if c != self._declared[name].null_code), else_=_MISFIT)",
    ),
    "texts are compared in lower case in SQLite": at("data.sources.engine_codes:bytes_of", sqlite, "wrong counts")(
        "call('hex', 'string', text)", "call('hex', 'string', call('lower', 'string', text))"
    ),
}
