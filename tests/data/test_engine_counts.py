"""Tables of engines have the counts that `Schema.encode` has of the same values, or are refused when they are opened.

For each engine and each of its column types: one column for each declaration, which holds all values that it takes.
"""

from __future__ import annotations

import datetime
import math
from decimal import Context, Decimal
from functools import cache

import numpy as np
import pytest
from engines import ENGINES

import pypgm
from pypgm.data import Boolean, Categorical, Codes, Date, EngineTable, Integer, Real
from pypgm.data.sources import counted

ibis = pytest.importorskip("ibis")
for package in ("pandas", "pyarrow", "narwhals"):
    pytest.importorskip(package)
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # those of the engines' own drivers

NULLS = ["", "-999", "9999-12-31"]
COLUMNS = {
    "texts": Categorical(["a", "A", "b", "ä", "1", "01", "2.5", "true", "2020-02-29", "inf"], null=NULLS, other=True),
    "listed": Categorical(["a", "é", "ss", "1", "0.1", "True", "1e+20"], null=NULLS),
    "numbers": Categorical([1, 2.5, 99, "x", 0.1, 2**53 + 1, 1e300], null=NULLS, other=True),
    "flags": Categorical([True, False, "b"], null=NULLS, other=True),
    "yes": Boolean(["no", "yes"], null=NULLS),
    "digits": Boolean(["1", "2"], null=NULLS),
    "codes": Codes(100, null=NULLS),
    "age": Integer(0, 99, width=7, null=NULLS),
    "clipped": Integer(-5, 50, edges=[0, 7], outside="clip", null=NULLS),
    "others": Integer(1, 2**53 - 1, edges=[100, 2**52], outside="other", null=NULLS),
    "nulled": Integer(-(2**53) + 1, 0, edges=[-1], outside="null", null=NULLS),
    "share": Real(0, 1, bins=10, null=NULLS),
    "wage": Real(-1e300, 1.7e308, edges=[-0.1, 0.3, 100 / 9, 2.0**53 + 2, 2.0**63, 1e20], outside="clip", null=NULLS),
    "tiny": Real(-5e-324, 5e-324, edges=[0], outside="other", null=NULLS),
    "day": Date("2000-01-01", "2020-03-01", "day", null=NULLS),
    "month": Date("1969-02-10", "2020-02-29", "month", outside="other", null=NULLS),
    "quarter": Date("1582-11-10", "2020-02-29", "quarter", outside="null", null=NULLS),
    "year": Date("0001-01-01", "9999-12-31", "year", outside="clip", null=NULLS),
    "week": Date("1969-12-01", "1970-02-01", "week", outside="other", null=NULLS),
    "hour": Date("1969-12-31", "1970-01-02", "hour", outside="null", null=NULLS),
    "last": Date("9999-12-30", "9999-12-31", "hour", outside="clip", null=NULLS),
    "minute": Date("1969-12-31", "1970-01-02", "minute", outside="clip", null=NULLS),
    "second": Date("1970-01-01T00:00", "1970-01-01T01:00", "second", outside="other", null=NULLS),
    "clock": Date("1969-02-10T05:00", "2020-02-29", "month", "%Y-%m-%d %H:%M:%S.%3f", outside="clip", null=NULLS),
    "weekly": Date("1969-12-01", "1970-02-01", "week", "%-d/%-m/%Y %H:%M", outside="clip", null=NULLS),
}

TEXTS = [
    "a", "A", "b", "B",
    " a", "a ", "a  b", "ä", "Ä", "a\u0308", "é", "É", "ß", "ss", "ﬁ", "fi", "İ", "i", "\u200ba", "a\u00a0",
    "\u3000b", "a'b", 'q"x', "\\", "%", "1", "01", "1.0", "1e0", "+1", "-1", "7", "99", "100", "1,5", "1.5", "2.5",
    "2.50", "0.1", ".1", "-999", "-999.0", "", " ", "true", "TRUE", "True", "yes", "YES", "no", "inf", "nan",
    "None", "NULL", "2020-02-29", "2020-02-29 05:00:00", "1970-01-01T00:30", "2020-02-29 05:00:00.123456789",
    "1e400", "٣", "𝟙", "1_0", "x", "other",
]  # fmt: skip
WHOLE = [
    0, 1, -1, 2, 6, 7, 50, 51, 99, 100, -5, -6, -999, 127, -128, 255, 32767, 2**31 - 1, 2**52, 2**53 - 1, 2**53,
    2**53 + 1, 2**53 + 2, 2**53 + 3, -(2**53) - 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 10**20, 2**126,
]  # fmt: skip
FLOATS = [
    0.0, -0.0, 1.0, 1.5, 2.5, 7.0, 0.1, 0.3, -0.1, 99.0, 99.5, 100.0, -999.0, 100 / 9, 1e-300, 5e-324, -5e-324,
    1e-323, 1e16, 2.0**53, 2.0**53 + 2, 2.0**63, 1e20, 1e300, -1e300, 1.7e308, 1.7976931348623157e308, math.nan,
    math.inf, -math.inf, 0.7, 0.6, 0.9999999999999999,
    *(math.nextafter(x, y) for x in (0.3, -0.1, 0.1, 100 / 9, 1e20, 1.0, 7.0) for y in (-math.inf, math.inf)),
]  # fmt: skip
DECIMALS = [
    "0", "1", "1.50", "2.5", "0.1", "0.3", "0.29", "-0.1", "-999", "-999.01", "99", "99.99", "7", "6.99", "50.5",
    "0.2999999999", "0.3000000001", "11.1111111111", "11.1111111112", "12345678.9", "9007199254740993",
]  # fmt: skip
LONG = [
    "0.29999999999999999", "0.299999999999999988", "0.29999999999999995", "5.00000000000000000001",
    "4503599627370497.25", "9007199254740993.5", "11.111111111111110715", "11.111111111111111",
]  # fmt: skip
ENDLESS = [*LONG, "NaN", "Infinity", "-Infinity", "1e310", "-1e310"]
DAYS = [
    "2020-02-29", "2000-01-01", "1999-12-31",
    "2020-03-01", "2020-03-02", "0001-01-01", "9999-12-31", "9999-12-30", "1969-12-31", "1970-01-01", "1970-01-05",
    "1969-12-28", "1582-10-10",
]  # fmt: skip
TIMES = [
    "2020-02-29 00:00:00", "2020-02-29 05:00:00", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00.000001",
    "1970-01-02 23:59:59.5", "1970-01-03 00:00:00", "1969-12-30 23:59:59.999", "9999-12-31 23:59:59.999999",
    "9999-12-30 00:00:00", "9999-12-31 00:00:00", "0001-01-01 00:00:00", "2000-01-01 00:00:00",
]  # fmt: skip


def quoted(value):
    return "'" + str(value).replace("'", "''") + "'"


def of_texts(engine, texts=TEXTS, cast="{}"):
    plain = [t for t in texts if engine not in {"spark", "clickhouse"} or "\\" not in t]
    return [(cast.format(quoted(t)), t) for t in plain]


def of_integers(low, high):
    return [(str(n) if abs(n) < 2**63 else quoted(n), n) for n in WHOLE if low <= n <= high]


def of_doubles(engine, kind, single=False):
    fits = [x for x in FLOATS if not single or abs(x) in {math.inf} or (not 1e-40 > abs(x) > 0 and not abs(x) > 3e38)]
    values = [float(np.float32(x)) if single else x for x in fits]
    texts = [{"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(x), repr(x)) for x in values]
    return [(f"CAST('{text}' AS {kind})", x) for text, x in zip(texts, values, strict=True)]


def of_decimals(kind, precision, scale, more=()):
    given = map(Decimal, [*DECIMALS, *more])
    fits = [d for d in given if -d.as_tuple().exponent <= scale and abs(d) < 10 ** (precision - scale)]
    last, wide = Decimal(1).scaleb(-scale), Context(prec=100)
    return [(f"CAST('{d}' AS {kind})", d.quantize(last, context=wide)) for d in fits]


def of_times(kind, digits=6):
    values = [datetime.datetime.fromisoformat(t) for t in TIMES]
    return [(f"CAST('{t}' AS {kind})", v) for t, v in zip(TIMES, values, strict=True) if len(t) <= 20 + digits]


def of_dates():
    return [(f"CAST('{d}' AS DATE)", datetime.date.fromisoformat(d)) for d in DAYS]


BOOLEANS = [("TRUE", True), ("FALSE", False)]
REFUSED = None  # a type that no column takes
ICU = "CREATE COLLATION IF NOT EXISTS {} (provider = icu, locale = '{}', deterministic = false)"


@cache
def kinds(engine):
    """Return for each type of an engine the SQL and the value of what its columns hold, and statements before."""
    text = {"VARCHAR": of_texts(engine)} if engine == "duckdb" else {"text": of_texts(engine)}
    if engine == "spark":
        text = {"string": of_texts(engine)}
    if engine == "mysql":  # which trims CHAR, and takes a backslash for one
        text = {"text": of_texts(engine)}
    if engine == "clickhouse":
        text = {"Nullable(String)": of_texts(engine)}
    own = {
        "duckdb": {
            **{f"VARCHAR COLLATE {c}": of_texts(engine) for c in ("NOCASE", "NOACCENT", "NOCASE.NOACCENT.NFC")},
            "mood": of_texts(engine, ["a", "A", "b", "1", "-999"]),
            "TINYINT": of_integers(-128, 127),
            "UTINYINT": of_integers(0, 255),
            "BIGINT": of_integers(-(2**63), 2**63 - 1),
            "UBIGINT": of_integers(0, 2**64 - 1),
            "HUGEINT": of_integers(-(2**126), 2**126),
            "DOUBLE": of_doubles(engine, "DOUBLE"),
            "FLOAT": of_doubles(engine, "FLOAT", single=True),
            "DECIMAL(10,2)": of_decimals("DECIMAL(10,2)", 10, 2),
            "DECIMAL(38,20)": of_decimals("DECIMAL(38,20)", 38, 20, LONG),
            "BOOLEAN": BOOLEANS,
            "DATE": of_dates(),
            "TIMESTAMP": of_times("TIMESTAMP"),
            "TIMESTAMP_S": of_times("TIMESTAMP_S", -1),
            "TIMESTAMP_NS": [
                *(p for p in of_times("TIMESTAMP_NS") if 1677 < p[1].year < 2262),
                ("'1969-12-31 23:59:59.999999999'", datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)),
            ],
            **dict.fromkeys(
                ["TIMESTAMPTZ", "INTERVAL", "TIME", "BLOB", "UUID", "BIT", "INTEGER[]", "JSON", "UHUGEINT"]
            ),
            **dict.fromkeys(["STRUCT(a INTEGER)", "MAP(INTEGER, INTEGER)"]),
        },
        "postgres": {
            "text COLLATE ci": of_texts(engine),
            "text COLLATE loose": of_texts(engine),
            "varchar(30) COLLATE digits": of_texts(engine),
            'text COLLATE "C"': of_texts(engine),
            "char(30)": of_texts(engine),
            "mood": of_texts(engine, ["a", "A", "b", "1", "-999"]),
            "smallint": of_integers(-32768, 32767),
            "bigint": of_integers(-(2**63), 2**63 - 1),
            "double precision": of_doubles(engine, "double precision"),
            "real": of_doubles(engine, "real", single=True),
            "numeric(10,2)": [*of_decimals("numeric", 10, 2), ("'NaN'", Decimal("NaN"))],
            "numeric": [
                *of_decimals("numeric", 60, 30, ["1e20", "-1e-30"]),
                *((quoted(n), Decimal(n)) for n in ENDLESS),
            ],
            "boolean": BOOLEANS,
            "date": of_dates(),
            "timestamp": of_times("timestamp"),
            "timestamp(0)": of_times("timestamp(0)", -1),
            **dict.fromkeys(
                ["timestamptz", "interval", "time", "bytea", "uuid", "bit(3)", "integer[]", "jsonb", "xml"]
            ),
        },
        "sqlite": {
            **{f"text COLLATE {c}": of_texts(engine) for c in ("NOCASE", "RTRIM")},
            "integer": of_integers(-(2**63), 2**63 - 1),
            "real": [p for p in of_doubles(engine, "real") if math.isfinite(p[1])],
            "blob": [*of_integers(-(2**63), 2**63 - 1), *of_texts(engine), ("1.5", 1.5), ("x'61'", REFUSED)],
            "boolean": [("1", 1), ("0", 0), ("7", 7), ("'yes'", "yes")],
            "date": of_texts(engine, DAYS),
            "timestamp": of_texts(engine, TIMES),
            "decimal(10,2)": [("1.5", 1.5), ("2", 2), ("-999", -999), ("0.3", 0.3)],
        },
        "spark": {
            **{f"string COLLATE {c}": of_texts(engine) for c in ("UTF8_LCASE", "UNICODE_CI")},
            "char(30)": of_texts(engine),
            "tinyint": of_integers(-128, 127),
            "bigint": of_integers(-(2**63) + 1, 2**63 - 1),
            "double": of_doubles(engine, "double"),
            "float": of_doubles(engine, "float", single=True),
            "decimal(10,2)": of_decimals("decimal(10,2)", 10, 2),
            "decimal(38,20)": of_decimals("decimal(38,20)", 38, 20, LONG),
            "boolean": BOOLEANS,
            "date": of_dates(),
            "timestamp_ntz": of_times("timestamp_ntz"),
            **dict.fromkeys(["binary", "array<int>", "struct<a:int>"]),
        },
        "mysql": {
            **{f"varchar(30) COLLATE {c}": of_texts(engine) for c in ("utf8mb4_general_ci", "utf8mb4_unicode_520_ci")},
            "varchar(30) CHARACTER SET latin1": of_texts(engine, ["a", "A", "b", "ä", "é", "ß", "ss", " a", "7"]),
            "enum('a', 'b', '1', '-999')": of_texts(engine, ["a", "b", "1", "-999"]),
            "tinyint": of_integers(-128, 127),
            "bigint": of_integers(-(2**63), 2**63 - 1),
            "bigint unsigned": of_integers(0, 2**64 - 1),
            "double": [pair for pair in of_doubles(engine, "double") if math.isfinite(pair[1])],
            "decimal(10,2)": of_decimals("decimal(10,2)", 10, 2),
            "decimal(38,20)": of_decimals("decimal(38,20)", 38, 20, LONG),
            "boolean": [("TRUE", 1), ("FALSE", 0)],
            "date": of_dates(),
            "datetime(6)": of_times("datetime(6)"),
            **dict.fromkeys(["blob", "time"]),
        },
        "clickhouse": {
            "LowCardinality(Nullable(String))": of_texts(engine),
            "Nullable(Int8)": of_integers(-128, 127),
            "Nullable(Int64)": of_integers(-(2**63), 2**63 - 1),
            "Nullable(UInt64)": of_integers(0, 2**64 - 1),
            "Nullable(Float64)": of_doubles(engine, "Nullable(Float64)"),
            "Nullable(Float32)": of_doubles(engine, "Nullable(Float32)", single=True),
            "Nullable(Decimal(10,2))": of_decimals("Decimal(10,2)", 10, 2),
            "Nullable(Decimal(38,20))": of_decimals("Decimal(38,20)", 38, 20, LONG),
            "Nullable(Bool)": BOOLEANS,
            "Nullable(Date32)": [(quoted(d), d) for _, d in of_dates() if 1900 <= d.year < 2300],
            "Nullable(DateTime64(6))": [p for p in of_times("DateTime64(6)") if 1900 <= p[1].year < 2300],
            **dict.fromkeys(["Array(Int32)", "Nullable(UUID)"]),
        },
    }
    return text | own[engine]


BEFORE = {
    "duckdb": ["CREATE TYPE IF NOT EXISTS mood AS ENUM ('a', 'A', 'b', '1', '-999')"],
    "postgres": [
        "DROP TYPE IF EXISTS mood CASCADE",
        "CREATE TYPE mood AS ENUM ('a', 'A', 'b', '1', '-999')",
        ICU.format("ci", "und-u-ks-level2"),
        ICU.format("loose", "und-u-ks-level1-ka-shifted"),
        ICU.format("digits", "und-u-kn-true"),
    ],
}


KINDS = [(name, kind) for name in ENGINES for kind in kinds(name)]


@pytest.fixture(scope="module")
def engines():
    made = {}

    def engine(name):
        if name not in made:
            made[name] = ENGINES[name](ibis)
            for statement in BEFORE.get(name, ()):
                made[name].run(statement)
        return made[name]

    yield engine
    for opened in made.values():
        opened.close()


def takes(column, value):
    """Return whether a column takes a value; None where an engine's may refuse it: a fraction beside a whole double."""
    if isinstance(column, Integer) and isinstance(value, Decimal) and value.is_finite() and int(value) != value:
        is_long = len(value.as_tuple().digits) > 15 or value.as_tuple().exponent < -15
        return None if is_long else column.encode([value])[1] is None
    return value is not REFUSED and column.encode([value])[1] is None


def columns_of(values):
    """Return the columns that a type is tried with: all where it has numbers, else those that may differ."""
    kinds = {type(value) for _, value in values}
    if kinds == {str}:
        return {n: COLUMNS[n] for n in ("texts", "listed", "nulled", "hour")}
    is_date = kinds <= {datetime.date, datetime.datetime}
    return {n: c for n, c in COLUMNS.items() if n == "day" or isinstance(c, Date) is is_date or len(kinds) > 2}


def row(columns, value, sql, wanted):
    """Return a row that has a value in the columns that take it, or in those that do not."""
    return [sql if takes(c, value) is wanted else "NULL" for c in columns.values()]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_counts_of_encode(engines, name, kind, monkeypatch):
    monkeypatch.setattr(counted, "_KEPT_CELLS", 0)  # each count asks the engine
    engine, values = engines(name), kinds(name)[kind]
    if values is REFUSED:
        for column in (COLUMNS["texts"], COLUMNS["clipped"], COLUMNS["week"]):
            with pytest.raises((ValueError, NotImplementedError), match=r"column 'a': is of the engine's type|convert"):
                EngineTable(engine.opened(engine.table(kind, [], ["a"])), pypgm.Schema({"a": column}))
        return
    columns = columns_of(values)
    schema = pypgm.Schema(columns)
    given = [pair for i, pair in enumerate(values) for _ in range(1 + i % 3)]
    table = engine.table(kind, [row(columns, value, sql, wanted=True) for sql, value in given], columns)
    names = list(columns)
    cliques = [(a,) for a in names] + [tuple(names[:2]), (), tuple(names[-2:])]

    def encoded(records):
        held = {n: [v if takes(c, v) is True else None for _, v in records] for n, c in columns.items()}
        return schema.encode(held).count(cliques)

    opened = EngineTable(engine.opened(table), schema)
    counts = opened.count(cliques)
    for clique, found, expected in zip(cliques, counts, encoded(given), strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=str(clique))
    opened.end_snapshot()
    sql, value = values[len(values) // 2]
    engine.add(table, [row(columns, value, sql, wanted=True)])
    more = EngineTable(engine.opened(table), schema).count(cliques)
    for before, found, one in zip(counts, more, encoded([(sql, value)]), strict=True):
        np.testing.assert_array_equal(found - before, one)
    with pytest.raises(ValueError, match=r"^the table changed while it was counted$"):
        opened.count(cliques[:1])


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_refuses_what_encode_refuses(engines, name, kind):
    engine, values = engines(name), kinds(name)[kind]
    if values is REFUSED:
        return
    columns, tried = columns_of(values), set()
    for sql, value in values:
        unfit = {n for n, c in columns.items() if takes(c, value) is False}
        if unfit - tried or (len(unfit) > 2 and value is not REFUSED and name == "duckdb" and len(values) < 20):
            tried |= unfit
            table = engine.table(kind, [row(columns, value, sql, wanted=False)], columns)
            with pytest.raises(ValueError, match=r"column ") as caught:
                EngineTable(engine.opened(table), pypgm.Schema(columns))
            assert {part.split("'")[1] for part in str(caught.value).split("column ")[1:]} == unfit


@pytest.mark.parametrize("name", ENGINES)
def test_dates_are_no_labels(engines, name):
    engine = engines(name)
    if name != "sqlite":
        table = engine.table("DATE", [["CAST('2020-02-29' AS DATE)"]], ["a"])
        for column in ("texts", "yes", "codes", "age", "share"):
            with pytest.raises(ValueError, match="column 'a': is of the engine's type date, which has no counts as"):
                EngineTable(engine.opened(table), pypgm.Schema({"a": COLUMNS[column]}))
