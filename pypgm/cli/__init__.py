"""The command ``pypgm``: private synthetic records from a table, and answers from a release."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

__all__ = ["main"]

_INTERRUPTED = 5  # exit status, see `pypgm.cli.command.STATUSES`


def main(argv: Sequence[str] | None = None) -> int:
    """Import the command and run it, see `pypgm.cli.command.main`; Ctrl-C during the import gives one line too."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        from pypgm.cli import command
    else:
        signal.signal(signal.SIGINT, _quit)
        try:
            from pypgm.cli import command
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    return command.main(argv)


def _quit(number: int, frame: FrameType | None) -> None:
    """End the process at once: compiled modules interrupted during their import raise other errors."""
    del number, frame
    if sys.stderr is not None:
        os.write(2, b"pypgm: interrupted\n")
    os._exit(_INTERRUPTED)
