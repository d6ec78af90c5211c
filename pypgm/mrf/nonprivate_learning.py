"""Learning of pairwise Markov random fields without privacy, to measure the price of privacy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm._base.numeric import as_generator, check_choice, checked_real
from pypgm.data import Dataset
from pypgm.domain import Domain
from pypgm.mrf.encoding import Field, Records, centred_field, distinct_records, field_of_pairs, field_of_signs

_CANDIDATES = 64  # iterates of the Sparsitron that are compared: a pass over the held-out records each
_ITERATIONS = 20_000
_MOST_LABELS = 2**20  # in one solution: rows times regressions, of which it keeps some arrays

_CHECKED_EVERY = 10  # iterations between two gaps: a gap takes a gradient of its own


@dataclass(frozen=True, slots=True, eq=False)
class NodeTask:
    """Regressions of one or more labels on the same records.

    Attributes
    ----------
    features : ndarray of float64, shape (M, F)
        Entries -1, 0 and +1; the last column is the intercept's.
    labels : ndarray of float64, shape (M, R)
        -1 or +1.
    counts : ndarray of float64, shape (M,)
        Records each row stands for.
    allowed : ndarray of bool, shape (F, R)
        All features but the node's own.
    groups : ndarray of int, shape (F,)
        The attribute of each feature; the intercept is a group of its own.
    """

    features: NDArray[np.float64]
    labels: NDArray[np.float64]
    counts: NDArray[np.float64]
    allowed: NDArray[np.bool_]
    groups: NDArray[np.intp]


def field_of_nodes(records: Records, learn: Callable[[NodeTask], NDArray[np.float64]]) -> Field:
    """Return the field that regressions learn: weights of shape (F, R) for each task.

    Binary attributes have one regression each, on features of -1 and +1; its weights are twice the couplings.
    Otherwise there is one for each two codes u < v of an attribute on the records that have one of them, of which the
    weights estimate W(u, .) - W(v, .).
    """
    if all(size == 2 for size in records.domain.shape):
        signs, groups = records.signs, np.arange(len(records.domain) + 1)
        allowed = groups[:, None] != groups[:-1]
        weights = learn(NodeTask(signs, signs[:, :-1], records.counts, allowed, groups))
        return field_of_signs(records.domain, weights.T)
    tasks = ((node, pair, task) for node, pair, task in _pair_tasks(records) if task.counts.sum() > 0)
    return field_of_pairs(records.domain, ((node, pair, learn(task)[:, 0]) for node, pair, task in tasks))


def _pair_tasks(records: Records) -> Iterator[tuple[int, tuple[int, int], NodeTask]]:
    shape = records.domain.shape
    groups = np.append(np.repeat(np.arange(len(shape)), shape), len(shape))
    for node, size in enumerate(shape):
        codes = records.codes[:, node]
        for u, v in combinations(range(size), 2):
            kept = (codes == u) | (codes == v)
            labels = np.where(codes[kept] == u, 1.0, -1.0)
            allowed = (groups != node)[:, None]
            yield node, (u, v), NodeTask(records.one_hot[kept], labels[:, None], records.counts[kept], allowed, groups)


@dataclass(frozen=True, slots=True, eq=False)
class Regressions:
    r"""Regressions r on shared features: minimise :math:`\sum_m c_{mr} \log(1 + e^{-y_{mr} \langle w_r, x_m\rangle})`.

    Attributes
    ----------
    features : ndarray of float64, shape (M, F)
        Rows x_m, of records that may stand for several.
    labels : ndarray of float64, shape (M, R)
        y, -1 or +1.
    shares : ndarray of float64, shape (M, R)
        c >= 0, the part of record m in regression r; each column sums to 1.
    allowed : ndarray of bool, shape (F, R)
        The features a regression may use; the weights of the others are 0.
    groups : ndarray of int, shape (F,)
        Group of each feature, numbered from 0. The norm is the sum over groups of the Euclidean norms within.
    radius : float
        Largest norm of w_r, positive.
    """

    features: NDArray[np.float64]
    labels: NDArray[np.float64]
    shares: NDArray[np.float64]
    allowed: NDArray[np.bool_]
    groups: NDArray[np.intp]
    radius: float

    def only(self, kept: NDArray[np.bool_]) -> Regressions:
        """Return some of the regressions."""
        return Regressions(
            self.features, self.labels[:, kept], self.shares[:, kept], self.allowed[:, kept], self.groups, self.radius
        )

    def loss(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean loss of each regression, shape (R,)."""
        margins = self.labels * (self.features @ weights)
        return np.asarray((self.shares * np.logaddexp(0, -margins)).sum(axis=0))

    def gradient(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient of each loss in its allowed weights, shape (F, R)."""
        margins = self.labels * (self.features @ weights)
        slopes = self.shares * self.labels * (0.5 - 0.5 * np.tanh(margins / 2))  # sigmoid(-margins)
        return np.asarray(np.where(self.allowed, -(self.features.T @ slopes), 0.0))

    def gap(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return an upper bound of loss - optimum of each regression, shape (R,).

        By convexity it is at most <g, w - v> for the best v, which is in the ball where <g, v> is least.
        """
        slope = self.gradient(weights)
        steepest = _norms(slope, self.groups).max(axis=0)
        return np.asarray((slope * weights).sum(axis=0) + self.radius * steepest)


def solve(problem: Regressions, tolerance: float, iterations: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return weights, shape (F, R), and the gap of each regression, at most `tolerance` unless iterations end first.

    Accelerated projected gradient (Nesterov; FISTA), restarted in each regression where its momentum points uphill
    (O'Donoghue and Candès 2015). Steps are of length 1/L, L a quarter of the largest squared row norm.
    """
    n_features, n = problem.features.shape[1], problem.labels.shape[1]
    weights, gaps = np.zeros((n_features, n)), np.full(n, np.inf)
    step = 4 / max(float((problem.features**2).sum(axis=1).max(initial=0.0)), 1e-300)
    active, part = np.arange(n), problem
    here, point, momentum = weights.copy(), weights.copy(), np.ones(n)
    for i in range(iterations):
        if i % _CHECKED_EVERY == 0:
            weights[:, active], gaps[active] = here, part.gap(here)
            left = gaps[active] > tolerance
            if not left.any():
                return weights, gaps
            if not left.all():
                active, part = active[left], part.only(left)
                here, point, momentum = here[:, left], point[:, left], momentum[left]
        slope = part.gradient(point)
        there = project(point - step * slope, part.groups, part.radius)
        uphill = ((point - there) * (there - here)).sum(axis=0) > 0
        following = np.where(uphill, 1.0, (1 + np.sqrt(1 + 4 * momentum**2)) / 2)
        point = there + np.where(uphill, 0.0, (momentum - 1) / following) * (there - here)
        here, momentum = there, following
    weights[:, active], gaps[active] = here, part.gap(here)
    return weights, gaps


def project(weights: NDArray[np.float64], groups: NDArray[np.intp], radius: float) -> NDArray[np.float64]:
    """Return the nearest point of the ball of some radius to each column, shape (F, R).

    Norms of groups are reduced by a common amount, to 0 at least, so that they sum to the radius (Duchi et al. 2008).
    """
    norms = _norms(weights, groups)
    descending = -np.sort(-norms, axis=0)
    excess = np.cumsum(descending, axis=0) - radius
    ranks = np.arange(1, len(norms) + 1)[:, None]
    last = (descending * ranks > excess).sum(axis=0) - 1
    cut = np.maximum(excess[last, np.arange(norms.shape[1])] / (last + 1), 0.0)
    factors = np.maximum(norms - cut, 0.0) / np.where(norms > 0, norms, 1.0)
    return np.asarray(weights * factors[groups])


def _norms(weights: NDArray[np.float64], groups: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the Euclidean norm of each group in each column, shape (groups, R)."""
    if len(groups) == groups.max() + 1:
        return np.asarray(np.abs(weights)[np.argsort(groups)])
    squares = np.zeros((int(groups.max()) + 1, weights.shape[1]))
    np.add.at(squares, groups, weights**2)
    return np.sqrt(squares)


def fit_logistic(
    data: Dataset, radius: float, *, norm: Literal["l1", "group"] = "group", tolerance: float = 1e-7
) -> Field:
    r"""Learn a pairwise field by constrained logistic regressions; not private.

    If all attributes have two values, a node has one regression on the other nodes' spins, with
    :math:`\|w\|_1 \le 2\lambda`. Otherwise, with k the largest number of values, there is one for each two codes of a
    node on indicators of the other nodes' codes, with :math:`\|w\|_1 \le 2k\lambda` (`norm` "l1") or
    :math:`\|w\|_{2,1} \le 2\sqrt k\lambda` ("group"). Both directions of an edge are averaged in the centred gauge.

    Parameters
    ----------
    data : Dataset
        Records, possibly weighted.
    radius : float
        :math:`\lambda`, at least the width of the model: the largest sum over a node's edges of their largest absolute
        weight, and its field.
    norm : {"group", "l1"}
        "group" takes fewer records where attributes have many values; with two values both are the same.
    tolerance : float
        Bound of loss - optimum of each regression, in nats a record.

    Returns
    -------
    Field
        Weights in the centred gauge; ``to_potentials()`` gives log-potentials, ``strengths()`` the edges.

    Raises
    ------
    ValueError
        If there are no records, or a number is out of range.

    References
    ----------
    S. Wu, S. Sanghavi, A. G. Dimakis, Sparse logistic regression learns all discrete pairwise graphical models,
    NeurIPS 2019.

    Examples
    --------
    >>> from pypgm import CliqueVector, Domain
    >>> from pypgm.mrf import sample
    >>> ising = CliqueVector(Domain({"a": 2, "b": 2}), [("a", "b")], [0.4, -0.4, -0.4, 0.4])
    >>> found = fit_logistic(sample(ising, 20_000, rng=0).data, radius=1.0)
    >>> bool(abs(found.strengths()[0, 1] - 0.4) < 0.05)
    True
    """
    check_choice("norm", norm, ("l1", "group"))
    records = _checked_records(data)
    bound = _regression_radius(data.domain, checked_real("radius", radius), norm)
    least = checked_real("tolerance", tolerance)

    def learn(task: NodeTask) -> NDArray[np.float64]:
        groups = task.groups if norm == "group" else np.arange(len(task.groups))
        shares = (task.counts / task.counts.sum())[:, None]
        parts = np.array_split(np.arange(task.labels.shape[1]), -(-task.labels.size // _MOST_LABELS))
        weights = []
        for part in parts:
            labels, allowed = task.labels[:, part], task.allowed[:, part]
            stated = Regressions(task.features, labels, np.broadcast_to(shares, labels.shape), allowed, groups, bound)
            weights.append(solve(stated, least, _ITERATIONS)[0])
        return np.concatenate(weights, axis=1)

    return field_of_nodes(records, learn)


def fit_sparsitron(
    data: Dataset, radius: float, *, held_out: float = 0.2, rng: np.random.Generator | int | None = 0
) -> Field:
    r"""Learn a pairwise field by multiplicative weights, one pass over the records; not private.

    The regressions are those of `fit_logistic` with `norm` "l1". Each passes over its records once, in random order,
    and takes the iterate of least squared error on the records held out.

    Parameters
    ----------
    data : Dataset
        Records without weights, at least two.
    radius : float
        :math:`\lambda`, as for `fit_logistic`. Hedge learns slowly if it is much too large.
    held_out : float
        Part of the records that choose the iterate, between 0 and 1.
    rng : Generator, int or None
        Source of the order of the records.

    Returns
    -------
    Field

    Raises
    ------
    ValueError
        If there are fewer than two records, the records have weights, or a number is out of range.

    References
    ----------
    A. R. Klivans and R. Meka, Learning graphical models using multiplicative weights, FOCS 2017.

    Examples
    --------
    >>> from pypgm import CliqueVector, Domain
    >>> from pypgm.mrf import sample
    >>> ising = CliqueVector(Domain({"a": 2, "b": 2}), [("a", "b")], [0.4, -0.4, -0.4, 0.4])
    >>> found = fit_sparsitron(sample(ising, 20_000, rng=0).data, radius=1.0, rng=0)
    >>> bool(abs(found.strengths()[0, 1] - 0.4) < 0.05)
    True
    """
    bound = _regression_radius(data.domain, checked_real("radius", radius), "l1")
    part = checked_real("held_out", held_out)
    if part >= 1:
        raise ValueError(f"held_out must be below 1, got {held_out}")
    if data.weights is not None or len(data) < 2:
        raise ValueError(f"the Sparsitron needs at least two records without weights, got {data!r}")
    order = as_generator(rng).permutation(len(data))
    codes = np.stack([data.columns[name][order] for name in data.domain], axis=1).astype(np.intp)
    records = Records(data.domain, codes, np.ones(len(data)))

    def learn(task: NodeTask) -> NDArray[np.float64]:
        first = max(len(task.labels) - max(round(part * len(task.labels)), 1), 1)
        weights = []
        for labels, allowed in zip(task.labels.T, task.allowed.T, strict=True):
            x, y = (task.features * allowed).astype(np.int8), labels.astype(np.int8)
            weights.append(_core.sparsitron(x[:first], y[:first], x[first:], y[first:], bound, _CANDIDATES))
        return np.stack(weights, axis=1)

    return field_of_nodes(records, learn)


def fit_pseudo_likelihood(data: Dataset, *, ridge: float | None = None, tolerance: float = 1e-6) -> Field:
    r"""Learn a pairwise field by maximum pseudo-likelihood; not private.

    Maximises the mean over records of :math:`\sum_i \log p(z_i \mid z_{-i})` less half of `ridge` times the
    sum of squared weights (of each pair once) and fields.

    Parameters
    ----------
    data : Dataset
        Records, possibly weighted.
    ridge : float, optional
        Not negative; 1 / number of records by default, which bounds weights where the data would not.
    tolerance : float
        Largest entry of the gradient at the end, in nats a record.

    Returns
    -------
    Field
        Weights in the centred gauge; ``to_potentials()`` gives log-potentials, ``strengths()`` the edges.

    Raises
    ------
    ValueError
        If there are no records, or a number is out of range.
    RuntimeError
        If the gradient stays above `tolerance`.

    References
    ----------
    J. Besag, Statistical analysis of non-lattice data, The Statistician 24 (1975).

    Examples
    --------
    >>> from pypgm import CliqueVector, Domain
    >>> from pypgm.mrf import sample
    >>> ising = CliqueVector(Domain({"a": 2, "b": 2}), [("a", "b")], [0.4, -0.4, -0.4, 0.4])
    >>> found = fit_pseudo_likelihood(sample(ising, 20_000, rng=0).data)
    >>> bool(abs(found.strengths()[0, 1] - 0.4) < 0.05)
    True
    """
    from scipy import optimize  # half of the time the package takes to import, for this learner alone

    records = _checked_records(data)
    penalty = 1 / records.counts.sum() if ridge is None else checked_real("ridge", ridge, zero=True)
    objective = _PseudoLikelihood(records, penalty)
    least = checked_real("tolerance", tolerance)
    solution = optimize.minimize(
        objective,
        objective.start(),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": least, "ftol": 0, "maxiter": _ITERATIONS, "maxfun": 2 * _ITERATIONS},
    )
    if np.abs(solution.jac).max() > tolerance:
        raise RuntimeError(
            f"the gradient is {np.abs(solution.jac).max():.3g} after {solution.nit} iterations: {solution.message}"
        )
    return objective.field(solution.x)


def _checked_records(data: Dataset) -> Records:
    records = distinct_records(data)
    if not records.counts.sum() > 0:
        raise ValueError(f"learning needs at least one record, got {data!r}")
    return records


def _regression_radius(domain: Domain, radius: float, norm: str) -> float:
    """Return the norm of a regression's weights that a field of width `radius` may need."""
    size = max(domain.shape)
    if all(k == 2 for k in domain.shape):
        return 2 * radius
    return 2 * radius * (size if norm == "l1" else size**0.5)


class _PseudoLikelihood:
    """The negative of the penalised pseudo-likelihood as a function of the entries of a symmetric matrix and fields."""

    def __init__(self, records: Records, ridge: float) -> None:
        self.domain, self.ridge = records.domain, ridge
        self.indicators = records.one_hot[:, :-1]
        self.shares = records.counts / records.counts.sum()
        self.starts = records.offsets[:-1]
        self.owner = np.repeat(np.arange(len(records.domain)), records.domain.shape)
        self.above = np.nonzero(self.owner[:, None] < self.owner)

    def start(self) -> NDArray[np.float64]:
        return np.zeros(len(self.above[0]) + len(self.owner))

    def unpacked(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        weights = np.zeros((len(self.owner),) * 2)
        weights[self.above] = x[: len(self.above[0])]
        return weights + weights.T, x[len(self.above[0]) :]

    def field(self, x: NDArray[np.float64]) -> Field:
        return centred_field(self.domain, *self.unpacked(x))

    def __call__(self, x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights, fields = self.unpacked(x)
        scores = self.indicators @ weights + fields
        scores -= np.maximum.reduceat(scores, self.starts, axis=1)[:, self.owner]
        log_sums = np.log(np.add.reduceat(np.exp(scores), self.starts, axis=1))
        loss = self.shares @ (log_sums.sum(axis=1) - (self.indicators * scores).sum(axis=1))
        # The gradient in the scores: probability less indicator, times the record's share.
        excess = self.shares[:, None] * (np.exp(scores - log_sums[:, self.owner]) - self.indicators)
        slopes = self.indicators.T @ excess
        gradient = np.concatenate([(slopes + slopes.T)[self.above], excess.sum(axis=0)])
        return float(loss + self.ridge / 2 * (x @ x)), gradient + self.ridge * x
