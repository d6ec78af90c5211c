"""Log of a command for machines: a file to which each step adds a line, one JSON object."""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import os
from collections.abc import Callable, Iterator
from typing import IO

from pypgm._base.clock import now
from pypgm._base.progress import heard_by
from pypgm._base.terminal import escaped_json
from pypgm._core import __version__
from pypgm.privacy.charge import Charge
from pypgm.privacy.observer import Observer, observed_by, the_observer

_UNFIT = 3  # exit status of a table that does not fit its schema
_BETWEEN = 10.0  # seconds between two lines of progress


class Log:
    """Steps of one run of a command, as lines of a file; without a file every call does nothing.

    A line has the step, a number that all lines of the run share, and the seconds since its start on a clock that
    stands still while records are read, as the time for that depends on them. A disk that is full ends no run.

    Parameters
    ----------
    path : str or None
        The file, to which lines are added.
    """

    def __init__(self, path: str | None) -> None:
        self._path, self._ending = path, contextlib.ExitStack()
        self._file: IO[str] | None = None
        self._run, self._started, self._progress_at = os.urandom(4).hex(), now(), -math.inf

    def start(self, verb: str) -> None:
        """Open the file, and write the first line, the only one with the time of day: no record has been read yet."""
        if self._path is not None:
            self._file = open(self._path, "a", encoding="utf-8")  # noqa: SIM115 - until the command ends
            time = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
            self.step("started", time=time, verb=verb, pypgm=__version__)
            self._ending.enter_context(_records_to(self._record))

    def step(self, step: str, **facts: object) -> None:
        """Write a line."""
        self._write(step, {"seconds": round(now() - self._started, 3), **facts})

    def _record(self, level: str, message: str) -> None:
        """Write a record of the package's logger, without a time: it may come while records are read."""
        self._write(level, {"message": message})

    def _write(self, step: str, facts: dict[str, object]) -> None:
        if self._file is not None:
            line = {"run": self._run, "step": step, **facts}
            with contextlib.suppress(OSError):
                self._file.write(escaped_json(json.dumps(line, ensure_ascii=False)) + "\n")
                self._file.flush()

    def end(self, status: int, message: str) -> None:
        """Write the last line, with the exit status and the message of the error, if any."""
        if status == _UNFIT:  # where the table does not fit is for its owner alone
            message = "the table does not fit its schema: the command says where"
        self.step("ended", status=status, **({"error": message} if message else {}))
        self._ending.close()
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    @contextlib.contextmanager
    def following(self, *, alone: bool) -> Iterator[None]:
        """Write a line for each charge, before data is read for it, and one now and then for progress.

        Progress is also shown on the standard error, unless the log is `alone`.
        """
        if self._file is None:
            yield
            return
        with observed_by(_Charges(self)), heard_by(self._progress, alone=alone):
            yield

    def _progress(self, what: str, text: Callable[[], str], share: float | None) -> None:
        if now() - self._progress_at >= _BETWEEN:
            self._progress_at = now()
            self.step("progress", what=what, text=text(), **({} if share is None else {"share": round(share, 4)}))


@contextlib.contextmanager
def _records_to(write: Callable[[str, str], None]) -> Iterator[None]:
    """Pass the records of the logger ``pypgm``, such as of a connection that is opened again, to a function."""
    import logging  # a mebibyte, of use here alone

    class _Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            write(record.levelname.lower(), record.getMessage())

    handler = _Handler(logging.WARNING)
    logging.getLogger("pypgm").addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger("pypgm").removeHandler(handler)


class _Charges(Observer):
    """Observer that logs each line of the ledger, and does all else as the one before it."""

    def __init__(self, log: Log) -> None:
        self._log, self._before = log, the_observer()
        for name in vars(Observer).keys() - {"charged"}:
            if not name.startswith("_"):
                setattr(self, name, getattr(self._before, name))

    def charged(self, ledger: object, line: Charge) -> None:  # type: ignore[override]
        """Log a line that is about to be entered."""
        self._before.charged(ledger, line)
        self._log.step("charged", what=line.what, on=line.on, cost=str(line.cost))
