"""Standard output and error of the command, which may be closed, full, or unable to encode a text."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

_FLAGS = (os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)  # writing to a closed output fails, to a closed error it is ignored


@contextlib.contextmanager
def open_streams() -> Iterator[None]:
    """Open both streams for this context, even if the process started with them closed.

    A full output raises an ``OSError`` that names it, or `BrokenPipeError`. A full error stream never ends anything: no
    paid release is lost for a line about it.
    """
    for number, flags in enumerate(_FLAGS):
        if _is_closed(number):  # else the next opened file would get the number, and the text meant for the terminal
            os.open(os.devnull, flags)
    out = cast("TextIO | None", sys.stdout) or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    error = cast("TextIO | None", sys.stderr) or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    with contextlib.redirect_stdout(_Output(out)), contextlib.redirect_stderr(_Error(error)):
        yield


def _is_closed(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return True
    return False


class _Stream:
    """A wrapper of a stream that handles its failing writes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        return getattr(self._stream, name)

    def _abandon(self) -> None:
        """Point the stream to the null device, so that its unwritten rest raises no complaint when the process ends."""
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


class _Output(_Stream):
    def write(self, text: str) -> int:
        with self._explained():
            return self._stream.write(text)

    def flush(self) -> None:
        with self._explained():
            self._stream.flush()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except UnicodeEncodeError as error:
            advice = "--out FILE writes UTF-8, and so does PYTHONIOENCODING=utf-8"
            raise ValueError(f"standard output is {error.encoding} and cannot hold a label: {advice}") from None
        except BrokenPipeError:
            self._abandon()
            raise
        except OSError as error:
            self._abandon()
            raise OSError(error.errno, error.strerror, "standard output") from None


class _Error(_Stream):
    def write(self, text: str) -> int:
        with self._unheard():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._unheard():
            self._stream.flush()

    @contextlib.contextmanager
    def _unheard(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self._abandon()
