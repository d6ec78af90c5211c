"""Connections to engines: all counts of a run read one snapshot, and a lost connection is opened again."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast
from weakref import WeakValueDictionary

from pypgm._base.log import logger
from pypgm._base.pauses import pause, seconds_to_pause
from pypgm.data.sources.foreign import guarded
from pypgm.data.sources.frames import imported
from pypgm.errors import SourceError

T = TypeVar("T")
P = ParamSpec("P")
Opening: TypeAlias = Callable[Concatenate[Any, P], None]

_PAUSES = (0, 1, 4, 16, 64)  # seconds before each new connection: a server that restarts is back within a minute
_BEGIN = {
    "postgres": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "duckdb": "BEGIN TRANSACTION READ ONLY",
}
"""Statements that begin a transaction in which nothing changes, of the engines that read all of it from one state."""

_EMBEDDED = {"duckdb", "sqlite", "datafusion", "polars", "pyspark"}  # which end with their connection
_SETTINGS = """SELECT name, setting FROM pg_settings WHERE source = 'session' AND context IN ('user', 'superuser')
    UNION ALL SELECT 'role', current_setting('role')"""
_RESTORED = "SELECT set_config(%s, %s, false)"


def _is_idle_in_postgres(connection: Any) -> bool:  # noqa: ANN401 - of a package that may be missing
    """Return whether no transaction is open, and each query is one of its own."""
    return bool(connection.autocommit and connection.info.transaction_status == 0)


def _is_idle_in_duckdb(connection: Any) -> bool:  # noqa: ANN401 - of a package that may be missing
    """Return whether no transaction is open, so that each query has a number of its own."""
    first, second = (connection.execute("SELECT txid_current()").fetchall() for _ in range(2))
    return bool(first != second)


_IS_IDLE = {"postgres": _is_idle_in_postgres, "duckdb": _is_idle_in_duckdb}


class Connection:
    """Connection of Ibis to an engine, read in one transaction if the engine has such and none is open.

    The transaction begins with the first query and ends with `end`, or with the last table that reads it. Nothing
    can be written over the connection meanwhile.
    """

    def __init__(self, backend: Any) -> None:  # noqa: ANN401 - of a package that may be missing
        self._backend = backend
        self._lock = threading.RLock()
        self._has_begun = False
        self._settings: list[tuple[str, str]] = []
        if backend.name == "postgres":
            with contextlib.suppress(Exception):
                self._settings = guarded("reading settings", lambda: backend.con.execute(_SETTINGS).fetchall())

    def read(self, what: str, query: Callable[[], T]) -> T:
        """Return the result of a query, which is repeated where the connection is lost.

        Parameters
        ----------
        what : str
            Name of the query, with which errors begin.
        query : callable
            Without arguments; a step that `guarded` takes.

        Raises
        ------
        SourceError
            If the connection is lost, and cannot be opened again within one and a half minutes, or within the time
            limit of the call.
        ValueError, OSError, ImportError
            See `guarded`, for a query that fails in a connection that works.
        """
        with self._lock:
            for seconds in _PAUSES:
                self._begin()
                try:
                    return guarded(what, query)
                except (ValueError, OSError) as error:
                    failure = error
                had_begun = self._has_begun
                self.end()
                if not self._is_lost():
                    if had_begun and not seconds:  # an error of another query may have ended the transaction
                        return guarded(what, query)
                    raise failure
                left = seconds_to_pause()
                if seconds and not left:
                    raise SourceError(f"{failure}: the connection is lost, and could not be opened again in time_limit")
                wait = min(seconds, left)
                logger().warning("%s: the connection is lost, and is opened again in %g s", failure, wait)
                pause(wait)
                self._reconnect()
            raise SourceError(f"{failure}: the connection is lost, and could not be opened again")

    def end(self) -> None:
        """End the transaction; the next query begins another."""
        if self._has_begun:
            self._has_begun = False
            with contextlib.suppress(Exception):  # unguarded: no record is in it, and `guarded` takes a lock
                self._backend.con.execute("ROLLBACK")

    def __del__(self) -> None:
        # The collector may run within a query of this thread, whose lock psycopg would wait for.
        lock = getattr(getattr(self._backend, "con", None), "lock", None)
        if lock is None or not lock.locked():
            self.end()

    def _begin(self) -> None:
        statement = _BEGIN.get(self._backend.name)
        if statement is None:
            return
        connection = self._backend.con
        with contextlib.suppress(Exception):  # the connection is lost
            if not guarded("looking for a transaction", partial(_IS_IDLE[self._backend.name], connection)):
                return
            guarded("beginning a transaction", partial(connection.execute, statement))
            self._has_begun = True

    def _is_lost(self) -> bool:
        """Return whether the engine answers no other query either."""
        if self._backend.name in _EMBEDDED:
            return False
        ibis = imported("ibis", "a table of an engine", "ibis")
        try:
            guarded("a first query", lambda: self._backend.to_pyarrow(ibis.literal(1).name("one").as_table()))
        except (ValueError, OSError):
            return True
        return False

    def _reconnect(self) -> None:
        """Connect as before, with the settings of the session; errors come with the next query."""
        with contextlib.suppress(Exception):
            guarded("connecting again", self._backend.reconnect)
            for setting in self._settings:
                guarded("restoring a setting", partial(self._backend.con.execute, _RESTORED, setting))


_OPEN: WeakValueDictionary[int, Connection] = WeakValueDictionary()  # by the id of the backend, which each one holds


def connection_of(backend: Any) -> Connection:  # noqa: ANN401 - of a package that may be missing
    """Return the connection of a backend of Ibis, the same for all tables that are read over it at a time."""
    connection = _OPEN.get(id(backend))
    if connection is None:
        connection = _OPEN[id(backend)] = Connection(backend)
    return connection


def with_connection(opening: Opening[P]) -> Opening[P]:
    """Return an ``__init__`` that ends the transaction it has begun where it refuses a table, which may be mended."""

    @wraps(opening)
    def opened(table: Any, *args: P.args, **kwargs: P.kwargs) -> None:  # noqa: ANN401 - of a class that imports this
        try:
            opening(table, *args, **kwargs)
        except BaseException:
            if "_connection" in vars(table):  # the frames of the error hold the table, but not its connection
                vars(table).pop("_connection").end()
            raise

    return cast("Opening[P]", opened)
