r"""The true table of a pair, given noisy answers about it and a prediction made without them.

The table of the finest groups that the answers distinguish is modelled as

.. math:: t = P\,(1 + \sum_l u_l[\text{block}_l]) + \sqrt{P}\, z

with P the prediction, z and u normal, u of standard deviation tau: at every scale l both axes are cut into 2^l runs of
values, and each block of them has its own effect. Answers are linear in t with normal noise, so t given them is
normal as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pypgm import _core
from pypgm.queries import Contrasts
from pypgm.queries.contrasts import contrast_factor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pypgm.domain import Clique, Domain
    from pypgm.estimation.measurement import LinearMeasurement

    Array = NDArray[np.float64]
    Codes = NDArray[np.intp]

TAUS = np.array([0.03, 0.12, 0.25, 0.5, 1.0, 2.0])  # standard deviations of relative effects at each scale
_DENSE = 500  # cells of a pair at most for effects at all scales; a larger pair is treated cell by cell
_MIN_RECORDS = 0.05  # of a predicted cell, and least share of it in a draw


class PairAnswer(NamedTuple):
    """An answer about two attributes: counts of groups of their values, or the interaction of these.

    Attributes
    ----------
    values : ndarray
        Values in C order over the groups.
    groups : tuple of ndarray of int
        The group of each value of each attribute.
    is_interaction : bool
        Whether the answers are contrasts, not counts.
    stddev : float
        Standard deviation of the noise of each value.
    """

    values: Array
    groups: tuple[Codes, Codes]
    is_interaction: bool
    stddev: float

    def maps(self, groups: Sequence[Codes]) -> list[Array]:
        """Return a matrix for each axis; together they map a table of finer groups to the answer."""
        matrices = []
        for coarse, fine in zip(self.groups, groups, strict=True):
            size, holding = int(coarse.max()) + 1, np.zeros(fine.max() + 1, dtype=np.intp)
            holding[fine] = coarse
            matrices.append((contrast_factor(size) if self.is_interaction else np.eye(size))[:, holding])
        return matrices


def pair_answers(domain: Domain, m: LinearMeasurement) -> Iterator[tuple[Clique, PairAnswer]]:
    """Yield each pair of attributes that a measurement covers, all of those of a table, and the answer about it."""
    query, size = m.linear_map, len(m.clique)
    whole = [np.arange(domain.size((a,))) for a in m.clique]
    if size < 2:
        return
    if isinstance(query, Contrasts):
        if size == 2:
            groups = [np.asarray(g, dtype=np.intp) for g in query.value_groups] or whole
            values = np.reshape(m.values, [n if n > 2 else 1 for n in query.sizes]).astype(float)
            clique = domain.canonical(m.clique)
            if clique != m.clique:
                groups, values = groups[::-1], values.T
            yield clique, PairAnswer(values.ravel(), (groups[0], groups[1]), True, float(np.mean(m.spread())))
    elif size == 2 and query.groups is not None and not query.is_identity:
        yield from _merged(domain, m, np.reshape(query.groups, [len(w) for w in whole]))
    elif query.is_identity:
        table = np.reshape(m.values, [len(w) for w in whole]).astype(float)
        variances = np.broadcast_to(np.square(m.spread()), (table.size,)).reshape(table.shape)
        for i in range(size):
            for j in range(i + 1, size):
                others = tuple(k for k in range(size) if k not in {i, j})
                stddev = float(np.sqrt(variances.sum(axis=others)).mean())
                yield (
                    (m.clique[i], m.clique[j]),
                    PairAnswer(table.sum(axis=others).ravel(), (whole[i], whole[j]), False, stddev),
                )


def _merged(domain: Domain, m: LinearMeasurement, cells: Codes) -> Iterator[tuple[Clique, PairAnswer]]:
    """Yield the answer about a pair by sums over cells, if these are groups of the values of both attributes."""
    clique = domain.canonical(m.clique)
    cells = cells if clique == m.clique else cells.T
    rows, columns = (np.unique(c, axis=0, return_inverse=True)[1].ravel() for c in (cells, cells.T))
    shape = (rows.max() + 1, columns.max() + 1)
    order = np.zeros(shape, dtype=np.intp)
    order[rows[:, None], columns] = cells
    if order.size == m.values.size and (order[rows[:, None], columns] == cells).all():
        values, stddev = np.ravel(m.values)[order.ravel()].astype(float), float(np.mean(m.spread()))
        yield clique, PairAnswer(values, (rows, columns), False, stddev)


class Side(NamedTuple):
    """Counts of one attribute, and their noise.

    Attributes
    ----------
    counts : ndarray of float
        Count of each value, by the model.
    variances : ndarray of float
        Variance of the noise of each value; those of a group of values sum to that of the group.
    ranks : ndarray of int
        Place of each value in an order in which neighbours are alike.
    groups : ndarray of int
        The group that each value was measured in.
    """

    counts: Array
    variances: Array
    ranks: Codes
    groups: Codes

    @property
    def step(self) -> float:
        """Difference in the number of records that moves a value by half of its noise."""
        return self.counts.size * float(np.sqrt(np.median(self.variances))) / 2


class PairTable:
    """The distribution of a pair's true table given its answers, for each size of effects.

    Parameters
    ----------
    answers : sequence of PairAnswer
        Answers about the pair; for a large table only the last one is used.
    predicted : ndarray of float
        The table of the pair, in counts, estimated without these answers.
    sides : two of Side
        Its two attributes.

    Attributes
    ----------
    groups : list of two ndarray of int
        The finest groups of the values of each attribute that the answers distinguish.
    shape : tuple of int
        Numbers of groups.
    is_merged : bool
        Whether some group has several values.
    log_likelihoods : ndarray, shape (len(TAUS),)
        Log-likelihood of the answers for each size of effects, up to a constant.
    """

    def __init__(self, answers: Sequence[PairAnswer], predicted: Array, sides: Sequence[Side]) -> None:
        self.groups = [joined([a.groups[i] for a in answers]) for i in (0, 1)]
        if math.prod(g.max() + 1 for g in self.groups) > _DENSE:
            answers = answers[-1:]
            self.groups = list(answers[0].groups)
        self.shape = tuple(int(g.max()) + 1 for g in self.groups)
        self.is_merged = any(k < len(g) for k, g in zip(self.shape, self.groups, strict=True))
        rows, columns = self.groups
        sums = np.bincount((rows[:, None] * self.shape[1] + columns).ravel(), predicted.ravel(), math.prod(self.shape))
        self._predicted = np.maximum(sums, _MIN_RECORDS)
        self._gains: dict[int, tuple[Array, Array, Array]] = {}
        self._by_cell = self._predicted.size > _DENSE
        if self._by_cell:
            self._read_cells(answers[0])
            spread = self._predicted + TAUS[:, None] ** 2 * self._predicted**2 + self._variance
            fits = -0.5 * (np.log(spread) + self._left**2 / spread).sum(axis=1)
            self.log_likelihoods = fits * _DENSE / self._predicted.size
        else:
            self._read(answers, sides)
            self._blocks = list(self._levels(sides))
            roots = [self._maps * np.sqrt(self._predicted), *(self._sums_of(block) for block in self._blocks)]
            of_noise, *of_effects = (_product(root, root) for root in roots)
            of_noise += np.eye(len(self._left))
            effects = sum(of_effects, np.zeros_like(of_noise))
            self.log_likelihoods = np.array([self._log_likelihood(of_noise + tau**2 * effects) for tau in TAUS])

    def _read_cells(self, answer: PairAnswer) -> None:
        """Read the answers as noise about each cell."""
        first, second = answer.maps(self.groups)
        expected = _product(_product(first, self._predicted.reshape(self.shape).T), second)
        left = answer.values - expected.ravel()
        self._variance = answer.stddev**2
        if answer.is_interaction:
            # A factor's singular values are all the same but for a zero: its pseudo-inverse is its transpose, divided.
            squared = math.prod(k * k if k > 2 else 2 for k in self.shape)
            back = _product(_product(first.T, left.reshape(len(first), len(second)).T), second.T)
            left = back.ravel() / squared
            self._variance /= squared
        self._left = left

    def _read(self, answers: Sequence[PairAnswer], sides: Sequence[Side]) -> None:
        """Stack the answers in units of their noise, and the margins, about which interactions say nothing."""
        maps = [np.kron(*a.maps(self.groups)) / a.stddev for a in answers]
        values = [a.values / a.stddev for a in answers]
        for i, side in enumerate(sides):
            # The estimate rounded the answers about an attribute: a quarter is the variance of that.
            stddev = np.sqrt(np.bincount(self.groups[i], side.variances) + 0.25)
            factors = [np.ones((1, k)) for k in self.shape]
            factors[i] = np.eye(self.shape[i])
            maps.append(np.kron(*factors) / stddev[:, None])
            values.append(np.bincount(self.groups[i], side.counts) / stddev)
        answered = np.concatenate(maps)
        left = np.concatenate(values) - np.einsum("ij,j->i", answered, self._predicted)
        if len(answered) > self._predicted.size:
            # More answers than cells are turned, with their noise, into as many that say the same.
            both = np.column_stack([answered, left]).T
            turned = _core.cholesky(_product(both, both)).T[:-1]
            answered, left = turned[:, :-1], turned[:, -1]
        self._maps, self._left = answered, left

    def _levels(self, sides: Sequence[Side]) -> Iterator[Codes]:
        """Yield at each scale the block of each cell: both axes in 2^level runs of groups that are alike."""
        places = []
        for groups, side in zip(self.groups, sides, strict=True):
            middles = np.bincount(groups, side.ranks) / np.bincount(groups)
            places.append(np.argsort(np.argsort(middles, kind="stable"), kind="stable"))
        for level in range(1, math.ceil(math.log2(max(*self.shape, 2))) + 1):
            runs = [p * min(2**level, k) // k for p, k in zip(places, self.shape, strict=True)]
            yield (runs[0][:, None] * self.shape[1] + runs[1]).ravel()

    @property
    def _covariances(self) -> tuple[Array, Array]:
        """Prior covariance of the true table: without effects, and what effects of size 1 add."""
        same = np.zeros((self._predicted.size, self._predicted.size))
        for block in self._blocks:
            same += block[:, None] == block
        return np.diag(self._predicted), np.outer(self._predicted, self._predicted) * same

    def _sums_of(self, block: Codes) -> Array:
        """Return what an effect of size 1 on each block adds to the answers."""
        order = np.argsort(block, kind="stable")
        starts = np.flatnonzero(np.diff(block[order], prepend=-1))
        return np.asarray(np.add.reduceat((self._maps * self._predicted)[:, order], starts, axis=1))

    def _log_likelihood(self, covariance: Array) -> float:
        """Return the log-likelihood of the answers, given their covariance, at least the identity."""
        *root, whitened = _core.cholesky(np.vstack([covariance, self._left]))
        return float(-np.log(np.diag(root)).sum() - np.square(whitened).sum() / 2)

    def prepare(self, index: int) -> None:
        """Compute what draws for a size of effects share."""
        if not self._by_cell:
            self.posterior(index)

    def posterior(self, index: int) -> tuple[Array, Array, Array]:
        """Return gain, mean and variances of the table's cells given the answers, for a size of effects."""
        if index not in self._gains:
            of_noise, of_effects = self._covariances
            covariance = of_noise + float(TAUS[index]) ** 2 * of_effects
            one, both = np.eye(len(self._left)), _product(covariance, self._maps)
            root = _core.cholesky(np.vstack([_product(self._maps, both.T) + one, both, one]))[len(one) :]
            whitened, inverse = root[: len(both)], root[len(both) :]
            gain = _product(whitened, inverse)
            variances = np.maximum(np.diag(covariance) - np.square(whitened).sum(axis=1), 1e-9)
            self._gains[index] = gain, self._predicted + np.einsum("ij,j->i", gain, self._left), variances
        return self._gains[index]

    def drawn(self, index: int, rng: np.random.Generator) -> Array:
        """Return a true table drawn given the answers, for a size of effects: counts of the groups, above 0."""
        predicted, tau = self._predicted, float(TAUS[index])
        if self._by_cell:
            prior = predicted + tau**2 * predicted**2
            share = prior / (prior + self._variance)
            mean, variances = predicted + share * self._left, share * self._variance
            drawn = mean + rng.normal(size=mean.size) * np.sqrt(variances)
        else:
            gain, mean, variances = self.posterior(index)
            drawn = predicted + rng.normal(size=predicted.size) * np.sqrt(predicted)
            for block in self._blocks:
                drawn += predicted * rng.normal(0.0, tau, block.max() + 1)[block]
            # Matheron's rule: a draw of table and answers, corrected by the gain times the error of the answers.
            answered = np.einsum("ij,j->i", self._maps, drawn - predicted)
            off = self._left - answered - rng.normal(size=self._left.size)
            drawn = drawn + np.einsum("ij,j->i", gain, off)
        return positive(drawn, mean, variances, _MIN_RECORDS * predicted, rng)


def positive(drawn: Array, mean: Array, variances: Array, least: Array, rng: np.random.Generator) -> Array:
    """Return the draws if they are far from 0, or draws of a gamma distribution of the same mean and variance."""
    mean = np.maximum(mean, least)
    near = (variances > 0.25 * mean**2) | (drawn <= 0)
    shape = np.maximum(mean**2 / np.maximum(variances, 1e-300), 1e-3)
    return np.maximum(np.where(near, rng.gamma(shape) / shape * mean, drawn), 1e-9)


def _product(left: Array, right: Array) -> Array:
    """Return a matrix times the transpose of another, on one thread: those of a BLAS wait longer than it takes."""
    return _core.product_of_rows(np.ascontiguousarray(left), np.ascontiguousarray(right))


def joined(parts: Sequence[Codes]) -> Codes:
    """Return the coarsest grouping that is finer than all given ones.

    Examples
    --------
    >>> joined([np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])]).tolist()
    [0, 1, 2, 2]
    """
    whole = parts[0]
    for part in parts[1:] or parts:
        whole = np.unique(whole * (int(part.max(initial=0)) + 1) + part, return_inverse=True)[1].ravel()
    return whole
