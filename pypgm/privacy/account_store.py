"""Stores of accounts: a SQLite file, or tables of PostgreSQL, behind the same few statements."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from pypgm.data.sources.files import as_path

Execute: TypeAlias = Callable[..., list[tuple[Any, ...]]]
"""Function that runs one statement with its values, and returns the rows that it gives."""

_COLUMNS = {
    "account": (
        *("format INTEGER", "name TEXT", "identity TEXT", "budget TEXT", "table_name TEXT", "neighbours TEXT"),
        *("person TEXT", "relation TEXT", "state TEXT"),
    ),
    "account_runs": (
        *("run INTEGER PRIMARY KEY", "token TEXT", "key TEXT", "what TEXT", "day TEXT", "budget TEXT", "amount TEXT"),
        *("delta TEXT", "charged TEXT", "spent TEXT", "spent_delta TEXT", "relation TEXT", "not_private TEXT"),
        *("state TEXT", "path TEXT", "digest TEXT"),
    ),
    "account_lines": ("run INTEGER", "line INTEGER", "charge TEXT"),
    "account_changes": ("change INTEGER PRIMARY KEY", "day TEXT", "what TEXT", "by_whom TEXT", "why TEXT"),
}
"""Columns of an account's tables; rationals are texts, budgets, relations and charges are JSON.

A token has a number that only the run's own handle knows, a blank, and the mark of its process.
"""

TABLES = tuple(
    f"CREATE TABLE {name} ({', '.join(columns)}{', PRIMARY KEY (run, line)' * (name == 'account_lines')})"
    for name, columns in _COLUMNS.items()
)
"""Statements that make the tables of an account."""

NUMBERS = range(1, 1 << 31)
"""Numbers of runs that every store holds."""

_MAX_WAIT = 120.0  # seconds until another process has ended its transaction, which takes milliseconds
_PAUSE = 0.05  # seconds between two tries to make a file that another process makes
_MAX_TRIES = 2400
_NETWORKS = frozenset({"afs", "beegfs", "ceph", "cifs", "fuse.sshfs", "glusterfs", "gpfs", "lustre", "ncpfs"})
_NETWORKS |= {"nfs", "nfs4", "smb3", "smbfs"}
"""File systems of several machines, on which SQLite cannot share its index of a log that is being written."""


_CREATE = "pass budget= to create one"


class Store(Protocol):
    """The place of an account."""

    name: str

    def transaction(self, *, reads: bool = False) -> AbstractContextManager[Execute]:
        """Return a transaction: durable at the end of the context, undone by an error.

        No other one overlaps it, or, where it only `reads`, it sees all of the account at one moment.
        """

    def is_filled(self, execute: Execute) -> bool:
        """Return whether an account is there; ``ValueError`` if there are tables of something else."""


def store_at(place: str | os.PathLike[str], *, create: bool) -> Store:
    """Return the store of a path, or of a URL of PostgreSQL.

    Raises
    ------
    FileNotFoundError
        If there is no file, and none is to be made, or no folder for it.
    OSError
        If the store cannot be reached, or the file is on a file system of several machines.
    ValueError
        If the file is of another kind, or the URL of another database.
    """
    text = os.fspath(place)
    if text.startswith(("postgresql://", "postgres://")):
        return _Postgres(text)
    if "://" in text:
        raise ValueError(
            f"an account is a file, or a URL that begins with postgresql://, got {text.split('://')[0]}://"
        )
    return _Sqlite(as_path(text), create=create)


class _Sqlite:
    """File of SQLite, with a log ahead of it: a commit is on the disk when it returns."""

    def __init__(self, path: Path, *, create: bool) -> None:
        self.name = path.name
        self._path = Path(os.path.realpath(path))
        is_there = self._path.exists()
        if not create and not is_there:
            raise FileNotFoundError(f"no account at {path}: {_CREATE}")
        if self._path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "an account is a file, but this is a directory", str(path))
        if not self._path.parent.is_dir():
            raise FileNotFoundError(f"{path}: there is no directory {self._path.parent}")
        _check_one_machine(self._path)
        if is_there:
            self._check_own()
        if create:
            with self._connected("rwc") as connection:
                self._keep_log(connection)

    def _check_own(self) -> None:
        """Raise ``ValueError`` for a file of something else, in which nothing is changed."""
        for is_last in (False, False, True):
            try:
                with self._connected(self._looking) as connection:
                    self.is_filled(lambda statement: connection.execute(statement).fetchall())
                break
            except ValueError:
                if is_last:
                    raise
            threading.Event().wait(_PAUSE)  # another process may be just making the account

    @property
    def _looking(self) -> str:
        """The mode that reads the file, and changes nothing there or beside it."""
        if self._mode != "rw":
            return self._mode
        if Path(f"{self._path}-journal").exists():  # of a process that was killed, which only a writer can undo
            return "rw"
        return "ro" if Path(f"{self._path}-wal").exists() else "ro&immutable=1"

    @property
    def _mode(self) -> str:
        # A file that is published is read where nobody can write, and so without a log.
        return "rw" if os.access(self._path, os.W_OK) else "ro&immutable=1"

    def _keep_log(self, connection: Any) -> None:  # noqa: ANN401 - of an optional module
        """Set the log, which the file remembers; wait while another process sets it."""
        for _ in range(_MAX_TRIES):
            if (mode := _log_mode(connection)) is not None:
                break
            threading.Event().wait(_PAUSE)
        if mode != "wal":
            raise OSError(f"{self.name}: SQLite cannot keep a log of writes there; keep the account on a local disk")

    @contextmanager
    def _connected(self, mode: str) -> Iterator[Any]:
        import sqlite3

        try:
            connection = sqlite3.connect(
                f"{self._path.as_uri()}?mode={mode}", timeout=_MAX_WAIT, isolation_level=None, uri=True
            )
            try:
                connection.execute("PRAGMA synchronous=FULL")
                yield connection
            finally:
                connection.close()
        except sqlite3.OperationalError as error:
            raise OSError(f"the account {self.name} cannot be reached: {error}") from None
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.name} is no account of pypgm: {error}") from None

    @contextmanager
    def transaction(self, *, reads: bool = False) -> Iterator[Execute]:
        """Return a transaction; see `Store`."""
        with self._connected(self._mode) as connection:
            connection.execute("BEGIN" if reads else "BEGIN IMMEDIATE")
            try:
                yield lambda statement, *values: connection.execute(statement, values).fetchall()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def is_filled(self, execute: Execute) -> bool:
        """Return whether an account is there; see `Store`."""
        statement = "SELECT t.name, c.name FROM sqlite_master AS t LEFT JOIN pragma_table_info(t.name) AS c"
        columns = execute(statement)  # of views too, which no new account has
        return bool(columns) and _is_account(self.name, columns)


def _log_mode(connection: Any) -> str | None:  # noqa: ANN401 - of an optional module
    """Return the kind of log after one try to set it; None while another process has the file."""
    import sqlite3

    try:
        ((mode,),) = connection.execute("PRAGMA journal_mode=WAL").fetchall()
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
        return None
    return str(mode)


class _Postgres:
    """Tables of a PostgreSQL schema, the first of the search path of the URL."""

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise ImportError("an account in PostgreSQL needs psycopg: pip install 'pypgm[postgres]'") from error
        try:
            self.name = str(psycopg.conninfo.conninfo_to_dict(url).get("dbname") or "postgresql")
        except psycopg.Error:
            raise ValueError(
                "the URL of the account is not one of PostgreSQL: postgresql://user@host/database"
            ) from None
        self._url = url

    @contextmanager
    def transaction(self, *, reads: bool = False) -> Iterator[Execute]:
        """Return a transaction; see `Store`."""
        import psycopg

        try:
            with psycopg.connect(self._url) as connection:
                connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")  # sees all once it has the lock
                connection.execute("SET LOCAL synchronous_commit TO on")
                connection.execute(f"SET LOCAL lock_timeout TO '{_MAX_WAIT:.0f}s'")
                # One at a time, by a number that stands for accounts: there may be no table to lock yet.
                connection.execute(f"SELECT pg_advisory_xact_lock{'_shared' * reads}(7306017)")
                yield lambda statement, *values: _rows(connection.execute(statement.replace("?", "%s"), values))
        except psycopg.Error as error:  # whose text may show the URL
            raise OSError(f"the account in {self.name} cannot be reached ({type(error).__name__})") from None

    def is_filled(self, execute: Execute) -> bool:
        """Return whether an account is there; see `Store`."""
        statement = (
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
        )
        columns = [(str(table), str(column)) for table, column in execute(statement) if table in _COLUMNS]
        return bool(columns) and _is_account(self.name, columns)


def _is_account(name: str, columns: Iterable[tuple[str, str]]) -> bool:
    """Return True if these columns, each with its table, are those of an account; ``ValueError`` for others."""
    needed = {(table, column.split(" ")[0]) for table, wanted in _COLUMNS.items() for column in wanted}
    if missing := needed - {*columns}:
        raise ValueError(f"{name} holds something else, and is no account of pypgm: it has no {'.'.join(min(missing))}")
    return True


def _rows(cursor: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401 - of an optional package
    return cursor.fetchall() if cursor.description else []


def _check_one_machine(path: Path) -> None:
    """Raise ``OSError`` for a path on a file system of several machines, where Linux names its kind."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return
    mounts = [line.partition(" - ") for line in lines]
    kinds = {place.split(" ")[4]: kind.split(" ")[0] for place, _, kind in mounts}
    if path.exists() and (os.stat(path).st_nlink > 1 or str(path) in kinds):
        raise OSError(
            f"{path.name} has several names, by a hard link or a mount of its own, and runs by different ones would "
            "not know of each other: keep one name, and mount its folder"
        )
    above = [str(parent) for parent in (path, *path.parents) if str(parent) in kinds]
    if above and kinds[above[0]] in _NETWORKS:
        raise OSError(
            f"{path.name} is on a file system of the network ({kinds[above[0]]}), whose locks are not safe: "
            "keep the account on a disk of one machine, or in PostgreSQL"
        )
