"""Cross-validated predictions of pairs: their distances from models without their answers, and a Polya tree of counts.

The pairs are dealt into folds; a model of the answers of all other folds predicts those of one (`_tables`). The
distance of answers from it, beyond their noise, estimates the size of unmeasured dependence.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pypgm.estimation.measurement import LinearMeasurement
from pypgm.intervals.scales import TAUS, PairAnswer, PairTable, Side, joined, pair_answers
from pypgm.models import estimate
from pypgm.models.estimated_again import recipe_of
from pypgm.models.expected_error import hiding_noise
from pypgm.queries import Contrasts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Codes = NDArray[np.intp]
    from pypgm._base.ahead import Workers
    from pypgm.domain import Clique, Domain
    from pypgm.models.model import Model


_CONCENTRATIONS = np.array([1 / 8, 1 / 4, 1 / 2, 1, 2])  # of beta distributions, about Jeffreys' 1/2
_DRAWS = 60  # of the counts, made once
_POINTS = (np.arange(32) + 0.5) / 32  # of the angle whose squared sine a part is, where the answers leave it
_COUNTS = 16  # of a node for which the likelihood of the answers below it is tabulated
_MAX_POINTS = 1 << 20  # points at once
_WIDE = 6.0  # standard deviations to either side


_log_gamma = np.vectorize(math.lgamma, otypes=[np.float64])  # importing SciPy's takes .3 s


def _log_beta(a: Array, b: Array) -> Array:
    """Return the logarithm of the beta function."""
    return np.asarray(_log_gamma(a) + _log_gamma(b) - _log_gamma(a + b))


class PolyaTree:
    """The distribution of the counts of an attribute's values given an answer of each.

    Parameters
    ----------
    answers, variances : ndarray of float
        Noisy count of each value, and the variance of its noise.
    ranks : ndarray of int
        Place of each value in an order in which neighbours are alike.
    total : float
        Sum of the counts.

    Examples
    --------
    >>> tree = PolyaTree(np.array([90.0, 6.0, -4.0, 8.0]), np.full(4, 25.0), np.arange(4), 100.0)
    >>> drawn = tree.drawn(np.random.default_rng(0))
    >>> round(float(drawn.sum()), 6), bool(drawn[0] > 70)
    (100.0, True)
    """

    def __init__(self, answers: Array, variances: Array, ranks: Codes, total: float) -> None:
        k = answers.size
        levels = math.ceil(math.log2(k))
        places = ranks * 2**levels // k  # the others of a power of two are empty
        leaves = np.zeros((3, 2**levels))
        leaves[:, places] = answers, variances, np.ones(k)
        halves: list[_Halves] = []
        below = _Likelihood(np.zeros((2, 2**levels)), np.zeros(2**levels), np.ones(2**levels))
        for level in reversed(range(levels)):
            halves.insert(0, _Halves(leaves.reshape(3, 2**level, 2, -1).sum(axis=3), below))
            below = halves[0].likelihood(total)
        rng, counts = np.random.default_rng(0), np.full((_DRAWS, 1), total)
        for level_halves in halves:
            first = level_halves.drawn(counts, rng)
            counts = np.stack([first, counts - first], axis=2).reshape(_DRAWS, -1)
        self._counts = counts[:, places]

    def drawn(self, rng: np.random.Generator) -> Array:
        """Return counts of the values, drawn given the answers."""
        return np.asarray(self._counts[rng.integers(len(self._counts))])


class _Likelihood(NamedTuple):
    """Log-likelihoods of the answers below each node, for counts whose roots are evenly spaced."""

    values: Array
    first: Array
    step: Array

    def of(self, nodes: Codes, counts: Array) -> Array:
        """Return log-likelihoods for other counts of some of the nodes, along the second of three axes."""
        values, first, step = self.values[:, nodes], self.first[nodes, None], self.step[nodes, None]
        at = np.clip((np.sqrt(counts) - first) / step, 0, len(values) - 1)
        low = np.minimum(at.astype(np.intp), len(values) - 2)
        node = np.arange(values.shape[1])[:, None]
        return np.asarray(values[low, node] + (at - low) * (values[low + 1, node] - values[low, node]))


class _Halves:
    """Nodes of a level, each with two halves: answers, variances, numbers of values, and the likelihoods below."""

    def __init__(self, halves: Array, below: _Likelihood) -> None:
        answers, variances, sizes = halves
        self._middle, self._reach, self._below = answers.sum(axis=1), _WIDE * np.sqrt(variances.sum(axis=1)), below
        self._is_first, self._cut = sizes[:, 0] > 0, np.flatnonzero((sizes > 0).all(axis=1))
        self._answers = answers[self._cut, 0]
        v, w = variances[self._cut].T
        # The part of both answers that is their sum says nothing about the split, given the node's count.
        self._share, self._stddev = v / (v + w), np.sqrt(v * w / (v + w))
        self._even = sizes[self._cut, 0] / sizes[self._cut].sum(axis=1)

    def likelihood(self, total: float) -> _Likelihood:
        """Return the log-likelihoods of the answers of halves and all below, leaving out that of their sum."""
        low, high = (np.sqrt(np.clip(self._middle + end * self._reach, 0, total)) for end in (-1, 1))
        step = np.maximum((high - low) / (_COUNTS - 1), 1e-9)
        counts = np.square(low + step * np.arange(_COUNTS)[:, None])
        values = np.zeros_like(counts)
        for rows in self._at_once(_COUNTS):
            _, width, logs = self._parts(counts[rows])
            highest = logs.max(axis=-1)
            values[rows, self._cut] = highest + np.log(np.exp(logs - highest[..., None]).sum(axis=-1) * width)
        return _Likelihood(values, low, step)

    def drawn(self, counts: Array, rng: np.random.Generator) -> Array:
        """Return drawn counts of the first halves, a row for each draw."""
        first = np.where(self._is_first, counts, 0.0)
        for rows in self._at_once(len(counts)):
            low, width, logs = self._parts(counts[rows])
            below = np.exp(logs - logs.max(axis=-1, keepdims=True)).cumsum(axis=-1)
            at = (below < rng.random(low.shape)[..., None] * below[..., -1:]).sum(axis=-1)
            angle = low + width * (np.minimum(at, _POINTS.size - 1) + rng.random(low.shape)) / _POINTS.size
            first[rows, self._cut] *= np.sin(angle) ** 2
        return first

    def _at_once(self, n: int) -> Iterator[slice]:
        each = max(1, _MAX_POINTS // (_POINTS.size * max(1, self._cut.size)))
        return (slice(i, i + each) for i in range(0, n, each))

    def _parts(self, counts: Array) -> tuple[Array, Array, Array]:
        """Return the least angle, the range of angles, and the log-density of points in it, for each row of counts."""
        counts = np.maximum(counts[:, self._cut], 1e-9)
        off = self._answers - (self._middle[self._cut] - counts) * self._share
        middle, half = np.clip(off / counts, 0, 1), _WIDE * self._stddev / counts
        low, high = (np.arcsin(np.sqrt(np.clip(end, 0, 1))) for end in (middle - half, middle + half))
        angle = low[..., None] + (high - low)[..., None] * _POINTS
        sine, cosine = np.sin(angle), np.cos(angle)
        # A beta density of the angle is a power of one function over sine times cosine.
        base = 4 * (self._even[:, None] * np.log(sine) + (1 - self._even[:, None]) * np.log(cosine))
        prior = np.zeros_like(angle)
        for concentration in _CONCENTRATIONS:
            parts = 2 * concentration * np.array([self._even, 1 - self._even])
            prior += np.exp(concentration * base - _log_beta(*parts)[:, None])
        first = counts[..., None] * sine**2
        logs = np.log(prior / (sine * cosine)) - 0.5 * np.square((off[..., None] - first) / self._stddev[:, None])
        logs += self._below.of(2 * self._cut, first) + self._below.of(2 * self._cut + 1, counts[..., None] * cosine**2)
        return low, high - low, logs


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
        Sets of three or more attributes whose every cell was measured.
    pairs : dict of tuple of str to PairTable
        Tables of the measured pairs; none before `predict`, which questions about single attributes do not need.
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
        self.pairs: dict[Clique, PairTable] = {}
        self._is_predicted = False

    def predict(self, workers: Workers) -> None:
        """Predict the tables of the measured pairs, in the order of the domain, once."""
        if not self._is_predicted:
            self.pairs = self._tables(workers)
            self._is_predicted = True

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

    def prepare(self, attributes: Sequence[str], totals: Array, workers: Workers) -> None:
        """Compute, on several threads, what tables of some attributes and so many records are drawn from.

        Threads that draw at once would each compute it, at the same time.
        """
        keys = dict.fromkeys(self._tree_key(a, total) for a in attributes for total in (None, *totals.tolist()))
        new = [key for key in keys if key not in self._trees]
        self._trees |= zip(new, workers.ahead(lambda i: self._tree(*new[i]), len(new)), strict=True)
        inside = [pair for pair in self.pairs if set(pair) <= set(attributes)]
        likely = [max(_MIN_SIZE, int(self._sizes[1][pair].argmax())) for pair in inside]
        for _ in workers.ahead(lambda i: self.pairs[inside[i]].prepare(likely[i]), len(inside)):
            pass  # kept by the pair

    def polya_tree(self, attribute: str, total: float | None = None) -> PolyaTree | None:
        """Return the distribution of the counts of an attribute's values, where there is an answer about each.

        Counts of rare values depend on the number of records, by default that of the model: there is a distribution
        for each number of records that moves a value by half of its noise.
        """
        key = self._tree_key(attribute, total)
        if key not in self._trees:
            self._trees[key] = self._tree(*key)
        return self._trees[key]

    def _tree_key(self, attribute: str, total: float | None) -> tuple[str, int]:
        """Return the attribute, and by how many steps a number of records differs from the model's."""
        step = self.sides[attribute].step
        return attribute, round((total - float(self.sides[attribute].counts.sum())) / step) if total and step else 0

    def _tree(self, attribute: str, steps: int) -> PolyaTree | None:
        side, answers = self.sides[attribute], [m for m in self._answers if attribute in m.clique]
        total = max(1.0, float(side.counts.sum()) + steps * side.step)
        return _tree_of(self._domain, attribute, side.ranks, answers, total)

    def _tables(self, workers: Workers) -> dict[Clique, PairTable]:
        """Predict each pair by a model of the answers that do not contain it, a fold of the pairs at a time."""
        answers: dict[Clique, list[PairAnswer]] = {}
        for m in self._measurements:
            for pair, answer in pair_answers(self._domain, m):
                answers.setdefault(pair, []).append(answer)
        small = [pair for pair, about in answers.items() if _cells(about) <= _MAX_CELLS]
        of_pairs = np.random.default_rng(0).permutation(len(small)) % _FOLDS
        folds = [[pair for pair, fold in zip(small, of_pairs, strict=True) if fold == i] for i in range(_FOLDS)]
        predicted: dict[Clique, NDArray[np.float64]] = {}
        for fold in workers.ahead(lambda i: self._predicted(folds[i]), _FOLDS):
            predicted |= fold

        def table(i: int) -> PairTable:
            return PairTable(answers[small[i]], predicted[small[i]], [self.sides[a] for a in small[i]])

        return dict(zip(small, workers.ahead(table, len(small)), strict=True))

    def _predicted(self, out: list[Clique]) -> dict[Clique, NDArray[np.float64]]:
        """Return tables of pairs by a model of the answers that contain none of them."""
        if not out:
            return {}
        kept = [m for m in self._measurements if not any(set(p) <= set(m.clique) for p in out)]
        rest = self._estimate([*kept, *self._alone(kept)])
        tables = rest.project_many(out, n_threads=self._n_threads)
        return {pair: table.values for pair, table in zip(out, tables, strict=True)}

    def _alone(self, kept: list[LinearMeasurement]) -> list[LinearMeasurement]:
        """Return the counts of attributes that no kept answer is about: a pair is predicted from its margins."""
        answered = {a for m in kept for a in m.clique}
        return [
            LinearMeasurement(side.counts, a, stddev=math.sqrt(float(side.variances.mean()) + _ROUNDED))
            for a, side in self.sides.items()
            if a not in answered
        ]

    def _estimate(self, kept: list[LinearMeasurement]) -> Model[Any]:
        domain, total, zeros = self._model.domain, max(float(self._model.total), 1.0), self._model.constraints
        # Maximum entropy where nothing is known: the dependence of a pair is left to its own answers.
        return estimate(
            domain, kept, total, oracle="region_graph", constraints=zeros or None, n_threads=self._n_threads
        )

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
    """Return the noise variances of each attribute's values, and the groups in which the values were measured.

    They come from the answers about the attribute alone or, if there are none, from sums of tables.
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
