"""Cross-validated predictions of pairs: the distance of each from the prediction of a model without its answers.

The pairs are dealt into folds; a model of the answers of all other folds predicts those of one (`_tables`). The
distance of answers from it, beyond their noise, estimates the size of unmeasured dependence.
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
_MAX_CELLS = 20_000  # cells of a pair at most
_EVEN = 0.3  # of the prior over sizes of effects: uniform, so that none is ruled out
_MIN_SIZE = 2  # index of the smallest size of effects
_STEPS = 30  # of expectation maximisation
_ROUNDED = 0.25  # variance of rounding in an estimate


class CrossValidatedPairs:
    """Measured pairs beside predictions made without their answers.

    Parameters
    ----------
    model : Model
        Model of a release; only its measurements are used.
    ordinal : collection of str
        Attributes whose neighbouring codes are alike.
    n_threads : int
        0 for all threads.
    released : sequence of LinearMeasurement
        All answers; those of the model may be sums of them.

    Attributes
    ----------
    sides : dict of str to Side
        Counts and noise of each attribute that inference runs on.
    noise : float
        Standard deviation of the noise in a sum of an answer about several attributes.
    whole : list of set of str
        Sets of three or more attributes of which each cell was measured.
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
        self._answers = [*(m for m in released if len(m.clique) == 1), *(m for m in measurements if len(m.clique) > 1)]
        self._trees: dict[tuple[str, int], PolyaTree | None] = {}
        self._measurements, self._n_threads = measurements, n_threads

    @cached_property
    def pairs(self) -> dict[Clique, PairTable]:
        """Tables of the measured pairs, in the order of the domain; single attributes need no such estimates."""
        return self._tables(self._measurements, self._n_threads)

    @cached_property
    def _sizes(self) -> tuple[NDArray[np.float64], dict[Clique, NDArray[np.float64]]]:
        """Probabilities of each size of effects: for any pair, and for each measured one."""
        likelihoods, prior = self._likelihoods(), np.full(TAUS.size, 1 / TAUS.size)
        for _ in range(_STEPS if self.pairs else 0):  # empirical Bayes: how sizes of effects vary over pairs
            joint = likelihoods * prior
            # A Dirichlet prior of ones: a few pairs say little about others.
            prior = (1 + (joint / joint.sum(axis=1, keepdims=True)).sum(axis=0)) / (TAUS.size + len(joint))
        prior = (1 - _EVEN) * prior + _EVEN / TAUS.size
        joint = likelihoods * prior
        return prior, dict(zip(self.pairs, joint / joint.sum(axis=1, keepdims=True), strict=True))

    def size(self, pair: Clique | None, rng: np.random.Generator) -> int:
        """Return a drawn size of effects, an index of `TAUS`: of a measured pair, or of any."""
        of_any, of_measured = self._sizes
        weights = of_any if pair is None else of_measured[pair]
        return max(_MIN_SIZE, int(rng.choice(TAUS.size, p=weights)))

    def polya_tree(self, attribute: str, more: float = 0.0) -> PolyaTree | None:
        """Return the distribution of the counts of an attribute's values, where there is an answer about each.

        Counts of rare values depend on the number of records, `more` than the model has: there is a distribution
        for each number of records that moves a value by half of its noise.
        """
        side = self.sides[attribute]
        step = side.counts.size * float(np.sqrt(np.median(side.variances))) / 2
        key = attribute, round(more / step) if step else 0
        if key not in self._trees:
            answers = [m for m in self._answers if attribute in m.clique]
            total = max(1.0, float(side.counts.sum()) + key[1] * step)
            self._trees[key] = _tree_of(self._domain, attribute, side.ranks, answers, total)
        return self._trees[key]

    def _tables(self, measurements: list[LinearMeasurement], n_threads: int) -> dict[Clique, PairTable]:
        """Predict each pair by a model of the answers that do not contain it, a fold of the pairs at a time."""
        answers: dict[Clique, list[PairAnswer]] = {}
        for m in measurements:
            for pair, answer in pair_answers(self._domain, m):
                answers.setdefault(pair, []).append(answer)
        small = [pair for pair, about in answers.items() if _cells(about) <= _MAX_CELLS]
        folds = np.random.default_rng(0).permutation(len(small)) % _FOLDS
        predicted = {}
        for fold in range(_FOLDS):
            out = [pair for pair, its_fold in zip(small, folds, strict=True) if its_fold == fold]
            if not out:
                continue
            kept = [m for m in measurements if not any(set(p) <= set(m.clique) for p in out)]
            rest = self._estimate([*kept, *self._alone(kept)], n_threads)
            for pair, table in zip(out, rest.project_many(out, n_threads=n_threads), strict=True):
                predicted[pair] = PairTable(answers[pair], table.values, [self.sides[a] for a in pair])
        return {p: predicted[p] for p in small}

    def _alone(self, kept: list[LinearMeasurement]) -> list[LinearMeasurement]:
        """Return the counts of attributes that no kept answer is about: a pair is predicted from its margins."""
        answered = {a for m in kept for a in m.clique}
        return [
            LinearMeasurement(side.counts, a, stddev=math.sqrt(float(side.variances.mean()) + _ROUNDED))
            for a, side in self.sides.items()
            if a not in answered
        ]

    def _estimate(self, kept: list[LinearMeasurement], n_threads: int) -> Model[Any]:
        domain, total, zeros = self._model.domain, max(float(self._model.total), 1.0), self._model.constraints
        # Maximum entropy where nothing is known: the dependence of a pair is left to its own answers.
        return estimate(domain, kept, total, oracle="region_graph", constraints=zeros or None, n_threads=n_threads)

    def _likelihoods(self) -> NDArray[np.float64]:
        """Return the likelihood of each pair's answers for each size of effects, up to a factor."""
        logs = np.array([table.log_likelihoods for table in self.pairs.values()]).reshape(-1, TAUS.size)
        return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf)))


def _tree_of(
    domain: Domain, attribute: str, ranks: NDArray[np.intp], answers: Sequence[LinearMeasurement], total: float
) -> PolyaTree | None:
    """Return the distribution of an attribute's counts by all answers about each of its values, if there are any."""
    size = ranks.size
    precisions, sums = np.zeros(size), np.zeros(size)
    for m in answers:
        query, axis = m.linear_map, m.clique.index(attribute)
        if query.is_identity and m.values.size == domain.size(m.clique):
            shape, others = domain.sizes(m.clique), tuple(i for i in range(len(m.clique)) if i != axis)
            noise = np.broadcast_to(np.square(m.spread()), (m.values.size,))
            counts, variances = (np.reshape(cells, shape).sum(axis=others) for cells in (m.values, noise))
        elif isinstance(query, Contrasts) and query.sizes == (size,):
            gain = query.squared_singular_value
            counts, variances = query.rmatvec(m.values) / gain + total / size, np.mean(m.spread()) ** 2 / gain
        else:
            continue
        precisions, sums = precisions + 1 / variances, sums + counts / variances
    if size < 2 or not precisions.all():
        return None
    return PolyaTree(sums / precisions, 1 / precisions, ranks, total)


def _cells(answers: list[PairAnswer]) -> int:
    return math.prod(int(joined([a.groups[i] for a in answers]).max()) + 1 for i in (0, 1))


def _noise_of_attributes(
    domain: Domain, measurements: list[LinearMeasurement]
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.intp]]]:
    """Return for each attribute the variances of the noise of its values, and the groups that these were measured in.

    They come from the answers about it alone; if there are none, from sums of tables.
    """
    direct: dict[str, NDArray[np.float64]] = {}
    sums: dict[str, NDArray[np.float64]] = {}
    groups: dict[str, list[NDArray[np.intp]]] = {}
    for m in measurements:
        query, spread = m.linear_map, m.spread()
        if len(m.clique) == 1 and isinstance(query, Contrasts):
            (size,) = query.sizes
            precision = np.full(size, query.squared_singular_value / (1 - 1 / size) * float(np.mean(spread)) ** -2.0)
            parts = np.arange(size)
        elif len(m.clique) == 1 and query.groups is not None:
            parts = np.asarray(query.groups, dtype=np.intp)
            precision = np.bincount(parts)[parts] / np.square(np.broadcast_to(spread, query.shape[0]))[parts]
        else:
            if query.is_identity:
                for a in m.clique:
                    precision = np.full(domain.size((a,)), float(np.mean(spread)) ** -2.0)
                    sums[a] = sums.get(a, 0.0) + precision * precision.size / query.shape[1]
            continue
        (a,) = m.clique
        direct[a] = direct.get(a, 0.0) + precision
        groups.setdefault(a, []).append(parts)
    precisions = sums | direct
    noise = {}
    for a in domain:
        whole = np.arange(domain.size((a,)))
        variances = 1 / precisions[a] if a in precisions else np.zeros(whole.size)
        noise[a] = variances, joined(groups.get(a, [whole]))
    return noise
