"""Scores of stated sensitivity: the largest change by one record, over all small tables."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm.audit.finding import Finding, finding
from pypgm.audit.pairs import table
from pypgm.bayes.private_structure import PrivateStructure, Score, dependence, select_parents
from pypgm.domain import Domain
from pypgm.mechanisms import _aim, resolution
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.observer import Observer, observed_by
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.relation import Privacy
from pypgm.queries import Identity, Neighbours, Partition

Table = tuple[int, ...]

_FEW_RECORDS = 5  # records of tables that are all tried
_MANY_RECORDS = (7, 40, 1000)  # records in one cell, or in two
_PRODUCTS = (0, 1, 20)  # multiples of one row or column that another has
_APART = (0, 1, 5, 1000)  # counts of cells compared with an estimate
_FAMILIES = {
    (2, 2): (2, 2),
    (4, 2): (2, 2, 2),
    (2, 3): (2, 3),
    (3, 3): (2, 3, 3),
}  # table shapes, attribute sizes
_ATTAINED = 0.95  # part of each stated change that some record must make


@dataclass(frozen=True, slots=True)
class Stated:
    """Score of counts, its stated sensitivity, and the tables to try it on.

    Parameters
    ----------
    kind : str
        Of whose scores one attains what is stated.
    name : str
    score : callable
        Of counts, in C order.
    neighbours : {"add-remove", "replace"}
    change : callable
        What is stated, of the number of records where it is public.
    kept : callable
        Returns tables that a record is added to, in one cell or another.
    """

    kind: str
    name: str
    score: Callable[[NDArray[np.int64]], int]
    neighbours: Neighbours
    change: Callable[[int | None], int]
    kept: Callable[[], Iterable[Table]]


def _every(cells: int, most: int = _FEW_RECORDS) -> Iterator[Table]:
    """Yield all tables of at most so many records."""
    for records in range(most + 1):
        for bars in itertools.combinations(range(records + cells - 1), cells - 1):
            ends = (-1, *bars, records + cells - 1)
            yield tuple(b - a - 1 for a, b in itertools.pairwise(ends))


def _of_shape(rows: int, columns: int) -> list[Table]:
    """Return small tables, tables of one or two heavy cells, and products of margins, also with one record less."""
    cells = rows * columns
    tables = dict.fromkeys(_every(cells))
    for n, (a, b) in itertools.product(_MANY_RECORDS, itertools.combinations_with_replacement(range(cells), 2)):
        tables[tuple(n // 2 * ((i == a) + (i == b)) for i in range(cells))] = None
    margins = (itertools.combinations_with_replacement(_PRODUCTS, n) for n in (rows, columns))
    for one, other in itertools.product(*margins):
        table = [2 * a * b for a, b in itertools.product(one, other)]
        first = next((i for i, n in enumerate(table) if n), None)
        tables[tuple(table)] = None
        if first is not None:
            tables[tuple(n - (i == first) for i, n in enumerate(table))] = None
    return list(tables)


def _dependences() -> Iterator[Stated]:
    relations: tuple[Neighbours, ...] = get_args(Neighbours)
    for score, relation, (shape, sizes) in itertools.product(get_args(Score), relations, _FAMILIES.items()):
        binary = shape[1] == 2
        if (score == "F" and not binary) or (score == "MI" and relation == "add-remove"):
            continue
        yield Stated(
            f"{score} of binary attributes" if binary and score == "MI" else score,  # it has its own bound
            f"{score} of {shape[0]} by {shape[1]} values",
            partial(_dependence, score, shape),
            relation,
            functools.cache(partial(_stated_by_learner, score, relation, sizes)),
            partial(_of_shape, *shape),
        )


def _information(counts: NDArray[np.int64], rows: int) -> float:
    """Return N times the mutual information of a table in 1/256 bit, unrounded, from entropies."""
    table = counts.reshape(rows, -1).astype(float)
    total = table.sum()

    def entropy(part: NDArray[np.float64]) -> float:
        some = part[part > 0]
        return float(total * np.log2(total) - (some * np.log2(some)).sum()) if total else 0.0

    return 256 * (entropy(table.sum(axis=1)) + entropy(table.sum(axis=0)) - entropy(table.ravel()))


def _roundings() -> Iterator[tuple[str, str]]:
    """Check that the stated sensitivity of a rounded score covers both roundings, half a unit for each table."""
    for shape, sizes in _FAMILIES.items():
        for n in (2, 3, 4, 5, 9, 40, 1000):
            one = np.zeros(shape, dtype=np.int64)
            one[0, 0] = n
            other = one.copy()
            other[0, 0], other[-1, -1] = n - 1, 1
            moved = abs(_information(other, shape[0]) - _information(one, shape[0]))
            stated = _stated_by_learner("MI", "replace", sizes, n)
            if stated < moved + 1:
                change = f"it changes by {moved:.6g} before rounding, {stated} is stated"
                yield "score sensitivity", f"MI of {shape[0]} by {shape[1]} values, {n} records: {change}"


def _dependence(score: Score, shape: tuple[int, int], counts: NDArray[np.int64]) -> int:
    return dependence(score, counts.reshape(shape))


def _stated_by_learner(score: Score, relation: Neighbours, sizes: Sequence[int], total: int | None) -> int:
    """Return the sensitivity that the learner of structures states for attributes of some sizes."""
    records = np.zeros((total or 0, len(sizes)), dtype=np.int64)
    domain = Domain({f"x{i}": size for i, size in enumerate(sizes)})
    private = PrivateTable(table(records, domain), Privacy(relation), Ledger(Budget(rho=1)))
    seen = _Stated()
    with observed_by(seen):
        select_parents(private, PrivateStructure(score, usefulness=None))
    return seen.sensitivity


class _Stated(Observer):
    """Observer of the stated sensitivity of a score."""

    not_private = ""
    sensitivity = 0

    def compared(self, selector: Any, candidates: Any, by: Any) -> Any:
        """Note the sensitivity of a selector."""
        del candidates
        self.sensitivity = selector.stated[0]
        return by


def _estimated() -> Iterator[Stated]:
    """Yield the scores that compare counts with an estimate."""
    queries = {"cells": Identity(3), "groups": Partition([0, 0, 1]), "all": Partition([0, 0, 0])}
    estimates = ([1.0, 99.0, 0.1], [0.4, 0.3, 1000.0])
    goals = np.array([3, 0, 7 * _aim.GRID // 2])
    for relation in get_args(Neighbours):
        records = 2 if relation == "replace" else 1
        for (name, query), estimate, stddev in itertools.product(queries.items(), estimates, (0.5, 50.0, 500.0)):
            score = partial(resolution.risk, independent=np.array(estimate), query=query, stddev=stddev)
            label = f"risk of {name} beside {estimate} at {stddev}"
            yield _compared("risk", label, score, relation, resolution.GRID * resolution.RISK_SENSITIVITY * records)
        for hiding in (0, _aim.GRID, 77 * _aim.GRID + 1):
            score = partial(_aim.saving, expected=goals, hiding=hiding)
            yield _compared("saving", f"saving where {hiding} is hidden", score, relation, _aim.GRID * records)


def _compared(
    kind: str, name: str, score: Callable[[NDArray[np.int64]], int], relation: Neighbours, change: int
) -> Stated:
    return Stated(kind, name, score, relation, lambda _: change, lambda: itertools.product(_APART, repeat=3))


def scores() -> list[Stated]:
    """Return the scores of mechanisms and learners, except those defined during a run."""
    return [*_dependences(), *_estimated()]


def check_scores(kinds: Collection[str] = ()) -> Finding:
    """Check that no record changes a score by more than stated, and that some record attains that.

    Tables are all small ones and some heavy, skewed and independent ones. Where no record is seen to change a kind of
    score by about as much as is stated, it is not exercised: less could be stated, and would pass.

    Parameters
    ----------
    kinds : collection of str
        Of `scores`; all by default.
    """
    defects: list[tuple[str, str]] = []
    attained: dict[str, float] = {}
    for each in (s for s in scores() if not kinds or s.kind in kinds):
        most, wrong = _most(each)
        kind = f"{each.kind} under {each.neighbours}"
        attained[kind] = max(most, attained.get(kind, 0.0))
        if wrong:
            defects.append(("score sensitivity", f"{each.name}, {each.neighbours}: {wrong}"))
    if not kinds or any(kind.startswith("MI") for kind in kinds):
        defects += _roundings()
    figures = "attained: " + ", ".join(f"{kind} {part:.3f}" for kind, part in attained.items())
    return finding(
        "stated scores", "brute force", defects, figures, exercised=min(attained.values(), default=0) >= _ATTAINED
    )


def _most(each: Stated) -> tuple[float, str]:
    """Return the largest change as a part of the stated one, and where it exceeds that."""
    score = functools.cache(lambda table: each.score(np.array(table, dtype=np.int64)))
    is_replaced = each.neighbours == "replace"
    most, wrong = 0.0, ""
    for counts in each.kept():
        more = [score((*counts[:i], counts[i] + 1, *counts[i + 1 :])) for i in range(len(counts))]
        # One record is in one cell or another; or in one, or in none.
        change = max(more) - min(more) if is_replaced else max(abs(m - score(counts)) for m in more)
        allowed = each.change(sum(counts) + 1 if is_replaced else None)
        most = max(most, change / allowed)
        if change > allowed and not wrong:
            wrong = f"a record beside {list(counts)} changes it by {change}, {allowed} is stated"
    return most, wrong


def exact_rank_scores(values: NDArray[Any], quantile: Fraction, grid: list[float]) -> list[int]:
    """Return -b times the rank distance of each grid point from the quantile a / b."""
    a, b = quantile.numerator, quantile.denominator
    less = [int((values < point).sum()) for point in grid]
    more = [int((values > point).sum()) for point in grid]
    n = values.size
    return [-max(0, b * low - a * n, b * high - (b - a) * n) for low, high in zip(less, more, strict=True)]
