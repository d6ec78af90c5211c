"""The command ``pypgm``: private synthetic records from a table, and answers from a release."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
from collections.abc import Iterator, Sequence

from pypgm.jobs.stopping import UNHANDLED, WORDS, quit_at_once

__all__ = ["main"]

_BLAS_WAIT = "OPENBLAS_THREAD_TIMEOUT"
_BLAS_CYCLES = "18"  # log2 of the cycles that its threads wait awake: .1 ms; by default 25 ms each, from their start on
_YOUNG = 10_000  # new objects between two searches for garbage: five times as many as by default, as little is found


def main(argv: Sequence[str] | None = None) -> int:
    """Import the command and run it, see `pypgm.cli.command.main`; a signal before it listens gives one line too."""
    is_main = threading.current_thread() is threading.main_thread()
    signals = [getattr(signal, name) for name in WORDS if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in signals if is_main}
    for number, handler in before.items():
        if handler in UNHANDLED:
            signal.signal(number, quit_at_once)
    try:
        with _process_of_its_own() if argv is None else contextlib.nullcontext():
            from pypgm.cli import command
        return command.main(argv)
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is quit_at_once:
                signal.signal(number, handler)


@contextlib.contextmanager
def _process_of_its_own() -> Iterator[None]:
    """Import a command that is all its process does."""
    gc.disable()
    is_chosen = _BLAS_WAIT in os.environ
    os.environ.setdefault(_BLAS_WAIT, _BLAS_CYCLES)  # which NumPy's import reads
    try:
        yield
    finally:
        if not is_chosen:
            del os.environ[_BLAS_WAIT]
        gc.freeze()  # what is imported stays
        gc.set_threshold(_YOUNG)
        gc.enable()
