"""Ctrl-C while answers that are paid for are on their way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Delay a signal that stops the process until the context ends; a second one stops at once.

    What was charged in the context is then kept. An error in it is raised in place of a delayed `KeyboardInterrupt`,
    after the signal's handler was called. Only the main thread receives signals: others see no difference.

    Examples
    --------
    >>> before = signal.signal(signal.SIGINT, signal.default_int_handler)
    >>> kept = []
    >>> try:
    ...     with interrupts_held():
    ...         signal.raise_signal(signal.SIGINT)
    ...         kept.append("paid for")
    ... except KeyboardInterrupt:
    ...     print(kept)
    ['paid for']
    >>> handler = signal.signal(signal.SIGINT, before)
    """
    is_main = threading.current_thread() is threading.main_thread()
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)] if is_main else []
    before = {number: handler for number in numbers if callable(handler := signal.getsignal(number))}
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if len(came) > 1:
            before[number](number, frame)

    try:
        with ExitStack() as restored:  # each handler, whatever a signal between two of them raises
            for number, handler in before.items():
                restored.callback(signal.signal, number, handler)
                signal.signal(number, note)
            yield
    except BaseException:
        if came:
            with suppress(KeyboardInterrupt):
                signal.raise_signal(came[0])
        raise
    if came:
        signal.raise_signal(came[0])
