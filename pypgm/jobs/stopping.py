"""Signals that stop a command: Ctrl-C, SIGTERM and SIGHUP all end it by `KeyboardInterrupt`."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
"""Signals that stop a command, and what each does to it."""
UNHANDLED = (signal.SIG_DFL, signal.default_int_handler)
"""Handlers in whose place the command has its own: ignored signals stay ignored, and handlers of others stay."""
_INTERRUPTED = 5  # exit status, see `pypgm.cli.command.STATUSES`


def quit_at_once(number: int, frame: FrameType | None) -> None:
    """End the process at once: compiled modules interrupted during their import raise other errors."""
    del frame
    if sys.stderr is not None:
        os.write(2, f"pypgm: {WORDS[signal.Signals(number).name]}\n".encode())
    os._exit(_INTERRUPTED)


_BEFORE = (*UNHANDLED, quit_at_once)


class Stopping:
    """Signals that came while a command ran.

    Attributes
    ----------
    number : int
        The number of the first signal; 0 if none came.
    """

    def __init__(self) -> None:
        self.number = 0
        self._is_held = False

    @property
    def word(self) -> str:
        """The effect of the signal, in a word."""
        return WORDS[signal.Signals(self.number or signal.SIGINT).name]

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Turn the signals into `KeyboardInterrupt` in this context; only the main thread receives them."""
        self.number, self._is_held = 0, False
        signals = [getattr(signal, name) for name in WORDS if hasattr(signal, name)]
        is_main = threading.current_thread() is threading.main_thread()
        before = {s: signal.getsignal(s) for s in signals if is_main and signal.getsignal(s) in _BEFORE}
        for number in before:
            signal.signal(number, self._heard)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self.number = 0  # which is of this command alone

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Delay signals until a step that must not be interrupted ends; `check` then ends the command."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False

    def check(self) -> None:
        """Raise `KeyboardInterrupt` if a signal came, as code that caught the first one may have gone on."""
        if self.number:
            raise KeyboardInterrupt

    def _heard(self, number: int, frame: FrameType | None) -> None:
        del frame
        is_first = not self.number
        self.number = self.number or number
        # A second SIGTERM does not interrupt the cleaning up after the first; a second Ctrl-C is intended.
        if not self._is_held and (is_first or number == signal.SIGINT):
            raise KeyboardInterrupt


STOPPING = Stopping()
"""The state of the process: signals belong to no single command."""
