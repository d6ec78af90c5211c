"""Open values and quantile bins are the same from every source, and nothing but counts leaves an engine."""

from __future__ import annotations

import datetime
import gc
import math
import os
from contextlib import closing
from decimal import Decimal

import numpy as np
import pytest
from engines import ENGINES

import pypgm
from pypgm import Budget, Ledger, OpenSchema, PrivateTable, ReleaseError
from pypgm.data import Integer, OpenSet, Person, QuantileBins, Real, scan
from pypgm.data.sources import open_values, streamed, tally
from pypgm.data.sources.engine_values import EngineValues
from pypgm.data.sources.open_values import StreamedValues
from pypgm.data.sources.opened import opened
from pypgm.data.sources.source import open_source
from pypgm.errors import SourceError
from pypgm.privacy import settle
from pypgm.privacy.sampler import Sampler

NULLS = ["", "-999"]
WORDS = ["Tea", "tea", "TEA", " tea", "é", "e\u0301", "É", "ß", "ss", "", "-999", "7", "07", "a'b", "\u3000x", None]
WHOLE = [0, 1, -1, 7, 40, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), -999, None]
DOUBLES = [0.0, -0.0, 0.1, 2.5, 7.0, 7.0000000000000009, math.nan, math.inf, -math.inf, 1e300, -999.0, 40.0, None]
DECIMALS = ["0.5000", "0.1000", "2.0000", "7.0000", "12.3400", "-999.0000", "99999999999999.9999", "39.9999", None]
ENDLESS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e310",
    "-1e310",
    "1e-320",
    "-1e-400",
    "0",
    "4.0000000000000001",
    "7",
    "-999",
]
SET, BINS = OpenSet("1/20", null=NULLS), {"bins": 1, "decimals": 1, "outside": "clip", "null": NULLS}
COLUMNS = {
    "word": (SET, "VARCHAR(9)", WORDS),
    "spelled": (QuantileBins(Real(0, 50, **BINS), 4, "1/20"), "VARCHAR(9)", ["1.50", "1.5", " 2", "4e1", *NULLS, None]),
    "whole": (SET, "BIGINT", WHOLE),
    "ranked": (QuantileBins(Integer(-20, 50, outside="clip", null=NULLS), 5, "1/20", [7]), "BIGINT", WHOLE),
    "ratio": (SET, "DOUBLE PRECISION", DOUBLES),
    "wage": (QuantileBins(Real(-1, 42, **BINS), 5, "1/20", heaps=[7]), "DOUBLE PRECISION", DOUBLES),
    "exact": (SET, "DECIMAL(18,4)", [d and Decimal(d) for d in DECIMALS]),
    "price": (QuantileBins(Real(0, 42, **BINS), 5, "1/20"), "DECIMAL(18,4)", [d and Decimal(d) for d in DECIMALS]),
    "flag": (SET, "BOOLEAN", [True, False, None]),
    "endless": (SET, "NUMERIC", list(map(Decimal, ENDLESS))),
    "fee": (QuantileBins(Real(-1, 42, **BINS), 5, "1/20"), "NUMERIC", list(map(Decimal, ENDLESS))),
}
N = 1500


def records(names, seed=0):
    draw = np.random.default_rng(seed)
    return {
        name: [COLUMNS[name][2][i] for i in draw.integers(0, len(COLUMNS[name][2]), N) % (1 + draw.integers(1, 99, N))]
        for name in names
    }


def settled(schema, values, seed=3):
    budget = Budget(epsilon=60, delta=1e-6, reserved_delta=1e-7)
    return settle(schema, values, None, Ledger(budget), sampler=Sampler(seed))


def sql(value, kind, engine):
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "NULL" if value is None or engine == "sqlite" else f"CAST('NaN' AS {kind})"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'" if engine != "spark" else f'"{value}"'
    if isinstance(value, bool | int):
        return str(value) if value != -(2**63) else f"{value + 1} - 1"
    if engine == "sqlite":
        return {math.inf: "9e999", -math.inf: "-9e999"}.get(value, repr(value))
    text = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, str(value))
    return f"CAST('{text}' AS {kind})"


@pytest.fixture(params=ENGINES)
def own(request):
    with closing(ENGINES[request.param](pytest.importorskip("ibis"))) as engine:
        yield engine


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the engines' own drivers
def test_engines_settle_as_memory_does(own):
    pytest.importorskip("pyarrow")
    n_kinds = {"sqlite": 6, "postgres": len(COLUMNS), "spark": 4}.get(own.name, len(COLUMNS) - 2)
    without = {"ratio", "wage", "flag"} if own.name == "mysql" else ()  # it has no NaN, and no booleans
    names = [name for name in list(COLUMNS)[:n_kinds] if name not in without]
    kinds = {"VARCHAR(9)": "STRING", "DOUBLE PRECISION": "DOUBLE"} if own.name == "spark" else {}
    raw, kind_of = records(names), {name: kinds.get(COLUMNS[name][1], COLUMNS[name][1]) for name in names}
    rows = [
        [sql(v, kind_of[name], own.name) for name, v in zip(names, row, strict=True)]
        for row in zip(*raw.values(), strict=True)
    ]
    table = own.opened(own.made([f"{name} {kind}" for name, kind in kind_of.items()], rows))
    schema = OpenSchema({name: COLUMNS[name][0] for name in names})
    found = opened(open_source(table), schema)
    assert settled(schema, found.values) == settled(schema, raw)
    assert {name: column.size for name, column in found.records(settled(schema, raw)).schema.columns.items()}


@pytest.mark.parametrize("own", ["duckdb", "spark"], indirect=True)
@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "TINYINT", "BIGINT", "UBIGINT", "DECIMAL(18,3)", "DECIMAL(38,0)"])
@pytest.mark.filterwarnings("ignore")
def test_an_engine_counts_numbers_below_points_as_memory_does(own, kind):
    if kind == "UBIGINT" and own.name == "spark":
        pytest.skip("no unsigned numbers")
    rng = np.random.default_rng(1)
    scale = {"TINYINT": 120.0, "UBIGINT": 2.0**63.9, "DECIMAL(18,3)": 2.0**40}.get(kind, 2.0**60)
    most = {"FLOAT": [3.0e38], "TINYINT": [127], "BIGINT": [2**63 - 1, 2**53 + 1]}.get(kind, [])
    values = [*(rng.uniform(-1, 1, 100) * rng.choice([0.1, scale], 100)).round().tolist(), 0, *most]
    values = [*map(abs, values)] if kind == "UBIGINT" else values
    rows = [[f"CAST('{Decimal(v)}' AS {kind})"] for v in values]
    table = own.opened(own.made([f"x {kind}"], rows))
    numbers = np.array([float(v) for v in table.x.to_pyarrow().to_pylist()])
    near = [np.nextafter(numbers, np.inf), numbers, rng.normal(0, scale, 2000), [-np.inf, np.inf, 1e300]]
    column = QuantileBins(Real(-1, 1, bins=1), 4, "1/4")
    values_of = EngineValues(table, OpenSchema({"x": column}))
    for n_points in (1, 2, 3, 64, 1500):
        points = np.unique(rng.choice(np.concatenate(near), n_points))
        expected = [*(int((numbers < p).sum()) for p in points), len(numbers)]
        assert values_of.below("x", column, points).tolist() == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("own", ["duckdb", "sqlite", "postgres"], indirect=True)
def test_only_counts_leave_an_engine(own, monkeypatch):
    """Of a million records with an open and a quantile column `wide` fetches 10 megabytes at the most."""
    types = pytest.importorskip("ibis.expr.types")
    n = {"duckdb": 1_000_000, "postgres": 200_000}.get(own.name, 100_000)
    series = {
        "duckdb": f"range({n}) AS r(i)",
        "postgres": f"generate_series(0, {n - 1}) AS r(i)",
        "sqlite": f"(WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < {n}) SELECT i FROM r)",
    }[own.name]
    double = "DOUBLE PRECISION" if own.name == "postgres" else "DOUBLE"
    town, wage = "CAST(i % 40 AS VARCHAR(9)) AS town", f"CAST(i % 1000003 AS {double}) * 0.01 AS wage"
    own.run(f"CREATE TABLE large AS SELECT {town}, {wage}, i % 16 AS code, i % 7 AS day FROM {series}")
    sizes, whole, batches = [], types.Table.to_pyarrow, types.Table.to_pyarrow_batches

    def fetched(self, *arguments, **options):
        answer = whole(self, *arguments, **options)
        sizes.append((answer.nbytes, answer.num_rows))
        return answer

    monkeypatch.setattr(types.Table, "to_pyarrow", fetched)
    monkeypatch.setattr(types.Table, "to_pyarrow_batches", lambda *_, **__: pytest.fail(str(batches)))
    schema = {
        "town": {"kind": "open", "share": "1/20"},
        "wage": {"kind": "real", "low": 0, "high": 20_000, "decimals": 0, "bins": {"quantiles": 20, "share": "1/20"}},
        "code": 16,
        "day": 7,
    }
    try:
        release = pypgm.synthesize(own.opened("large"), schema, epsilon=1, delta=1e-9)
    finally:
        own.run("DROP TABLE large")
    assert release.schema.columns["wage"].n_values > 15
    nbytes, rows = map(sum, zip(*sizes, strict=True))
    assert 0 < nbytes < 40 * rows < 10 * n  # whatever the number of columns


def pieces_of(raw, size=97):
    def pieces(names, rows):
        assert rows
        for first in range(0, N, size):
            yield {name: raw[name][first : first + size] for name in names}

    return pieces


def test_pieces_settle_as_memory_does():
    raw = records(COLUMNS, 1)
    raw["when"] = [datetime.datetime(2020, 1, 1 + i % 3, i % 2) for i in range(N)]
    raw["odd"] = [[[1], {1}, "x", b"x", datetime.date(2020, 1, 31), np.float32(0.1)][i % 6] for i in range(N)]
    raw["part"] = np.ma.masked_array(np.arange(N) % 5, mask=np.arange(N) % 7 == 0)
    sets = {name: OpenSet("1/40", null="") for name in ("when", "odd", "part")}
    schema = OpenSchema({**{name: column for name, (column, _, _) in COLUMNS.items()}, **sets})
    assert settled(schema, StreamedValues(schema, pieces_of(raw), N)) == settled(schema, raw)


@pytest.mark.parametrize("kind", ["parquet", "csv", "frame", "relation", "dataset"])
def test_scans_have_open_schemas(kind, tmp_path):
    for package in ("pyarrow", "duckdb", "pandas"):
        pytest.importorskip(package)
    import duckdb
    import pyarrow as pa
    from pyarrow import csv, dataset, parquet

    raw = {name: records([name])[name] for name in ("word", "ranked")}
    raw["word"] = [(word or "").strip() for word in raw["word"]]
    raw["sex"] = ["F", "M"] * (N // 2)
    schema = OpenSchema({**{name: COLUMNS[name][0] for name in ("word", "ranked")}, "sex": ["F", "M"]})
    table = pa.table(raw)
    for i in range(3):
        part = table.slice(i * N // 3, N // 3)
        parquet.write_table(part, tmp_path / f"{i}.parquet")
        csv.write_csv(part, tmp_path / f"{i}.csv")
    source = {
        "frame": table,
        "relation": duckdb.from_arrow(table),
        "dataset": dataset.dataset(sorted(tmp_path.glob("*.parquet"))),
    }.get(kind, str(tmp_path / f"*.{kind}"))
    read = scan(source, schema)
    options = {"epsilon": 20, "delta": 1e-6, "unsafe_seed": 5}
    expected = pypgm.mechanisms.mst(table, schema=schema, **options)
    for release in (
        pypgm.synthesize(read, mechanism="mst", **options),
        pypgm.synthesize(read, schema, mechanism="mst", **options),
        pypgm.mechanisms.mst(read, **options),
    ):
        assert release.schema == expected.schema
        assert release.ledger.to_dict() == expected.ledger.to_dict()
        for one, other in zip(release.measurements, expected.measurements, strict=True):
            np.testing.assert_array_equal(one.values, other.values)
    with pytest.raises(ValueError, match=r"a private table has no open columns: pypgm.synthesize and the mechanisms"):
        PrivateTable(read, None, Ledger(Budget(rho=1)))
    with pytest.raises(ValueError, match="another schema"):
        pypgm.synthesize(read, schema.provisional, epsilon=1, delta=1e-6)


def test_values_of_a_table_that_changed_release_nothing():
    raw = records(["word"])
    schema = OpenSchema({"word": SET})
    values = StreamedValues(schema, pieces_of({"word": raw["word"][:-1]}), N)
    ledger = Ledger(Budget(epsilon=9, delta=1e-6, reserved_delta=1e-7))
    with pytest.raises(ReleaseError) as caught:
        settle(schema, values, None, ledger)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert len(ledger.lines) == 1


def test_a_file_that_was_written_again_after_a_scan_is_noticed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("word\n" + "tea\n" * 99)
    read = scan(path, OpenSchema({"word": SET}))
    path.write_text("word\n" + "oat\n" * 99)
    os.utime(path, ns=(1, 1))
    with pytest.raises(ReleaseError):
        pypgm.synthesize(read, epsilon=9, delta=1e-6)


def persons(n_each=4, n=300):
    draw = np.random.default_rng(5)
    return {
        "who": [f"p{i % n}" for i in range(n * n_each)],
        "town": [f"t{t}" for t in draw.integers(0, 6, n * n_each)],
        "fee": draw.integers(0, 90, n * n_each).tolist(),
    }


OF_PERSONS = OpenSchema(
    {"town": OpenSet("1/4"), "fee": QuantileBins(Integer(0, 99), 3, "1/4")}, person=Person("who", at_most=2)
)


def counted(values, name):
    column = OF_PERSONS.open[name]
    found = {}
    for several, counts in values.distinct(name, column):
        for value, count in zip(several, counts, strict=False):
            found[value] = found.get(value, 0) + count
    return found, int(values.below(name, column, np.array([50.0]))[-1]) if name == "fee" else 0


def test_pieces_keep_the_records_that_memory_keeps(monkeypatch):
    raw = persons()

    def pieces(names, rows):
        for first in range(0, 1200, 111):
            yield {name: raw[name][first : first + 111] for name in names}

    values = StreamedValues(OF_PERSONS, pieces, 1200)
    assert settled(OF_PERSONS, values) == settled(OF_PERSONS, raw)
    kept = values.kept(bytes(16))
    assert sum(counted(kept, "town")[0].values()) == 600
    raw["who"][0] = "p1"  # another record is in the place of one that was kept
    with pytest.raises(SourceError, match="the table changed while it was counted"):
        counted(kept, "town")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["duckdb", "postgres", "mysql", "clickhouse", "relation"])
def test_queries_keep_two_records_of_each_person(kind):
    """Without any one person the others' records that are kept are the same ones."""
    ibis, raw = pytest.importorskip("ibis"), persons(n_each=3, n=20)
    rows = [[f"'{who}'", f"'{town}'", str(fee)] for who, town, fee in zip(*raw.values(), strict=True)]
    engine = ENGINES["duckdb" if kind == "relation" else kind](ibis)

    def kept(rows):
        name = engine.made(["who VARCHAR(9)", "town VARCHAR(9)", "fee INT"], rows)
        source = engine.connection.con.table(name) if kind == "relation" else engine.opened(name)
        values = opened(open_source(source), OF_PERSONS).values.kept(bytes(range(16)))
        towns, _ = counted(values, "town")
        fees, ranked = counted(values, "fee")
        assert sum(towns.values()) == sum(fees.values()) + ranked
        return towns

    with closing(engine):
        everybody = kept(rows)
        assert sum(everybody.values()) == 40
        for who in ("'p0'", "'p7'"):
            alone, others = (kept([row for row in rows if (row[0] == who) is hers]) for hers in (True, False))
            assert sum(alone.values()) == 2
            assert {t: alone.get(t, 0) + others.get(t, 0) for t in everybody} == everybody


@pytest.mark.parametrize("most", [1, 7, 10**6])
def test_a_tally_beyond_memory_has_the_same_keys(monkeypatch, most):
    monkeypatch.setattr(tally, "_HELD", most)
    monkeypatch.setattr(tally, "_CHUNK", 3)
    draw = np.random.default_rng(0)
    known = ["a", "é", "e\u0301", "half \ud800", "", "7", 7, -3, 10**5000, -(10**400), 2**63, 0, None]
    keys = [known[i] for i in draw.integers(0, len(known), 200)]
    expected = {}
    with tally.Tally() as counts:
        for start in range(0, 200, 40):
            counts.add(keys[start : start + 40], range(start, start + 40))
        for key, count in zip(keys, range(200), strict=True):
            if key is not None and count:
                expected[key] = expected.get(key, 0) + count
        chunks = list(counts.chunks())
    assert all(len(chunk) <= 3 == len(chunks[0][0]) for chunk, _ in chunks)
    found = [(key, count) for several, of_each in chunks for key, count in zip(several, of_each.tolist(), strict=True)]
    assert found == sorted(expected.items(), key=lambda entry: (isinstance(entry[0], str), entry[0]))


def test_chunks_of_keys_change_no_draw(monkeypatch):
    raw, schema = records(["word", "whole"]), OpenSchema({"word": SET, "whole": SET})
    whole = settled(schema, raw)
    monkeypatch.setattr(tally, "_HELD", 4)
    monkeypatch.setattr(tally, "_CHUNK", 2)
    assert settled(schema, raw) == whole
    gc.collect()  # no file is left open, which would warn


def test_no_piece_is_kept(monkeypatch):
    """The values of a scan are read in pieces of a bounded number of rows, whatever their number."""
    monkeypatch.setattr(open_values, "_ROWS", 64)
    monkeypatch.setattr(streamed, "_ROWS", 64)
    alive, most = [0], [0]

    class Piece(list):
        def __init__(self, values):
            super().__init__(values)
            alive[0] += 1
            most[0] = max(most[0], alive[0])

        def __del__(self):
            alive[0] -= 1

    raw = records(["word", "wage"])

    def pieces(names, rows):
        for first in range(0, N, rows):
            yield {name: Piece(raw[name][first : first + rows]) for name in names}

    schema = OpenSchema({name: COLUMNS[name][0] for name in raw})
    settled(schema, StreamedValues(schema, pieces, N))
    assert most[0] <= 4
