"""Engines for tests: each makes a table of columns of one type, from values in its own SQL."""

from __future__ import annotations

import itertools
import os
import re
import tempfile

import pytest

_NUMBERS = itertools.count()


class Engine:
    """A connection of Ibis, and how its SQL is sent."""

    def __init__(self, name, connection, run, suffix=""):
        self.name, self.connection, self.run, self.suffix = name, connection, run, suffix

    def table(self, kind, rows, names):
        """Return the name of a table whose columns are of one type, and hold rows of SQL expressions."""
        return self.made([f"{name} {kind}" for name in names], rows)

    def made(self, columns, rows):
        """Return the name of a table of declared columns, which holds rows of SQL expressions."""
        name = f"made{next(_NUMBERS)}"  # no name that Ibis gives to a subquery
        if self.name == "clickhouse":  # where no type has nulls unless it says so
            columns = [c if re.search(r"Nullable|Array|Map|Tuple|JSON| NULL", c) else f"{c} NULL" for c in columns]
        self.run(f"CREATE TABLE {name} ({', '.join(columns)}){self.suffix}")
        self.add(name, rows)
        return name

    def add(self, name, rows):
        if rows:
            self.run(f"INSERT INTO {name} VALUES {', '.join('(' + ', '.join(row) + ')' for row in rows)}")

    def opened(self, name):
        return self.connection.table(name)

    def close(self):
        if self.name != "spark":  # whose session serves all tests
            self.connection.disconnect()


def duckdb(ibis):
    pytest.importorskip("duckdb")
    connection = ibis.duckdb.connect()
    return Engine("duckdb", connection, connection.con.execute)


def sqlite(ibis):
    connection = ibis.sqlite.connect()
    return Engine("sqlite", connection, connection.con.execute)


def postgres(ibis):
    address = os.environ.get("PYPGM_POSTGRES")
    if not address:
        pytest.skip("PYPGM_POSTGRES is not set: the address of a PostgreSQL server for tests")
    connection = ibis.connect(address)

    def run(statement):
        with connection.con.cursor() as cursor:
            cursor.execute(statement)
        connection.con.commit()

    run("DROP SCHEMA IF EXISTS pypgm_tests CASCADE")
    run("CREATE SCHEMA pypgm_tests")
    run("SET search_path TO pypgm_tests")
    return Engine("postgres", connection, run)


def spark(ibis):
    if not os.environ.get("PYPGM_SPARK"):
        pytest.skip("PYPGM_SPARK is not set: whether a local Spark is started for tests")
    builder = pytest.importorskip("pyspark.sql").SparkSession.builder.master("local[1]")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": tempfile.mkdtemp(),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return Engine("spark", ibis.pyspark.connect(session), session.sql, " USING parquet")


def mysql(ibis):
    address = os.environ.get("PYPGM_MYSQL")
    if not address:
        pytest.skip("PYPGM_MYSQL is not set: the address of a database of MySQL or MariaDB for tests")
    connection = ibis.connect(address)

    def run(statement):
        with connection.begin() as cursor:
            cursor.execute(re.sub(r"VARCHAR(?=[ ,)])", "VARCHAR(40)", statement))

    run("DROP DATABASE IF EXISTS pypgm_tests")
    run("CREATE DATABASE pypgm_tests CHARACTER SET utf8mb4")
    run("USE pypgm_tests")
    run("SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES'")
    return Engine("mysql", connection, run)


def clickhouse(ibis):
    pytest.importorskip("chdb")
    settings = {"max_query_size": 1 << 26}  # no option of a query lengthens it in chDB
    client = pytest.importorskip("clickhouse_connect").get_client(interface="chdb", settings=settings)
    return Engine("clickhouse", ibis.clickhouse.from_connection(client), client.command, " ENGINE = Memory")


ENGINES = {
    "duckdb": duckdb,
    "sqlite": sqlite,
    "postgres": postgres,
    "spark": spark,
    "mysql": mysql,
    "clickhouse": clickhouse,
}
