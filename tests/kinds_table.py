"""One table with each kind of value, and the sources that can hold it."""

from __future__ import annotations

import csv
import datetime
import math
from collections import Counter
from decimal import Decimal

import numpy as np

from pypgm.data import Boolean, Categorical, Date, Integer, OpenSchema, OpenSet, QuantileBins, Real

NULLS = ["", "-999"]
WORDS = ["Tea", "tea", "TEA", " tea", "tea ", "é", "e\u0301", "É", "ß", "ss", "a  b", "\u3000x", "a'b", "", None]
BIG = [0, 7, -1, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63) + 1, -999, None]
PRICES = [Decimal(p) for p in ("0.00", "0.10", "0.29", "0.30", "7.00", "99.99", "-0.10", "1234567.89")]
FEES = [Decimal(p) for p in ("0.5000", "0.1000", "2.0000", "12.3400", "39.9999", "99999999999999.9999")]
DOUBLES = [0.0, -0.0, 0.1, 0.3, 2.5, 7.000000000000001, 40.0, math.nan, math.inf, -math.inf, 1e300, None]
DAYS = [datetime.date(*d) for d in ((1950, 1, 1), (1969, 12, 31), (1970, 1, 1), (2000, 2, 29), (2019, 12, 31))]
TIMES = [
    datetime.datetime.fromisoformat(f"2020-{t}")
    for t in (
        "02-29 23:59:59.999999",
        "03-01 00:00:00",
        "01-31 05:00:00.000001",
        "12-31 23:59:59.500000",
        "06-01 12:00:00",
    )
]
ZONED = [
    f"2020-03-0{d}T{t}{z}" for d, t, z in (("1", "00:30:00", "+02:00"), ("2", "23:59:59", "Z"), ("3", "05:00", ""))
]

# name: declaration, type in Arrow, type in SQL, values
COLUMNS = {
    "word": (Categorical(["Tea", "tea", "é", "ss", "a'b"], null=NULLS, other=True), "string", "VARCHAR(9)", WORDS),
    "town": (OpenSet("1/20", null=NULLS), "string", "VARCHAR(9)", WORDS),
    "code": (16, "int16", "SMALLINT", list(range(16))),
    "big": (Categorical([7, 2**53, 2**53 + 1, 2**63 - 1], null=NULLS, other=True), "int64", "BIGINT", BIG),
    "key": (OpenSet("1/20", null=NULLS), "int64", "BIGINT", BIG),
    "rank": (QuantileBins(Integer(-20, 50, outside="clip", null=NULLS), 5, "1/20", [7]), "int64", "BIGINT", BIG),
    "price": (
        Real(0, 100, edges=[0.1, 0.3, 7], outside="clip", null=NULLS),
        "decimal128(12, 2)",
        "DECIMAL(12,2)",
        [*PRICES, None],
    ),
    "fee": (
        QuantileBins(Real(-1e6, 1e6, outside="clip", decimals=1, bins=1), 5, "1/20", find_bounds=True),
        "decimal128(18, 4)",
        "DECIMAL(18,4)",
        FEES,
    ),
    "wage": (
        Real(-1, 42, edges=[-0.5, 0, 0.3, 7], outside="clip", null=NULLS),
        "float64",
        "DOUBLE PRECISION",
        DOUBLES,
    ),
    "paid": (
        QuantileBins(Real(-1, 42, bins=1, decimals=1, outside="clip", null=NULLS), 5, "1/20", heaps=[2.5]),
        "float64",
        "DOUBLE PRECISION",
        DOUBLES,
    ),
    "born": (Date("1950-01-01", "2019-12-31", "year", null=NULLS), "date32", "DATE", [*DAYS, None]),
    "seen": (Date("2020-01-01", "2020-12-31", "month", null=NULLS), "timestamp[us]", "TIMESTAMP", [*TIMES, None]),
    "zoned": (Date("2020-03-01", "2020-03-03", "hour", null=NULLS), "string", "VARCHAR(30)", [*ZONED, None]),
    "member": (Boolean(["no", "yes"], null=NULLS), "bool", "BOOLEAN", [True, False, None]),
}
"""Texts of any case, form and blanks; integers beyond doubles; decimals; NaN, -0, infinities; dates, times, zones."""

SCHEMA = OpenSchema({name: column for name, (column, _, _, _) in COLUMNS.items()})
N = 1600


def records(seed=0):
    """Return lists of values by column: the first ones of each are the most frequent."""
    draw = np.random.default_rng(seed)
    places = {
        n: draw.integers(0, len(values), N) % (1 + draw.integers(1, 99, N)) for n, (*_, values) in COLUMNS.items()
    }
    return {name: [COLUMNS[name][3][i] for i in of] for name, of in places.items()}


def arrow_of(raw):
    """Return an Arrow table of the records."""
    import pyarrow as pa

    kinds = {"decimal128(12, 2)": pa.decimal128(12, 2), "decimal128(18, 4)": pa.decimal128(18, 4)}
    types = {n: kinds.get(kind) or pa.type_for_alias(kind) for n, (_, kind, _, _) in COLUMNS.items()}
    return pa.table({name: pa.array(values, types[name], from_pandas=False) for name, values in raw.items()})


AS_TEXT = {None: "", True: "yes", False: "no", math.inf: "1e310", -math.inf: "-1e310"}


def write_csv(raw, path):
    """Write records as texts, and for an infinity a number beyond all bounds."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(raw)
        writer.writerows([list(map(_text, row)) for row in zip(*raw.values(), strict=True)])


def _text(value):
    if value is None or isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        return AS_TEXT.get(value, "")
    return str(value)


def in_engine(engine, raw, folder):
    """Return the table of an engine with the records; SQLite has no dates and decimals, and holds them as texts."""
    if engine.name == "spark":
        return engine.connection.read_parquet(str(folder))
    kinds = [f"{name} {_kind(engine.name, name)}" for name in raw]
    rows = [[_sql(v, engine.name, n) for n, v in zip(raw, row, strict=True)] for row in zip(*raw.values(), strict=True)]
    return engine.opened(engine.made(kinds, rows))


NUMBERS = {"BIGINT": "INTEGER", "SMALLINT": "INTEGER", "DOUBLE PRECISION": "REAL", "BOOLEAN": "BOOLEAN"}
OWN = {
    "sqlite": dict.fromkeys((sql for _, _, sql, _ in COLUMNS.values()), "TEXT") | NUMBERS,
    "clickhouse": {"DATE": "Date32", "TIMESTAMP": "DateTime64(6)"},  # its DATE begins in 1970
}
"""Types of engines that have others than the standard's, or mean others by their names."""


def _kind(engine, name):
    kind = COLUMNS[name][2]
    return OWN.get(engine, {}).get(kind, kind)


def _sql(value, engine, name):
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(int(value)) if engine == "sqlite" else str(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and engine == "sqlite":
        return {"nan": "NULL", "inf": "9e999", "-inf": "-9e999"}.get(repr(value), repr(value))
    text = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(value), str(value)).replace("'", "''")
    return f"'{text}'" if isinstance(value, str) or engine == "sqlite" else f"CAST('{text}' AS {_kind(engine, name)})"


class Own:
    """The records, as a class of one's own counts them."""

    domain = SCHEMA.provisional.domain

    def __init__(self, raw):
        self.raw = raw

    def count(self, cliques, schema):
        return schema.encode(self.raw).count(cliques)

    def distinct(self, column):
        return Counter(map(_hashed_alike, self.raw[column])).items()


def _hashed_alike(value):
    """Return one object for all NaN."""
    return math.nan if value != value else value  # noqa: PLR0124
