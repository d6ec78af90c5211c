"""Selection among cliques by how far public estimates are from the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm import _core
from pypgm.domain import Clique, as_clique
from pypgm.privacy.rational import Number
from pypgm.privacy.selection import drawable_rate, permute_and_flip, select_exponential, select_top, selection_epsilon
from pypgm.privacy.trusted_query import trusted_query
from pypgm.queries import LinearQuery

if TYPE_CHECKING:
    from pypgm.privacy.private_table import PrivateTable

__all__ = ["GRID_BITS", "L1Selector", "batches", "l1_distance", "on_grid"]

GRID_BITS = 16  # public estimates are rounded to multiples of 2^-16, so a score is an integer multiple of it
SCORE_LIMIT = 1 << 62  # scores beyond stay there, which never makes two of them differ by more than they do
_COUNT_LIMIT = 1 << 44  # of records, below which a score is far below 2^62
_BATCH_CELLS = 1 << 22  # cells counted in one pass over the records


class L1Selector:
    """Exponential mechanisms over cliques C with the score ``||Q M_C - estimate_C||_1``; the scores are never shown.

    The estimate is rounded to the grid 2^-16, so that scores are exact integers and one record changes one by at
    most 1 (add-remove) or 2 (replace), times the records a person may have. Made by `PrivateTable.l1_selector`.
    """

    __slots__ = (
        "__count",
        "__scores",
        "__weakref__",
        "_candidates",
        "_compared",
        "_estimate",
        "_query",
        "_table",
        "_words",
    )

    def __init__(
        self,
        table: PrivateTable,
        candidates: Sequence[Clique],
        estimate: Callable[[Clique], ArrayLike],
        query: Callable[[Clique], LinearQuery | None],
        count: Callable[[Sequence[Clique]], list[NDArray[np.int64]]],
        *,
        words: _core.SeededWords | None = None,
    ) -> None:
        self._table = table
        self._candidates = [as_clique(c) for c in candidates]
        self._estimate = estimate
        self._query = query
        self.__count = count
        self._words = words
        self.__scores: NDArray[np.int64] | None = None
        self._compared: list[tuple[LinearQuery | None, NDArray[np.int64]]] = []

    def close(self) -> None:
        """Forget the scores, as the table does its records."""
        self.__scores = None

    def select(self, among: Sequence[int], *, rho: Number | None = None, epsilon: Number | None = None) -> int:
        """Charge, then draw one of the candidates numbered in `among`.

        Parameters
        ----------
        among : sequence of int
            Positions in the candidates, chosen without looking at the data.
        rho, epsilon : number
            Exactly one: what the draw may cost in rho, or its epsilon. Rounded down to what can be drawn.

        Returns
        -------
        int
            A position of `among`'s, not of the list itself.

        Raises
        ------
        BudgetError
            If the charge does not fit; then nothing was read.
        """
        return self.select_top(among, 1, rho=rho, epsilon=epsilon)[0]

    def select_top(
        self, among: Sequence[int], count: int, *, rho: Number | None = None, epsilon: Number | None = None
    ) -> list[int]:
        """Charge `count` exponential mechanisms, then draw so many different candidates, one after the other.

        Parameters
        ----------
        among : sequence of int
            As for `select`.
        count : int
            How many.
        rho, epsilon : number
            Exactly one, of all draws together, of which each costs an equal part.

        Raises
        ------
        BudgetError
            If the charges do not fit; then nothing was read or charged.
        """
        chosen = self._checked(among)
        if not 1 <= count <= len(chosen):
            raise ValueError(f"a selection takes 1..{len(chosen)} of {len(chosen)} candidates, got {count}")
        rate, used = self._rate(selection_epsilon(rho, epsilon, 8, count))
        self._compare()
        ledger, score_range = self._table.ledger, self._table.privacy.l1_score_range
        if count == 1:
            ledger.charge_exponential("select", f"{len(chosen)} cliques", epsilon=used, score_range=score_range)
            return [chosen[select_exponential(self._scores_of(chosen), rate, self._words)]]
        with ledger.allocate(f"top {count}", amount=count * ledger.cost_of_range(used)) as part:
            for left in range(len(chosen), len(chosen) - count, -1):
                part.charge_exponential("select", f"{left} cliques", epsilon=used, score_range=score_range)
        return [chosen[i] for i in select_top(self._scores_of(chosen), rate, count, self._words)]

    def permute_and_flip(
        self, among: Sequence[int], *, rho: Number | None = None, epsilon: Number | None = None
    ) -> int:
        """Charge, then draw one of the candidates by permute-and-flip; otherwise as `select`.

        For the same epsilon it is never worse in expected score, but costs epsilon^2 / 2 in rho: it pays under a
        pure budget.
        """
        chosen = self._checked(among)
        rate, used = self._rate(selection_epsilon(rho, epsilon, 2))
        self._compare()
        self._table.ledger.charge_permute_and_flip(
            "select", f"{len(chosen)} cliques", epsilon=used, score_range=self._table.privacy.l1_score_range
        )
        return chosen[permute_and_flip(self._scores_of(chosen), rate, self._words)]

    def _checked(self, among: Sequence[int]) -> list[int]:
        if self._table.closed:
            raise ValueError("the private table of this selector is closed: its records are gone")
        chosen = list(among)
        if not chosen or min(chosen) < 0 or max(chosen) >= len(self._candidates):
            raise ValueError(f"among needs positions in 0..{len(self._candidates) - 1}, got {chosen}")
        return chosen

    def _compare(self) -> None:
        """Ask for all that is compared with the records, before they are read: what raises here holds no count."""
        if self._compared:
            return
        queries = [self._checked_query(clique) for clique in self._candidates]
        sizes = [
            self._table.domain.size(c) if q is None else q.shape[0]
            for c, q in zip(self._candidates, queries, strict=True)
        ]
        grids = [on_grid(c, self._estimate(c), size) for c, size in zip(self._candidates, sizes, strict=True)]
        self._compared = list(zip(queries, grids, strict=True))

    def _checked_query(self, clique: Clique) -> LinearQuery | None:
        # The range of the scores is that of queries of which one record changes one answer by 1.
        asked = self._query(clique)
        own = None if asked is None else trusted_query(asked, self._table.domain.size(clique))
        if own is not None and not own.has_unit_columns:
            needed = f"a selection compares cells or sums over groups of cells; clique {clique}"
            raise ValueError(f"{needed} has {asked!r}")
        return own

    def _rate(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        """Return the rate of the draw and the epsilon it has: the one asked for, or just below it."""
        unit = self._table.privacy.l1_score_range << GRID_BITS
        rate = drawable_rate(epsilon / unit)
        return rate, rate * unit

    def _scores_of(self, chosen: Sequence[int]) -> NDArray[np.int64]:
        if self.__scores is None:
            self.__scores = self._score()
        return self.__scores[list(chosen)]

    def _score(self) -> NDArray[np.int64]:
        scores = np.zeros(len(self._candidates), dtype=np.int64)
        for first, last in batches([self._table.domain.size(c) for c in self._candidates]):
            for i, counts in zip(range(first, last), self.__count(self._candidates[first:last]), strict=True):
                query, estimate = self._compared[i]
                scores[i] = l1_distance(counts if query is None else query.matvec(counts), estimate)
        return scores

    def __repr__(self) -> str:
        return "L1Selector(scores behind a ledger)"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a private selector is neither pickled nor copied")


def batches(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return ranges of tables of given sizes that are small enough to be counted together."""
    ranges: list[tuple[int, int]] = []
    first, cells = 0, 0
    for i, size in enumerate(sizes):
        if cells and cells + size > _BATCH_CELLS:
            ranges.append((first, i))
            first, cells = i, 0
        cells += size
    return [*ranges, (first, len(sizes))]


def on_grid(clique: Clique, estimate: ArrayLike, cells: int) -> NDArray[np.int64]:
    """Return a public estimate in units of 2^-16; ``ValueError`` if not finite, of the wrong size or too large."""
    values = np.asarray(estimate, dtype=np.float64).reshape(-1)
    if values.size != cells:
        raise ValueError(f"the estimate of clique {clique} needs {cells} values, got {values.size}")
    if not np.isfinite(values).all() or float(np.abs(values).sum()) >= 2.0**44:
        raise ValueError(f"the estimate of clique {clique} must be finite counts that sum to less than 2^44")
    return np.rint(values * (1 << GRID_BITS)).astype(np.int64)


def l1_distance(answers: NDArray[np.int64], estimate: NDArray[np.int64]) -> int:
    """Return ``sum |2^16 answers - estimate|`` exactly, at most 2^62; estimates as `on_grid` gives them.

    Below 2^44 records answers times 2^16 sum to less than 2^60, as estimates do: int64 holds the sum. Beyond, which
    only a source of ready counts may be, Python's integers take it.
    """
    if float(answers.sum(dtype=np.float64)) < _COUNT_LIMIT:
        return int(np.abs((answers << GRID_BITS) - estimate).sum(dtype=np.int64))
    pairs = zip(answers.tolist(), estimate.tolist(), strict=True)
    total: int = sum(abs((answer << GRID_BITS) - own) for answer, own in pairs)
    return min(SCORE_LIMIT, total)
