"""The one door between a mechanism and the records: it opens only against a charge."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal, NoReturn, Protocol, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm import _core
from pypgm.domain import Clique, Domain, as_clique
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.noise import (
    add_discrete_gaussian,
    add_discrete_laplace,
    drawable_scale,
    drawable_variance,
    laplace_stddev,
    unsafe_words,
)
from pypgm.privacy.rational import isqrt_down
from pypgm.privacy.relation import Privacy
from pypgm.privacy.selection import drawable_rate, select_exponential
from pypgm.queries import Identity, Query

__all__ = ["Counts", "L1Selector", "PrivateTable"]

GRID_BITS = 16  # public estimates are rounded to multiples of 2^-16, so a score is an integer multiple of it
_BATCH_CELLS = 1 << 22  # cells counted in one pass over the records
_EPSILON_BITS = 32


class Counts(Protocol):
    """What a table must offer: its domain, whether it is weighted, and exact counts."""

    @property
    def domain(self) -> Domain:
        """Attributes and sizes."""

    @property
    def weights(self) -> NDArray[Any] | None:
        """Weights of the records, None for plain records."""

    @property
    def n_records(self) -> int:
        """Number of records."""

    def count(self, cliques: Sequence[Clique], n_threads: int = 0) -> list[NDArray[np.int64]]:
        """Return the flat int64 table of each clique, C order over its attributes as given."""


class PrivateTable:
    """Records behind a ledger: each answer is charged before a record is read, and carries exact noise.

    It has no length, is not iterated, copied, pickled or printed. What goes wrong is said in terms of the domain,
    the query and the budget alone.

    Parameters
    ----------
    data : Dataset
        Unweighted records.
    privacy : Privacy
        The neighbour relation and the records a person may have.
    ledger : Ledger
        Where every answer is charged.
    unsafe_seed : int, optional
        Draw all noise from this number: the same every time, and private for nobody. The ledger says so.

    Raises
    ------
    ValueError
        If the records are weighted: weights have no bound that a sensitivity could rest on.
    """

    __slots__ = ("__data", "_ledger", "_n_threads", "_privacy", "_words")

    def __init__(
        self,
        data: Counts,
        privacy: Privacy,
        ledger: Ledger,
        *,
        n_threads: int = 0,
        unsafe_seed: int | None = None,
    ) -> None:
        if data.weights is not None:
            raise ValueError("a private release needs unweighted records: weights have no sensitivity bound")
        self.__data = data
        self._privacy = privacy
        self._ledger = ledger
        self._n_threads = n_threads
        self._words = unsafe_words(unsafe_seed)
        if self._words is not None:
            ledger.mark_not_private("noise drawn from a seed")

    @property
    def domain(self) -> Domain:
        """Attributes and sizes; public."""
        return self.__data.domain

    @property
    def privacy(self) -> Privacy:
        """The neighbour relation."""
        return self._privacy

    @property
    def ledger(self) -> Ledger:
        """Where answers are charged."""
        return self._ledger

    @property
    def public_total(self) -> int | None:
        """The number of records where the relation makes it public ("replace"), else None."""
        return self.__data.n_records if self._privacy.total_is_public else None

    def measure(
        self,
        clique: str | Sequence[str],
        query: Query | None = None,
        *,
        rho: Fraction | None = None,
        variance: Fraction | None = None,
        scale: Fraction | None = None,
    ) -> LinearMeasurement:
        """Charge, count, add noise.

        Parameters
        ----------
        clique : str or sequence of str
            Attributes; the answers follow their order.
        query : Query, optional
            What of the clique's table is measured; every cell by default.
        rho, variance, scale : Fraction
            Exactly one. `rho`: what discrete Gaussian noise may cost; `variance`: its parameter sigma^2;
            `scale`: of discrete Laplace noise. Parameters the sampler cannot take exactly are rounded to more noise.

        Returns
        -------
        LinearMeasurement
            Its values are int64.

        Raises
        ------
        BudgetError
            If the charge does not fit; then nothing was read.
        """
        attributes = as_clique(clique)
        cells = self.domain.size(attributes)
        asked = Identity(cells) if query is None else query
        if asked.shape[1] != cells:
            raise ValueError(f"clique {attributes} has {cells} cells, the query is for {asked.shape[1]}")
        draw, stddev, noise = self._charge(attributes, asked, rho, variance, scale)
        answers = asked.matvec(self.__data.count([attributes], self._n_threads)[0]).astype(np.int64, copy=False)
        return LinearMeasurement(draw(answers), attributes, stddev, query, noise)

    def measure_total(self, **noise: Fraction) -> LinearMeasurement:
        """Measure the number of records: as `measure`, over the clique of no attributes."""
        return self.measure((), None, **noise)

    def _charge(
        self,
        clique: Clique,
        query: Query,
        rho: Fraction | None,
        variance: Fraction | None,
        scale: Fraction | None,
    ) -> tuple[Callable[[NDArray[np.int64]], NDArray[np.int64]], float, Literal["gaussian", "laplace"]]:
        if sum(given is not None for given in (rho, variance, scale)) != 1:
            raise ValueError("a measurement takes exactly one of rho, variance and scale")
        on = f"({', '.join(clique)})"
        change, threads = self._privacy.largest_change(query), self._n_threads
        if scale is not None:
            b = drawable_scale(scale)
            l1 = self._privacy.l1_sensitivity(query)
            self._ledger.charge_laplace("measure", on, scale=b, sensitivity=l1, largest_change=change)
            return (
                (lambda counts: add_discrete_laplace(counts, b, self._words, n_threads=threads)),
                laplace_stddev(b),
                "laplace",
            )
        squared = self._privacy.squared_l2_sensitivity(query)
        if variance is None:
            variance = self._variance(rho, squared)
        s = drawable_variance(variance)
        self._ledger.charge_gaussian("measure", on, variance=s, squared_sensitivity=squared, largest_change=change)
        return (
            (lambda counts: add_discrete_gaussian(counts, s, self._words, n_threads=threads)),
            math.sqrt(s),
            "gaussian",
        )

    @staticmethod
    def _variance(rho: Fraction | None, squared_sensitivity: int) -> Fraction:
        if rho is None or rho <= 0:
            raise ValueError(f"rho must be more than 0, got {rho}")
        if squared_sensitivity == 0:
            raise ValueError("no record changes this answer, so rho gives no variance; pass variance")
        return Fraction(squared_sensitivity) / (2 * rho)

    def l1_selector(
        self,
        candidates: Sequence[Clique],
        estimate: Callable[[Clique], ArrayLike],
        query: Callable[[Clique], Query | None] = lambda _: None,
    ) -> L1Selector:
        """Return a way to select among cliques by how far public estimates are from the truth; reads nothing yet.

        Parameters
        ----------
        candidates : sequence of clique
            Chosen without looking at the data.
        estimate : callable
            Gives a candidate's public estimate: counts, one for each answer of its query.
        query : callable
            Gives what of a candidate's table is compared, every cell by default. Its columns must be unit vectors,
            as those of `Identity` and `Partition` are.
        """
        count = self.__data.count
        n_threads = self._n_threads
        return L1Selector(
            self, candidates, estimate, query, lambda cliques: count(cliques, n_threads), words=self._words
        )

    def __repr__(self) -> str:
        return f"PrivateTable({self.domain!r}, {self._privacy!r})"

    def __len__(self) -> int:
        raise TypeError("the number of records of a private table is not told; use measure_total")

    def __iter__(self) -> NoReturn:
        raise TypeError("a private table gives no records, only charged measurements")

    def __getitem__(self, key: object) -> NoReturn:
        raise TypeError("a private table gives no columns, only charged measurements")

    def __bool__(self) -> bool:
        return True

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a private table is neither pickled nor copied")

    def __copy__(self) -> NoReturn:
        raise TypeError("a private table is neither pickled nor copied")

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        raise TypeError("a private table is neither pickled nor copied")


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
        query: Callable[[Clique], Query | None],
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
        chosen = list(among)
        if not chosen or min(chosen) < 0 or max(chosen) >= len(self._candidates):
            raise ValueError(f"among needs positions in 0..{len(self._candidates) - 1}, got {chosen}")
        if (rho is None) == (epsilon is None):
            raise ValueError("a selection takes exactly one of rho and epsilon")
        wanted = epsilon if epsilon is not None else isqrt_down(8 * (rho or Fraction(0)), _EPSILON_BITS)
        score_range = self._table.privacy.l1_score_range
        rate = drawable_rate(wanted / (score_range << GRID_BITS))
        on = f"{len(chosen)} cliques"
        used = rate * (score_range << GRID_BITS)
        self._table.ledger.charge_exponential("select", on, epsilon=used, score_range=score_range)
        if self.__scores is None:
            self.__scores = self._score()
        return chosen[select_exponential(self.__scores[chosen], rate, self._words)]

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
