"""Ctrl-C while answers that are paid for are on their way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Delay a signal that stops the process until the context ends without an error; a second one stops at once.

    What was charged in the context is then kept. Only the main thread receives signals: others see no difference.

    Examples
    --------
    >>> kept = []
    >>> try:
    ...     with interrupts_held():
    ...         signal.raise_signal(signal.SIGINT)
    ...         kept.append("paid for")
    ... except KeyboardInterrupt:
    ...     print(kept)
    ['paid for']
    """
    is_main = threading.current_thread() is threading.main_thread()
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)] if is_main else []
    before = {number: handler for number in numbers if callable(handler := signal.getsignal(number))}
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if len(came) > 1:
            before[number](number, frame)

    for number in before:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        signal.raise_signal(came[0])
