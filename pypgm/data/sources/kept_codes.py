"""Codes of records that were read once: a table is encoded in one pass, and later passes read its codes."""

from __future__ import annotations

import tempfile
import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[Any]
_Part: TypeAlias = Callable[[int, int], Codes]
"""Returns the codes of the records from one to before another, counted from the first of the part."""

_HELD = 1 << 28  # bytes in memory; more go to a file without a name


class CodeSpace:
    """Room for codes: 256 MiB of memory, and beyond that a file without a name, which ends with the process.

    Examples
    --------
    >>> part = CodeSpace().put(np.array([3, 1, 2], np.uint8))
    >>> part(1, 3)
    array([1, 2], dtype=uint8)
    """

    def __init__(self) -> None:
        self._n_held = 0
        self._file: IO[bytes] | None = None
        self._lock = threading.Lock()  # the file has one position

    def put(self, codes: Codes) -> _Part:
        """Keep some codes, and return a function that reads them; ``OSError`` if the disk has no room for them."""
        if self._n_held + codes.nbytes <= _HELD:
            self._n_held += codes.nbytes
            return lambda first, last: codes[first:last]
        with self._lock:
            if self._file is None:
                new = tempfile.TemporaryFile  # which the system removes, however the process ends
                self._file = new(buffering=0)
                weakref.finalize(self, self._file.close)
            start = self._file.seek(0, 2)
            left = np.ascontiguousarray(codes).view(np.uint8).data
            while left:
                left = left[self._file.write(left) :]
        kind, file = codes.dtype, self._file

        def read(first: int, last: int) -> Codes:
            some = np.empty(last - first, kind)
            room = some.view(np.uint8).data
            with self._lock:
                file.seek(start + first * kind.itemsize)
                while room and (n_read := file.readinto(room)):  # type: ignore[attr-defined]
                    room = room[n_read:]
            if room:
                raise OSError("the temporary file of the codes is cut off")
            return some

        return read


class KeptCodes:
    """Codes of some columns of a table, all of its records.

    Examples
    --------
    >>> kept = KeptCodes()
    >>> kept.add({"age": np.array([3, 1], np.uint8)}), kept.add({"age": np.array([2, 5], np.uint8)})
    (True, True)
    >>> kept.rows(["age"], 1, 3)
    {'age': array([1, 2], dtype=uint8)}
    """

    def __init__(self) -> None:
        self._space = CodeSpace()
        self._parts: dict[str, list[_Part]] = {}
        self._ends: dict[str, list[int]] = {}  # number of records up to the end of each part

    def __contains__(self, name: str) -> bool:
        return name in self._parts

    def only(self, names: Iterable[str]) -> KeptCodes:
        """Return the same codes of some columns; others that are added to them take the same room."""
        some = KeptCodes()
        some._space = self._space
        for name in filter(self.__contains__, names):
            some._parts[name], some._ends[name] = self._parts[name], self._ends[name]
        return some

    def update(self, other: KeptCodes) -> None:
        """Take the columns of other codes too."""
        self._parts |= other._parts
        self._ends |= other._ends

    def add(self, codes: Mapping[str, Codes]) -> bool:
        """Keep the codes of the records that come next; return False if the disk has no room for them."""
        for name, some in codes.items():
            if len(some):
                ends = self._ends.setdefault(name, [])
                try:
                    self._parts.setdefault(name, []).append(self._space.put(some))
                except OSError:
                    return False
                ends.append((ends[-1] if ends else 0) + len(some))
        return True

    def n_records(self, name: str) -> int:
        """Return the number of records of a column."""
        return self._ends[name][-1]

    def rows(self, names: Iterable[str], first: int, last: int) -> dict[str, Codes]:
        """Return the codes of the records from one to before another."""
        return {name: self._rows(name, first, last) for name in names}

    def _rows(self, name: str, first: int, last: int) -> Codes:
        parts, ends = self._parts[name], self._ends[name]
        here = bisect_right(ends, first)
        some = []
        while first < last:
            start = ends[here - 1] if here else 0
            end = min(last, ends[here])
            some.append(parts[here](first - start, end - start))
            first, here = end, here + 1
        return some[0] if len(some) == 1 else np.concatenate(some)
