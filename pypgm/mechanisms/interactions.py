"""Search for interactions of more attributes than two, which no pair shows, by sums of products of signs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pypgm._base.interrupts import interrupts_held
from pypgm._core import VARIANCE_BITS
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.stop_rule import thinned
from pypgm.mechanisms.better_start import pace_of
from pypgm.mechanisms.one_way import POWER
from pypgm.mechanisms.resolution import Values
from pypgm.mechanisms.sign_sets import Bits, Candidates, candidate_sets, number_of_sets, signs_of
from pypgm.privacy.sign_selector import sign_sums
from pypgm.queries import Contrasts, Kronecker, Matrix

if TYPE_CHECKING:
    from pypgm.data import Dataset
    from pypgm.domain import Clique, Domain
    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.run import Run
    from pypgm.models import GraphicalModel, RegionGraphModel
    from pypgm.privacy.relation import Privacy
    from pypgm.queries import LinearQuery

    _Model: TypeAlias = GraphicalModel | RegionGraphModel

# Chosen on made-up tables of parities, sums modulo 3, hidden halves and rules, adult, titanic, fire and msnbc.
_MOST_SETS = 250_000  # sets that one selection compares
_WORK = 2.0**36  # records times sets, above which there are fewer sets
_PICK_SHARE = 0.02  # of rho, at most, for one selection
_CHECK_SHARE = 0.005  # of rho, at most, for the sum of the set it selects
SEARCH_SHARE = 0.15  # of rho, at most, for all selections and interactions
_SEARCH_SHARE = 0.6  # of that: for selections and checks
_MIN_ROUNDS = 2  # selections and checks that pairs spare in any case: one, and as much for the interaction it finds
_TELLS = 0.4  # of the records: largest sum that chance and noise make where a search is worth its cost
_CHECKED = 16  # of the least sum that counts: its check has a sixteenth of it as noise
_PRIOR = 0.9  # weight of a set's score for each attribute more than the least
_DOUBT = 0.12  # of the records: most by which the model of pairs may be off because of their noise
_DOUBTED = 1.5  # of the noise in pairs: what the model may be off by
_NOISE = 40  # noise in an interaction is low enough at this part of it
_GROUPS = 8  # most groups of an attribute
_REST = 2  # of the noise in pairs, which three times the budget of their first measurements is left to lower
_ABSOLUTE = 0.4  # of a standard deviation: half the mean absolute error, which total variation counts
_ROWS = (
    20_000,
    200_000,
)  # least and most records drawn from a model for its sums; else as many as there are
_SEED = 0x7369676E  # of these records: a released model's
_ENTRY_BITS = 17.9  # a product of centred signs stays below 2^18, where its noise can be drawn
_ORDERS = range(2, 8)
BEYOND_PAIRS = range(3, 8)


class Reach:
    """Sums of signs that a search can tell from chance, by public numbers.

    Parameters
    ----------
    n_sets : float
        Number of sets of signs there are, of which it compares as many as time allows.
    total : float
        Number of records.
    rho : float
        The whole budget.
    privacy : Privacy
        Whom it protects.

    Attributes
    ----------
    most : float
        Number of sets that one selection compares, at most.
    rows : int
        Number of records drawn from a model for its sums.
    chance : float
        The largest sum that chance makes.
    least : float
        The least sum that a search finds beside those of chance, as a part of the records.
    can_tell : bool
        Whether a search is worth its cost.
    """

    def __init__(self, n_sets: float, total: float, rho: float, privacy: Privacy) -> None:
        self.most = min(_MOST_SETS, _WORK / total)
        self.rows = int(min(max(total, _ROWS[0]), _ROWS[1]))
        self._rho, self._change = rho, privacy.l1_score_range / 2  # of a sum
        self._logarithm = math.log(max(2.0, min(self.most, n_sets)))
        self.chance = math.sqrt(2 * self._logarithm * total * (1 + total / self.rows))
        self.least = (self.chance + self.priced(self.chance)[2]) / total
        self.can_tell = n_sets > 1 and self.least <= _TELLS

    def priced(self, least: float) -> tuple[float, float, float]:
        """Return rho of a selection and of a check, and the selection's noise: no more than the least sum that counts.

        More precise selections would be lost on sums that chance and the model's own error explain.
        """
        noise = 2 * self._change * self._logarithm  # largest of so many, at epsilon 1
        epsilon = min(noise / least, math.sqrt(8 * _PICK_SHARE * self._rho))
        check = min(_CHECK_SHARE * self._rho, (_CHECKED * self._change / least) ** 2 / 2)
        least_check = 2.0 ** (2 * _ORDERS[-1] - VARIANCE_BITS) * self._change**2  # as many bits as attributes
        return epsilon**2 / 8, max(check, least_check), noise / epsilon

    def entry_bits(self, rho: float) -> float:
        """Return the bits of a product of centred signs: fewer where noise for rho would be too large to draw."""
        return min(_ENTRY_BITS, (VARIANCE_BITS + math.log2(rho)) / 2 - math.log2(self._change))


def reach_beyond_pairs(
    domain: Domain, rho: float, privacy: Privacy, n_records: float, cliques: Sequence[Clique] | None
) -> Reach:
    """Return what a search beyond pairs can tell of so many records, within the marginals of a workload if given."""
    counts = [len(signs_of(Values(np.ones(size), is_ordered=False), is_ordered=False)) for size in domain.shape]
    largest = len(domain) if cliques is None else max(map(len, cliques), default=0)
    n_sets = number_of_sets(counts, [order for order in BEYOND_PAIRS if order <= largest])
    return Reach(n_sets, n_records, rho, privacy)


class Search:
    """Search for sets of attributes whose interaction no smaller marginals explain.

    An exponential mechanism picks the set whose sum of products of signs is furthest from a model's; that sum is
    measured, and unless it is beyond what chance and the noise of that model make, the search is over. Otherwise the
    interaction of the set is measured in a few groups of each attribute, and the search goes on from a model that
    explains it.

    Parameters
    ----------
    run : Run
    start : Independent
        Model of single attributes, from which signs and groups follow.
    ordered : collection of str
        Attributes whose neighbouring codes are alike.
    within : sequence of clique, optional
        Marginals of a workload: each set is within one of these. By default there are sets of all attributes.
    orders : sequence of int
        Numbers of attributes of a set.

    Attributes
    ----------
    measured, followed : list of LinearMeasurement
        All sums and interactions, and those of sets that are not chance, for the estimate.
    can_tell : bool
        Whether chance and noise leave room for an interaction: by the budget and the number of records.
    """

    def __init__(
        self,
        run: Run,
        start: Independent,
        ordered: Collection[str],
        within: Sequence[Clique] | None = None,
        *,
        orders: Sequence[int] = _ORDERS,
    ) -> None:
        self._run, self._total, self._start = run, start.total, start
        self.measured: list[LinearMeasurement] = []
        self.followed: list[LinearMeasurement] = []
        self._values = {a: Values(shares, a in ordered) for a, shares in start.shares.items()}
        self._signs = {a: signs_of(values, a in ordered) for a, values in self._values.items()}
        self._within = within
        largest = len(run.domain) if within is None else max(map(len, within))
        self._orders = [order for order in orders if order <= largest]
        self._left = SEARCH_SHARE * float(run.rho)
        whole = number_of_sets([len(signs) for signs in self._signs.values()], self._orders)
        self._reach = Reach(whole, self._total, float(run.rho), run.table.privacy)
        self.can_tell = self._reach.can_tell and run.total != 0 and run.table.has_rows

    def go(
        self,
        model: _Model | None,
        pairs: Sequence[LinearMeasurement],
        cliques: Sequence[Clique],
        fit: Callable[[Sequence[LinearMeasurement], _Model | None], _Model],
        most: float = math.inf,
    ) -> _Model | None:
        """Search until chance explains the set that is picked, or the budget ends; the rest of rho is left to the run.

        Returns the last model: of what is known and of what was found.

        Parameters
        ----------
        model : model, optional
            Of what is known; the independent one by default.
        pairs : sequence of LinearMeasurement
            Pairs it explains, of which it follows the noise, measured for a quarter of their budget.
        cliques : sequence of clique
            Those that the last estimate explains besides the sets, which must leave memory for it.
        fit : callable
            Makes a model of what is known and of further measurements, from the model before them: another set moves it
            little, and from there an estimate takes fewer iterations than from single attributes.
        most : float
            Part of rho that pairs can spare; by default the share of all searches. One selection is made in any case.
        """
        run = self._run
        counts = list(map(len, self._signs.values()))
        within = None if self._within is None else list(map(run.domain.indices, self._within))
        sets = candidate_sets(counts, run.domain.shape, self._reach.most, self._orders, within)
        if not sets:
            return model
        candidates = Candidates(self._signs, sets, np.repeat(np.arange(len(counts)), counts))
        selector = run.table.sign_selector(self._signs, sets)
        orders = np.concatenate([np.full(len(s), s.shape[1]) for s in sets])
        weights, among = _PRIOR ** (orders - orders.min()), np.ones(len(orders), bool)
        noise = self._noise_of(pairs)
        doubt = min(_DOUBT, _DOUBTED * float(np.mean(noise))) * self._total if noise else 0.0
        rho_pick, rho_check, _ = self._reach.priced(self._reach.chance + doubt)
        price = rho_pick + rho_check
        self._left = min(self._left, max(most, _MIN_ROUNDS * price))
        budget = _SEARCH_SHARE * self._left
        records: Dataset | None = None  # of the model before
        while self._affords(price, budget) and among.any() and not run.clock.is_past_limit:
            if model is not None:
                records = _records_of(model, self._reach.rows, records)
            expected = _Expected(candidates, self._start, records, self._reach.rows)
            position = selector.select(expected.sums, weights, among, rho=Fraction(rho_pick))
            signs = candidates.set_at(position)
            centred, unit = self._centred(signs, self._reach.entry_bits(rho_check))
            check = self._ask(Kronecker([Matrix(w[None]) for w in centred.values()]), tuple(centred), rho_check)
            budget -= price
            self._left -= price
            size = abs(float(check.values[0]) - expected.of(centred)) / unit
            off = 0.0 if model is None else _off(model, pairs, centred) / unit ** (2 / len(centred))
            if size < self._reach.chance + math.hypot(doubt, 2 * off, 2 * float(check.stddev) / unit):
                break
            among &= ~candidates.holding(signs)
            if not run.fits([*cliques, *(m.clique for m in self.followed), check.clique]):
                continue
            is_last = not self._affords(2 * price, 2 * budget)
            self.followed += [check, self._measured(signs, size / self._total, sum(noise) / _REST, is_last)]
            model = fit(self.followed, model)
            if run.ended(model):
                break
        return model

    def _affords(self, price: float, budget: float) -> bool:
        """Return whether a selection and a check leave as much for an interaction."""
        return min(budget, min(self._left, float(self._run.table.ledger.remaining())) / 2) >= price

    def _centred(self, signs: Mapping[str, Bits], bits: float) -> tuple[dict[str, NDArray[np.int64]], int]:
        """Return signs less their means, in integers, and the product of 1 for each.

        The sum of products of signs is far from the model's as well where it is wrong about fewer of the attributes,
        and the other signs are mostly alike. That of centred signs is not.
        """
        start, levels = self._start, max(1, int(2 ** (bits / len(signs)) / 2))
        clique = self._run.domain.canonical(tuple(signs))
        means = {a: 1 - 2 * float(start.shares[a][signs[a]].sum() / start.shares[a].sum()) for a in clique}
        centred = {a: np.rint(levels * (1 - 2 * signs[a] - means[a])).astype(np.int64) for a in clique}
        return centred, levels ** len(clique)

    def _noise_of(self, pairs: Sequence[LinearMeasurement]) -> list[float]:
        """Return the total variation that the noise of each pair makes, as a part of the records."""
        return [
            _ABSOLUTE * float(m.stddev) * m.values.size / math.sqrt(m.query.squared_singular_value) / self._total
            for m in pairs
            if isinstance(m.query, Contrasts) and len(m.clique) == 2
        ]

    def _measured(self, signs: Mapping[str, Bits], size: float, of_pairs: float, is_last: bool) -> LinearMeasurement:
        """Measure the interaction of a set in as many groups as leave little noise.

        The set counts as much as the pairs within it. Where w is its part of what is left, its noise A / sqrt(w) and
        that of all pairs, B / sqrt(1 - w), are least at ``w = 1 / (1 + (B / A)^(2/3))``. It gets half of what the
        search has left at most, or all of it where the other half would not pay for more.
        """
        left = float(self._run.table.ledger.remaining())
        most, worth = min(self._left, left / 2) / (1 if is_last else 2), math.comb(len(signs), 2)

        def rho_of(cells: int) -> float:
            noise = worth * _ABSOLUTE * self._run.stddev(left) * cells / self._total
            return min(most, left / (1 + math.pow(of_pairs / noise, POWER)))

        def is_clear(count: int) -> bool:
            cells = math.prod(min(count, self._values[a].size) for a in signs)
            return 3 * _ABSOLUTE * self._run.stddev(rho_of(cells)) * cells <= size * self._total

        count = 2
        while count < _GROUPS and is_clear(count + 1):
            count += 1
        groups = {a: self._grouped(a, sign, count) for a, sign in signs.items()}
        made = math.prod(int(g.max()) + 1 for g in groups.values())
        enough = (self._run.stddev(1.0) * _NOISE * _ABSOLUTE * made / (size * self._total)) ** 2
        rho = min(rho_of(made), enough)
        self._left -= rho
        clique = self._run.domain.canonical(tuple(groups))
        ordered_groups = [groups[a] for a in clique]
        return self._ask(Contrasts([int(g.max()) + 1 for g in ordered_groups], ordered_groups), clique, rho)

    def _grouped(self, attribute: str, sign: Bits, count: int) -> NDArray[np.int64]:
        """Return the groups of an attribute's values, at most `count`, cut where the sign changes."""
        for fewer in range(count, 0, -1):
            groups = np.unique(2 * self._values[attribute].groups(fewer)[0] + sign, return_inverse=True)[1]
            if groups.max() < count:
                break
        return groups.astype(np.int64)

    def _ask(self, query: LinearQuery, clique: Clique, rho: float) -> LinearMeasurement:
        with interrupts_held():
            self.measured.append(self._run.table.measure(clique, query, rho=Fraction(rho)))
        return self.measured[-1]


def _off(model: _Model, pairs: Sequence[LinearMeasurement], weights: Mapping[str, NDArray[np.int64]]) -> float:
    """Return how far a model is from what the pairs of a set say of products of weights, noise included."""
    within = [(m, m.query) for m in pairs if isinstance(m.query, Contrasts) and set(m.clique) <= set(weights)]
    off = 0.0
    for (m, query), table in zip(within, model.project_many([m.clique for m, _ in within]), strict=True):
        first, second = (weights[a].astype(float) for a in m.clique)
        cells = query.rmatvec(m.values - query.matvec(table.datavector())) / query.squared_singular_value
        off += float(first @ cells.reshape(len(first), -1) @ second) ** 2
    return math.sqrt(off)


def _records_of(model: _Model, rows: int, before: Dataset | None) -> Dataset:
    """Return records of a model, from those of the model before if there was one: a set more moves few of them."""
    return model.synthetic_data(rows, _SEED) if before is None else model._records_near(before, _SEED)


class _Expected:
    """Sums that a model expects, by its records; of an independent model by its means."""

    def __init__(self, candidates: Candidates, start: Independent, records: Dataset | None, rows: int) -> None:
        self._start, self._columns = start, None if records is None else records.columns
        self._scale = start.total / rows
        signs, sets = candidates.signs, candidates.sets
        if self._columns is not None:
            self.sums: NDArray[Any] = sign_sums(signs, sets, self._columns) * self._scale
        else:
            means = np.concatenate([(1.0 - 2 * s) @ start.shares[a] for a, s in signs.items()])
            self.sums = start.total * np.concatenate([means[one].prod(axis=1) for one in sets])

    def of(self, weights: Mapping[str, NDArray[np.int64]]) -> float:
        """Return the expected sum of the product of values' weights."""
        if self._columns is None:
            return self._start.total * math.prod(float(w @ self._start.shares[a]) for a, w in weights.items())
        products = np.prod([w[self._columns[a]] for a, w in weights.items()], axis=0)
        return float(products.sum()) * self._scale


def with_sets(
    run: Run,
    known: Sequence[LinearMeasurement],
    sets: Sequence[LinearMeasurement],
    model: _Model,
) -> _Model:
    """Return the model that explains sets beside what a model says of all else.

    An estimate stops where it would follow noise, by all answers together. Strong interactions would keep it going, and
    it would follow the noise of pairs: so pairs are estimated first, to their own stop. What their model says has no
    noise, so it is not thinned: else the estimate would stop before it came back to single attributes and pairs, which
    each step towards a set moves.
    """
    tables = model.project_many([m.clique for m in known])
    said = [
        LinearMeasurement(m.linear_map.matvec(t.datavector()), m.clique, m.stddev, m.query, not_private=m.not_private)
        for m, t in zip(known, tables, strict=True)
    ]
    everything = [*run.given, *said, *sets]
    rough = run.fit(everything, model, trial=[*thinned(run.given, None), *said, *thinned(sets, None)])
    pace = pace_of(rough)
    return rough if pace is None or run.ended(rough) else run.fit(everything, model, pace=pace)
