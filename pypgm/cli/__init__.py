"""The command ``pypgm``: private synthetic records from a table, and answers from a release."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

__all__ = ["main"]

WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
"""Signals that stop a command, and what each does to it."""
UNHANDLED = (signal.SIG_DFL, signal.default_int_handler)
"""Handlers in whose place the command has its own: ignored signals stay ignored, and handlers of others stay."""
_INTERRUPTED = 5  # exit status, see `pypgm.cli.command.STATUSES`


def main(argv: Sequence[str] | None = None) -> int:
    """Import the command and run it, see `pypgm.cli.command.main`; a signal before it listens gives one line too."""
    is_main = threading.current_thread() is threading.main_thread()
    signals = [getattr(signal, name) for name in WORDS if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in signals if is_main}
    for number, handler in before.items():
        if handler in UNHANDLED:
            signal.signal(number, quit_at_once)
    try:
        from pypgm.cli import command

        return command.main(argv)
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is quit_at_once:
                signal.signal(number, handler)


def quit_at_once(number: int, frame: FrameType | None) -> None:
    """End the process at once: compiled modules interrupted during their import raise other errors."""
    del frame
    if sys.stderr is not None:
        os.write(2, f"pypgm: {WORDS[signal.Signals(number).name]}\n".encode())
    os._exit(_INTERRUPTED)
