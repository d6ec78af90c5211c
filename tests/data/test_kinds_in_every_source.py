"""One table of every kind of value has the same counts, open values and bins in every file, frame and engine."""

from __future__ import annotations

import itertools
from contextlib import closing

import kinds_table as kinds
import numpy as np
import pytest
from engines import ENGINES

import pypgm
from pypgm import Budget, Ledger
from pypgm.data import scan
from pypgm.data.sources.counted_table import as_counted
from pypgm.data.sources.opened import opened
from pypgm.data.sources.source import open_source
from pypgm.privacy import settle
from pypgm.privacy.sampler import Sampler

for package in ("pyarrow", "pandas", "narwhals"):
    pytest.importorskip(package)
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # those of the engines' own drivers

RAW = kinds.records()
N_PARTS = 16
PAIRS = list(itertools.combinations(kinds.COLUMNS, 2))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the records in Parquet and CSV files, each in one and in 16 parts."""
    from pyarrow import parquet

    place, table, size = tmp_path_factory.mktemp("kinds"), kinds.arrow_of(RAW), kinds.N // N_PARTS
    for name in ("parquet", "csv"):
        (place / name).mkdir()
    parquet.write_table(table, place / "one.parquet")
    kinds.write_csv(RAW, place / "one.csv")
    for i in range(N_PARTS):
        part = slice(i * size, (i + 1) * size)
        parquet.write_table(table.slice(part.start, size), place / "parquet" / f"{i:02}.parquet")
        kinds.write_csv({name: values[part] for name, values in RAW.items()}, place / "csv" / f"{i:02}.csv")
    return place


def settled(values):
    ledger = Ledger(Budget(epsilon=60, delta=1e-6, reserved_delta=1e-7))
    return settle(kinds.SCHEMA, values, None, ledger, sampler=Sampler(3))


@pytest.fixture(scope="module")
def expected():
    """Return the closed schema and the counts of all pairs, of lists in memory."""
    schema = settled(RAW)
    return schema, schema.encode(RAW).count(PAIRS)


def same(source, expected):
    table = opened(open_source(as_counted(source)), kinds.SCHEMA)
    schema, tables = expected
    assert settled(table.values) == schema
    records = table.records(schema)
    for pair, found, counts in zip(PAIRS, records.count(PAIRS), tables, strict=True):
        np.testing.assert_array_equal(found, counts, err_msg=str(pair))
    table.close()


def test_the_kinds_are_found(expected):
    schema, _ = expected
    assert {"Tea", "TEA", "tea", "é", "e\u0301", "other"} <= set(schema.columns["town"].labels)
    assert "rare" not in schema.columns["town"].labels
    assert {str(2**53), str(2**53 + 1)} <= set(schema.columns["key"].labels)
    assert all(schema.columns[name].size > 3 for name in ("rank", "fee", "paid"))


FILES = ["one.parquet", "parquet", "parquet/*.parquet", "one.csv", "csv", "csv/*.csv"]


@pytest.mark.parametrize("scanned", [False, True])
@pytest.mark.parametrize("files", FILES)
def test_files(folder, expected, files, scanned):
    path = str(folder / files)
    same(scan(path, kinds.SCHEMA) if scanned else path, expected)


def frames(folder):
    """Return the records in each kind of frame, and in what reads files for one."""
    import pandas
    from pyarrow import dataset

    table = kinds.arrow_of(RAW)
    yield "lists", RAW
    yield "pyarrow", table
    yield "pandas", table.to_pandas(types_mapper=pandas.ArrowDtype)
    yield "pandas of objects", pandas.DataFrame({n: pandas.Series(v, dtype=object) for n, v in RAW.items()})
    yield "pyarrow dataset", dataset.dataset(folder / "parquet")
    yield "class of one's own", kinds.Own(RAW)
    polars = pytest.importorskip("polars")
    yield "polars", polars.from_arrow(table)
    yield "polars, lazy", polars.scan_parquet(folder / "parquet" / "*.parquet")


def test_frames(folder, expected):
    for name, frame in frames(folder):
        print(name)
        same(frame, expected)


def test_duckdb(folder, expected):
    duckdb = pytest.importorskip("duckdb")
    path = str(folder / "one.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM '{folder}/parquet/*.parquet'")
        same(connection.table("t"), expected)
        same(scan(connection.table("t"), kinds.SCHEMA), expected)
    release = pypgm.synthesize(path, kinds.SCHEMA, epsilon=9, delta=1e-6, table="t", mechanism="mst", unsafe_seed=1)
    other = pypgm.synthesize(RAW, kinds.SCHEMA, epsilon=9, delta=1e-6, mechanism="mst", unsafe_seed=1)
    assert release.schema == other.schema
    assert [m.values.tolist() for m in release.measurements] == [m.values.tolist() for m in other.measurements]


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "mysql"])  # which has no NaN and no booleans
def test_engines(folder, expected, name):
    with closing(ENGINES[name](pytest.importorskip("ibis"))) as engine:
        same(kinds.in_engine(engine, RAW, folder / "parquet"), expected)
