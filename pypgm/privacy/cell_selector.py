"""Selection among single counts, and their complements, by scores that are linear in the counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.numeric import checked_integer, checked_real
from pypgm.domain import Clique
from pypgm.privacy.access import TableAccess, selection_epsilon
from pypgm.privacy.fixed_errors import fixed_errors
from pypgm.privacy.laws import Exponential
from pypgm.privacy.noise import drawable_rate
from pypgm.privacy.observer import observed
from pypgm.privacy.rational import Number
from pypgm.privacy.trusted_query import own_clique

_COUNT_LIMIT = 1 << 40  # larger counts are cut off here, which makes none of them change by more
_WEIGHT_LIMIT = 1 << 18  # with it, gaps between scores stay below 2^62
_OFFSET_LIMIT = float(1 << 58)

Drawn = tuple[int, int, bool]
"""The position of a clique, a cell of it, and whether the count is that of all other records."""


class CellSelector:
    """Exponential mechanisms over the counts of all cells of some cliques, and of the records outside each cell.

    With c the count of a cell, n the number of records, N a public number and o a public offset, a cell's score is
    ``w c + o``, that of its complement ``w (n - c) - w N - o``: the same for the share of records outside it.
    Adding a record changes each score by 0 or by w (add-remove); replacing one by at most w up or down. Made by
    `PrivateTable.cell_selector`.
    """

    __slots__ = ("__counts", "__weakref__", "_access", "_cliques", "_ends")

    def __init__(self, access: TableAccess, cliques: Sequence[Clique]) -> None:
        self._access = access
        self._cliques = [own_clique(access.domain, c) for c in cliques]
        self._ends = np.cumsum([access.domain.size(c) for c in self._cliques], dtype=np.int64)
        if not self._cliques:
            raise ValueError("a selection among counts needs at least one clique")
        self.__counts: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    def close(self) -> None:
        """Forget the counts, as the table forgets its records."""
        self.__counts = None

    @observed
    def draw(
        self,
        weight: int,
        offsets: Sequence[ArrayLike],
        total: float,
        draws: int = 1,
        *,
        rho: Number | None = None,
        epsilon: Number | None = None,
    ) -> list[Drawn]:
        """Draw cells or complements independently, each by an exponential mechanism, after the charge.

        Parameters
        ----------
        weight : int
            w, not 0: positive to prefer large counts.
        offsets : sequence of array_like
            o of each cell, one array a clique; rounded to integers.
        total : float
            N, a public number of records; ``w N`` is rounded to an integer.
        draws : int
            Number of draws; cells may repeat.
        rho, epsilon : number
            Exactly one: the cost of all draws together, each an equal part.

        Returns
        -------
        list of (int, int, bool)
            The position of the clique, the cell, and whether it is the complement.

        Raises
        ------
        BudgetError
            If the charge does not fit; then nothing was read.
        ValueError
            If the weight is 0, offsets do not fit or are not finite, or the table is closed.
        """
        if self._access.is_closed():
            raise ValueError("the private table of this selector is closed: its records are gone")
        if type(weight) is not int or not 0 < abs(weight) <= _WEIGHT_LIMIT:
            raise ValueError(f"weight must be an integer that is not 0, at most {_WEIGHT_LIMIT:,}, got {weight!r}")
        count = checked_integer("draws", draws, 1)
        public = self._public(offsets)
        shift = round(weight * min(checked_real("total", total, zero=True), float(_COUNT_LIMIT)))
        unit = abs(weight) * self._access.privacy.cell_score_range
        rate = drawable_rate(selection_epsilon(self._access.ledger, rho, epsilon, count) / unit)
        law = Exponential(rate * unit, unit) if count == 1 else Exponential(rate * unit, unit, count, count)
        self._access.ledger.charge("select", f"{2 * public.size} counts", law)
        with fixed_errors:
            return self._drawn(self._scores(weight, public, shift), law, count)

    def _drawn(self, scores: NDArray[np.int64], law: Exponential, count: int) -> list[Drawn]:
        return [self._place(law.draw(scores, self._access.sampler)) for _ in range(count)]

    def _public(self, offsets: Sequence[ArrayLike]) -> NDArray[np.int64]:
        given = [np.asarray(o, dtype=np.float64).reshape(-1) for o in offsets]
        if np.cumsum([o.size for o in given]).tolist() != self._ends.tolist():
            raise ValueError(f"the {len(self._cliques)} cliques need an offset for each of their cells")
        flat = np.concatenate(given)
        if not (np.abs(flat) < _OFFSET_LIMIT).all():
            raise ValueError("offsets must be finite and below 2^58")
        return np.rint(flat).astype(np.int64)

    def _scores(self, weight: int, public: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
        """Return the scores of all cells, then those of their complements; to be called after the charge."""
        if self.__counts is None:
            pairs = [_with_others(counts) for counts in self._access.count(self._cliques)]
            self.__counts = np.concatenate([p[0] for p in pairs]), np.concatenate([p[1] for p in pairs])
        inside, outside = self.__counts
        return np.concatenate([weight * inside + public, weight * outside - shift - public])

    def _place(self, index: int) -> Drawn:
        """Return the clique and the cell of a candidate."""
        is_complement, flat = divmod(index, int(self._ends[-1]))
        clique = int(np.searchsorted(self._ends, flat, side="right"))
        return clique, flat - (int(self._ends[clique - 1]) if clique else 0), bool(is_complement)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(scores behind a ledger)"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a private selector is neither pickled nor copied")


def _with_others(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of records in each cell and outside it, cut off: each still changes by 0 or 1."""
    total = sum(counts.tolist())
    others = np.array([min(total - c, _COUNT_LIMIT) for c in counts.tolist()], dtype=np.int64)
    return np.minimum(counts, _COUNT_LIMIT), others
