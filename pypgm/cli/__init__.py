"""The command ``pypgm``: private synthetic records from a table, and answers from a release."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Sequence

from pypgm.jobs.stopping import UNHANDLED, WORDS, quit_at_once

__all__ = ["main"]

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
        if argv is None:  # a process of its own: what is imported stays, and is not searched for garbage
            gc.disable()
        from pypgm.cli import command

        if argv is None:
            gc.freeze()
            gc.set_threshold(_YOUNG)
            gc.enable()
        return command.main(argv)
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is quit_at_once:
                signal.signal(number, handler)
