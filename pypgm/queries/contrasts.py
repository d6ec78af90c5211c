"""Contrasts: the part of a clique's marginal that none of its smaller marginals determines."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.numeric import checked_integer
from pypgm.queries.entries import ENTRY_LIMIT, checked_integers
from pypgm.queries.kronecker import Kronecker
from pypgm.queries.matrix import Matrix
from pypgm.queries.neighbours import Neighbours
from pypgm.queries.partition import Partition
from pypgm.queries.query import Form, LinearQuery


class Contrasts(LinearQuery):
    r"""The pure interaction of a clique, in integers: Q M vanishes on all that smaller marginals determine.

    Q is a Kronecker product. An attribute of two values has the factor (1, -1), one of n > 2 values the n x n matrix
    :math:`n I - 1 1^\top`: n times each value, minus the sum. So up to one factor the answers are the marginal with its
    means along every axis subtracted. For the clique without attributes it is the number of records. One record changes
    the answers less than it does the cells: at equal cost, noise on the interaction is smaller by the root of
    :math:`\prod (1 - 1/n)`.

    Parameters
    ----------
    sizes : sequence of int
        Number of values of each attribute, in the clique's order, each at least 2.
    groups : sequence of array_like of int, optional
        For each attribute the group of each value, from 0. Contrasts are then those of the table of the groups' sums,
        and `sizes` their numbers.

    Attributes
    ----------
    sizes : tuple of int
    value_groups : tuple of tuple of int
        The group of each value of each attribute; empty where there are no groups.
    squared_singular_value : int
        The square of all singular values, of the sums over groups: the factor of an interaction.

    Raises
    ------
    ValueError
        If an attribute has fewer than two values, or entries of the product reach 2^18; or if the number of groups
        differs from their size, or one has no value.
    TypeError
        If the groups are not integers.

    Notes
    -----
    Sensitivities are exact. With g = n (n - 1) for n > 2 values and g = 1 for two, the squared L2 sensitivity is the
    product of g under add-remove. Records that agree on some attributes only have columns whose inner product is that
    of g over these and of -g / (n - 1) over the others: it is least where they differ in the one attribute of fewest
    values, and under "replace" the squared sensitivity is 2 m / (m - 1) times the product of g, m that number.

    References
    ----------
    Xiao, He, Zhang and Kifer 2023, "An Optimal and Scalable Matrix Mechanism for Noisy Marginals under Convex Loss
    Functions" (residual bases).

    Examples
    --------
    >>> parity = Contrasts([2, 2])
    >>> parity.matvec([7, 1, 1, 7]).tolist(), parity.squared_l2_sensitivity("add-remove")
    ([12], 1)
    >>> Contrasts([3]).matvec([5, 2, 2]).tolist(), Contrasts([3]).squared_l2_sensitivity("replace")
    ([6, -3, -3], 18)
    >>> Contrasts([2, 2], groups=[[0, 1], [0, 1, 1]]).matvec([5, 1, 2, 0, 3, 4]).tolist()
    [9]
    """

    sizes: tuple[int, ...]
    value_groups: tuple[tuple[int, ...], ...]
    squared_singular_value: int
    _sums: Partition | None  # of the groups

    def __init__(self, sizes: Iterable[int], groups: Sequence[ArrayLike] = ()) -> None:
        shape = tuple(checked_integer("size", n, 1) for n in sizes)
        if min(shape, default=2) < 2:
            raise ValueError(f"contrasts need attributes of at least two values, got sizes {shape}")
        if math.prod(n - 1 for n in shape) >= ENTRY_LIMIT:
            raise ValueError(f"the entries of contrasts must be below 2^18, got {math.prod(n - 1 for n in shape)}")
        fine = _checked_groups(shape, groups) if len(groups) else []
        self._set(sizes=shape, value_groups=tuple(tuple(g.tolist()) for g in fine))
        # The contrasts of one attribute are its counts but for their mean.
        self._set(is_interaction=len(shape) > 1, squared_singular_value=math.prod(n * n if n > 2 else 2 for n in shape))
        # The cell of the groups' table that each cell is summed into.
        self._set(_sums=Partition(np.ravel_multi_index(np.ix_(*fine), shape).reshape(-1)) if fine else None)
        centred = [n for n in shape if n > 2]
        rows, cells = math.prod(centred), math.prod(g.size for g in fine) if fine else math.prod(shape)
        # Each binary axis is halved, then each other one summed and subtracted from.
        cost = 2 * cells + 2 * len(centred) * rows
        text = f"sizes={shape}" + (f" of groups of {cells} cells" if fine else "")
        same = (shape, self.value_groups)
        self._describe(same, (rows, cells), rows * cells, cost=cost, n_read=cells, non_negative=not shape, text=text)

    def form(self) -> Form:
        """Return the query as the compiled loop takes it: signed sums along binary axes, centred along all others."""
        codes = np.indices(self.sizes).reshape(len(self.sizes), math.prod(self.sizes))
        if self._sums is not None:
            codes = codes[:, self._sums.groups]
        answers, signs = np.zeros(self.shape[1], dtype=np.int64), np.ones(self.shape[1])
        for n, code in zip(self.sizes, codes, strict=True):
            if n == 2:
                signs *= 1 - 2 * code
            else:
                answers = answers * n + code
        width = len(self.value_groups[-1]) if self.value_groups else self.sizes[-1] if self.sizes else 0
        axes = tuple(n for n in self.sizes if n > 2)
        return Form(answers, axes=axes, entries=signs, width=width)

    def total_weights(self, stddev: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return None: only answers of the clique without attributes determine the sum over all cells."""
        return None if self.sizes else np.ones(stddev.size)

    def magnitudes(self, power: Literal[1, 2]) -> LinearQuery:
        """Return the product of the factors' magnitudes."""
        factors = [contrast_factor(n) for n in self.sizes]
        if self.value_groups:
            factors = [factor[:, groups] for factor, groups in zip(factors, self.value_groups, strict=True)]
        return Kronecker([Matrix(factor).magnitudes(power) for factor in factors] or [Matrix([[1.0]])])

    def column_squares(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted squared norm of each column."""
        return np.asarray(self._transpose(weights[None, :, None], squared=True)[0, :, 0])

    def largest_squared_distance(self, weights: NDArray[np.float64]) -> float:
        """Return the largest squared distance of two columns times the largest weight, a bound."""
        return float(weights.max()) * self._sensitivity("replace", 2)

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        if self._sums is not None:
            table = self._sums._apply(table)
        return self._along_axes(table)

    def _transpose(self, table: NDArray[Any], *, squared: bool = False) -> NDArray[Any]:
        cells = self._along_axes(table, transpose=True, squared=squared)
        return cells if self._sums is None else self._sums._transpose(cells)

    def _along_axes(self, table: NDArray[Any], *, transpose: bool = False, squared: bool = False) -> NDArray[Any]:
        """Return Q or its transpose, or that with squared entries, applied to the middle axis, factor by factor."""
        before, _, after = table.shape
        sign, done = 1 if squared else -1, before
        for i, n in enumerate(self.sizes):
            left = math.prod(m if not transpose or m > 2 else 1 for m in self.sizes[i + 1 :]) * after
            if n > 2:
                axis_table = table.reshape(done, n, left)
                factor = n * (n - 2) if squared else n  # (n - 1)^2 = n (n - 2) + 1
                table = factor * axis_table + sign * axis_table.sum(axis=1, keepdims=True)
            elif transpose:
                axis_table = table.reshape(done, 1, left)
                table = np.concatenate([axis_table, sign * axis_table], axis=1)
            else:
                axis_table = table.reshape(done, 2, left)
                table = axis_table[:, :1] + sign * axis_table[:, 1:]
            done *= table.shape[1]
        return table.reshape(before, math.prod(self.sizes) if transpose else self.shape[0], after)

    def _sensitivity(self, neighbours: Neighbours, norm: Literal[1, 2]) -> int:
        if norm == 1:
            return self._l1_sensitivity(neighbours)
        squares = math.prod(n * (n - 1) if n > 2 else 1 for n in self.sizes)
        return squares if neighbours == "add-remove" else 2 * self._with_opposite(squares)

    def _largest_change(self, neighbours: Neighbours) -> int:
        largest = math.prod(n - 1 for n in self.sizes)
        return largest if neighbours == "add-remove" else self._with_opposite(largest)

    def _with_opposite(self, amount: int) -> int:
        """Return an amount, and its negated value if one attribute, that of fewest values, differs."""
        return amount + amount // (min(self.sizes) - 1) if self.sizes else 0

    def _l1_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the largest L1 norm of a column, or of the difference of two.

        Over attributes that agree the norm is a product of norms. Of one that differs, an answer has the entries
        (n - 1, -1), (-1, n - 1) or, n - 2 times, (-1, -1) in the two columns; (1, -1) if it is binary.
        """
        counts = Counter(self.sizes)
        norms = {n: 2 * (n - 1) if n > 2 else 1 for n in counts}
        if neighbours == "add-remove":
            return math.prod(norms[n] ** times for n, times in counts.items())
        worst = 0
        for differing in itertools.product(*(range(times + 1) for times in counts.values())):
            pairs = Counter({(1, 1): 1})  # products of entries in both columns, and how many answers have them
            agreeing = 1
            for (n, times), differ in zip(counts.items(), differing, strict=True):
                agreeing *= norms[n] ** (times - differ)
                for _ in range(differ):
                    pairs = _products(pairs, n)
            worst = max(worst, agreeing * sum(times * abs(a - b) for (a, b), times in pairs.items()))
        return worst


def _checked_groups(sizes: Sequence[int], groups: Sequence[ArrayLike]) -> list[NDArray[np.int64]]:
    arrays = [checked_integers("groups", g) for g in groups]
    if len(arrays) != len(sizes):
        raise ValueError(f"groups need one array for each of {len(sizes)} attributes, got {len(arrays)}")
    for n, group in zip(sizes, arrays, strict=True):
        if not np.array_equal(np.unique(group), np.arange(n)):
            raise ValueError(f"each of {n} groups needs a value and no other one may have any, got {np.unique(group)}")
    return arrays


def _products(pairs: Counter[tuple[int, int]], n: int) -> Counter[tuple[int, int]]:
    entries = {(n - 1, -1): 1, (-1, n - 1): 1, (-1, -1): n - 2} if n > 2 else {(1, -1): 1}
    products: Counter[tuple[int, int]] = Counter()
    for ((a, b), times), ((c, d), more) in itertools.product(pairs.items(), entries.items()):
        products[a * c, b * d] += times * more
    return products


def contrast_factor(n: int) -> NDArray[np.float64]:
    """Return the factor that an attribute of so many values has in `Contrasts`."""
    return np.array([[1.0, -1.0]]) if n == 2 else n * np.eye(n) - 1.0
