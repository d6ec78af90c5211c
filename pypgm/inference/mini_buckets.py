"""Weighted mini-buckets: an upper bound of log Z in one pass, weighted draws, and a bound of the MAP with a guess."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pypgm.clique_vector import CliqueVector

_FAR = -600.0  # natural logs of weights that matching leaves alone

Scope = tuple[int, ...]
Tables = list[tuple[Scope, NDArray[np.float64]]]


def min_fill_order(n_attributes: int, scopes: Iterable[Sequence[int]]) -> list[int]:
    """Return an elimination order that adds few edges, however large its tables would be.

    Examples
    --------
    >>> min_fill_order(4, [(0, 1), (1, 2), (1, 3)])
    [0, 2, 1, 3]
    """
    near = [0] * n_attributes  # bits of the neighbours
    for scope in scopes:
        bits = sum(1 << a for a in scope)
        for a in scope:
            near[a] |= bits & ~(1 << a)

    def fill(a: int) -> tuple[int, int, int]:
        return sum((near[a] & ~near[b]).bit_count() - 1 for b in _bits(near[a])), near[a].bit_count(), a

    costs = {a: fill(a) for a in range(n_attributes)}
    order = []
    while costs:
        a = min(costs.values())[2]
        order.append(a)
        touched = around = near[a]
        for b in _bits(around):
            new = around & ~near[b] & ~(1 << b)
            near[b] = (near[b] | around) & ~(1 << a) & ~(1 << b)
            if new:
                touched |= near[b]
        del costs[a]
        for b in _bits(touched & ~(1 << a)):
            costs[b] = fill(b)
    return order


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


def bucket_scopes(
    shape: Sequence[int], scopes: Iterable[Sequence[int]], order: Sequence[int], max_cells: float
) -> list[Scope]:
    """Return the scopes of all mini-buckets, each ascending.

    Examples
    --------
    >>> bucket_scopes([2, 2, 2], [(0, 1), (1, 2), (0, 2)], [0, 1, 2], 4)
    [(0, 1), (0, 2), (1, 2), (2,)]
    """
    place = {a: i for i, a in enumerate(order)}
    buckets: list[list[Scope]] = [[] for _ in order]
    for scope in {tuple(sorted(s, key=place.__getitem__, reverse=True)) for s in scopes if s}:
        buckets[place[scope[-1]]].append(scope)
    result = []
    for held in buckets:
        for scope, _ in _merged(sorted(held), place, shape, max_cells):
            result.append(tuple(sorted(scope)))
            if scope[:-1]:
                buckets[place[scope[-2]]].append(scope[:-1])
    return result


def _merged(
    scopes: Sequence[Scope], place: dict[int, int], shape: Sequence[int], max_cells: float
) -> list[tuple[Scope, list[int]]]:
    """Put scopes together while their table stays small: scopes, and the positions of what each is made of."""
    size = [math.prod([shape[a] for a in s]) for s in scopes]
    made: list[tuple[Scope, list[int]]] = []
    for i in sorted(range(len(scopes)), key=lambda i: -size[i]):
        best, growth = -1, math.inf
        for k, (scope, _) in enumerate(made):
            added = math.prod([shape[a] for a in scopes[i] if a not in scope])
            cells = added * math.prod([shape[a] for a in scope])
            if added < growth and (added == 1 or cells <= max_cells):
                best, growth = k, added
        if best < 0:
            made.append((scopes[i], [i]))
        else:
            scope, parts = made[best]
            made[best] = tuple(sorted({*scope, *scopes[i]}, key=place.__getitem__, reverse=True)), [*parts, i]
    return made


@dataclass(frozen=True, eq=False)
class Draws:
    """Independent weighted draws.

    Attributes
    ----------
    codes : ndarray of int, shape (attributes, draws)
    log_weights : ndarray of float64, shape (draws,)
        Natural logs; the mean of the weights is an unbiased estimate of Z, and none is above the bound of Z.
    log_bound : float
        The bound.
    """

    codes: NDArray[np.intp]
    log_weights: NDArray[np.float64]
    log_bound: float

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Weights that sum to 1; 0 if no draw has any."""
        top = self.log_weights.max(initial=-np.inf)
        weights: NDArray[np.float64] = (
            np.exp(self.log_weights - top) if top > -np.inf else np.zeros_like(self.log_weights)
        )
        weights /= max(float(weights.sum()), 1.0)
        return weights

    @cached_property
    def counted(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The codes and weights of the draws that have any weight."""
        some = self.weights > 0
        return (self.codes, self.weights) if some.all() else (self.codes[:, some], self.weights[some])

    @property
    def effective_size(self) -> float:
        """The number of equally weighted draws that would be worth as much."""
        squares = float(np.sum(self.weights**2))
        return 1.0 / squares if squares else 0.0

    @property
    def log_z(self) -> float:
        """The estimate of log Z."""
        shares = np.exp(self.log_weights - self.log_bound)
        return self.log_bound + float(np.log(shares.mean())) if shares.any() else -np.inf

    def interval(self, missed: float = 0.05) -> tuple[float, float]:
        """Return an interval that misses log Z with at most this probability.

        By the empirical Bernstein bound for draws between 0 and the bound; the lower end also by Markov's inequality.
        """
        shares, n = np.exp(self.log_weights - self.log_bound), len(self.log_weights)
        each = missed / 3  # of the three inequalities
        log_term = math.log(2 / each)
        half = math.sqrt(2 * float(shares.var(ddof=1)) * log_term / n) + 7 * log_term / (3 * (n - 1))
        mean = float(shares.mean())
        low = self.log_bound + math.log(mean - half) if mean > half else -np.inf
        return max(low, self.log_z + math.log(each)), self.log_bound + min(0.0, math.log(mean + half))


class MiniBuckets:
    r"""Mini-buckets of potentials in an order of elimination.

    An attribute is summed out of the product of its tables in parts of few cells, each raised to a power, by Hölder's
    inequality :math:`\sum_x \prod_k f_k(x) \le \prod_k (\sum_x f_k(x)^{1/w_k})^{w_k}` with weights :math:`w_k` that
    sum to 1. Before, the parts are shifted to have the same marginal of the attribute, which tightens the bound.

    Parameters
    ----------
    potentials : CliqueVector
        Natural logs.
    order : sequence of int
        Positions of all attributes.
    max_cells : float
        Cells of a part; a given table may have more.
    maximum : bool
        Whether maxima stand for sums: the bound is that of the most probable assignment.

    Attributes
    ----------
    log_bound : float
        Upper bound of log Z, or of the largest log-weight; exact where no bucket had to be split.
    is_exact : bool

    References
    ----------
    Liu, Ihler: Bounding the partition function using Hölder's inequality, ICML 2011; Liu, Fisher, Ihler: Probabilistic
    variational bounds for graphical models, NeurIPS 2015; Lou, Dechter, Ihler: Dynamic importance sampling for anytime
    bounds of the partition function, NeurIPS 2017.

    Examples
    --------
    >>> from pypgm import Domain
    >>> potentials = CliqueVector(Domain({"a": 2, "b": 2}), [("a", "b")], np.log([1.0, 2.0, 3.0, 4.0]))
    >>> round(float(np.exp(MiniBuckets(potentials, [0, 1], 4).log_bound)), 6)
    10.0
    """

    def __init__(
        self, potentials: CliqueVector, order: Sequence[int], max_cells: float, *, maximum: bool = False
    ) -> None:
        self.potentials, self.order, self._maximum = potentials, list(order), maximum
        shape = self._shape = potentials.domain.shape
        place = {a: i for i, a in enumerate(order)}
        self.is_exact, self.log_bound = True, 0.0
        buckets: list[Tables] = [[] for _ in order]
        for i, scope in enumerate(potentials.scopes):
            sorted_scope = tuple(sorted(scope, key=place.__getitem__, reverse=True))
            table = potentials.table(i).reshape([shape[a] for a in scope])
            self._pass_on(buckets, place, sorted_scope, table.transpose([scope.index(a) for a in sorted_scope]))
        # Of each attribute the parts' attributes but itself, and their tables with its values as columns.
        self._parts: list[Tables] = []
        for a, held in zip(order, buckets, strict=True):
            merged = _merged([scope for scope, _ in held], place, shape, max_cells)
            tables = [self._sum(scope, [held[i] for i in parts]) for scope, parts in merged]
            held.clear()
            if not tables:
                self.log_bound += 0.0 if maximum else math.log(shape[a])
            if len(tables) > 1:
                self.is_exact = False
                self._match(tables)
            kept: Tables = []
            for (scope, _), table in zip(merged, tables, strict=True):
                out = self._out(table, len(tables))
                kept.append((scope[:-1], self._given(table, out, len(tables))))
                self._pass_on(buckets, place, scope[:-1], out)
            self._parts.append(kept)

    def _pass_on(self, buckets: list[Tables], place: dict[int, int], scope: Scope, table: NDArray[np.float64]) -> None:
        if scope:
            buckets[place[scope[-1]]].append((scope, table.reshape([self._shape[a] for a in scope])))
        else:
            self.log_bound += float(table.reshape(-1)[0])

    def _sum(self, scope: Scope, parts: Tables) -> NDArray[np.float64]:
        """Return the sum of tables as rows of the other attributes' values."""
        total = np.zeros([self._shape[a] for a in scope])
        for part, table in parts:
            total += table.reshape([self._shape[a] if a in part else 1 for a in scope])
        return total.reshape(-1, self._shape[scope[-1]])

    def _match(self, tables: list[NDArray[np.float64]]) -> None:
        n = len(tables)
        slopes = [t.max(axis=0) if self._maximum else _log_sum(n * t, 0) for t in tables]
        slopes = [s - s.max() if s.max() > -np.inf else s for s in slopes]
        mean = sum(slopes) / n
        for table, slope in zip(tables, slopes, strict=True):
            near = (slope > _FAR) & (mean > _FAR)
            shift = np.where(near, mean - np.where(near, slope, 0.0), 0.0)
            np.add(table, shift / (1 if self._maximum else n), out=table)

    def _out(self, table: NDArray[np.float64], n_parts: int) -> NDArray[np.float64]:
        return table.max(axis=1) if self._maximum else _log_sum(n_parts * table, 1) / n_parts

    def _given(self, table: NDArray[np.float64], out: NDArray[np.float64], n_parts: int) -> NDArray[np.float64]:
        """Return what draws and decoding take: shares of the values in each row, or the table itself."""
        if self._maximum:
            return table
        possible = out[:, None] > -np.inf
        level = np.where(possible, out[:, None], 0.0)
        return np.where(possible, np.exp(n_parts * (table - level)), 1.0 / table.shape[1])

    def draw(self, n_draws: int, rng: np.random.Generator) -> Draws:
        """Draw assignments, each attribute from the mean of what its parts propose, with their weights."""
        codes = np.zeros((len(self.order), n_draws), dtype=np.intp)
        log_weights = np.zeros(n_draws)
        for a, parts in zip(reversed(self.order), reversed(self._parts), strict=True):
            size = self._shape[a]
            shares = np.full((n_draws, size), 0.0 if parts else 1.0)
            for scope, table in parts:
                shares += table[self._rows(scope, codes)]
            edges = np.cumsum(shares, axis=1)
            uniform = np.minimum(rng.random(n_draws) * edges[:, -1], np.nextafter(edges[:, -1], 0.0))
            codes[a] = (edges <= uniform[:, None]).sum(axis=1)
            log_weights -= np.log(shares[np.arange(n_draws), codes[a]] / edges[:, -1])
        return Draws(codes, log_weights + self.log_weights(codes), self.log_bound)

    def decode(self) -> NDArray[np.intp]:
        """Return an assignment: each attribute in turn by the largest sum of its parts, given those before."""
        codes = np.zeros((len(self.order), 1), dtype=np.intp)
        for a, parts in zip(reversed(self.order), reversed(self._parts), strict=True):
            if parts:
                codes[a] = int(np.argmax(sum(table[self._rows(scope, codes)][0] for scope, table in parts)))
        return codes[:, 0]

    def log_weights(self, codes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the sum of the potentials at assignments, shape (attributes, assignments)."""
        total = np.zeros(codes.shape[1])
        for i, scope in enumerate(self.potentials.scopes):
            total += self.potentials.table(i)[self._rows(scope, codes)]
        return total

    def _rows(self, scope: Sequence[int], codes: NDArray[np.intp]) -> NDArray[np.intp]:
        rows = np.zeros(codes.shape[1], dtype=np.intp)
        for a in scope:
            rows = rows * self._shape[a] + codes[a]
        return rows


def _log_sum(table: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Return the natural log of the sum of exponentials along an axis."""
    top = table.max(axis=axis, keepdims=True)
    top = np.where(top > -np.inf, top, 0.0)
    with np.errstate(divide="ignore"):
        sums: NDArray[np.float64] = np.log(np.exp(table - top).sum(axis=axis)) + top.squeeze(axis)
    return sums
