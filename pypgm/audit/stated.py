"""Scores of stated sensitivity: their largest change by one record, by brute force on small tables."""

from __future__ import annotations

import contextlib
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pypgm.domain import Clique, as_clique
from pypgm.privacy.selector import StatedSelector

Counts = NDArray[np.int64]
Score = Callable[[Counts], int]

_PROBED = 8  # candidates of one selection that are evaluated on fixed counts


@dataclass(frozen=True, slots=True)
class Effort:
    """Effort of the search for the largest change.

    Parameters
    ----------
    candidates : int
        Candidates of one selection that are tried, others each time.
    climbs : int
        Changes of a table that are tried; a change is kept unless it lowers the largest move.
    moves : int
        Records moved on one table.
    """

    candidates: int = 2
    climbs: int = 3
    moves: int = 12


@dataclass(frozen=True, slots=True)
class Moved:
    """Largest change of a stated score by one record that was seen, beside the stated sensitivity."""

    on: str
    change: int
    stated: int
    tables: int
    is_replaced: bool


class WatchedScores:
    """Observer of stated scores: exceptions, values on fixed counts, and with an effort the change by one record.

    Parameters
    ----------
    note : callable
        Called as note("raised", name of the error), note("handed", public inputs of a step), note("moved", Moved).
    records : WatchedRecords
        Records of the run; their counts are one of the tables.
    effort : Effort or None
        Effort of the search; None for no search.
    """

    def __init__(self, note: Callable[[str, Any], object], records: Any, effort: Effort | None) -> None:
        self._note, self._records, self._effort, self._seeds = note, records, effort, itertools.count()
        self._scores: WeakKeyDictionary[StatedSelector, tuple[Callable[[int, Counts], int], list[Clique]]]
        self._scores = WeakKeyDictionary()

    def compared(
        self, selector: StatedSelector, candidates: Sequence[Clique], by: Callable[[int, Counts], int]
    ) -> Callable[[int, Counts], int]:
        """Return the function that replaces a score of a selector."""

        def noting(number: int, counts: Counts) -> int:
            try:
                return operator.index(by(number, counts))
            except Exception as error:
                self._note("raised", type(error).__name__)
                raise

        self._scores[selector] = by, [as_clique(c) for c in candidates]
        return noting

    @contextlib.contextmanager
    def comparing(self, selector: StatedSelector, given: tuple[Any, ...], named: dict[str, Any]) -> Iterator[None]:
        """Evaluate the scores of a selection after it is done."""
        by, cliques = self._scores[selector]
        yield
        among, effort = given[0] if given else named.get("among"), self._effort
        numbers = list(dict.fromkeys(range(len(cliques)) if among is None else among))
        scored = _on_fixed_counts(by, [(i, selector.domain.size(cliques[i])) for i in numbers])
        self._note("handed", (cliques, numbers, scored, named.get("weights"), named.get("offsets")))
        for number in _some(numbers, effort.candidates, next(self._seeds)) if effort else ():
            how = effort or Effort(), next(self._seeds)
            self._note("moved", _moved_most(selector, partial(by, number), cliques[number], self._records, how))


def _on_fixed_counts(by: Callable[[int, Counts], int], sizes: Sequence[tuple[int, int]]) -> list[object]:
    """Return the scores of some candidates on tables that never change."""

    def scored(number: int, counts: Counts) -> object:
        try:
            return by(number, counts)
        except Exception as error:
            return type(error).__name__

    some = sizes[:: max(1, len(sizes) // _PROBED)]
    return [scored(i, counts) for i, n in some for counts in (np.zeros(n, np.int64), np.arange(n) * 7 % 11 + 2)]


def _some(numbers: list[int], count: int, seed: int) -> list[int]:
    return numbers if len(numbers) <= count else np.random.default_rng(seed).permutation(numbers)[:count].tolist()


def _moved_most(
    selector: StatedSelector, score: Score, clique: Clique, records: Any, sought: tuple[Effort, int]
) -> Moved:
    is_replaced = selector.privacy.neighbours == "replace"
    table = records.recount(clique)

    def checked(counts: Counts) -> int:
        try:
            return operator.index(score(counts.copy()))
        except Exception:  # as in a selection
            return 0

    change, tables = largest_move(checked, table, int(table.sum()) if is_replaced else None, *sought)
    return Moved(f"{clique}", change, selector.stated[0], tables, is_replaced)


def largest_move(score: Score, counts: Counts, total: int | None, effort: Effort, seed: int = 0) -> tuple[int, int]:
    """Return the largest change of a score by one record, and the number of tables tried.

    Parameters
    ----------
    score : callable
        Function of counts.
    counts : ndarray of int64, shape (cells,)
        Counts of the run's own table, to which its estimates are close.
    total : int or None
        Number of records if it is public: every table has as many, and records are replaced.
    effort : Effort
    seed : int
        Seed of the tables.
    """
    rng = np.random.default_rng(seed)
    best, tables = 0, 0
    for start in _tables(counts, total, rng):
        table, largest = start, _best_move(score, start, total is not None, effort.moves, rng)
        for _ in range(effort.climbs):
            other = _changed(table, total is not None, rng)
            moved = _best_move(score, other, total is not None, effort.moves, rng)
            if moved >= largest:
                table, largest = other, moved
        best, tables = max(best, largest), tables + 1 + effort.climbs
    return best, tables


def _tables(counts: Counts, total: int | None, rng: np.random.Generator) -> Iterator[Counts]:
    """Yield tables to search from: as in the run, empty, heavy in one or two cells, skewed, and flat."""
    cells = counts.size
    yield counts
    heavy = [10, 20_000] if total is None else [total]
    if total is None:
        yield np.zeros(cells, dtype=np.int64)
    for n in heavy:
        one = np.zeros(cells, dtype=np.int64)
        one[rng.integers(cells)] = n
        yield one
        two = one // 2
        two[rng.integers(cells)] += n - int(two.sum())
        yield two
    for n, skew in itertools.product((20, 3000) if total is None else (total,), (0.1, 0.5, 5.0)):
        yield rng.multinomial(n, rng.dirichlet(np.full(cells, skew))).astype(np.int64)


def _best_move(score: Score, table: Counts, is_replaced: bool, moves: int, rng: np.random.Generator) -> int:
    """Return the largest change by a new record, or by a record that replaces another one."""
    base, cells = score(table), table.size
    into = rng.permutation(cells)[:moves].tolist()
    if not is_replaced:
        return max(abs(score(_moved(table, None, j)) - base) for j in into)
    full = np.flatnonzero(table)
    if not full.size or cells < 2:
        return 0
    out = rng.permutation(full)[:moves].tolist()
    # The changes by one record removed or added show which two are worth trying together.
    leaving = sorted((score(_moved(table, i, None)) - base, i) for i in out)
    coming = sorted((score(_moved(table, None, j)) - base, j) for j in into)
    pairs = set(zip(out, into, strict=False))
    for ends in (slice(3), slice(-3, None)):
        pairs |= {(i, j) for (_, i), (_, j) in itertools.product(leaving[ends], coming[ends])}
    return max((abs(score(_moved(table, i, j)) - base) for i, j in pairs if i != j), default=0)


def _moved(table: Counts, out: int | None, into: int | None) -> Counts:
    moved: Counts = table.copy()
    if out is not None:
        moved[out] -= 1
    if into is not None:
        moved[into] += 1
    return moved


def _changed(table: Counts, is_replaced: bool, rng: np.random.Generator) -> Counts:
    """Return a table in which part of a cell moved to another one, was dropped or was multiplied."""
    changed: Counts = table.copy()
    a, b = rng.integers(table.size, size=2)
    part = int(rng.integers(0, int(changed[a]) + 1)) if rng.random() < 0.5 else min(1, int(changed[a]))
    changed[a] -= part
    if is_replaced:
        changed[b] += part
    elif rng.random() < 0.5:
        changed[b] += part * int(rng.choice([1, 3, 50])) + int(rng.integers(3))
    return changed
