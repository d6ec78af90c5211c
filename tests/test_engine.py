"""Tables in PostgreSQL and Spark: counted there, with the counts and releases of the same records in memory."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import pypgm
from pypgm.data import Boolean, Categorical, Date, EngineTable, Integer, Real

ibis = pytest.importorskip("ibis")
pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore")  # those of the engines' own drivers

SCHEMA = pypgm.Schema(
    {
        "dept": 7,
        "age": Integer(0, 99, width=7),
        "job name": Categorical(["office", "a'b", 'q"x'], null="?"),
        "wage": Real(0, 100, bins=9, outside="clip"),
        "year": Integer(2000, 2009, null="?", outside="other"),
        "hired": Date("2020-01-01", "2022-12-31", "month"),
        "active": Boolean(["no", "yes"]),
    }
)
CLIQUES = [("age", "dept"), ("dept",), (), ("hired", "job name", "wage"), ("active", "age"), ("dept", "age"), ("year",)]


@pytest.fixture(scope="module")
def raw():
    rng = np.random.default_rng(0)
    n = 2000
    columns = {
        "age": rng.integers(0, 100, n),
        "job name": rng.choice(np.array(["a'b", "office", 'q"x', None], dtype=object), n),
        "wage": np.round(rng.normal(50, 40, n), 2),
        "year": rng.integers(1998, 2012, n).astype(object),
        "hired": np.datetime64("2020-01-01") + rng.integers(0, 900, n),
        "active": rng.integers(0, 2, n).astype(bool),
        "dept": rng.integers(0, 7, n),
    }
    columns["year"][:9] = None
    columns["wage"][:3] = 0, 100, 100 / 9
    return columns


@pytest.fixture(scope="module")
def rows(raw):
    plain = {name: column.tolist() for name, column in raw.items()}
    return list(plain), list(zip(*plain.values(), strict=True))


def check(table, raw):
    """Compare an engine's table of the records with the records in memory."""
    data = SCHEMA.encode(raw)
    engine = EngineTable(table, SCHEMA)
    assert len(engine) == len(data)
    for found, expected in zip(engine.count(CLIQUES), data.count(CLIQUES), strict=True):
        np.testing.assert_array_equal(found, expected)
    for mechanism in (pypgm.mechanisms.mst, pypgm.mechanisms.wide):
        one, other = (mechanism(source, 1, 1e-9, unsafe_seed=3) for source in (data, engine))
        assert [line.cost for line in one.ledger.lines] == [line.cost for line in other.ledger.lines]
        for m, n in zip(one.measurements, other.measurements, strict=True):
            assert m.clique == n.clique
            np.testing.assert_array_equal(m.values, n.values)
    with pytest.raises(ValueError, match="column 'job name': needs one of 'office', and"):
        EngineTable(table, pypgm.Schema({**SCHEMA.columns, "job name": Categorical(["office"])}))
    with pytest.raises(ValueError, match="column 'age': needs a whole number from 0 to 50, and has another value"):
        EngineTable(table, pypgm.Schema({**SCHEMA.columns, "age": Integer(0, 50)}))
    with pytest.raises(ValueError, match="column 'job name': needs numbers, and is of the engine's type"):
        EngineTable(table, pypgm.Schema({**SCHEMA.columns, "job name": Integer(0, 50)}))
    with pytest.raises(ValueError, match="lacks a column for 'more'"):
        EngineTable(table, pypgm.Schema({**SCHEMA.columns, "more": 3}))
    return engine


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    """A connection to a server of its own, on a socket in a folder of its own."""
    pytest.importorskip("psycopg")
    found = shutil.which("postgres") or next(map(str, Path("/usr/lib/postgresql").glob("*/bin/postgres")), None)
    if found is None:
        pytest.skip("PostgreSQL is not installed")
    binaries = Path(found).resolve().parent
    folder = tmp_path_factory.mktemp("pg")
    user = None
    if os.getuid() == 0:  # the server refuses to run as root
        pwd = pytest.importorskip("pwd")
        user = pwd.getpwnam("postgres").pw_uid
        os.chown(folder, user, -1)
        for path in list(folder.parents)[:2]:
            path.chmod(0o711)

    def run(program, *arguments):
        subprocess.run([binaries / program, *arguments], check=True, user=user, cwd=folder, capture_output=True)

    run("initdb", "-D", folder / "data", "-U", "pypgm", "--auth=trust")
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    subprocess.run(
        [binaries / "pg_ctl", "-D", folder / "data", "-o", options, "-w", "-l", folder / "log", "start"],
        check=True,
        user=user,
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    try:
        connection = ibis.postgres.connect(host=str(folder), user="pypgm", database="postgres")
        yield connection
        connection.disconnect()
    finally:
        run("pg_ctl", "-D", folder / "data", "-m", "immediate", "stop")


@pytest.mark.slow
def test_postgresql(postgres, raw, rows):
    names, records = rows
    types = dict(zip(names, ("int", "text", "double precision", "int", "date", "boolean", "smallint"), strict=True))
    columns = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
    with postgres.con.cursor() as cursor:
        cursor.execute(f"CREATE TABLE people ({columns})")
        cursor.executemany(f"INSERT INTO people VALUES ({', '.join(['%s'] * len(names))})", records)
    postgres.con.commit()
    engine = check(postgres.table("people"), raw)
    with postgres.con.cursor() as cursor:
        cursor.execute("DELETE FROM people WHERE dept = 0")
    postgres.con.commit()
    with pytest.raises(ValueError, match="the table changed while it was counted"):
        engine.count([("age",)])


@pytest.mark.slow
def test_spark(raw, rows, tmp_path):
    session = pytest.importorskip("pyspark.sql").SparkSession
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path),
    }
    builder = session.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        names, records = rows
        types = dict(zip(names, ("int", "string", "double", "int", "date", "boolean", "smallint"), strict=True))
        schema = ", ".join(f"`{name}` {kind}" for name, kind in types.items())
        spark.createDataFrame(records, schema).createOrReplaceTempView("people")
        check(ibis.pyspark.connect(spark).table("people"), raw)
    finally:
        spark.stop()


def test_refusals():
    with pytest.raises(TypeError, match=r"needs an ibis.Table, got dict"):
        EngineTable({}, SCHEMA)
