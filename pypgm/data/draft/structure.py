"""Relations between columns in the records: functions, blanks, orders of dates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm.data.draft.blocks import Blocks
from pypgm.data.draft.coded import FIRST_ROWS, MIN_RECORDS, Coder, Piece, hot_products
from pypgm.data.draft.column import NULLS
from pypgm.data.draft.copies import Copies
from pypgm.data.draft.date_reader import DateReader
from pypgm.data.draft.empty import EmptyCells

_MAX_BASE_VALUES = 20  # values of a column by which another may be blank


class Structure:
    """All relations that a draft looks for, in one pass over the records.

    Examples
    --------
    >>> structure = Structure()
    >>> structure.add({"city": ["Bonn", "Oslo", "Bern"] * 10, "land": ["DE", "NO", "CH"] * 10})
    >>> [(a, b) for a, b, _ in structure.dependences.pairs()]
    [('city', 'land')]
    """

    def __init__(self) -> None:
        self.coder = Coder()
        self.dependences = Dependences(self.coder)
        self.blanks = Blanks(self.coder)
        self.blocks = Blocks(self.coder)
        self.copies = Copies(self.coder)
        self.empty = EmptyCells(self.coder)
        self.orders = Orders()

    def add(self, columns: Mapping[str, Sequence[str]], readers: Mapping[str, DateReader] | None = None) -> None:
        """Add records, with the readers of their dates."""
        piece = self.coder.piece(columns)
        self.dependences.add(piece)
        self.blanks.add(piece)
        self.blocks.add(piece)
        self.copies.add(piece, columns)
        self.empty.add(piece)
        self.orders.add(readers or {}, columns)


class Dependences:
    """Pairs of columns in which the second has had one value for each value of the first so far."""

    def __init__(self, coder: Coder) -> None:
        self._coder = coder
        self._images: dict[str, tuple[list[str], NDArray[np.int32]]] | None = None
        """By base: the columns that may follow from it, and their code for each of its codes, -1 before it comes."""

    def add(self, piece: Piece) -> None:
        """Add records, and forget the pairs that they break."""
        if not len(piece.codes):
            return
        places = {name: i for i, name in enumerate(piece.names)}
        is_first = self._images is None
        known = {name: (list(piece.names), None) for name in places} if self._images is None else self._images
        self._images = {}
        for base, (others, images) in known.items():
            if base not in places or (is_first and not _repeats(piece.codes[:, places[base]])):
                continue
            kept = [i for i, name in enumerate(others) if name in places and name != base]
            ours = np.array([places[others[i]] for i in kept], dtype=np.intp)
            before = None if images is None else images[:, kept]
            ours, before = _following(piece.codes, places[base], ours, before)
            if ours.size:
                self._images[base] = [piece.names[i] for i in ours], before

    def pairs(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Yield, for each dependent column, the base with the fewest values, the column, and the mapping.

        Among columns that determine each other, the others depend on the first.
        """
        counts, values = self._coder.counts, self._coder.values
        able: dict[str, dict[str, NDArray[np.int32]]] = {}
        for base, (others, images) in (self._images or {}).items():
            for other, image in self._supported(base, others, images):
                able.setdefault(other, {})[base] = image
        places = {name: i for i, name in enumerate(counts)}
        for other, bases in able.items():
            real = [b for b in bases if b not in able or other not in able[b] or places[b] < places[other]]
            if real:
                base = min(real, key=lambda name: (len(counts[name]), places[name]))
                pairs = zip(values[base], bases[base].tolist(), strict=True)
                yield base, other, {text: values[other][code] for text, code in pairs}

    def _supported(
        self, base: str, others: Sequence[str], images: NDArray[np.int32]
    ) -> Iterator[tuple[str, NDArray[np.int32]]]:
        """Yield columns whose dependence records support: values repeat, and not all map to the most frequent one."""
        counts = self._coder.counts
        n_records = np.where(counts[base] > 1, counts[base], 0)
        sizes = np.array([len(counts.get(name, ())) for name in others])
        usual = np.array([counts[name].argmax() if name in counts else -1 for name in others])
        supports = n_records @ (images != usual)
        is_supported = (supports >= MIN_RECORDS) & (sizes >= 2) & (sizes <= len(counts[base]))
        for i in np.flatnonzero(is_supported).tolist():
            yield others[i], images[:, i]


def _repeats(codes: NDArray[np.int32]) -> bool:
    """Return whether values repeat in enough records for others to be seen to follow from them."""
    counts = np.bincount(codes)
    return bool(counts[counts > 1].sum() >= MIN_RECORDS)


def _following(
    codes: NDArray[np.int32], base: int, others: NDArray[np.intp], images: NDArray[np.int32] | None
) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Return the columns that still follow from a base, and their code for each code of it."""
    n_rows = len(codes)
    for n in (FIRST_ROWS, 10 * FIRST_ROWS, n_rows):
        order = np.argsort(codes[:n, base], kind="stable")
        is_same = np.flatnonzero(np.diff(codes[order, base]) == 0)
        kept = (codes[order[is_same + 1]][:, others] == codes[order[is_same]][:, others]).all(axis=0)
        others, images = others[kept], None if images is None else images[:, kept]
        if n >= n_rows or not others.size:
            break
    came, rows = np.unique(codes[:, base], return_index=True)
    new = np.full((codes[:, base].max(initial=-1) + 1, others.size), -1, np.int32)
    new[came] = codes[rows][:, others]
    if images is None:
        return others, new
    whole = np.full((max(len(new), len(images)), others.size), -1, np.int32)
    whole[: len(images)] = images
    both = whole[: len(new)]
    kept = ((both == new) | (both < 0) | (new < 0)).all(axis=0)
    np.maximum(both, new, out=both)
    return others[kept], whole[:, kept]


class Blanks:
    """Columns that are blank wherever another has some of its values.

    Examples
    --------
    >>> structure = Structure()
    >>> structure.add({"member": ["no", "yes", "no", "yes"] * 30, "plan": ["", "gold", "", ""] * 30})
    >>> list(structure.blanks.pairs())
    [('member', 'plan', ['yes'])]
    """

    def __init__(self, coder: Coder) -> None:
        self._coder = coder
        self._names: list[str] = []
        self._filled = np.zeros(0, dtype=np.int64)  # records with a value, of each column
        self._with: dict[str, NDArray[np.bool_]] = {}
        """By base: whether each column has any value with each of its codes."""

    def add(self, piece: Piece) -> None:
        """Add records."""
        if not self._names:
            self._names = list(piece.all_names)
            self._filled = np.zeros(len(self._names), dtype=np.int64)
        self._filled += piece.is_filled.sum(axis=0)
        has_blanks = ~piece.is_filled.all(axis=0)
        bases = []
        for i, name in enumerate(piece.names):
            n_codes = len(self._coder.counts[name])
            if n_codes > _MAX_BASE_VALUES:
                self._with.pop(name, None)
                continue
            seen = np.zeros((n_codes, len(self._names)), dtype=bool)
            before = self._with.get(name, seen[:0])
            seen[: len(before)] = before
            self._with[name] = seen
            seen[np.ix_(np.unique(piece.codes[:, i]), ~has_blanks)] = True
            if not seen[:, has_blanks].all():
                bases.append(i)
        sizes = [len(self._coder.counts[piece.names[i]]) for i in bases]
        for group, counts in hot_products(piece.codes[:, bases], sizes, piece.is_filled[:, has_blanks]):
            start = 0
            for k in group:
                self._with[piece.names[bases[k]]][:, has_blanks] |= counts[start : start + sizes[k]] > 0
                start += sizes[k]

    def pairs(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield, for each column that is blank by another, its best base, the column, and base values with any."""
        best: dict[str, tuple[float, str, list[str]]] = {}
        values = self._coder.values
        for base, seen in self._with.items():
            counts = self._coder.counts[base]
            n_blank = counts @ ~seen  # records of values with which a column has none
            by_chance = n_blank * self._filled / max(counts.sum(), 1)
            for i in np.flatnonzero((by_chance >= MIN_RECORDS) & seen.any(axis=0)):
                other = self._names[i]
                if other != base and by_chance[i] > best.get(other, (0.0,))[0]:
                    with_any = sorted(text for text, is_seen in zip(values[base], seen[:, i], strict=True) if is_seen)
                    best[other] = float(by_chance[i]), base, with_any
        yield from ((one, other, seen) for other, (_, one, seen) in best.items())


class Orders:
    """Pairs of columns of dates of which the second is never before the first.

    Examples
    --------
    >>> found = Orders()
    >>> days = {"in": ["2024-01-01"] * 20 + ["2024-03-05"] * 20, "out": ["2024-01-07"] * 20 + ["2024-03-05"] * 20}
    >>> found.add(dict.fromkeys(days, DateReader("")), days)
    >>> list(found.pairs(days))
    [('in', 'out', 0, 518400)]
    """

    def __init__(self) -> None:
        self._readers: dict[str, DateReader] = {}
        self._lost: set[str] = set()  # columns that were read otherwise before, or are no dates after all
        self._spans: dict[str, dict[str, tuple[int, int, int]]] = {}
        """Of pairs in order: seconds from one to the other, least and most, and how many records would be out of
        order with another's second date."""

    def add(self, readers: Mapping[str, DateReader], columns: Mapping[str, Sequence[str]]) -> None:
        """Add records, with the readers of their dates."""
        new = [name for name in readers if name not in self._readers]
        self._readers = {**readers, **self._readers}
        self._lost |= {name for name, reader in self._readers.items() if readers.get(name) is not reader}
        for name in new:
            for one in self._readers:
                self._spans.setdefault(one, {})
                if name != one:
                    self._spans[one][name] = self._spans.setdefault(name, {})[one] = _NONE
        names = [name for name in readers if name not in self._lost]
        if not names:
            return
        seconds = np.stack([_dates(readers[name], columns[name]) for name in names])
        for i, one in enumerate(names):
            kept = [k for k, other in enumerate(names) if other in self._spans[one]]
            day = seconds[i, :FIRST_ROWS].astype("datetime64[D]")
            broken = np.any(np.less(seconds[kept, :FIRST_ROWS], day), axis=1)
            for k, is_broken in zip(kept, broken.tolist(), strict=True):
                has_times = readers[one].has_times and readers[names[k]].has_times
                spans = None if is_broken else _spans(seconds[i], seconds[k], has_times, self._spans[one][names[k]])
                if spans is None:
                    del self._spans[one][names[k]]
                else:
                    self._spans[one][names[k]] = spans

    def pairs(self, names: Iterable[str]) -> Iterator[tuple[str, str, int, int]]:
        """Yield pairs of columns, and the least and the largest number of seconds between them.

        The first and the last of three columns in order are left out, and so are two that are always equal.
        """
        known = [name for name in names if name in self._spans and name not in self._lost]
        able = {
            one: {
                other: self._spans[one][other]
                for other in known
                if self._spans[one].get(other, _NONE)[2] >= MIN_RECORDS and one not in self._spans[other]
            }
            for one in known
        }
        for one, others in able.items():
            for other, (least, most, _) in others.items():
                if not any(other in able[between] for between in others):
                    yield one, other, least, most


_NONE = (0, -1, 0)  # spans of a pair without records


def _spans(
    first: NDArray[np.datetime64], second: NDArray[np.datetime64], has_times: bool, before: tuple[int, int, int]
) -> tuple[int, int, int] | None:
    """Return the spans of a pair with those of further records; None if a record is out of order."""
    unit = "s" if has_times else "D"
    first, second = first.astype(f"datetime64[{unit}]"), second.astype(f"datetime64[{unit}]")
    spans = (second - first)[~np.isnat(first) & ~np.isnat(second)].astype("timedelta64[s]").astype(np.int64)
    if not spans.size:
        return before
    if spans.min() < 0:
        return None
    low, high, n_by_chance = before if before != _NONE else (spans[0], spans[0], 0)
    n_by_chance += int((first > np.roll(second, len(second) // 2)).sum())
    return int(min(low, spans.min())), int(max(high, spans.max())), n_by_chance


def _dates(reader: DateReader, texts: Sequence[str]) -> NDArray[np.datetime64]:
    places: dict[str, int] = {}
    rows = [places.setdefault(text, len(places)) for text in texts]
    distinct = [None if text in NULLS else reader.read(text) for text in places]
    return np.array(distinct, dtype="datetime64[s]")[rows]
