"""Threads, time limit and progress of a long call."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Annotated, TypedDict

from pypgm._base.constraints import THREADS, Positive
from pypgm._base.progress import Bar, checked_progress
from pypgm._base.signatures import checked
from pypgm.errors import TimeLimitWarning, warn_caller


class _Here(threading.local):
    """Seconds that the clocks of a thread stood still, and the state before each nested stop."""

    def __init__(self) -> None:
        self.stood = 0.0
        self.before: list[tuple[float, float]] = []


_HERE = _Here()


class _StandingStill:
    """A context for whose time the clocks of this thread stand still.

    Reading private records takes a time that depends on them: no clock shows it, and no time limit that includes it
    ends a release.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        _HERE.before.append((_HERE.stood, time.perf_counter()))

    def __exit__(self, *_: object) -> None:
        stood, since = _HERE.before.pop()
        _HERE.stood = stood + time.perf_counter() - since  # what a step within it stood is a part of that


standing_still = _StandingStill()


def now() -> float:
    """Return the seconds of this thread's clocks: ``time.perf_counter()`` without the time that they stood still."""
    return time.perf_counter() - _HERE.stood


def seconds_stood() -> float:
    """Return for how long the clocks of this thread stood still so far."""
    return _HERE.stood


def begin_at(stood: float) -> None:
    """Let the clocks of a new thread show what those of another thread show, which stood still for so long."""
    _HERE.stood = stood


class CallOptions(TypedDict, total=False):
    """Threads, time limit and progress, as keywords of a call that has a `Clock`."""

    n_threads: Annotated[int, THREADS]
    time_limit: Annotated[float, Positive(infinite=True)] | None
    progress: bool


CALL_DEFAULTS: Mapping[str, object] = {"n_threads": 0, "progress": False}
"""Defaults of `CallOptions` other than None."""


class Clock:
    """Threads, time limit and progress of one call: looked at and shown at each of its steps.

    Parameters
    ----------
    what : str
        The head of the line.
    time_limit : float, optional
        Seconds from `started` after which the call ends with the best it has.
    progress : bool or Bar
        Whether to show its steps on standard error; on a bar of another call, they are a part of that one.
    started : float, optional
        `now` when the work began, which is the default.
    n_threads : int
        Number of threads, 0 for all; the result does not depend on it.
    ends : str
        Name of the work that the limit ends, if any: leaving the clock's context after that warns the caller.

    Attributes
    ----------
    over : bool
        Whether a step found the limit passed.
    """

    @checked()
    def __init__(
        self,
        what: str = "",
        time_limit: Annotated[float, Positive(infinite=True)] | None = None,
        progress: bool | Bar = False,
        started: float | None = None,
        *,
        n_threads: Annotated[int, THREADS] = 0,
        ends: str = "",
    ) -> None:
        self.what = what
        self.time_limit = time_limit
        shown = checked_progress(progress)
        self._is_part = isinstance(shown, Bar)
        self._bar = shown if isinstance(shown, Bar) else Bar(what) if shown else None
        self.n_threads = n_threads
        self.started = now() if started is None else started
        self.ends = ends
        self.over = False

    @property
    def is_watched(self) -> bool:
        """True if steps are shown, or may end the call."""
        return self._bar is not None or self.time_limit is not None

    @property
    def seconds(self) -> float:
        """Wall time since the start, without the time for reading private records."""
        return now() - self.started

    @property
    def is_past_limit(self) -> bool:
        """True if the time is over now, even before the first step."""
        return self.time_limit is not None and self.seconds >= self.time_limit

    def tick(self, text: Callable[[], str]) -> bool:
        """Show how far the call is; return whether its time is over."""
        if self._bar is not None:
            self._bar.show((lambda: f"{self.what}, {text()}") if self._is_part else text)
        self.over = self.over or self.is_past_limit
        return self.over

    def check(self, text: Callable[[], str]) -> None:
        """Show how far an exact answer is; ``TimeoutError`` if its time is over: a partial exact answer is useless."""
        if self.tick(text):
            raise TimeoutError(f"the exact answer takes longer than time_limit={self.time_limit:g}")

    def close(self) -> None:
        """Show the end of the work, and end the line."""
        if self._bar is not None and not self._is_part:
            self._bar.close()

    def __enter__(self) -> Clock:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self.close()
        if self.over and self.ends and error is None:
            text = f"time_limit={self.time_limit:g} ended {self.ends}: the result is the best so far"
            warn_caller(text, TimeLimitWarning)
