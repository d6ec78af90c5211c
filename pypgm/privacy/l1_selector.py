"""Selection among cliques by the L1 distance of public estimates from the true counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.domain import Clique
from pypgm.privacy.access import TableAccess
from pypgm.privacy.observer import the_observer
from pypgm.privacy.selector import GRID_BITS, SCORE_LIMIT, Comparison, Selector
from pypgm.privacy.trusted_query import trusted_on
from pypgm.queries import LinearQuery

__all__ = ["GRID_BITS", "SCORE_LIMIT", "L1Selector", "l1_distance", "on_grid"]

_COUNT_LIMIT = 1 << 44  # records, below which a score is far below 2^62


Estimate = Callable[[Clique], ArrayLike]


class L1Selector(Selector[Estimate]):
    """Selection among cliques C by the score ``||Q M_C - estimate_C||_1``; the scores are never shown.

    The estimate is rounded to the grid 2^-16, so that scores are exact integers and one record changes one by at
    most 1 (add-remove) or 2 (replace), times the records a person may have. Made by `PrivateTable.l1_selector`.
    """

    __slots__ = ("_queries", "_query")

    def __init__(
        self,
        access: TableAccess,
        candidates: Sequence[Clique],
        estimate: Estimate,
        query: Callable[[Clique], LinearQuery | None],
    ) -> None:
        self._query: Callable[[Clique], LinearQuery | None] = the_observer().queried(self, query)
        self._queries: dict[Clique, LinearQuery | None] = {}
        super().__init__(access, candidates, estimate)

    def compare(self, by: Estimate, candidates: Sequence[Clique] | None = None) -> None:
        """Score by other estimates from now on, such as those of a new model; cliques are not counted again.

        Parameters
        ----------
        by : callable
            Gives a candidate's public estimate. All are computed before the next charge.
        candidates : sequence of clique, optional
            Other candidates, chosen without looking at the data; the present ones by default.
        """
        super().compare(by, candidates)

    @property
    def _sensitivity(self) -> int:
        return self._access.privacy.l1_score_range // 2

    @property
    def _score_range(self) -> int:
        return self._access.privacy.l1_score_range

    def _prepare(self, now: Comparison[Estimate]) -> None:
        """Compute the estimates of the candidates before any record is read: an error here holds no count."""
        if now.public:
            return
        wanted = {clique: self._query(clique) for clique in now.candidates if clique not in self._queries}
        known: dict[tuple[int, int], LinearQuery] = {}  # copies, one for each query
        for clique, query in wanted.items():
            self._queries.setdefault(clique, self._checked_query(clique, query, known))
        queries = [self._queries[clique] for clique in now.candidates]
        sizes = [
            self._access.domain.size(c) if q is None else q.shape[0]
            for c, q in zip(now.candidates, queries, strict=True)
        ]
        now.public = [on_grid(c, now.by(c), size) for c, size in zip(now.candidates, sizes, strict=True)]

    def _checked_query(
        self, clique: Clique, query: LinearQuery | None, known: dict[tuple[int, int], LinearQuery]
    ) -> LinearQuery | None:
        # The range of the scores assumes queries in which one record changes one answer by 1.
        trusted = None if query is None else trusted_on(self._access.domain, clique, query, known)[2]
        if trusted is not None and not trusted.has_unit_columns:
            needed = f"a selection compares cells or sums over groups of cells; clique {clique}"
            raise ValueError(f"{needed} has {query!r}")
        return trusted

    def _reduced(self, clique: Clique, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        query = self._queries[clique]
        return counts if query is None else query.matvec(counts)

    def _score(self, now: Comparison[Estimate], number: int, kept: NDArray[np.int64]) -> int:
        return l1_distance(kept, now.public[number])


def on_grid(clique: Clique, estimate: ArrayLike, cells: int) -> NDArray[np.int64]:
    """Return a public estimate in units of 2^-16; ``ValueError`` if not finite, of the wrong size or too large."""
    values = np.array(estimate, dtype=np.float64).reshape(-1)  # a copy: it is read again after the checks
    if values.size != cells:
        raise ValueError(f"the estimate of clique {clique} needs {cells} values, got {values.size}")
    if not np.isfinite(values).all() or float(np.abs(values).sum()) >= 2.0**44:
        raise ValueError(f"the estimate of clique {clique} must be finite counts that sum to less than 2^44")
    return np.rint(values * (1 << GRID_BITS)).astype(np.int64)


def l1_distance(answers: NDArray[np.int64], estimate: NDArray[np.int64]) -> int:
    """Return ``sum |2^16 answers - estimate|`` exactly, at most 2^62; estimates as `on_grid` gives them.

    Below 2^44 records answers times 2^16 sum to less than 2^60, as estimates do: int64 holds the sum. Larger counts,
    which only a source of ready counts may have, are summed as Python's integers.
    """
    if answers.shape != estimate.shape:  # one answer would be compared with each estimate
        raise ValueError(f"answers and estimates need one shape, got {answers.shape} and {estimate.shape}")
    if float(answers.sum(dtype=np.float64)) < _COUNT_LIMIT:
        return int(np.abs((answers << GRID_BITS) - estimate).sum(dtype=np.int64))
    pairs = zip(answers.tolist(), estimate.tolist(), strict=True)
    total: int = sum(abs((answer << GRID_BITS) - estimated) for answer, estimated in pairs)
    return min(SCORE_LIMIT, total)
