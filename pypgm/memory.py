"""How much memory a structure may take; what does not fit is refused before it is asked for."""

from __future__ import annotations

import math
import os
from pathlib import Path

from pypgm.errors import ModelTooLargeError

__all__ = ["available_bytes", "refuse_too_large"]

_FALLBACK_BYTES = 8 << 30
_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def available_bytes() -> int:
    """Return the memory this process can still take, in bytes; 8 GiB where the system does not tell.

    Examples
    --------
    >>> available_bytes() > 0
    True
    """
    free = _meminfo() or _physical() or _FALLBACK_BYTES
    for limit, used in _CGROUPS:
        allowed, taken = _number(limit), _number(used)
        if allowed is not None and taken is not None:
            free = min(free, max(allowed - taken, 0))
    return free


def refuse_too_large(what: str, cells: int, n_bytes: int, max_bytes: int | None = None) -> None:
    """Raise `ModelTooLargeError` if `n_bytes` exceed `max_bytes`, by default half of the memory available.

    Parameters
    ----------
    what : str
        What needs the memory, as the subject of the message.
    cells : int
        Number of entries, for the message.
    n_bytes : int
        Bytes needed.
    max_bytes : int, optional
        The limit.
    """
    limit = available_bytes() // 2 if max_bytes is None else max_bytes
    if n_bytes > limit:
        raise ModelTooLargeError(
            f"{what} needs {_short(cells)} cells ({_short(n_bytes >> 30)} GiB); the limit is {limit / 2**30:.3g} GiB: "
            "ask for fewer or smaller cliques"
        )


def _short(number: int) -> str:
    """Return an integer in three digits or so; any size, far beyond the range of float."""
    return f"{number:.3g}" if number.bit_length() < 1000 else f"1e+{int(number.bit_length() * math.log10(2))}"


def _meminfo() -> int | None:
    """Return what Linux calls available: free memory and what the page cache can give back."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
