"""Signs of attributes' values, and the sets of them that a search for interactions compares."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pypgm.mechanisms.resolution import Values

Bits: TypeAlias = NDArray[np.bool_]

# Chosen on made-up tables of parities, sums modulo 3, hidden halves and rules, adult, titanic, fire and msnbc.
_OF_LEAST = 0.6  # of the sets: the smallest order may take so many
_MOST_SIGNS = 7  # of an attribute
_RARE = 0.02  # of the records: least share of either sign
_MOST_CELLS = 1 << 17  # of the table of a set, which the estimate holds


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Sets of signs of different attributes.

    Attributes
    ----------
    signs : dict of str to ndarray of bool, shape (signs, values)
        Whether each value of an attribute counts as -1.
    sets : list of ndarray of uint16, shape (sets, order)
        Numbers of signs, over all attributes in their order.
    owners : ndarray of int64, shape (signs,)
        Position of the attribute of each sign.
    """

    signs: dict[str, Bits]
    sets: list[NDArray[np.uint16]]
    owners: NDArray[np.int64]

    def holding(self, attributes: Collection[str]) -> NDArray[np.bool_]:
        """Return whether each set has all of some attributes."""
        places = [i for i, a in enumerate(self.signs) if a in attributes]
        return np.concatenate([np.isin(self.owners[s], places).sum(axis=1) == len(places) for s in self.sets])

    def set_at(self, position: int) -> dict[str, Bits]:
        """Return the signs of a set by attribute."""
        for sets in self.sets:
            if position < len(sets):
                break
            position -= len(sets)
        flat = [(a, sign) for a, of_attribute in self.signs.items() for sign in of_attribute]
        return dict(flat[j] for j in sets[position].tolist())


def signs_of(values: Values, is_ordered: bool) -> Bits:
    """Return signs of an attribute's values, the most telling first: whether each value counts as -1.

    Those of an ordered attribute split it at its median and quarters, those of another one by the binary digits of the
    values' ranks by frequency, and each of the most frequent values from the others.
    """
    codes = np.arange(values.size)
    ranks = np.argsort(np.argsort(-values.shares, kind="stable"), kind="stable")
    bits = max(1, math.ceil(math.log2(min(values.size, 8))))
    among = [ranks == i for i in range(3)]
    if is_ordered and values.size > 2:
        quarters = np.floor(4 * values.below)
        made = [quarters >= 2, (quarters == 1) | (quarters == 2), quarters % 2 == 1, quarters >= 1, quarters >= 3]
        made.append(codes % 2 == 1)
    elif values.size == 3:
        made = among
    else:
        parities = [_is_odd(ranks & digits) for digits in range(1, 1 << bits)]
        made = [*parities, *(among if values.size > 2 else [])]
    kept: list[Bits] = []
    for sign in made:
        share = values.shares[sign].sum() / values.shares.sum()
        if _RARE < share < 1 - _RARE and not any((sign == s).all() or (sign != s).all() for s in kept):
            kept.append(sign)
    return np.array(kept[:_MOST_SIGNS], bool).reshape(-1, values.size)


def _is_odd(codes: NDArray[np.int64]) -> Bits:
    """Return whether the number of binary digits 1 is odd, of codes below 2^32."""
    for half in (16, 8, 4, 2, 1):
        codes = codes ^ (codes >> half)
    return np.asarray(codes % 2 == 1)


def candidate_sets(
    counts: Sequence[int],
    sizes: Sequence[int],
    most: float,
    orders: Sequence[int],
    within: Sequence[Sequence[int]] | None = None,
) -> list[NDArray[np.uint16]]:
    """Return sets of signs of different attributes, one array an order: of each attribute as many first signs as fit.

    Where not even one sign of each attribute fits, the largest orders are left out.

    Parameters
    ----------
    counts : sequence of int
        Number of signs of each attribute.
    sizes : sequence of int
        Number of values of each attribute: the table of a set has few cells.
    most : float
        Number of sets.
    orders : sequence of int
        Numbers of signs in a set, rising.
    within : sequence of sequence of int, optional
        Positions of attributes: each set is within one of these, if given.

    Examples
    --------
    >>> [s.tolist() for s in candidate_sets([1, 2, 1], [2, 4, 2], 6, [2, 3])]
    [[[0, 1], [0, 3], [1, 3]], [[0, 1, 3], [0, 2, 3]]]
    """
    first = np.concatenate([[0], np.cumsum(counts)])
    with_signs = [i for i, n in enumerate(counts) if n]
    given = [with_signs] if within is None else [sorted(set(w).intersection(with_signs)) for w in within]
    parts = [np.array([p for p in given if len(p) == n], np.int64) for n in sorted({len(p) for p in given if p})]
    made: list[NDArray[np.uint16]] = []
    orders = [o for o in orders if o <= len(with_signs)]
    while len(orders) > 1 and within is None and number_of_sets([1] * len(with_signs), orders) > most:
        orders = orders[:-1]
    for place, order in enumerate(orders):
        number = most * _OF_LEAST if place == 0 and len(orders) > 1 else most / (len(orders) - place)
        fitting = [
            m for m in range(1, max(counts) + 1) if number_of_sets([min(m, n) for n in counts], [order]) <= number
        ]
        if not fitting:
            continue
        of_parts = [some[:, _combinations(some.shape[1], order)].reshape(-1, order) for some in parts]
        combined = (
            of_parts[0]
            if within is None
            else np.unique(np.concatenate([np.zeros((0, order), np.int64), *of_parts]), axis=0)
        )
        combined = combined[np.prod(np.asarray(sizes, float)[combined], axis=1) <= _MOST_CELLS]
        has = np.minimum(np.take(counts, combined), fitting[-1])
        _, which, kind = np.unique(
            has @ (max(counts) + 1) ** np.arange(order)[::-1], return_index=True, return_inverse=True
        )
        rows = [  # of attributes with equally many signs
            (first[combined[kind == i]][:, None] + np.array(list(np.ndindex(*some_counts)))).reshape(-1, order)
            for i, some_counts in enumerate(has[which].tolist())
        ]
        made += [np.concatenate(rows).astype(np.uint16)] if rows else []
        most -= sum(map(len, rows))
    return made


def _combinations(n: int, order: int) -> NDArray[np.int64]:
    """Return all sets of some of the first n integers, in lexicographic order, shape (sets, order).

    Examples
    --------
    >>> _combinations(3, 2).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    made, last = np.zeros((1, 0), np.int64), np.array([-1])
    for taken in range(order):  # each set so far is continued by every later integer that leaves enough for the rest
        counts = np.maximum(n - order + taken - last, 0)
        before = np.repeat(np.arange(len(last)), counts)
        step = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        last = last[before] + 1 + step
        made = np.column_stack([made[before], last])
    return made


def number_of_sets(counts: Sequence[int], orders: Sequence[int]) -> int:
    """Return the number of sets of so many signs of different attributes: elementary symmetric polynomials.

    Examples
    --------
    >>> number_of_sets([1, 2, 1], [2, 3])
    7
    """
    largest = max(orders, default=0)
    sums = [1] + [0] * largest
    for count in counts:
        for k in range(largest, 0, -1):
            sums[k] += count * sums[k - 1]
    return sum(sums[order] for order in orders)
