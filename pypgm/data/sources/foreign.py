"""Calls into engines and readers whose errors, warnings and log lines may quote records and are not passed on."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from pypgm.errors import ReadingError

T = TypeVar("T")


def guarded(what: str, step: Callable[[], T]) -> T:
    """Return the result of a step of a foreign package; only the type of its error is shown.

    Its warnings, and the lines it logs in this thread, are dropped. Logs that an engine keeps itself are not reached.

    Parameters
    ----------
    what : str
        Name of the step, with which the error begins.
    step : callable
        Without arguments. It calls no code of pypgm that raises errors to be read.

    Raises
    ------
    OSError
        If the system refused a file: with the system's own text for that.
    ModuleNotFoundError
        If the step lacks a package: with its name.
    ImportError
        If a package is installed without a part that the step needs.
    ReadingError
        For any other error.

    Examples
    --------
    >>> guarded("reading ages", lambda: int("secret"))
    Traceback (most recent call last):
    pypgm.errors.ReadingError: reading ages failed with ValueError, whose text is not shown: it may quote a record
    """
    with _silence():
        try:
            return step()
        except Exception as error:
            refusal = _refusal(what, error)
    # Raised outside of the handler, the error has no context, which `from None` would hide and keep.
    raise refusal


def guarded_pieces(what: str, start: Callable[[], Iterable[T]]) -> Iterator[T]:
    """Yield the pieces that a foreign reader gives, each of its steps guarded."""
    pieces = guarded(what, lambda: iter(start()))
    while (piece := guarded(what, lambda: next(pieces, None))) is not None:
        yield piece


def missing_package(error: BaseException) -> str:
    """Return the name of the package that an import lacked; "" if none is absent.

    Examples
    --------
    >>> try:
    ...     import no_such_package.part
    ... except ImportError as error:
    ...     missing_package(error)
    'no_such_package'
    """
    missing = ""
    at: BaseException | None = error
    while isinstance(at, ImportError):
        if isinstance(at, ModuleNotFoundError) and at.name:
            missing = at.name.partition(".")[0]
        at = at.__cause__ or at.__context__
    return missing


def _refusal(what: str, error: Exception) -> Exception:
    """Return an error without the text of the error of another package."""
    if isinstance(error, OSError) and isinstance(error.errno, int):
        return OSError(error.errno, os.strerror(error.errno), what)
    if isinstance(error, ImportError):
        if missing := missing_package(error):
            return ModuleNotFoundError(f"{what} needs the package {missing}", name=missing)
        if error.name is not None:
            package = error.name.partition(".")[0]
            needed = "its extra for this, or another version"
            return ImportError(f"{what} needs more of {package} than is installed: {needed}", name=package)
    return ReadingError(f"{what} failed with {type(error).__name__}, whose text is not shown: it may quote a record")


class _Thread(threading.local):
    """Number of guarded steps that a thread is in."""

    steps = 0


_HERE = _Thread()
_LOCK = threading.Lock()
_everywhere: list[contextlib.ExitStack] = []  # one for each step of any thread: the first keeps the filters of warnings


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Drop the warnings of all threads, which have their filters in common, and the log records of this one."""
    with _LOCK:
        _everywhere.append(contextlib.ExitStack())
        if len(_everywhere) == 1:
            _everywhere[0].enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            _everywhere[0].callback(_watched_records())
    _HERE.steps += 1
    try:
        yield
    finally:
        _HERE.steps -= 1
        with _LOCK:
            if len(_everywhere) == 1:
                _everywhere[0].close()
            del _everywhere[-1]


def _watched_records() -> Callable[[], None]:
    """Give log records of guarded steps per level below every handler; return a function that undoes it."""
    import logging  # a mebibyte, of use here alone

    make = logging.getLogRecordFactory()

    def watched(*args: Any, **kwargs: Any) -> logging.LogRecord:  # noqa: ANN401 - arguments of any record
        record = make(*args, **kwargs)
        if _HERE.steps:
            record.levelno = -1
        return record

    logging.setLogRecordFactory(watched)
    return lambda: logging.setLogRecordFactory(make)
