"""Pauses of a call, such as before a lost connection is opened again: together they take its time limit at most."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from typing import Any

from pypgm._base.numeric import checked_real


class _Here(threading.local):
    """The calls of a thread, each within the one before."""

    def __init__(self) -> None:
        self.calls: list[Pauses] = []


_HERE = _Here()


class Pauses:
    """Context of a call, or of each part of one: its pauses, with those of calls within it, end at a limit.

    Clocks stand still while records are read, and so in pauses: without a limit of their own these have none.

    Parameters
    ----------
    time_limit : float, optional
        Seconds.
    """

    def __init__(self, time_limit: float | None = None) -> None:
        self.left = math.inf if time_limit is None else time_limit

    def __enter__(self) -> Pauses:
        _HERE.calls.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _HERE.calls.remove(self)


def seconds_to_pause() -> float:
    """Return the seconds that may still be waited in the calls of this thread."""
    return min((call.left for call in _HERE.calls), default=math.inf)


def pause(seconds: float) -> None:
    """Wait, in each call of this thread."""
    time.sleep(seconds)
    for call in _HERE.calls:
        call.left -= seconds


def with_limit(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a call, with the time limit read and checked if there is one."""
    given = dict(options)
    if given.get("time_limit") is not None:
        given["time_limit"] = checked_real("time_limit", given["time_limit"], infinite=True)
    return given
