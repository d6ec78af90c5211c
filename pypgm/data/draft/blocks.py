"""Columns of which exactly one is true in each record, as the records of a draft show them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.draft.coded import Coder, Piece
from pypgm.data.draft.warnings import note

_TRUE = {"1": "0", "true": "false", "yes": "no", "y": "n", "t": "f"}  # and the false of each, in any case
_MIN_COLUMNS = 3  # columns: of two the second follows from the first
_MIN_ALL_RECORDS = 20
_ROWS = 4096  # records that are multiplied at once


class Blocks:
    """Columns of zeros and ones, of which exactly one is one in each record.

    Columns are such a block exactly if no two of them are ever true together, and their counts come to all records.

    Examples
    --------
    >>> coder = Coder()
    >>> blocks = Blocks(coder)
    >>> blocks.add(coder.piece({"a": ["1", "0", "0"] * 9, "b": ["0", "1", "0"] * 9, "c": ["0", "0", "1"] * 9}))
    >>> list(blocks.among("abc"))
    [['a', 'b', 'c']]
    """

    def __init__(self, coder: Coder) -> None:
        self._coder = coder
        self._names: list[str] | None = None
        self._both = np.zeros((0, 0), dtype=np.int64)  # records in which two columns are true
        self._n_records = 0

    def add(self, piece: Piece) -> None:
        """Add records."""
        values, places = self._coder.values, {name: i for i, name in enumerate(piece.names)}
        known = list(piece.names) if self._names is None else self._names
        both = np.zeros((len(known), len(known)), dtype=np.int64) if self._names is None else self._both
        kept = [i for i, name in enumerate(known) if name in places and len(values[name]) <= 2]
        self._names, self._both = [known[i] for i in kept], both[np.ix_(kept, kept)]
        columns = [places[name] for name in self._names]
        for first in range(0, len(piece.codes) if columns else 0, _ROWS):
            rows = piece.codes[first : first + _ROWS, columns]
            is_one = np.stack([_are_true(values[name])[rows[:, i]] for i, name in enumerate(self._names)], axis=1)
            ones = is_one.astype(np.float32)
            self._both += (ones.T @ ones).astype(np.int64)
        self._n_records += len(piece.codes)

    def among(self, names: Iterable[str]) -> Iterator[list[str]]:
        """Yield the blocks among some columns: those that stand together in the table, or have names of one stem."""
        values, wanted = self._coder.values, set(names)
        able = [i for i, name in enumerate(self._names or ()) if name in wanted and _is_pair(values[name])]
        if self._n_records < _MIN_ALL_RECORDS:
            return
        taken: set[int] = set()
        for group in (able, *self._of_stem(able)):
            for block in self._runs([i for i in group if i not in taken]):
                taken.update(block)
                yield [(self._names or [])[i] for i in block]

    def _runs(self, places: Sequence[int]) -> Iterator[list[int]]:
        """Yield the blocks among columns that follow each other."""
        counts = self._both.diagonal()
        start = 0
        while start < len(places):
            run, total = [places[start]], int(counts[places[start]])
            for place in places[start + 1 :]:
                if total >= self._n_records or self._both[place, run].any():
                    break
                run.append(place)
                total += int(counts[place])
            is_block = total == self._n_records and len(run) >= _MIN_COLUMNS
            if is_block:
                yield run
            start += len(run) if is_block else 1

    def _of_stem(self, places: Sequence[int]) -> list[list[int]]:
        """Return columns whose names differ in their last part only, in groups."""
        groups: dict[str, list[int]] = {}
        for place in places:
            stem = re.sub(r"([0-9]+|[ _.=:-][^ _.=:-]*)$", "", (self._names or [])[place])
            groups.setdefault(stem, []).append(place)
        return list(groups.values())


def _are_true(texts: Sequence[str]) -> NDArray[np.bool_]:
    return np.array([text.casefold() in _TRUE for text in texts], dtype=bool)


def _is_pair(texts: Sequence[str]) -> bool:
    """Return whether two texts are a true one and its false one."""
    pair = {text.casefold() for text in texts}
    return len(texts) == 2 and any(pair == {one, zero} for one, zero in _TRUE.items())


def _is_flag(fields: Mapping[str, Any]) -> bool:
    """Return whether a column is declared with two values, of which the second is true, and no other code."""
    values = fields.get("values", ("false", "true"))
    is_listed = fields["kind"] in {"boolean", "categorical"} and len(values) == 2 and not fields.get("other")
    return is_listed and not fields.get("null") and str(values[1]).casefold() in _TRUE


def one_of_rules(columns: Mapping[str, Mapping[str, Any]], blocks: Blocks) -> list[dict[str, Any]]:
    """Return rules that keep blocks of declared columns, for the rules of a draft, each with its warning."""
    able = [name for name, fields in columns.items() if _is_flag(fields)]
    return [{"one_of": block, "warning": note("one_of")} for block in blocks.among(able)]
