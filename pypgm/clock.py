"""What a long call takes: threads, time, and a line on standard error that says how far it is."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable

from pypgm.errors import TimeLimitWarning
from pypgm.numeric import checked_flag, checked_real, checked_threads
from pypgm.terminal import escaped

__all__ = ["Clock", "now"]

_BETWEEN = 0.1  # seconds between two lines


def now() -> float:
    """Return ``time.perf_counter()``, looked up at each call."""
    return time.perf_counter()


class Clock:
    """Says on how many threads a call runs, looks at its time limit at each of its steps, and shows them.

    Parameters
    ----------
    what : str
        The head of the line.
    time_limit : float, optional
        Seconds from `started` after which the call ends with the best it has.
    progress : bool
        Whether to write a line over and over on standard error, at most ten times a second.
    started : float, optional
        ``time.perf_counter()`` when the work began; now by default.
    n_threads : int
        0 for all threads; the bits of what the call returns do not depend on it.
    ends : str
        What the limit ends, if anything: a function that leaves the clock's context after that warns its caller.

    Attributes
    ----------
    over : bool
        Whether a step found the limit passed.
    """

    def __init__(
        self,
        what: str = "",
        time_limit: float | None = None,
        progress: bool = False,
        started: float | None = None,
        *,
        n_threads: int = 0,
        ends: str = "",
    ) -> None:
        if time_limit is not None:
            time_limit = checked_real("time_limit", time_limit, infinite=True)
        self.what = what
        self.time_limit = time_limit
        self.progress = checked_flag("progress", progress)
        self.n_threads = checked_threads(n_threads)
        self.started = now() if started is None else started
        self.ends = ends
        self.over = False
        self._shown = -1.0

    @property
    def is_watched(self) -> bool:
        """Whether steps are shown, or may end the call."""
        return self.progress or self.time_limit is not None

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return now() - self.started

    @property
    def is_past_limit(self) -> bool:
        """Whether the time is over now, be it before the first step."""
        return self.time_limit is not None and self.seconds >= self.time_limit

    def tick(self, text: Callable[[], str]) -> bool:
        """Show how far the call is; return whether its time is over."""
        over, seconds = self.is_past_limit, self.seconds
        if self.progress and seconds - self._shown >= _BETWEEN:
            self._shown = seconds
            sys.stderr.write(f"\r{self.what}: {escaped(text())}   ")
            sys.stderr.flush()
        self.over = self.over or over
        return self.over

    def check(self, text: Callable[[], str]) -> None:
        """Show how far an exact answer is; ``TimeoutError`` if its time is over: half of one is none."""
        if self.tick(text):
            raise TimeoutError(f"the exact answer takes longer than time_limit={self.time_limit:g}")

    def close(self) -> None:
        """End the line."""
        if self._shown >= 0:
            sys.stderr.write("\n")
            sys.stderr.flush()

    def __enter__(self) -> Clock:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self.close()
        if self.over and self.ends and error is None:
            text = f"time_limit={self.time_limit:g} ended {self.ends}: the result is the best so far"
            warnings.warn(text, TimeLimitWarning, stacklevel=3)
