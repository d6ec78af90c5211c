"""Triples in bulk, where noise in pairs is below that of sampling: a screen of all of them, and answers to many."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pypgm.estimation.pair_screen import DISTANCES, likely_distances
from pypgm.mechanisms.pair_allocation import cheapest, hidden, hidden_each
from pypgm.mechanisms.pair_dependence import Dependence, by_chance, noisy_distances
from pypgm.mechanisms.pair_forecasts import share_seen
from pypgm.mechanisms.resolution import Values, contrasts_cost, whole_contrasts
from pypgm.queries import Contrasts, Partition

if TYPE_CHECKING:
    from pypgm.domain import Clique
    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.resolution import Resolution
    from pypgm.mechanisms.run import Run
    from pypgm.models import GraphicalModel, RegionGraphModel

    _Model: TypeAlias = GraphicalModel | RegionGraphModel

Array = NDArray[np.float64]

# Chosen on made-up functions, chains, rare classes and networks, titanic and adult, epsilon 10; see docs/mechanisms.md.
_MOST_SPARED = 0.75  # of the budget of pairs
_PARTS = 0.0, 0.25, 0.5, 0.75, 1.0  # of what pairs can spare: possible budgets of triples
_LEAST_SPARED = 0.1  # of the budget of pairs, below which triples are not worth the time
SCREEN_SHARE = 0.2  # of what is spared, at most
_MOST_CELLS = 1 << 16  # of all triples that are asked: records follow many that contradict each other badly
_ATTRIBUTES = 27  # with 2,925 triples
_LOOKED_AT = 1 << 18  # cells of all triples that are screened: an engine sends 16 bytes for each
_IN_A_SUM = 10  # records in a sum that is screened, on average ...
_FEW_GROUPS = 16  # ... of at most so many groups an attribute
_GROUPS = (2.0, 3.0, 4.0, 6.0, 8.0, 12.0, math.inf)  # of each attribute of a triple that is asked
_NOISES = 2.0 ** (np.arange(-12, 13) / 2)  # possible noise of a triple, as a multiple of equal noise in all of them
_LEAST_COUNT = 1e-9  # least expected count of a cell


class Spare(NamedTuple):
    """Budget of the pairs, what they can spare of it, and the total variation that noise makes in a pair with all."""

    whole: float
    most: float
    noise: float


def spared(
    run: Run,
    model: _Model,
    rho: float,
    *,
    weights: Mapping[Clique, float],
    resolutions: Mapping[Clique, Resolution],
    parts: Sequence[float],
) -> Spare | None:
    """Return what the pairs can spare of a budget: with the rest they have no more noise than a sample of the records.

    Parameters
    ----------
    model : model
        That says how many records each cell has.
    rho : float
        The budget.
    weights : mapping of clique to float
        Weight of the error of each pair.
    resolutions : mapping of clique to Resolution
        The pairs that are measured, and how.
    parts : sequence of float
        Part of rho for each of them, up to a factor.
    """
    pairs, total, whole, unit = list(resolutions), float(model.total), math.fsum(parts), run.stddev(rho)
    of_size: dict[int, list[tuple[Array, float, float]]] = defaultdict(list)
    for pair, part, table in zip(pairs, parts, model.project_many(pairs), strict=True):
        how = resolutions[pair]
        sums = how.query.matvec(np.maximum(table.datavector(), _LEAST_COUNT))
        cost = contrasts_cost(run.table.privacy, how.sizes)
        of_size[sums.size].append((sums, unit * math.sqrt(cost * whole / part), weights[pair]))
    noise = chance = 0.0
    for alike in of_size.values():
        sums, stddevs, worth = map(np.array, zip(*alike, strict=True))
        noise += float(worth @ hidden_each(sums, stddevs))
        chance += float(worth @ by_chance(sums, total))
    share = min(_MOST_SPARED, 1 - (noise / chance) ** 2)  # noise falls as the root of the budget
    return Spare(rho, share * rho, noise / math.fsum(weights[p] for p in pairs)) if share >= _LEAST_SPARED else None


class _Grouping(NamedTuple):
    """Groups of the values of each attribute of a triple, and their numbers."""

    groups: tuple[NDArray[np.int64], ...]
    sizes: tuple[int, ...]

    @property
    def free(self) -> float:
        """Part of the noise in sums, or of chance, that is left where the pairs are known: of degrees of freedom."""
        return math.sqrt(math.prod(1 - 1 / n for n in self.sizes))


class Triples:
    """Triples to be screened against a model of the pairs, and to be asked for the interaction of their attributes.

    Where there are many attributes, the triples are of those whose pairs are worth most, and of few cells.

    Parameters
    ----------
    run : Run
    start : Independent
        Model of single attributes, from which groups follow.
    ordered : collection of str
        Attributes whose neighbouring codes are alike.
    worth : mapping of clique to float
        What each pair is worth.
    within : sequence of clique, optional
        Marginals of a workload: each triple is within one of these. By default there are triples of all attributes.

    Attributes
    ----------
    cliques : list of clique
    """

    def __init__(
        self,
        run: Run,
        start: Independent,
        ordered: Collection[str],
        worth: Mapping[Clique, float],
        within: Sequence[Clique] | None,
    ) -> None:
        self._run, self._total, self._ordered = run, start.total, ordered
        self._known_sums: dict[tuple[object, ...], Partition] = {}
        self._values = {a: Values(shares, a in ordered) for a, shares in start.shares.items()}
        domain, of = run.domain, dict.fromkeys((a for a in run.domain if run.domain.size((a,)) > 1), 0.0)
        for attribute, gain in ((a, gain) for pair, gain in worth.items() for a in pair):
            of[attribute] += gain
        among = set(sorted(of, key=lambda a: -of[a])[:_ATTRIBUTES])
        larger = (domain.canonical(c) for c in ([domain.attributes] if within is None else within))
        triples = dict.fromkeys(t for c in larger for t in itertools.combinations([a for a in c if a in among], 3))
        small = sorted(triples, key=domain.size)
        cells = np.cumsum([domain.size(t) for t in small])
        self.cliques: list[Clique] = [
            t for t, n in zip(small, cells, strict=True) if n <= _LOOKED_AT and domain.size(t) <= _MOST_CELLS
        ]

    def measured(
        self,
        model: _Model,
        spare: Spare,
        screen: Fraction,
        *,
        weights: Mapping[Clique, float],
        beside: Sequence[Clique],
    ) -> list[LinearMeasurement]:
        """Screen the triples and measure those that tell, with what pairs can spare; what is not worth it stays theirs.

        Parameters
        ----------
        model : model
            That the triples are compared with.
        spare : Spare
            What pairs can spare.
        screen : Fraction
            The part of it for the screen.
        weights : mapping of clique to float
            Weight of the error of each pair; a triple counts as much as its pairs.
        beside : sequence of clique
            Those that the estimate explains besides, which must leave memory for it.
        """
        tables = [np.maximum(t.datavector(), _LEAST_COUNT) for t in model.project_many(self.cliques)]
        dependences = self._screened(tables, screen)
        worth = np.array([math.fsum(weights.get(p, 0.0) for p in itertools.combinations(t, 2)) for t in self.cliques])
        groupings = [self._groupings(t) for t in self.cliques]
        levels = self._run.stddev(spare.most / len(self.cliques)) * _NOISES
        risks, prices = self._forecasts(groupings, levels, tables, dependences)
        chosen = self._best(spare, float(screen), worth, risks, prices)
        positions = np.flatnonzero(chosen).tolist()
        cliques = [self.cliques[i] for i in positions]
        if not cliques or not self._run.fits([*beside, *cliques]):
            return []
        queries = [self._query(self.cliques[i], groupings[i][(chosen[i] - 1) // len(levels)]) for i in positions]
        costs = [float(prices[i, chosen[i]]) for i in positions]
        return self._run.table.measure_many(cliques, queries, rho=Fraction(math.fsum(costs)), weights=costs)

    def _forecasts(
        self,
        groupings: Sequence[list[_Grouping]],
        levels: Array,
        tables: Sequence[Array],
        dependences: Sequence[Dependence],
    ) -> tuple[Array, Array]:
        """Return the error left in each triple and its price: not asked, then each grouping at all noises."""
        risks = np.full((len(groupings), 1 + len(_GROUPS) * len(levels)), np.inf)
        prices = np.full_like(risks, np.inf)
        risks[:, 0], prices[:, 0] = [d.error for d in dependences], 0.0
        units = (self._run.stddev(1.0) / levels) ** 2
        for i, (table, of_triple) in enumerate(zip(tables, dependences, strict=True)):
            for j, grouping in enumerate(groupings[i]):
                at = slice(1 + j * len(levels), 1 + (j + 1) * len(levels))
                risks[i, at] = self._left(self.cliques[i], grouping, table, of_triple, levels)
                prices[i, at] = contrasts_cost(self._run.table.privacy, grouping.sizes) * units
        return risks, prices

    def _best(self, spare: Spare, screen: float, worth: Array, risks: Array, prices: Array) -> NDArray[np.int64]:
        """Choose how to ask each triple, 0 for not at all, with the part of what is spared that leaves least error.

        The pairs of a triple err as well, the more the less budget they have.
        """
        least, best = np.inf, np.zeros(len(worth), np.int64)
        for part in _PARTS:
            rho = part * spare.most
            chosen = self._chosen(worth, risks, prices, rho - screen) if rho > screen else np.zeros_like(best)
            left = risks[np.arange(len(chosen)), chosen]
            error = float(worth @ np.hypot(left, spare.noise * math.sqrt(3 * spare.whole / (spare.whole - rho))))
            if error < least:
                least, best = error, chosen
        return best

    def _screened(self, tables: Sequence[Array], rho: Fraction) -> list[Dependence]:
        """Return the likely distances of the triples from what the model expects of them, by one noisy screen."""
        count = min(_FEW_GROUPS, max(2.0, (self._total / _IN_A_SUM) ** (1 / 3)))
        groupings = {t: self._grouping(t, count) for t in self.cliques}
        sums: dict[Clique, Partition] = {t: self._sums(grouping) for t, grouping in groupings.items()}
        expected: dict[Clique, Array] = {t: sums[t].matvec(v) for t, v in zip(self.cliques, tables, strict=True)}
        scores, stddev = noisy_distances(self._run, self.cliques, expected.__getitem__, rho, sums.__getitem__)
        chance = np.array([groupings[t].free * float(by_chance(expected[t], self._total)) for t in self.cliques])
        likely = likely_distances(scores / (2 * self._total), chance, stddev / (2 * self._total))
        whole = [
            self._grouping(t, math.inf).free * float(by_chance(v, self._total))
            for t, v in zip(self.cliques, tables, strict=True)
        ]
        return [Dependence(DISTANCES, q, c) for q, c in zip(likely, whole, strict=True)]

    def _grouping(self, triple: Clique, count: float) -> _Grouping:
        groups = tuple(self._values[a].groups(count)[0] for a in triple)
        return _Grouping(groups, tuple(int(g.max()) + 1 for g in groups))

    def _groupings(self, triple: Clique) -> list[_Grouping]:
        """Return the possible groupings of a triple, each once, at least two groups of each attribute."""
        groupings = {grouping.sizes: grouping for grouping in (self._grouping(triple, count) for count in _GROUPS)}
        return [grouping for sizes, grouping in groupings.items() if min(sizes) > 1]

    def _sums(self, grouping: _Grouping) -> Partition:
        """Return the sums over groups: one query for all triples whose values are grouped alike."""
        alike = (grouping.sizes, *(g.tobytes() for g in grouping.groups))
        if alike not in self._known_sums:
            cells = np.ravel_multi_index(np.ix_(*grouping.groups), grouping.sizes).ravel()
            self._known_sums[alike] = Partition(cells)
        return self._known_sums[alike]

    def _query(self, triple: Clique, grouping: _Grouping) -> Contrasts:
        is_whole = grouping.sizes == self._run.domain.sizes(triple)
        return whole_contrasts(grouping.sizes) if is_whole else Contrasts(grouping.sizes, grouping.groups)

    def _left(self, triple: Clique, grouping: _Grouping, table: Array, dependence: Dependence, levels: Array) -> Array:
        """Return the error left in a triple at several noises, as `PairAllocation` forecasts that of a pair."""
        sizes = self._run.domain.sizes(triple)
        part = share_seen(grouping.sizes, sizes, [a in self._ordered for a in triple])
        is_whole = np.array(grouping.sizes == sizes)
        signal, rest = dependence.split(part, is_whole)
        noise = np.square(hidden(self._sums(grouping).matvec(table), grouping.free * levels))[:, None]
        return dependence.mean(np.sqrt(rest + signal * noise / (signal + noise)))

    def _chosen(self, worth: Array, risks: Array, prices: Array, rho: float) -> NDArray[np.int64]:
        """Choose how to ask each triple, 0 for not at all: those that gain most for the size of their tables."""
        weighted, rows = worth[:, None] * risks, np.arange(len(worth))
        chosen, cells = cheapest(weighted, prices, rho), np.array([self._run.domain.size(t) for t in self.cliques])
        gain = (weighted[:, 0] - weighted[rows, chosen]) / cells
        best = np.argsort(-gain, kind="stable")
        weighted[best[np.cumsum(cells[best]) > _MOST_CELLS], 1:] = np.inf
        return cheapest(weighted, prices, rho)
