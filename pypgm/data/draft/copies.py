"""Columns that are equal to another one or blank in each record, as the records of a draft show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm.data.draft.coded import FIRST_ROWS, MIN_RECORDS, Coder, Piece, hot_products
from pypgm.data.draft.column import NULLS
from pypgm.data.draft.warnings import note, propose

_MAX_BASE_VALUES = 20  # values of a column by which another may be blank
_MAX_COPIES = 50  # columns with blanks, for which a condition is looked for
_MIN_OTHERS = 20  # records with other values than the most frequent one


class Copy(NamedTuple):
    """A column that is the copy of another one."""

    base: str
    name: str
    condition: tuple[str, list[str]] | None
    """Column by which it is blank, and the values with which it is."""


class Copies:
    """Columns whose values are those of another one in each record that has a value.

    Examples
    --------
    >>> coder, out = Coder(), ["2024-01-0" + str(1 + i % 9) for i in range(90)]
    >>> columns = {"out": out, "died": ["no", "yes"] * 45, "death": [t if i % 2 else "" for i, t in enumerate(out)]}
    >>> copies = Copies(coder)
    >>> copies.add(coder.piece(columns), columns)
    >>> list(copies.in_order())
    [Copy(base='out', name='death', condition=('died', ['no']))]
    """

    def __init__(self, coder: Coder) -> None:
        self._coder = coder
        self._bases: dict[str, list[str]] | None = None
        self._counts: dict[str, dict[str, NDArray[np.int64]]] = {}
        """By copy and column with few values: records with each value in which the copy is filled, and is blank."""

    def add(self, piece: Piece, columns: Mapping[str, Sequence[str]]) -> None:
        """Add records, and forget the pairs that they break."""
        if not len(piece.is_filled):
            return
        names = list(piece.all_names)
        places = {name: i for i, name in enumerate(names)}
        hashes = np.stack([_hashes(columns[name]) for name in names], axis=1)
        is_first = self._bases is None
        known = dict.fromkeys(names, names) if self._bases is None else self._bases
        self._bases = {}
        for name, bases in known.items():
            rows = np.flatnonzero(piece.is_filled[:, places[name]])
            kept = np.array([places[base] for base in bases if base != name], dtype=np.intp)
            for n in (FIRST_ROWS, len(rows)):
                if kept.size:
                    ours = hashes[rows[:n], places[name]]
                    kept = kept[(hashes[rows[:n]][:, kept] == ours[:, None]).all(axis=0)]
            if kept.size and (rows.size or not is_first):
                self._bases[name] = [names[i] for i in kept]
        self._count(piece, places)

    def _count(self, piece: Piece, places: Mapping[str, int]) -> None:
        """Count the records of each value of columns with few, in which each copy is filled or blank."""
        has_blanks = {name for name in places if not piece.is_filled[:, places[name]].all()}
        able = [name for name in self._bases or {} if name in has_blanks or name in self._counts]
        copies = able if len(able) <= _MAX_COPIES else []
        self._counts = {name: self._counts.get(name, {}) for name in copies}
        sizes_of = {name: len(self._coder.counts[name]) for name in piece.names}
        by = [i for i, name in enumerate(piece.names) if sizes_of[name] <= _MAX_BASE_VALUES] if copies else []
        is_filled = piece.is_filled[:, [places[name] for name in copies]]
        sizes = [sizes_of[piece.names[i]] for i in by]
        right = np.concatenate([is_filled, ~is_filled], axis=1)
        for group, counts in hot_products(piece.codes[:, by], sizes, right):
            start = 0
            for k in group:
                of_one = counts[start : start + sizes[k]].astype(np.int64)
                start += sizes[k]
                for place, name in enumerate(copies):
                    whole = of_one[:, [place, place + len(copies)]]
                    before = self._counts[name].get(piece.names[by[k]], whole[:0])
                    whole[: len(before)] += before
                    self._counts[name][piece.names[by[k]]] = whole

    def in_order(self) -> Iterator[Copy]:
        """Yield the copies: each of the first column of which it is one, in the order of the table."""
        bases = self._bases or {}
        places = {name: i for i, name in enumerate(bases)}
        for name, able in bases.items():
            real = [b for b in able if b not in bases or name not in bases[b] or places[b] < places[name]]
            if not real or not self._is_supported(name):
                continue
            # One that is blank in more records than another comes after it.
            able_first = (b for b in real if all(b in bases.get(o, ()) for o in real if o in bases.get(b, ())))
            first = next(able_first, real[0])
            conditions = list(self._conditions(name))
            if name not in self._counts or name in bases.get(first, ()):
                yield Copy(first, name, None)
            elif conditions:
                yield Copy(first, name, min(conditions, key=lambda condition: len(self._coder.values[condition[0]])))

    def _is_supported(self, name: str) -> bool:
        counts = self._coder.counts.get(name)
        if counts is None:
            return True
        values = self._coder.values[name]
        filled = sorted(n for n, text in zip(counts.tolist(), values, strict=True) if text not in NULLS)
        return int(sum(filled[:-1])) >= _MIN_OTHERS

    def _conditions(self, name: str) -> Iterator[tuple[str, list[str]]]:
        """Yield columns by which a copy is blank, and their values with which it is."""
        values = self._coder.values
        for by, counts in self._counts.get(name, {}).items():
            is_blank = counts[:, 0] == 0
            is_clear = by in values and by != name and not (counts[~is_blank, 1]).any()
            if is_clear and not is_blank.all() and counts[is_blank, 1].sum() >= MIN_RECORDS:
                yield by, sorted(text for text, blank in zip(values[by], is_blank, strict=True) if blank)


def _hashes(texts: Sequence[str]) -> NDArray[np.int64]:
    return np.fromiter(map(hash, texts), dtype=np.int64, count=len(texts))


def point_out_copies(draft: dict[str, Any], copies: Copies) -> set[str]:
    """Return columns that are copies of others in the records, and propose declarations that keep them so."""
    columns, copied = draft["columns"], set[str]()
    for base, name, condition in copies.in_order():
        if base not in columns or name not in columns or base in copied:
            continue
        fields: dict[str, Any] = {"kind": "derived", "from": base}
        nulls = [*columns[name].get("null", ())]
        if len(nulls) == 1 and nulls != [""] and not columns[base].get("null"):
            fields["null"] = nulls[0]
        if condition is not None:
            by, texts = condition
            if by not in columns or columns[by]["kind"] not in {"categorical", "boolean"}:
                continue
            fields["unless"] = {by: texts[0] if len(texts) == 1 else texts}
        propose(draft, name, note("equal", base), fields)
        copied.add(name)
    return copied
