"""Selection among cliques by how far public estimates are from the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm import _core
from pypgm.domain import Clique, as_clique
from pypgm.privacy.selection import drawable_rate, permute_and_flip, select_exponential, select_top, selection_epsilon
from pypgm.queries import LinearQuery

if TYPE_CHECKING:
    from pypgm.privacy.private_table import PrivateTable

__all__ = ["GRID_BITS", "L1Selector", "on_grid"]

GRID_BITS = 16  # public estimates are rounded to multiples of 2^-16, so a score is an integer multiple of it
_BATCH_CELLS = 1 << 22  # cells counted in one pass over the records


class L1Selector:
    """Exponential mechanisms over cliques C with the score ``||Q M_C - estimate_C||_1``; the scores are never shown.

    The estimate is rounded to the grid 2^-16, so that scores are exact integers and one record changes one by at
    most 1 (add-remove) or 2 (replace), times the records a person may have. Made by `PrivateTable.l1_selector`.
    """

    __slots__ = ("__count", "__scores", "_candidates", "_estimate", "_query", "_table", "_words")

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

    def select(self, among: Sequence[int], *, rho: Fraction | None = None, epsilon: Fraction | None = None) -> int:
        """Charge, then draw one of the candidates numbered in `among`.

        Parameters
        ----------
        among : sequence of int
            Positions in the candidates, chosen without looking at the data.
        rho, epsilon : Fraction
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
        self, among: Sequence[int], count: int, *, rho: Fraction | None = None, epsilon: Fraction | None = None
    ) -> list[int]:
        """Charge `count` exponential mechanisms, then draw so many different candidates, one after the other.

        Parameters
        ----------
        among : sequence of int
            As for `select`.
        count : int
            How many.
        rho, epsilon : Fraction
            Exactly one, of all draws together, of which each costs an equal part.

        Raises
        ------
        BudgetError
            If the charges do not fit; then nothing was read or charged.
        """
        chosen = self._checked(among)
        if not 1 <= count <= len(chosen):
            raise ValueError(f"a selection takes 1..{len(chosen)} of {len(chosen)} candidates, got {count}")
        share = None if rho is None else rho / count
        rate, used = self._rate(selection_epsilon(share, None if epsilon is None else epsilon / count, 8))
        ledger, score_range = self._table.ledger, self._table.privacy.l1_score_range
        if count == 1:
            ledger.charge_exponential("select", f"{len(chosen)} cliques", epsilon=used, score_range=score_range)
            return [chosen[select_exponential(self._scores_of(chosen), rate, self._words)]]
        with ledger.allocate(f"top {count}", amount=count * ledger.cost_of_range(used)) as part:
            for left in range(len(chosen), len(chosen) - count, -1):
                part.charge_exponential("select", f"{left} cliques", epsilon=used, score_range=score_range)
        return [chosen[i] for i in select_top(self._scores_of(chosen), rate, count, self._words)]

    def permute_and_flip(
        self, among: Sequence[int], *, rho: Fraction | None = None, epsilon: Fraction | None = None
    ) -> int:
        """Charge, then draw one of the candidates by permute-and-flip; otherwise as `select`.

        For the same epsilon it is never worse in expected score, but costs epsilon^2 / 2 in rho: it pays under a
        pure budget.
        """
        chosen = self._checked(among)
        rate, used = self._rate(selection_epsilon(rho, epsilon, 2))
        self._table.ledger.charge_permute_and_flip(
            "select", f"{len(chosen)} cliques", epsilon=used, score_range=self._table.privacy.l1_score_range
        )
        return chosen[permute_and_flip(self._scores_of(chosen), rate, self._words)]

    def _checked(self, among: Sequence[int]) -> list[int]:
        if self._table.closed:
            self.__scores = None
            raise ValueError("the private table of this selector is closed: its records are gone")
        chosen = list(among)
        if not chosen or min(chosen) < 0 or max(chosen) >= len(self._candidates):
            raise ValueError(f"among needs positions in 0..{len(self._candidates) - 1}, got {chosen}")
        if self.__scores is None:
            for clique in self._candidates:
                self._check_query(clique)
        return chosen

    def _check_query(self, clique: Clique) -> None:
        # The range of the scores is that of queries of which one record changes one answer by 1.
        asked = self._query(clique)
        if asked is not None and not asked.has_unit_columns:
            needed = f"a selection compares cells or sums over groups of cells; clique {clique}"
            raise ValueError(f"{needed} has {asked!r}")

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
        for first, last in self._batches():
            for i, counts in zip(range(first, last), self.__count(self._candidates[first:last]), strict=True):
                clique = self._candidates[i]
                query = self._query(clique)
                answers = counts if query is None else query.matvec(counts)
                estimate = on_grid(clique, self._estimate(clique), answers.size)
                scores[i] = np.abs((answers << GRID_BITS) - estimate).sum(dtype=np.int64)
        return scores

    def _batches(self) -> list[tuple[int, int]]:
        """Return ranges of candidates small enough to be counted together."""
        sizes = [self._table.domain.size(c) for c in self._candidates]
        batches: list[tuple[int, int]] = []
        first, cells = 0, 0
        for i, size in enumerate(sizes):
            if cells and cells + size > _BATCH_CELLS:
                batches.append((first, i))
                first, cells = i, 0
            cells += size
        return [*batches, (first, len(sizes))]

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a private selector is neither pickled nor copied")


def on_grid(clique: Clique, estimate: ArrayLike, cells: int) -> NDArray[np.int64]:
    """Return a public estimate in units of 2^-16; ``ValueError`` if it is not finite, of the wrong size or too large.

    Scores stay in int64: estimates sum to below 2^44 by this check, and counts to the number of records, below
    2^44 on any machine; their difference times 2^16 is below 2^61.
    """
    values = np.asarray(estimate, dtype=np.float64).reshape(-1)
    if values.size != cells:
        raise ValueError(f"the estimate of clique {clique} needs {cells} values, got {values.size}")
    if not np.isfinite(values).all() or float(np.abs(values).sum()) >= 2.0**44:
        raise ValueError(f"the estimate of clique {clique} must be finite counts that sum to less than 2^44")
    return np.rint(values * (1 << GRID_BITS)).astype(np.int64)
