"""Processes that leave a mark where others find it, and whether they have ended since."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_PROC = Path("/proc")
_START = 19  # place of the start among the fields of a process behind its name, its state being the first


def process_mark() -> str:
    """Return a mark of this process, by which no other is taken for it; empty on systems that do not tell.

    It names the system since its last start, the namespace of its processes, the number and the start of this one.
    """
    with contextlib.suppress(OSError, IndexError):
        _, start = _state_and_start(os.getpid())
        return f"{_host()}/{os.getpid()}/{start}"
    return ""


def has_ended(mark: str) -> bool | None:
    """Return whether the process of a mark has ended; None for one that cannot be seen from here.

    Examples
    --------
    >>> has_ended(process_mark()), has_ended("")
    (False, None)
    """
    host, *rest = mark.rsplit("/", 2)
    with contextlib.suppress(OSError, ValueError, IndexError):
        number, start = rest
        if host != _host():
            return None
        try:
            os.kill(int(number), 0)
        except ProcessLookupError:
            return True
        except PermissionError:  # somebody else's, which may be hidden
            pass
        state, since = _state_and_start(int(number))
        return since != start or state in {"Z", "X"}
    return None


def _host() -> str:
    """Return the system since its last start, and the namespace of its processes."""
    boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot}/{os.readlink(_PROC / 'self/ns/pid')}"


def _state_and_start(number: int) -> tuple[str, str]:
    """Return the state of a process, and its start in ticks of the system's clock."""
    fields = (_PROC / str(number) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return fields[0], fields[_START]
