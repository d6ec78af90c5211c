"""Sharing of measurements in a file: each is kept once, and a release, its model and its prior hold numbers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from pypgm._base.fields import check_fields
from pypgm._base.memory import check_fits
from pypgm.files.format import MEASUREMENT
from pypgm.files.members import line_of, plain_array

POOL = "measurements"
Fields = dict[str, Any]


def shared(fields: Mapping[str, Any]) -> Fields:
    """Return fields in which each measurement is stored once, in a separate list.

    The measurements of one list are distinct, though they may have equal answers.
    """
    pool: dict[tuple[str, int], tuple[int, Fields]] = {}

    def numbers(entries: Iterable[Fields]) -> list[int]:
        seen: Counter[str] = Counter()
        positions = []
        for entry in entries:
            text = _text(entry)
            positions.append(pool.setdefault((text, seen[text]), (len(pool), entry))[0])
            seen[text] += 1
        return positions

    replaced = _replaced(fields, numbers)
    return replaced | {POOL: [entry for _, entry in pool.values()]} if pool else replaced


def spread(fields: Mapping[str, Any], name: str, max_bytes: float | None = None) -> Fields:
    """Undo `shared`.

    Raises
    ------
    ValueError
        If a number is of no measurement or stands twice in a list, or a measurement has no number.
    ModelTooLargeError
        If the measurements take more than `max_bytes`, each as often as it is held.
    """
    fields = dict(fields)
    pool = fields.pop(POOL, [])
    check_fields(pool, [MEASUREMENT], POOL)
    sizes = list(map(_bytes, pool))
    held = [0] * len(pool)

    def entries(numbers: object) -> list[Fields]:
        check_fields(numbers, [int], POOL)
        positions: list[int] = list(numbers)  # type: ignore[call-overload]
        if len(set(positions)) < len(positions) or not all(0 <= i < len(pool) for i in positions):
            raise ValueError("it holds a measurement twice, or one that it does not have")
        for i in positions:
            held[i] += 1
        needed = sum(size * times for size, times in zip(sizes, held, strict=True))
        check_fits(needed, max_bytes, f"{name} holds measurements of {needed:,} bytes", "pass max_bytes")
        return [pool[i] for i in positions]

    replaced = _replaced(fields, entries)
    if not all(held):
        raise ValueError("it has measurements that nothing in it uses")
    return replaced


def _replaced(fields: Mapping[str, Any], change: Callable[[Any], list[Any]]) -> Fields:
    """Return fields with the list of measurements changed in each part that has one: a release, and recipes."""
    changed = dict(fields)
    for part in ("release", "recipe", "prior_recipe"):
        if isinstance(changed.get(part), Mapping):
            changed[part] = _replaced(changed[part], change)
    return changed | {POOL: change(changed[POOL])} if POOL in changed else changed


def _bytes(value: object) -> int:
    """Return the bytes of the arrays in a value."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    parts: Iterable[object] = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return sum(map(_bytes, parts))


def _text(entry: Mapping[str, Any]) -> str:
    """Return a text that is equal only for equal measurements."""
    return json.dumps(entry, default=lambda value: line_of("", plain_array(np.asarray(value))))
