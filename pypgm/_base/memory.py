"""Memory limits of structures, and the refusal of structures that need more."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pypgm import _core
from pypgm._base.numeric import checked_real
from pypgm.domain import Clique, Domain, listed
from pypgm.errors import ModelTooLargeError

_GIB = 2.0**30
_VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes")  # files of a control group
_VERSION_2 = ("memory.max", "memory.current")
_WAY_OUT = (
    'use oracle="auto" of networks and fields or oracle="region_graph" of estimates, fewer or smaller cliques, '
    "or max_bytes"
)
_MAX_VALUES = 2**63 - 1
_ALWAYS = 2**24  # bytes that fit anywhere: not worth asking the system


def memory_limit(max_bytes: float | None) -> float:
    """Return the bytes a structure may take: as given, or half of the memory that the process can still have.

    Raises
    ------
    ValueError
        If `max_bytes` is not positive.
    """
    if max_bytes is None:
        return _available() / 2
    return checked_real("max_bytes", max_bytes, infinite=True)


def fits(needed: float, max_bytes: float | None) -> bool:
    """Return True if bytes are no more than allowed; few are at once, since to ask the system takes milliseconds."""
    return (max_bytes is None and needed <= _ALWAYS) or needed <= memory_limit(max_bytes)


def check_fits(
    needed: float,
    max_bytes: float | None,
    what: str | Callable[[], str],
    way_out: str = _WAY_OUT,
) -> None:
    """Raise ModelTooLargeError, naming the ways out, if `needed` bytes (exact, however many) are more than allowed.

    The description may be a function, called only for an error: its text takes longer than a small answer.
    """
    if fits(needed, max_bytes):
        return
    limit = memory_limit(max_bytes)
    gib = short(needed >> 30) if isinstance(needed, int) and needed >> 40 else f"{needed / _GIB:.3g}"
    text = what if isinstance(what, str) else what()
    raise ModelTooLargeError(f"{text}; all tables need {gib} GiB, the limit is {limit / _GIB:.3g} GiB: {way_out}")


def check_tables_fit(
    domain: Domain,
    cliques: Sequence[Clique],
    cell_bytes: int,
    what: str = "table",
    way_out: str = "or ask for a smaller clique",
) -> None:
    """Raise ModelTooLargeError, naming a clique and its largest attribute, unless the bytes kept for each cell fit.

    Examples
    --------
    >>> from pypgm import Domain
    >>> check_tables_fit(Domain({"a": 2, "b": 3}), [("a",), ("a", "b")], 8)
    """
    for clique in cliques:
        cells, sizes = domain.size(clique), domain.sizes(clique)
        largest = max(clique, key=lambda a: domain.size((a,)), default="")
        ways = f"leave out {largest!r} ({max(sizes, default=1)} values), {way_out}"
        check_fits(cell_bytes * cells, None, f"the {what} over {clique} needs {short(cells)} cells", ways)


def check_sizes(domain: Domain) -> None:
    """Raise ModelTooLargeError, naming the attribute, if one has more values than the core can count."""
    largest = max(domain.shape, default=0)
    if largest > _MAX_VALUES:
        name = domain.attributes[domain.shape.index(largest)]
        raise ModelTooLargeError(f"attribute {name!r} has {short(largest)} values; a model takes 2**63 - 1 at most")


@contextmanager
def hopeless_refused(domain: Domain, max_bytes: float | None = None, order: str = "best order") -> Iterator[None]:
    """Raise ModelTooLargeError, naming a clique, where an order of elimination makes one too large to plan."""
    check_sizes(domain)
    try:
        yield
    except _core.HopelessElimination as error:
        clique = tuple(domain.attributes[i] for i in error.args[0])
        cells = domain.size(clique)
        raise ModelTooLargeError(
            f"the table over ({listed(clique)}) needs {short(cells)} cells ({short(cells >> 27)} GiB) in the "
            f"{order} of elimination; the limit is {memory_limit(max_bytes) / _GIB:.3g} GiB: {_WAY_OUT}"
        ) from None


def short(number: int) -> str:
    """Return an integer in three digits; beyond the range of a float, its power of ten.

    Examples
    --------
    >>> short(1234567), short(10**1000)
    ('1.23e+06', '1e+1000')
    """
    return f"{number:.3g}" if number.bit_length() < 1000 else f"1e+{int(number.bit_length() * math.log10(2))}"


def _available() -> float:
    """Return bytes available to the process, as the system or the control group says; 4 GiB if neither does."""
    limits = [b for b in (_system_available(), _cgroup_available()) if b is not None]
    return min(limits, default=4 * _GIB)


def _system_available() -> float | None:
    if sys.platform == "win32":
        return _windows_available()
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")) / 2
    except (ValueError, OSError):
        return None


def _cgroup_available(proc: Path = Path("/proc/self"), mount: Path = Path("/sys/fs/cgroup")) -> float | None:
    """Return the bytes that the process's control group and its parents leave; None where none sets a limit.

    Lines of ``/proc/self/cgroup`` are ``number:controllers:path``; version 2 has one, without controllers, and
    version 1 keeps memory in a hierarchy of its own. Inside a container the path may be the one outside it.
    """
    try:
        lines = (proc / "cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    left = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root, names = (mount / "memory", _VERSION_1) if controllers else (mount, _VERSION_2)
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            left.append(_left_in(*(folder / name for name in names)))
            if folder == root:
                break
    return min((x for x in left if x is not None), default=None)


def _left_in(limit: Path, usage: Path) -> float | None:
    try:
        bound = limit.read_text(encoding="ascii").strip()
        used = usage.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return None if bound == "max" else max(0.0, float(bound) - float(used))


def _windows_available() -> float | None:
    class MemoryStatus(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in ("total", "available", "a", "b", "c", "d", "e")),
        )

    status = MemoryStatus(length=ctypes.sizeof(MemoryStatus))
    windll = getattr(ctypes, "windll", None)
    if windll is None or not windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return float(status.available)
