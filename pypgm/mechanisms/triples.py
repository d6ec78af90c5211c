"""Triples in bulk, where noise in pairs is below that of sampling: a screen of all of them, and answers to many."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pypgm.errors import ModelTooLargeError
from pypgm.mechanisms.pair_allocation import cheapest, hidden, share_seen
from pypgm.mechanisms.pair_dependence import DISTANCES, Dependence, by_chance, likely_distances, screened
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

# Chosen on made-up functions, chains, rare classes and networks, titanic and adult, epsilon 10; see bench/README.md.
_MOST_SPARED = 0.75  # of the budget of pairs
_LEAST_SPARED = 0.1  # of the budget of pairs, below which triples are not worth the time
_SCREEN_SHARE = 0.2  # of what is spared, at most
_MOST_CELLS = 1 << 16  # of all triples that are asked: records follow many that contradict each other badly
_ATTRIBUTES = 27  # with 2,925 triples
_LOOKED_AT = 1 << 22  # cells of all triples that are screened
_IN_A_SUM = 10  # records in a sum that is screened, on average ...
_FEW_GROUPS = 16  # ... of at most so many groups an attribute
_GROUPS = (2.0, 3.0, 4.0, 6.0, 8.0, 12.0, math.inf)  # of each attribute of a triple that is asked
_NOISES = 2.0 ** (np.arange(-12, 13) / 2)  # possible noise of a triple, as a multiple of equal noise in all of them
_SMALL = 1e-9  # least expected count of a cell


def spared(
    run: Run,
    model: _Model,
    rho: float,
    *,
    weights: Mapping[Clique, float],
    resolutions: Mapping[Clique, Resolution],
    parts: Sequence[float],
) -> float:
    """Return what the pairs can spare of a budget: with the rest they have as much noise as a sample of the records.

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
    pairs, total, whole = list(resolutions), float(model.total), math.fsum(parts)
    noise = chance = 0.0
    for pair, part, table in zip(pairs, parts, model.project_many(pairs), strict=True):
        how = resolutions[pair]
        sums = how.query.matvec(np.maximum(table.datavector(), _SMALL))
        stddev = run.stddev(rho * part / whole / contrasts_cost(run.table.privacy, how.sizes))
        noise += weights[pair] * float(hidden(sums, np.array([stddev]))[0])
        chance += weights[pair] * by_chance(sums, total)
    share = min(_MOST_SPARED, 1 - (noise / chance) ** 2)  # noise falls as the root of the budget
    return share * rho if share >= _LEAST_SPARED else 0.0


class _Way(NamedTuple):
    """Groups of the values of each attribute of a triple, and their numbers."""

    groups: tuple[NDArray[np.int64], ...]
    sizes: tuple[int, ...]

    @property
    def sums(self) -> Partition:
        return Partition(np.ravel_multi_index(np.ix_(*self.groups), self.sizes).ravel())


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
        rho: float,
        screen: Fraction,
        *,
        weights: Mapping[Clique, float],
        beside: Sequence[Clique],
    ) -> list[LinearMeasurement]:
        """Screen the triples and measure those that tell, for at most rho; what they are not worth stays.

        Parameters
        ----------
        model : model
            That the triples are compared with.
        rho : float
            The budget.
        screen : Fraction
            The part of it for the screen, at most.
        weights : mapping of clique to float
            Weight of the error of each pair; a triple counts as much as its pairs.
        beside : sequence of clique
            Those that the estimate explains besides, which must leave memory for it.
        """
        tables = [np.maximum(t.datavector(), _SMALL) for t in model.project_many(self.cliques)]
        screen = min(screen, Fraction(_SCREEN_SHARE * rho))
        rho -= float(screen)
        dependences = self._screened(tables, screen)
        worth = np.array([math.fsum(weights.get(p, 0.0) for p in itertools.combinations(t, 2)) for t in self.cliques])
        levels = self._run.stddev(rho / len(self.cliques)) * _NOISES
        ways = [self._ways(t) for t in self.cliques]
        risks = np.full((len(ways), 1 + len(_GROUPS) * len(levels)), np.inf)
        prices = np.full_like(risks, np.inf)
        risks[:, 0], prices[:, 0] = [d.error for d in dependences], 0.0
        for i, (table, of_triple) in enumerate(zip(tables, dependences, strict=True)):
            for j, way in enumerate(ways[i]):
                at = slice(1 + j * len(levels), 1 + (j + 1) * len(levels))
                risks[i, at] = self._left(self.cliques[i], way, table, of_triple, levels)
                prices[i, at] = (
                    contrasts_cost(self._run.table.privacy, way.sizes) * (self._run.stddev(1.0) / levels) ** 2
                )
        risks *= worth[:, None]
        kept = self._few_cells(risks, cheapest(risks, prices, rho))
        chosen = cheapest(risks[kept], prices[kept], rho) if kept.size else np.zeros(0, np.int64)
        asked = [(int(i), int(k)) for i, k in zip(kept, chosen, strict=True) if k > 0]
        cliques = [self.cliques[i] for i, _ in asked]
        if not asked or not self._fits([*beside, *cliques]):
            return []
        picked = [ways[i][(k - 1) // len(levels)] for i, k in asked]
        costs = [float(prices[i, k]) for i, k in asked]
        queries = [self._query(c, way) for c, way in zip(cliques, picked, strict=True)]
        return self._run.table.measure_many(cliques, queries, rho=Fraction(min(rho, math.fsum(costs))), weights=costs)

    def _screened(self, tables: Sequence[Array], rho: Fraction) -> list[Dependence]:
        """Return the likely distances of the triples from what the model expects of them, by one noisy screen."""
        count = min(_FEW_GROUPS, max(2.0, (self._total / _IN_A_SUM) ** (1 / 3)))
        sums: dict[Clique, Partition] = {t: self._way(t, count).sums for t in self.cliques}
        expected: dict[Clique, Array] = {t: sums[t].matvec(v) for t, v in zip(self.cliques, tables, strict=True)}
        scores, stddev = screened(self._run, self.cliques, expected.__getitem__, rho, sums.__getitem__)
        chance = np.array([by_chance(expected[t], self._total) for t in self.cliques])
        likely = likely_distances(scores / (2 * self._total), chance, stddev / (2 * self._total))
        return [Dependence(DISTANCES, q, by_chance(t, self._total)) for q, t in zip(likely, tables, strict=True)]

    def _way(self, triple: Clique, count: float) -> _Way:
        groups = tuple(self._values[a].groups(count)[0] for a in triple)
        return _Way(groups, tuple(int(g.max()) + 1 for g in groups))

    def _ways(self, triple: Clique) -> list[_Way]:
        """Return the ways to group the values of a triple, each once, at least two groups of each attribute."""
        ways = {way.sizes: way for way in (self._way(triple, count) for count in _GROUPS)}
        return [way for sizes, way in ways.items() if min(sizes) > 1]

    def _query(self, triple: Clique, way: _Way) -> Contrasts:
        is_whole = way.sizes == self._run.domain.sizes(triple)
        return whole_contrasts(way.sizes) if is_whole else Contrasts(way.sizes, way.groups)

    def _left(self, triple: Clique, way: _Way, table: Array, dependence: Dependence, levels: Array) -> Array:
        """Return the error left in a triple at several noises, as `PairAllocation` forecasts that of a pair."""
        values = [self._values[a] for a in triple]
        part = share_seen(values, way.sizes, [a in self._ordered for a in triple])
        is_whole = np.array(way.sizes == self._run.domain.sizes(triple))
        signal, rest = dependence.split(np.array(part), is_whole)
        noise = np.square(hidden(way.sums.matvec(table), levels))[:, None]
        return dependence.mean(np.sqrt(rest + signal * noise / (signal + noise)))

    def _few_cells(self, risks: Array, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the triples to ask: those that gain most for the size of their tables, as many as are not too many."""
        cells = np.array([self._run.domain.size(t) for t in self.cliques])
        gain = (risks[:, 0] - risks[np.arange(len(chosen)), chosen]) / cells
        best = np.argsort(-gain, kind="stable")
        return np.sort(best[(np.cumsum(cells[best]) <= _MOST_CELLS) & (gain[best] > 0)])

    def _fits(self, cliques: Sequence[Clique]) -> bool:
        try:
            self._run.check_fits(cliques)
        except ModelTooLargeError:
            return False
        return True
