"""Counts of keys, in their order, whatever their number."""

from __future__ import annotations

import heapq
import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import groupby
from typing import IO, TypeAlias

import numpy as np
from numpy.typing import NDArray

Key: TypeAlias = "str | int"
_Entry: TypeAlias = "tuple[bool, Key, int]"

_HELD = 1 << 20  # keys in memory; more go to files without a name
_CHUNK = 1 << 16  # keys


class Tally:
    """Number of records of each key, numbers first; beyond a million keys sorted runs lie in files without a name."""

    def __init__(self) -> None:
        self._counts: dict[Key, int] = {}
        self._runs: list[IO[str]] = []
        self._stack = ExitStack()

    def __enter__(self) -> Tally:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, keys: Iterable[Key | None], counts: Iterable[int]) -> None:
        """Add records of some keys; those without a key are left out."""
        for key, count in zip(keys, counts, strict=False):
            if key is not None and count:
                self._counts[key] = self._counts.get(key, 0) + count
                if len(self._counts) > _HELD:
                    self._write()

    def chunks(self) -> Iterator[tuple[list[Key], NDArray[np.int64]]]:
        """Yield some keys at a time, and the number of records of each, each key once, in their order."""
        keys: list[Key] = []
        counts: list[int] = []
        for (_, key), entries in groupby(heapq.merge(self._sorted(), *map(_read, self._runs)), lambda entry: entry[:2]):
            keys.append(key)
            counts.append(sum(count for _, _, count in entries))
            if len(keys) == _CHUNK:
                yield keys, np.array(counts, dtype=np.int64)
                keys, counts = [], []
        yield keys, np.array(counts, dtype=np.int64)

    def _sorted(self) -> list[_Entry]:
        return sorted((isinstance(key, str), key, count) for key, count in self._counts.items())

    def _write(self) -> None:
        """Write the keys that are held to a file, in their order."""
        new = tempfile.TemporaryFile
        run = self._stack.enter_context(new("w+", encoding="ascii"))
        for is_text, key, count in self._sorted():
            run.write(json.dumps([hex(key) if isinstance(key, int) else key, is_text, count]) + "\n")
        self._runs.append(run)
        self._counts = {}


def _read(run: IO[str]) -> Iterator[_Entry]:
    run.seek(0)
    for line in run:
        key, is_text, count = json.loads(line)
        yield is_text, key if is_text else int(key, 16), count
