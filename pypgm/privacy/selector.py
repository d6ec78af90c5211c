"""Private choices among cliques by integer scores that stay behind the ledger, and screens: their noisy scores."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, NamedTuple, NoReturn, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import checked_integer
from pypgm.domain import Clique, Domain
from pypgm.privacy.access import TableAccess, selection_epsilon
from pypgm.privacy.fixed_errors import fixed_errors, unheard
from pypgm.privacy.laws import Exponential, PermuteAndFlip
from pypgm.privacy.noise import drawable_rate
from pypgm.privacy.observer import observed, the_observer
from pypgm.privacy.rational import Number, as_fraction
from pypgm.privacy.relation import Privacy
from pypgm.privacy.trusted_query import own_clique


@dataclass(frozen=True, slots=True, eq=False)
class Screen:
    """The scores of many candidates with discrete Gaussian noise; free to use.

    Attributes
    ----------
    values : ndarray of int64, shape (candidates,)
        The noisy scores exactly as drawn, in the order of the candidates.
    stddev : float
        Standard deviation of the noise of each of `scores`.
    unit : float
        The unit of `values`, in units of scores and weights.
    not_private : str
        The reason why the scores protect nobody, such as noise from a seed; empty if they protect.
    """

    values: NDArray[np.int64]
    stddev: float
    unit: float
    not_private: str = ""

    @property
    def scores(self) -> NDArray[np.float64]:
        """The noisy weighted scores; they may be negative."""
        return np.asarray(self.values * self.unit, dtype=np.float64)


GRID_BITS = 16  # public estimates are rounded to multiples of 2^-16, so scores are integer multiples of that
SCREEN_BITS = 12  # bits of weights of screened scores: variances for thousands of them can still be drawn
SCORE_LIMIT = 1 << 62  # larger scores are cut off here, which never makes two of them differ by more


class Weights(NamedTuple):
    """Factors and offsets of scores.

    Attributes
    ----------
    factors : list of int
        The factor of each score, at most 2^bits: a score that changes by c changes its product by at most c times the
        factor.
    offsets : list of int
        The number added to each weighted score.
    unit : float
        The value of a weighted score of 1, in the units of the scores and weights given.
    is_plain : bool
        Whether scores stay unchanged.
    """

    factors: list[int]
    offsets: list[int]
    unit: float
    is_plain: bool = False

    @classmethod
    def of(cls, count: int, weights: Sequence[Number] | None, offsets: Sequence[Number] | None, bits: int) -> Weights:
        """Return weights relative to the largest one, on a grid of 2^-bits; ``ValueError`` if they do not fit."""
        if weights is None and offsets is None:
            return cls([1 << bits] * count, [0] * count, 2.0**-bits, bits == GRID_BITS)
        given = [Fraction(1)] * count if weights is None else [as_fraction("a weight", w) for w in weights]
        added = [Fraction(0)] * count if offsets is None else [as_fraction("an offset", o) for o in offsets]
        if len(given) != count or len(added) != count:
            raise ValueError(f"{count} candidates need as many weights and offsets, got {len(given)} and {len(added)}")
        largest = max(given)
        if min(given) < 0 or largest == 0:
            raise ValueError(f"weights must be at least 0 and one of them more, got {weights}")
        grid = Fraction(1 << bits) / largest
        factors = [max(1, round(w * grid)) if w > 0 else 0 for w in given]
        return cls(factors, [round(o * grid) for o in added], float(1 / grid))

    def applied(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Return weighted scores, as Python's integers where they may not fit int64; a score is a multiple of 2^-16.

        A score that changes by at most c 2^16 changes its product with a factor by at most the factor times c 2^16, and
        the product without its last 16 bits by at most the factor times c: an integer, which rounding down keeps.
        """
        if self.is_plain:
            return scores
        given = zip(self.factors, scores.tolist(), self.offsets, strict=True)
        return np.array([(f * s >> GRID_BITS) + o for f, s, o in given], dtype=object)


def fitted(scores: NDArray[Any], *, screen: bool = False) -> NDArray[np.int64]:
    """Return scores as int64, within 2^62, whose changes are no larger than before.

    For a screen they are cut off at 2^62. A selection depends only on gaps to the best: scores 2^62 or more below it
    are raised, which keeps all changes in their interval, and all are shifted alike if they do not fit.
    """
    if screen:
        return np.asarray(np.clip(scores, -SCORE_LIMIT, SCORE_LIMIT), dtype=np.int64)
    best = int(scores.max())
    gaps = np.maximum(scores - best, -SCORE_LIMIT)
    fits = max(best, -int(scores.min())) < SCORE_LIMIT
    return np.asarray(gaps + best if fits else gaps, dtype=np.int64)


By = TypeVar("By")


@dataclass(slots=True, eq=False)
class Comparison(Generic[By]):
    """State of one comparison: all data of a selection, so that nothing changes under it.

    Attributes
    ----------
    by : callable
        The caller's function.
    candidates : tuple of clique
    public : list of ndarray of int64
        The values of `by` for the candidates before the first charge, if scores compare with them.
    scores : ndarray
        Scores of the candidates scored so far: int64, or Python's integers if one is beyond 2^62.
    is_scored : ndarray of bool
        Whether each candidate is scored.
    is_asking : bool
        Whether `by` is being called.
    """

    by: By
    candidates: tuple[Clique, ...]
    public: list[NDArray[np.int64]] = field(default_factory=list)
    scores: NDArray[Any] = field(init=False)
    is_scored: NDArray[np.bool_] = field(init=False)
    is_asking: bool = False

    def __post_init__(self) -> None:
        self.scores = np.zeros(len(self.candidates), np.int64)
        self.is_scored = np.zeros(len(self.candidates), np.bool_)


_STEPS = 1 << GRID_BITS  # scores are in units of 1 / this


class Selector(ABC, Generic[By]):
    """Exponential mechanisms, permute-and-flip and noisy screens over the scores of cliques, which are never shown.

    Scores are integers on the grid 2^-16. With ``weights`` a candidate's score is multiplied by its weight relative to
    the largest one, so that no score changes by more than unweighted; ``offsets``, in the unit of weighted scores, are
    added and cost nothing. Counts are kept for later rounds, so that other scores of the same cliques read no record.

    A selection works on the comparison it began with. The functions that give scores and estimates must leave the
    selector alone: a selection whose estimates call `compare`, or that is made while they are computed, is refused.
    """

    __slots__ = ("__kept", "__left", "__weakref__", "_access", "_now")

    _now: Comparison[By]

    def __init__(self, access: TableAccess, candidates: Sequence[Clique], by: By) -> None:
        self._access = access
        self.__kept: dict[Clique, NDArray[np.int64]] = {}
        self.__left = the_observer().kept_cells
        self.compare(by, candidates)

    @property
    def domain(self) -> Domain:
        """Attributes and sizes of the table."""
        return self._access.domain

    @property
    def privacy(self) -> Privacy:
        """The neighbour relation of the table."""
        return self._access.privacy

    def compare(self, by: By, candidates: Sequence[Clique] | None = None) -> None:
        """Score by another function from now on, such as the estimates of another model.

        Cliques that were counted are not counted again.

        Parameters
        ----------
        by : callable
            The function, with the same arguments and results as the first.
        candidates : sequence of clique, optional
            Other candidates, chosen without looking at the data; the present ones by default.
        """
        given, domain = self._now.candidates if candidates is None else candidates, self._access.domain
        cliques = tuple(own_clique(domain, c) for c in given)
        self._now = Comparison(the_observer().compared(self, given, by), cliques)

    def close(self) -> None:
        """Forget scores and counts, as the table forgets its records."""
        self._now = Comparison(self._now.by, self._now.candidates)
        self.__kept = {}

    def select(
        self,
        among: Sequence[int] | NDArray[np.int64] | None = None,
        *,
        rho: Number | None = None,
        epsilon: Number | None = None,
        weights: Sequence[Number] | None = None,
        offsets: Sequence[Number] | None = None,
    ) -> int:
        """Draw one of the candidates numbered in `among` by an exponential mechanism, after the charge.

        Parameters
        ----------
        among : sequence of int, optional
            Positions in the candidates, chosen without looking at the data; all by default.
        rho, epsilon : number
            Exactly one: the cost of the draw in rho, or its epsilon. Rounded down to what can be drawn.
        weights : sequence of number, optional
            Weight of each position in `among`, at least 0 and not all 0, rounded to 16 bits of the largest weight;
            equal by default.
        offsets : sequence of number, optional
            Numbers added to the weighted scores, rounded to the same grid; 0 by default.

        Returns
        -------
        int
            One of the positions that `among` lists, not an index into `among`.

        Raises
        ------
        BudgetError
            If the charge does not fit; then nothing was read.
        ValueError
            If positions, weights or offsets do not fit, or the table is closed.
        """
        return self.select_top(among, 1, rho=rho, epsilon=epsilon, weights=weights, offsets=offsets)[0]

    @observed
    def select_top(
        self,
        among: Sequence[int] | NDArray[np.int64] | None,
        count: int,
        *,
        rho: Number | None = None,
        epsilon: Number | None = None,
        weights: Sequence[Number] | None = None,
        offsets: Sequence[Number] | None = None,
    ) -> list[int]:
        """Draw `count` different candidates, one exponential mechanism after the other, after the charge.

        Parameters
        ----------
        among, weights, offsets
            See `select`.
        count : int
            Number of candidates to draw.
        rho, epsilon : number
            Exactly one: the cost of all draws together, each an equal part.

        Raises
        ------
        BudgetError
            If the charges do not fit; then nothing was read or charged.
        """
        now, chosen, weighing = self._checked(among, weights, offsets, GRID_BITS)
        count = checked_integer("count", count)
        if not 1 <= count <= len(chosen):
            raise ValueError(f"a selection takes 1..{len(chosen)} of {len(chosen)} candidates, got {count}")
        ledger, sampler = self._access.ledger, self._access.sampler
        law = Exponential(self._drawable(selection_epsilon(ledger, rho, epsilon, count)), self._score_range)
        self._ask(now)
        if count == 1:
            ledger.charge("select", self._on(len(chosen)), law)
            with fixed_errors:
                return [int(chosen[law.draw(fitted(self._weighted(now, chosen, weighing)), sampler, steps=_STEPS)])]
        stages = range(len(chosen), len(chosen) - count, -1)
        ledger.charge_many("select", [(self._on(left), law) for left in stages], within=f"top {count}")
        with fixed_errors:
            scores = fitted(self._weighted(now, chosen, weighing))
            return [int(chosen[i]) for i in law.draw_top(scores, count, sampler, steps=_STEPS)]

    @observed
    def permute_and_flip(
        self,
        among: Sequence[int] | NDArray[np.int64] | None = None,
        *,
        rho: Number | None = None,
        epsilon: Number | None = None,
        weights: Sequence[Number] | None = None,
        offsets: Sequence[Number] | None = None,
    ) -> int:
        """Draw one of the candidates by permute-and-flip, after the charge; otherwise as `select`.

        For the same epsilon the draw is never worse in expected score, but costs epsilon^2 / 2 in rho: it pays under a
        pure budget.
        """
        now, chosen, weighing = self._checked(among, weights, offsets, GRID_BITS)
        ledger = self._access.ledger
        law = PermuteAndFlip(
            self._drawable(selection_epsilon(ledger, rho, epsilon, has_range=False)), self._score_range
        )
        self._ask(now)
        ledger.charge("select", self._on(len(chosen)), law)
        with fixed_errors:
            scores = fitted(self._weighted(now, chosen, weighing))
            return int(chosen[law.draw(scores, self._access.sampler, steps=_STEPS)])

    @observed
    def screen(
        self,
        among: Sequence[int] | NDArray[np.int64] | None = None,
        *,
        rho: Number,
        weights: Sequence[Number] | None = None,
    ) -> Screen:
        """Return the scores of all of `among` at once, with discrete Gaussian noise, after the charge.

        A record changes every score; the noise is for the joint L2 norm of all changes, the root of the sum of squared
        weights times the sensitivity of one score. All scores are then known, and choices made from them are free.

        Parameters
        ----------
        among : sequence of int, optional
            See `select`.
        rho : number
            The cost of the screen, at most.
        weights : sequence of number, optional
            Weight of each of `among`, to 12 bits of the largest: equal noise is added to weighted scores.

        Raises
        ------
        BudgetError
            If the charge does not fit; then nothing was read.
        ValueError
            If rho is not above 0, positions or weights do not fit, the budget is pure, or the table is closed.

        Examples
        --------
        >>> from pypgm import Budget, Dataset, Domain, Ledger, Privacy, PrivateTable
        >>> data = Dataset({"a": [0] * 90, "b": [1, 0] * 45}, Domain({"a": 2, "b": 2}))
        >>> table = PrivateTable(data, Privacy(), Ledger(Budget(rho=10**6)))
        >>> table.l1_selector([("a",), ("b",)], lambda c: [45, 45]).screen(rho=10**6).scores.round().astype(int)
        array([90,  0])
        """
        now, chosen, weighing = self._checked(among, weights, None, SCREEN_BITS)
        self._ask(now)
        changes = [self._sensitivity * w for w in weighing.factors]
        noise = self._access.charge_screen(changes, "screen", self._on(len(chosen)), rho)
        with fixed_errors:
            values = noise.add(fitted(self._weighted(now, chosen, weighing), screen=True))
        return Screen(values, noise.law.stddev * weighing.unit, weighing.unit, self._access.ledger.not_private)

    @property
    @abstractmethod
    def _sensitivity(self) -> int:
        """The most one score changes between neighbours."""

    @property
    @abstractmethod
    def _score_range(self) -> int:
        """The length of an interval that holds the changes of all scores, at least the sensitivity."""

    def _on(self, count: int) -> str:
        """Return the candidates, as a charge names them."""
        return f"{count} cliques"

    def _ask(self, now: Comparison[By]) -> None:
        """Call the caller's function for all public values before the records are read; refuse to nest."""
        now.is_asking = True
        try:
            self._prepare(now)
        finally:
            now.is_asking = False
        if self._now is not now:
            raise ValueError("a selection's estimates must leave its selector alone: compare was called meanwhile")

    def _prepare(self, now: Comparison[By]) -> None:
        """Call the caller's function for all values that are compared with the records."""

    def _reduced(self, clique: Clique, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the kept part of a clique's counts."""
        del clique
        return counts

    @abstractmethod
    def _score(self, now: Comparison[By], number: int, kept: NDArray[np.int64]) -> int:
        """Return the score of a candidate on the grid 2^-16."""

    def _checked(
        self,
        among: Sequence[int] | NDArray[np.int64] | None,
        weights: Sequence[Number] | None,
        offsets: Sequence[Number] | None,
        bits: int,
    ) -> tuple[Comparison[By], NDArray[np.int64], Weights]:
        """Return the comparison and the positions as copies: no argument is read again."""
        if self._access.is_closed():
            raise ValueError("the private table of this selector is closed: its records are gone")
        now = self._now
        if now.is_asking:
            raise ValueError("a selection's estimates must leave its selector alone: they are being computed")
        chosen = _positions(among, len(now.candidates))
        return now, chosen, Weights.of(len(chosen), weights, offsets, bits)

    def _drawable(self, epsilon: Fraction) -> Fraction:
        """Return the epsilon of a draw: the requested one, or one just below it."""
        unit = self._score_range << GRID_BITS
        return drawable_rate(epsilon / unit) * unit

    def _weighted(self, now: Comparison[By], chosen: NDArray[np.int64], weighing: Weights) -> NDArray[Any]:
        at: dict[Clique, list[int]] = {}  # candidates that have no score yet
        for i in dict.fromkeys(chosen[~now.is_scored[chosen]].tolist()):
            at.setdefault(now.candidates[i], []).append(i)
        for clique in [c for c in at if c in self.__kept]:
            self.__fill(now, at.pop(clique), self.__kept[clique])
        for clique, counts in zip(at, self._access.count(list(at)), strict=True) if at else ():
            kept = self._reduced(clique, counts)
            self.__fill(now, at[clique], kept)
            if kept.size <= self.__left:
                self.__left -= kept.size
                self.__kept[clique] = kept
        return weighing.applied(now.scores[chosen])

    def __fill(self, now: Comparison[By], numbers: list[int], kept: NDArray[np.int64]) -> None:
        for i in numbers:
            score = self._score(now, i, kept)
            if abs(score) >= SCORE_LIMIT:
                now.scores = now.scores.astype(object)
            now.scores[i], now.is_scored[i] = score, True

    def __repr__(self) -> str:
        return f"{type(self).__name__}(scores behind a ledger)"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a private selector is neither pickled nor copied")


def _positions(among: Sequence[int] | NDArray[np.int64] | None, count: int) -> NDArray[np.int64]:
    """Return the positions to choose among, all by default; ``ValueError`` if one is out of range."""
    if among is None:
        return np.arange(count)
    if type(among) is np.ndarray and among.dtype == np.int64 and among.ndim == 1:
        positions = among.copy()
    else:
        given = [i if type(i) is int and i >= 0 else checked_integer("a position", i) for i in among]
        positions = np.array(given, dtype=object)
    if not positions.size or not 0 <= positions.min() <= positions.max() < count:
        raise ValueError(f"among needs positions in 0..{count - 1}, got {positions.tolist()}")
    return np.asarray(positions, dtype=np.int64)


class StatedSelector(Selector[Callable[[int, NDArray[np.int64]], int]]):
    """Selection by a user's score, with the sensitivity and range that its author states.

    Made by `PrivateTable.selector`.
    """

    __slots__ = ("_stated",)

    def __init__(
        self,
        access: TableAccess,
        candidates: Sequence[Clique],
        score: Callable[[int, NDArray[np.int64]], int],
        stated: tuple[int, int],
    ) -> None:
        sensitivity, score_range = (operator.index(number) for number in stated)
        if not 1 <= sensitivity <= score_range <= 2 * sensitivity:
            needed = "a score needs a sensitivity of at least 1 and a range of one to two times that"
            raise ValueError(f"{needed}, got {sensitivity} and {score_range}")
        self._stated = sensitivity, score_range
        super().__init__(access, candidates, score)

    @property
    def stated(self) -> tuple[int, int]:
        """The sensitivity and the range that the author of the score states, for one record a person."""
        return self._stated

    @property
    def _sensitivity(self) -> int:
        return self._stated[0] * self._access.privacy.records_per_person

    @property
    def _score_range(self) -> int:
        return self._stated[1] * self._access.privacy.records_per_person

    def _on(self, count: int) -> str:
        return f"{count} cliques by a stated score"

    def _score(
        self, now: Comparison[Callable[[int, NDArray[np.int64]], int]], number: int, kept: NDArray[np.int64]
    ) -> int:
        # An error would reveal something of the counts, whatever its text; so would a score that is not an integer.
        return unheard(lambda: operator.index(now.by(number, kept.copy())), 0) << GRID_BITS
