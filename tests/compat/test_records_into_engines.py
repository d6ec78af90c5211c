"""Synthetic records in engines: those of the file with the same seed, in little memory, all or none."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from engines import ENGINES

import pypgm
from pypgm.files import record_table
from pypgm.integrations.records import copy_to_postgres, to_spark

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
SCHEMA = {
    "id": {"kind": "id", "format": "M-{:06d}"},
    "age": {"kind": "integer", "low": 0, "high": 99, "width": 10, "null": [""]},
    'a "name", quoted': ["", "x,y", 'say "hi"', "Ö\n"],
    "paid": {"kind": "real", "low": 0, "high": 1, "bins": 4},
    "day": {"kind": "date", "low": "2020-01-01", "high": "2020-12-31"},
    "member": {"kind": "boolean"},
}


@pytest.fixture(scope="module")
def release():
    rng, n = np.random.default_rng(0), 400
    texts = ["", "x,y", 'say "hi"', "Ö\n"]
    table = {
        "age": arrow.array([None if a > 90 else int(a) for a in rng.integers(0, 100, n)], arrow.int16()),
        'a "name", quoted': arrow.array([texts[i] for i in rng.integers(0, 4, n)]).dictionary_encode(),
        "paid": arrow.array(rng.random(n)),
        "day": arrow.array(np.datetime64("2020-01-01") + rng.integers(0, 366, n)),
        "member": arrow.array(rng.random(n) < 0.5),
    }
    return pypgm.synthesize(arrow.table(table), SCHEMA, epsilon=5, delta=1e-9, unsafe_seed=1)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(record_table, "BLOCK", 1000)
    monkeypatch.setattr(pypgm.GraphicalModel.blocks, "__kwdefaults__", {"evidence": None, "size": 1000})


def written(release, folder, rows, **options):
    release.write(folder / "t.parquet", rows, 3, **options)
    return parquet.read_table(folder / "t.parquet").to_pylist()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("parts", [1, 4])
def test_batches_are_the_records_of_the_file(release, tmp_path, parts):
    expected = written(release, tmp_path, 2500)
    readers = [release.to_batches(2500, 3, parts=parts, part=part) for part in range(parts)]
    assert len({reader.schema for reader in readers}) == 1
    assert [row for reader in readers for row in reader.read_all().to_pylist()] == expected
    assert release.to_batches(0, 3).read_all().num_rows == 0
    for part in (-1, parts):
        with pytest.raises(ValueError, match="part"):
            release.to_batches(2500, 3, parts=parts, part=part)


def test_duckdb_reads_them(release, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    expected = written(release, tmp_path, 700, evidence={"member": True})
    with duckdb.connect() as connection:
        people = release.to_batches(700, 3, evidence={"member": True})
        connection.execute("CREATE TABLE made AS FROM people")
        assert people is not None
        assert connection.table("made").to_arrow_table().to_pylist() == expected


@pytest.fixture
def connection():
    psycopg = pytest.importorskip("psycopg")
    if not os.environ.get("PYPGM_POSTGRES"):
        pytest.skip("PYPGM_POSTGRES is not set: the address of a PostgreSQL server for tests")
    with psycopg.connect(os.environ["PYPGM_POSTGRES"]) as connection:
        connection.execute("DROP SCHEMA IF EXISTS pypgm_made CASCADE")
        connection.execute("CREATE SCHEMA pypgm_made")
        connection.execute("SET search_path TO pypgm_made")
        yield connection
        connection.rollback()


def rows_of(connection, table):
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT * FROM "{table}"')
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@pytest.mark.usefixtures("small_blocks")
def test_postgresql_holds_them(release, tmp_path, connection):
    expected = written(release, tmp_path, 2500)
    assert copy_to_postgres(release, connection, "some people", 2500, 3) == 2500
    assert rows_of(connection, "some people") == expected
    assert copy_to_postgres(release, connection, "some people", 2500, 3) == 2500
    assert len(rows_of(connection, "some people")) == 5000


def test_postgresql_takes_all_or_none(release, connection):
    connection.execute("CREATE TABLE people (id text, age integer)")
    psycopg = pytest.importorskip("psycopg")
    connection.commit()
    with pytest.raises(psycopg.errors.UndefinedColumn):
        copy_to_postgres(release, connection, "people", 10, 3)
    assert rows_of(connection, "people") == []


@pytest.mark.filterwarnings("ignore")  # those of pyspark
def test_spark_draws_them(release, tmp_path, monkeypatch):
    ibis = pytest.importorskip("ibis")
    session = ENGINES["spark"](ibis).connection._session
    monkeypatch.setattr(session.sparkContext, "pythonExec", sys.executable)  # not the first Python that the path has
    expected = written(release, tmp_path, 500)
    frame = to_spark(release, session, 500, 3, parts=3)
    assert frame.rdd.getNumPartitions() == 3
    assert [row.asDict() for row in frame.orderBy("id").collect()] == expected
    unseeded = to_spark(release, session, 100, parts=2)
    assert sorted(map(str, unseeded.collect())) == sorted(map(str, unseeded.collect()))
