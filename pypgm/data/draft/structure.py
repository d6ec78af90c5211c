"""Relations between columns in the records: functions, blanks, orders of dates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, permutations

import numpy as np
from numpy.typing import NDArray

from pypgm.data.draft.column import NULLS
from pypgm.data.draft.date_reader import DateReader

_MAX_VALUES = 10_000  # values of a column that others may depend on
_FIRST_ROWS = 200  # records, by which most pairs are told apart
_MIN_RECORDS = 10  # records that would be otherwise if there were no dependence
_MAX_BASE_VALUES = 20  # values of a column by which another may be blank


class Dependences:
    """Pairs of columns in which the second has had one value for each value of the first so far.

    Examples
    --------
    >>> found = Dependences()
    >>> found.add({"city": ["Bonn", "Oslo", "Bern"] * 10, "land": ["DE", "NO", "CH"] * 10, "sex": ["F", "M"] * 15})
    >>> [(a, b) for a, b, _ in found.pairs()]
    [('city', 'land')]
    """

    def __init__(self) -> None:
        self._maps: dict[tuple[str, str], dict[str, str]] | None = None
        self._counts: dict[str, dict[str, int]] = {}

    def add(self, columns: Mapping[str, Sequence[str]]) -> None:
        """Add records, and forget the pairs that they break."""
        if self._maps is None:
            self._maps = {pair: {} for pair in permutations(columns, 2)}
            self._counts = {name: {} for name in columns}
            self._keep({name: texts[:_FIRST_ROWS] for name, texts in columns.items()})
        self._keep(columns)
        for name, counts in self._counts.items():
            for text in columns[name] if len(counts) <= _MAX_VALUES else ():
                counts[text] = counts.get(text, 0) + 1

    def _keep(self, columns: Mapping[str, Sequence[str]]) -> None:
        maps = self._maps or {}
        for (one, other), known in list(maps.items()):
            seen = set(zip(columns[one], columns[other], strict=True))
            if len(known) > _MAX_VALUES or any(known.setdefault(a, b) != b for a, b in seen):
                del maps[one, other]

    def pairs(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Yield, for each dependent column, the base with the fewest values, the column, and the mapping.

        Among columns that determine each other, the others depend on the first.
        """
        able: dict[str, list[str]] = {}
        for one, other in self._maps or {}:
            if self._is_told(one, other):
                able.setdefault(other, []).append(one)
        places = {name: i for i, name in enumerate(self._counts)}
        for other, bases in able.items():
            real = [b for b in bases if b not in able or other not in able[b] or places[b] < places[other]]
            if real and self._maps:
                base = min(real, key=lambda name: (len(self._counts[name]), places[name]))
                yield base, other, self._maps[base, other]

    def _is_told(self, one: str, other: str) -> bool:
        """Return whether records support a dependence: values repeat, and not all map to the most frequent value."""
        firsts, seconds = self._counts[one], self._counts[other]
        if not 2 <= len(seconds) <= len(firsts) <= _MAX_VALUES:
            return False
        usual = max(seconds, key=seconds.__getitem__)
        map_ = (self._maps or {})[one, other]
        return sum(n for text, n in firsts.items() if n > 1 and map_[text] != usual) >= _MIN_RECORDS


class Blanks:
    """Columns that are blank wherever another has some of its values.

    Examples
    --------
    >>> found = Blanks()
    >>> found.add({"member": ["no", "yes", "no", "yes"] * 30, "plan": ["", "gold", "", ""] * 30})
    >>> list(found.pairs())
    [('member', 'plan', ['yes'])]
    """

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}
        self._filled: dict[str, int] = {}  # records with a value
        self._with: dict[tuple[str, str], set[str]] | None = None  # values of the first with which the second has any

    def add(self, columns: Mapping[str, Sequence[str]]) -> None:
        """Add records."""
        if self._with is None:
            self._with = {pair: set() for pair in permutations(columns, 2)}
        for name, texts in columns.items():
            counts = self._counts.setdefault(name, Counter())
            if len(counts) <= _MAX_BASE_VALUES:
                counts.update(texts)
        filled = {name: [text not in NULLS for text in texts] for name, texts in columns.items()}
        for name, is_filled in filled.items():
            self._filled[name] = self._filled.get(name, 0) + sum(is_filled)
        for (one, other), seen in list(self._with.items()):
            if len(self._counts[one]) <= _MAX_BASE_VALUES:
                seen.update(compress(columns[one], filled[other]))
            if len(seen) >= len(self._counts[one]) or len(self._counts[one]) > _MAX_BASE_VALUES:
                del self._with[one, other]

    def pairs(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield, for each column that is blank by another, its best base, the column, and base values with any."""
        best: dict[str, tuple[float, str, list[str]]] = {}
        for (one, other), seen in (self._with or {}).items():
            counts = self._counts[one]
            total = sum(counts.values())
            blank = sum(count for text, count in counts.items() if text not in seen)
            by_chance = blank * self._filled[other] / total  # records that would have a value by chance
            if seen and by_chance >= _MIN_RECORDS and by_chance > best.get(other, (0.0,))[0]:
                best[other] = by_chance, one, sorted(seen)
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
        self._broken: set[tuple[str, str]] = set()
        self._n_by_chance: dict[
            tuple[str, str], int
        ] = {}  # records that would be out of order with another's second date
        self._spans: dict[tuple[str, str], tuple[int, int]] = {}  # seconds from one to the other: least, most

    def add(self, readers: Mapping[str, DateReader], columns: Mapping[str, Sequence[str]]) -> None:
        """Add records, with the readers of their dates."""
        self._readers = {**readers, **self._readers}
        self._lost |= {name for name, reader in self._readers.items() if readers.get(name) is not reader}
        names = [name for name in readers if name not in self._lost]
        pairs = [pair for pair in permutations(names, 2) if pair not in self._broken]
        dates = {name: _dates(readers[name], columns[name]) for name in {name for pair in pairs for name in pair}}
        for pair in pairs:
            unit = "s" if all(readers[name].has_times for name in pair) else "D"
            first, second = (dates[name].astype(f"datetime64[{unit}]") for name in pair)
            spans = (second - first)[~np.isnat(first) & ~np.isnat(second)].astype("timedelta64[s]").astype(np.int64)
            if spans.size:
                low, high = self._spans.get(pair, (spans[0], spans[0]))
                self._spans[pair] = int(min(low, spans.min())), int(max(high, spans.max()))
                self._n_by_chance[pair] = self._n_by_chance.get(pair, 0) + int(
                    (first > np.roll(second, len(second) // 2)).sum()
                )
                if spans.min() < 0:
                    self._broken.add(pair)

    def pairs(self, names: Iterable[str]) -> Iterator[tuple[str, str, int, int]]:
        """Yield pairs of columns, and the least and the largest number of seconds between them.

        The first and the last of three columns in order are left out, and so are two that are always equal.
        """
        known = [name for name in names if name not in self._lost]
        supported = [pair for pair in permutations(known, 2) if self._n_by_chance.get(pair, 0) >= _MIN_RECORDS]
        able = {pair for pair in supported if pair not in self._broken and pair[::-1] in self._broken}
        for one, other in supported:
            if (one, other) in able and not any((one, b) in able and (b, other) in able for b in known):
                yield one, other, *self._spans[one, other]


def _dates(reader: DateReader, texts: Sequence[str]) -> NDArray[np.datetime64]:
    places: dict[str, int] = {}
    rows = [places.setdefault(text, len(places)) for text in texts]
    distinct = [None if text in NULLS else reader.read(text) for text in places]
    return np.array(distinct, dtype="datetime64[s]")[rows]
