"""Connections to engines: one snapshot for a run, and queries that are repeated where a connection was lost."""

from __future__ import annotations

import os
from contextlib import closing

import numpy as np
import pytest
from engines import ENGINES

import pypgm
from pypgm._base import pauses
from pypgm.data import EngineTable
from pypgm.data.sources import connection, counted, foreign
from pypgm.errors import ReleaseError, SourceError

ibis = pytest.importorskip("ibis")
pytestmark = pytest.mark.filterwarnings("ignore")  # those of the engines' drivers

NAMES = ["a", "b", "c"]
SCHEMA = pypgm.Schema(dict.fromkeys(NAMES, 3))
RECORDS = np.random.default_rng(0).integers(0, 3, (90, 3))
COUNTS = [np.bincount(RECORDS @ (9, 3, 1), minlength=27)]
CHANGES = ["DELETE FROM {} WHERE a = 0", "UPDATE {} SET a = 0", "INSERT INTO {} VALUES (0, 0, 0)"]


@pytest.fixture(params=["duckdb", "postgres"])
def engine(request):
    with closing(ENGINES[request.param](ibis)) as opened:
        yield opened


def made(engine):
    return engine.table("integer", [[str(value) for value in row] for row in RECORDS.tolist()], NAMES)


def other_connection(engine):
    """Return how another connection runs a statement in the same database."""
    if engine.name == "duckdb":
        return engine.connection.con.cursor().execute
    psycopg = pytest.importorskip("psycopg")
    other = psycopg.connect(os.environ["PYPGM_POSTGRES"], autocommit=True)
    other.execute("SET search_path TO pypgm_tests")
    return other.execute


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_reads_one_snapshot_whatever_others_write(engine, change, monkeypatch):
    monkeypatch.setattr(counted, "_KEPT_CELLS", 0)  # each count is a query
    name = made(engine)
    table = EngineTable(engine.opened(name), SCHEMA)
    other_connection(engine)(change.format(name))
    with pypgm.PrivateTable(table, None, pypgm.Ledger(pypgm.Budget(rho=10**9))) as private:
        values = private.measure(tuple(NAMES), rho=10**8).values
    np.testing.assert_array_equal(values, COUNTS[0])
    with pytest.raises(SourceError, match="the table changed while it was counted"):
        table.count(["a"])


def test_a_closed_table_leaves_the_connection_as_it_was(engine):
    """After a run, after a refusal, and once nobody holds the table."""
    name = made(engine)
    add = f"INSERT INTO {name} VALUES (0, 0, 0)"
    pypgm.mechanisms.wide(EngineTable(engine.opened(name), SCHEMA), epsilon=1, delta=1e-9)
    engine.run(add)
    try:
        EngineTable(engine.opened(name), pypgm.Schema(dict.fromkeys(NAMES, 2)))
    except ValueError as error:
        refused = error  # which holds the frames of the call
        engine.run(add)
    assert "has another value" in str(refused)
    table, other = (EngineTable(engine.opened(name), SCHEMA) for _ in range(2))
    del table
    with pytest.raises(Exception, match="read-only"):
        engine.run(add)
    if engine.name == "duckdb":
        engine.run("ROLLBACK")  # a refused statement ends the transaction of DuckDB
    assert other.count([()])[0].tolist() == [92]
    del other
    engine.run(add)


def test_a_transaction_of_the_caller_stays(engine):
    name = made(engine)
    run = engine.connection.con.execute
    run("BEGIN")
    run(f"INSERT INTO {name} VALUES (0, 0, 0)")
    table = EngineTable(engine.opened(name), SCHEMA)
    assert table.n_records == 91
    table.count(NAMES)
    del table
    run("ROLLBACK")
    assert EngineTable(engine.opened(name), SCHEMA).n_records == 90


def end_sessions(engine):
    """End the server's side of the engine's connection, as a restart does."""
    backend = engine.connection.con.info.backend_pid
    other_connection(engine)(f"SELECT pg_terminate_backend({backend})")


@pytest.fixture
def server():
    with closing(ENGINES["postgres"](ibis)) as opened:
        yield opened


def test_a_charged_step_is_carried_out_over_a_new_connection(server, caplog):
    table = EngineTable(server.opened(made(server)), SCHEMA)
    private = pypgm.PrivateTable(table, None, pypgm.Ledger(pypgm.Budget(rho=10**9)))
    for _ in range(3):
        end_sessions(server)
        values = private.measure(tuple(NAMES), rho=10**8).values
        np.testing.assert_array_equal(values, COUNTS[0])
        table._kept.clear(), table._sizes.clear()  # so that the next measurement is a query
    assert len(private.ledger.lines) == 3
    assert len(caplog.messages) == 3
    assert all("the connection is lost, and is opened again in 0 s" in line for line in caplog.messages)


def test_what_changed_while_the_connection_was_lost_is_noticed(server, caplog):
    name = made(server)
    table = EngineTable(server.opened(name), SCHEMA)
    table.count(NAMES)
    other_connection(server)(f"UPDATE {name} SET a = 0")
    end_sessions(server)
    private = pypgm.PrivateTable(table, None, pypgm.Ledger(pypgm.Budget(rho=1)))
    with pytest.raises(ReleaseError):
        private.measure(tuple(NAMES), rho=1)
    assert caplog.messages[-1].endswith("failed after it was charged: the table changed while it was counted")


class Lost:
    """A backend whose server is away for so many connections."""

    name = "remote"

    def __init__(self, n_refused):
        self.n_refused, self.is_lost, self.n_connections = n_refused, True, 1

    def reconnect(self):
        self.n_connections += 1
        if self.n_connections <= self.n_refused:
            raise ConnectionError("Alice Smith")
        self.is_lost = False

    def to_pyarrow(self, _):
        return self.answer()

    def answer(self):
        if self.is_lost:
            raise ConnectionError("Alice Smith")
        return 7


@pytest.mark.parametrize("n_refused", range(5))
def test_pauses_grow_until_the_server_is_back(n_refused, monkeypatch, caplog):
    pauses = []
    monkeypatch.setattr("time.sleep", pauses.append)
    backend = Lost(n_refused)
    assert connection.connection_of(backend).read("counting", backend.answer) == 7
    assert pauses == list(connection._PAUSES[: max(n_refused, 1)])
    assert "Alice" not in caplog.text
    assert "ConnectionError" in caplog.text


def test_a_server_that_stays_away_is_a_source_error(monkeypatch, caplog):
    monkeypatch.setattr("time.sleep", lambda _: None)
    backend = Lost(99)
    with pytest.raises(
        SourceError, match=r"counting failed with ConnectionError.* could not be opened again$"
    ) as caught:
        connection.connection_of(backend).read("counting", backend.answer)
    assert "Alice" not in f"{caught.value!r}{caught.value.__context__!r}{caplog.text}"
    assert backend.n_connections == 1 + len(connection._PAUSES)


@pytest.mark.parametrize("limit", [0.25, 1, 4.5, 5, 21, 85, 1000])
def test_pauses_of_a_call_take_its_time_limit_at_most(limit, monkeypatch):
    waited = []
    monkeypatch.setattr("time.sleep", waited.append)
    whole = sum(connection._PAUSES)
    with pauses.Pauses(limit), pauses.Pauses(), pytest.raises(SourceError, match="could not be opened again"):
        connection.connection_of(backend := Lost(99)).read("counting", backend.answer)
    assert sum(waited) == min(limit, whole)
    with pauses.Pauses(limit) as call:
        for _ in range(20):  # each query of a run loses the connection once more, and each new one is late
            backend = Lost(3)
            try:
                connection.connection_of(backend).read("counting", backend.answer)
            except SourceError:
                break
        assert 0 <= call.left < limit
    assert pauses.seconds_to_pause() == float("inf")


DOORS = {
    "synthesize": lambda frame, schema, limit: pypgm.synthesize(frame, schema, 1, 1e-9, time_limit=limit),
    "a mechanism": lambda frame, schema, limit: pypgm.mechanisms.mst(frame, 1, 1e-9, schema=schema, time_limit=limit),
    "codes": lambda frame, schema, limit: pypgm.mechanisms.mst(
        pypgm.Dataset.from_frame(frame, pypgm.Schema(schema)), 1, 1e-9, time_limit=limit
    ),
    "open columns": lambda frame, _, limit: pypgm.synthesize(
        frame, pypgm.OpenSchema({"a": ["x", "y"], "b": pypgm.data.OpenSet("1/4")}), 1, 1e-9, time_limit=limit
    ),
}


@pytest.mark.parametrize("limit", [0.5, 30, None])
@pytest.mark.parametrize("door", DOORS)
def test_every_call_limits_its_pauses(door, limit, monkeypatch):
    """Whenever records are counted, the thread may pause for the call's limit and no longer."""
    seen, count = [], pypgm.Dataset.count

    def counted(data, *given, **how):
        seen.append(pauses.seconds_to_pause())
        return count(data, *given, **how)

    monkeypatch.setattr(pypgm.Dataset, "count", counted)
    DOORS[door]({"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}, {"a": ["x", "y"], "b": ["u", "v"]}, limit)
    assert seen
    assert set(seen) == {float("inf") if limit is None else limit}


def test_an_error_of_the_query_is_not_repeated(caplog):
    backend, tries = Lost(0), []
    backend.is_lost = False

    def query():
        tries.append(1)
        raise ZeroDivisionError("Alice Smith")

    with pytest.raises(ValueError, match="counting failed with ZeroDivisionError") as caught:
        connection.connection_of(backend).read("counting", query)
    assert (len(tries), backend.n_connections, caplog.messages) == (1, 1, [])
    assert not isinstance(caught.value, SourceError)


def test_a_connection_that_the_collector_finds_within_a_guarded_step_waits_for_nothing(ends_by_itself):
    """Its end takes no lock that the thread may hold already."""
    calls = []

    class Embedded:
        name = "duckdb"
        con = None

    class Executed:
        def execute(self, statement):
            calls.append(statement)

    Embedded.con = Executed()
    dropped = connection.Connection(Embedded())
    dropped._has_begun = True
    with foreign._LOCK:
        del dropped
    assert calls == ["ROLLBACK"]
