"""Columns of a table that are functions of others, as far as its records tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

__all__ = ["Dependences"]

_MOST = 10_000  # values of a column that others may depend on
_FIRST = 200  # records, by which most pairs are told apart
_LEAST = 10  # records that would be otherwise if there were no dependence


class Dependences:
    """Pairs of columns of which the second had, so far, one value for each value of the first.

    Examples
    --------
    >>> found = Dependences()
    >>> found.add({"city": ["Bonn", "Oslo", "Bern"] * 10, "land": ["DE", "NO", "CH"] * 10, "sex": ["F", "M"] * 15})
    >>> [(a, b) for a, b, _ in found.found()]
    [('city', 'land')]
    """

    def __init__(self) -> None:
        self._maps: dict[tuple[str, str], dict[str, str]] | None = None
        self._counts: dict[str, dict[str, int]] = {}

    def add(self, columns: Mapping[str, Sequence[str]]) -> None:
        """Take note of records, and forget the pairs that they break."""
        if self._maps is None:
            self._maps = {pair: {} for pair in permutations(columns, 2)}
            self._counts = {name: {} for name in columns}
            self._keep({name: texts[:_FIRST] for name, texts in columns.items()})
        self._keep(columns)
        for name, counts in self._counts.items():
            for text in columns[name] if len(counts) <= _MOST else ():
                counts[text] = counts.get(text, 0) + 1

    def _keep(self, columns: Mapping[str, Sequence[str]]) -> None:
        maps = self._maps or {}
        for (one, other), known in list(maps.items()):
            seen = set(zip(columns[one], columns[other], strict=True))
            if len(known) > _MOST or any(known.setdefault(a, b) != b for a, b in seen):
                del maps[one, other]

    def found(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Yield, for each column that depends on others, the one of these that has the fewest values, and the map.

        Of columns that determine each other the first is the one that the others depend on.
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
        """Return whether records show a dependence: values come again, and not all with what most records have."""
        firsts, seconds = self._counts[one], self._counts[other]
        if not 2 <= len(seconds) <= len(firsts) <= _MOST:
            return False
        usual = max(seconds, key=seconds.__getitem__)
        map_ = (self._maps or {})[one, other]
        return sum(n for text, n in firsts.items() if n > 1 and map_[text] != usual) >= _LEAST
