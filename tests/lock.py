"""Whether a call lets other threads run, told by the order of events and not by the clock."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

_HELD = 3600.0  # seconds for which the interpreter takes the lock from nobody: longer than all of the calls together
_CALLS = 5.0  # seconds of the processor for calls: on a busy machine the other thread may sleep through many of them


def lets_others_in(call: Callable[[], object]) -> bool:
    """Return whether another thread advances during one of many calls, which it cannot where they hold the lock.

    The call must be the compiled function alone: NumPy, too, lets others in.
    """
    ticks, done = [0], threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks[0] += 1
            time.sleep(1e-5)

    ticker = threading.Thread(target=tick)
    interval = sys.getswitchinterval()
    ticker.start()
    try:
        sys.setswitchinterval(_HELD)
        begun = ticks[0]
        while ticks[0] < begun + 2:  # since then the other thread, too, waits for the lock for so long
            time.sleep(1e-3)
        before = ticks[0]
        end = time.process_time() + _CALLS
        while time.process_time() < end:
            call()
            if ticks[0] > before:
                return True
        return False
    finally:
        sys.setswitchinterval(interval)
        done.set()
        ticker.join()
