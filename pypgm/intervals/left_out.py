"""Cross-validated predictions of pairs: how far each is from what a model without its answers predicts.

The pairs are dealt into folds; a model of the answers of all other folds predicts those of one (`_tables`). How far
answers are from that, beyond their noise, tells the size of dependence that nobody measured.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm.estimation.measurement import LinearMeasurement
from pypgm.intervals.polya_tree import PolyaTree
from pypgm.intervals.scales import TAUS, PairAnswer, PairTable, Side, joined, pair_answers
from pypgm.models import estimate
from pypgm.models.estimated_again import recipe_of
from pypgm.models.hidden_dependence import hiding_noise
from pypgm.queries import Contrasts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.domain import Clique, Domain
    from pypgm.models.model import Model

_FOLDS = 4  # of the measured pairs: each is predicted by a model of the others' answers
_MOST = 20_000  # cells of a pair at most
_EVEN = 0.3  # of the prior over sizes of effects: uniform, so that none is ruled out
_LEAST = 2  # index of the smallest size that is believed
_STEPS = 30  # of expectation maximisation
_ROUNDED = 0.25  # variance of what an estimate rounded


class LeftOut:
    """What measured pairs say of predictions that have not seen them.

    Parameters
    ----------
    model : Model
        Of a release; all it needs are its measurements.
    ordinal : collection of str
        Attributes whose neighbouring codes are alike.
    n_threads : int
        0 for all threads.
    released : sequence of LinearMeasurement
        All answers, of which the model's may be sums.

    Attributes
    ----------
    sides : dict of str to Side
        What is known of each attribute that inference runs on.
    noise : float
        Of a sum that an answer about several attributes has.
    whole : list of set of str
        Three attributes or more each cell of which was measured.
    """

    def __init__(
        self, model: Model[Any], ordinal: Collection[str], n_threads: int, released: Sequence[LinearMeasurement]
    ) -> None:
        self._model, self._domain = model, model.folding.inner
        measurements = [m.ordered(self._domain) for m in recipe_of(model).measurements]
        self.noise = hiding_noise(measurements)
        self.whole = [set(m.clique) for m in measurements if len(m.clique) > 2 and m.linear_map.is_identity]
        ones = model.project_many([(a,) for a in self._domain], n_threads=n_threads)
        noise = _noise_of_attributes(self._domain, measurements)
        self.sides = {}
        for a, table in zip(self._domain, ones, strict=True):
            counts = np.maximum(table.datavector(), 1e-6)
            order = np.arange(counts.size) if a in ordinal else np.argsort(-counts, kind="stable")
            self.sides[a] = Side(counts, noise[a][0], np.argsort(order), noise[a][1])
        self._told = [*(m for m in released if len(m.clique) == 1), *(m for m in measurements if len(m.clique) > 1)]
        self._trees: dict[tuple[str, int], PolyaTree | None] = {}
        self._measurements, self._n_threads = measurements, n_threads

    @cached_property
    def pairs(self) -> dict[Clique, PairTable]:
        """Of each measured pair, in the order of the domain: what takes estimates that one attribute needs none of."""
        return self._tables(self._measurements, self._n_threads)

    @cached_property
    def _sizes(self) -> tuple[NDArray[np.float64], dict[Clique, NDArray[np.float64]]]:
        """How likely each size of effects is, of any pair and of measured ones."""
        likelihoods, prior = self._likelihoods(), np.full(TAUS.size, 1 / TAUS.size)
        for _ in range(_STEPS if self.pairs else 0):  # empirical Bayes: how sizes of effects vary over pairs
            joint = likelihoods * prior
            # A Dirichlet distribution of ones is before it: a few pairs tell little of others.
            prior = (1 + (joint / joint.sum(axis=1, keepdims=True)).sum(axis=0)) / (TAUS.size + len(joint))
        prior = (1 - _EVEN) * prior + _EVEN / TAUS.size
        joint = likelihoods * prior
        return prior, dict(zip(self.pairs, joint / joint.sum(axis=1, keepdims=True), strict=True))

    def size(self, pair: Clique | None, rng: np.random.Generator) -> int:
        """Return a drawn size of effects, an index of `TAUS`: of a measured pair, or of any."""
        of_any, of_measured = self._sizes
        weights = of_any if pair is None else of_measured[pair]
        return max(_LEAST, int(rng.choice(TAUS.size, p=weights)))

    def polya_tree(self, attribute: str, more: float = 0.0) -> PolyaTree | None:
        """Return the distribution of the counts of an attribute's values, where answers tell of each.

        What contrasts or an answer of each say of a rare value depends on how many records there are, `more` than the
        model has: of as many more as move a value by half of its noise there is another.
        """
        side = self.sides[attribute]
        step = side.counts.size * float(np.sqrt(np.median(side.variances))) / 2
        key = attribute, round(more / step) if step else 0
        if key not in self._trees:
            told = [m for m in self._told if attribute in m.clique]
            total = max(1.0, float(side.counts.sum()) + key[1] * step)
            self._trees[key] = _tree_of(self._domain, attribute, side.ranks, told, total)
        return self._trees[key]

    def _tables(self, measurements: list[LinearMeasurement], n_threads: int) -> dict[Clique, PairTable]:
        """Predict each pair by a model of the answers that do not hold it, a fold of the pairs at a time."""
        answers: dict[Clique, list[PairAnswer]] = {}
        for m in measurements:
            for pair, answer in pair_answers(self._domain, m):
                answers.setdefault(pair, []).append(answer)
        small = [p for p, own in answers.items() if _cells(own) <= _MOST]
        folds = np.random.default_rng(0).permutation(len(small)) % _FOLDS
        found = {}
        for fold in range(_FOLDS):
            out = [p for p, own in zip(small, folds, strict=True) if own == fold]
            if not out:
                continue
            kept = [m for m in measurements if not any(set(p) <= set(m.clique) for p in out)]
            rest = self._estimate([*kept, *self._alone(kept)], n_threads)
            for pair, table in zip(out, rest.project_many(out, n_threads=n_threads), strict=True):
                found[pair] = PairTable(answers[pair], table.values, [self.sides[a] for a in pair])
        return {p: found[p] for p in small}

    def _alone(self, kept: list[LinearMeasurement]) -> list[LinearMeasurement]:
        """Return the counts of attributes that are in no answer that was kept: a pair is predicted from its margins."""
        asked = {a for m in kept for a in m.clique}
        return [
            LinearMeasurement(side.counts, a, stddev=math.sqrt(float(side.variances.mean()) + _ROUNDED))
            for a, side in self.sides.items()
            if a not in asked
        ]

    def _estimate(self, kept: list[LinearMeasurement], n_threads: int) -> Model[Any]:
        domain, total, zeros = self._model.domain, max(float(self._model.total), 1.0), self._model.constraints
        # Largest entropy where nothing is known: what a pair depends on is left to its own answers.
        return estimate(domain, kept, total, oracle="region_graph", constraints=zeros or None, n_threads=n_threads)

    def _likelihoods(self) -> NDArray[np.float64]:
        """Return those of each pair's answers for each size of effects, up to a factor."""
        logs = np.array([table.log_likelihoods for table in self.pairs.values()]).reshape(-1, TAUS.size)
        return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf)))


def _tree_of(
    domain: Domain, attribute: str, ranks: NDArray[np.intp], tellers: Sequence[LinearMeasurement], total: float
) -> PolyaTree | None:
    """Return how records are shared among an attribute's values by all answers that tell of each, if any do."""
    size = ranks.size
    precisions, sums = np.zeros(size), np.zeros(size)
    for m in tellers:
        query, axis = m.linear_map, m.clique.index(attribute)
        if query.is_identity and m.values.size == domain.size(m.clique):
            shape, others = domain.sizes(m.clique), tuple(i for i in range(len(m.clique)) if i != axis)
            noise = np.broadcast_to(np.square(m.spread()), (m.values.size,))
            found, variances = (np.reshape(own, shape).sum(axis=others) for own in (m.values, noise))
        elif isinstance(query, Contrasts) and query.sizes == (size,):
            gain = query.squared_singular_value
            found, variances = query.rmatvec(m.values) / gain + total / size, np.mean(m.spread()) ** 2 / gain
        else:
            continue
        precisions, sums = precisions + 1 / variances, sums + found / variances
    if size < 2 or not precisions.all():
        return None
    return PolyaTree(sums / precisions, 1 / precisions, ranks, total)


def _cells(answers: list[PairAnswer]) -> int:
    return math.prod(int(joined([a.groups[i] for a in answers]).max()) + 1 for i in (0, 1))


def _noise_of_attributes(
    domain: Domain, measurements: list[LinearMeasurement]
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.intp]]]:
    """Return for each attribute the variances of the noise of its values, and the groups that they were measured in.

    Those of its own answers; where it has none, of sums of tables.
    """
    own: dict[str, NDArray[np.float64]] = {}
    sums: dict[str, NDArray[np.float64]] = {}
    groups: dict[str, list[NDArray[np.intp]]] = {}
    for m in measurements:
        query, spread = m.linear_map, m.spread()
        if len(m.clique) == 1 and isinstance(query, Contrasts):
            (size,) = query.sizes
            found = np.full(size, query.squared_singular_value / (1 - 1 / size) * float(np.mean(spread)) ** -2.0)
            parts = np.arange(size)
        elif len(m.clique) == 1 and query.groups is not None:
            parts = np.asarray(query.groups, dtype=np.intp)
            found = np.bincount(parts)[parts] / np.square(np.broadcast_to(spread, query.shape[0]))[parts]
        else:
            if query.is_identity:
                for a in m.clique:
                    found = np.full(domain.size((a,)), float(np.mean(spread)) ** -2.0)
                    sums[a] = sums.get(a, 0.0) + found * found.size / query.shape[1]
            continue
        (a,) = m.clique
        own[a] = own.get(a, 0.0) + found
        groups.setdefault(a, []).append(parts)
    precisions = sums | own
    told = {}
    for a in domain:
        whole = np.arange(domain.size((a,)))
        variances = 1 / precisions[a] if a in precisions else np.zeros(whole.size)
        told[a] = variances, joined(groups.get(a, [whole]))
    return told
