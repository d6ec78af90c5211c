"""Selection among sets of signs by how far the sums of their products over the records are from public estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm import _core
from pypgm.privacy.access import TableAccess, selection_epsilon
from pypgm.privacy.counts import pieces_of
from pypgm.privacy.fixed_errors import fixed_errors
from pypgm.privacy.l1_selector import GRID_BITS
from pypgm.privacy.laws import Exponential
from pypgm.privacy.noise import drawable_rate
from pypgm.privacy.observer import observed
from pypgm.privacy.rational import Number
from pypgm.privacy.trusted_query import own_clique

_SUM_LIMIT = float(1 << 44)  # of estimates; sums of as many records times 2^16 stay below 2^60
_MAX_SIGNS = 1 << 16

Bits = NDArray[np.bool_]
Words = NDArray[np.uint64]
Sets = NDArray[np.uint16]


class SignSelector:
    """Exponential mechanisms over sets of signs by the score ``|sum over records of the product - estimate|``.

    A sign is +1 or -1 for each value of an attribute. The product of a set's signs is +1 or -1 for each record: adding
    a record changes each sum by 1 and each score by at most 1, replacing one by at most 2. Made by
    `PrivateTable.sign_selector`.

    Parameters
    ----------
    access : TableAccess
    signs : mapping of str to array_like of bool, shape (signs, values)
        For each attribute its signs: whether each value is -1. Signs are numbered in the order of this mapping.
    sets : sequence of ndarray of uint16, shape (sets, order)
        Numbers of the signs of each set, one array an order.
    """

    __slots__ = ("__sums", "__weakref__", "_access", "_sets", "_signs")

    def __init__(self, access: TableAccess, signs: Mapping[str, ArrayLike], sets: Sequence[ArrayLike]) -> None:
        self._access = access
        self._signs = {a: _checked_signs(access, a, given) for a, given in signs.items()}
        count = sum(map(len, self._signs.values()))
        self._sets = [_checked_sets(given, count) for given in sets]
        if not sum(map(len, self._sets)):
            raise ValueError("a selection among sums of signs needs at least one set")
        self.__sums: NDArray[np.int64] | None = None

    def close(self) -> None:
        """Forget the sums, as the table forgets its records."""
        self.__sums = None

    @observed
    def select(
        self,
        estimates: ArrayLike,
        weights: ArrayLike | None = None,
        among: ArrayLike | None = None,
        *,
        rho: Number | None = None,
        epsilon: Number | None = None,
    ) -> int:
        """Draw a set by an exponential mechanism, after the charge.

        Parameters
        ----------
        estimates : array_like, shape (sets,)
            Public estimate of each sum, rounded to multiples of 2^-16.
        weights : array_like, shape (sets,), optional
            Public factor of each score, in [0, 1], rounded down to multiples of 2^-16; 1 by default.
        among : array_like of bool, shape (sets,), optional
            Whether each set is a candidate, chosen without looking at the data; all by default.
        rho, epsilon : number
            Exactly one: the cost of the draw.

        Returns
        -------
        int
            The position of the set, over all orders in their order.

        Raises
        ------
        BudgetError
            If the charge does not fit; then nothing was read.
        ValueError
            If an argument does not fit or is not finite, or the table is closed.
        """
        if self._access.is_closed():
            raise ValueError("the private table of this selector is closed: its records are gone")
        public, factors, positions = self._public(estimates, weights, among)
        unit = self._access.privacy.l1_score_range << GRID_BITS
        rate = drawable_rate(selection_epsilon(self._access.ledger, rho, epsilon) / unit)
        law = Exponential(rate * unit, self._access.privacy.l1_score_range)
        self._access.ledger.charge("select", f"{len(positions)} sets of signs", law)
        with fixed_errors:
            scores = _weighted(np.abs((self._read() << GRID_BITS) - public), factors)[positions]
            return int(positions[law.draw(scores, self._access.sampler, steps=1 << GRID_BITS)])

    def _public(
        self, estimates: ArrayLike, weights: ArrayLike | None, among: ArrayLike | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return estimates and weights on the grid 2^-16, and the candidates: copies, which nothing changes later."""
        count = sum(map(len, self._sets))
        sums = np.array(estimates, np.float64)
        factors = np.ones(count) if weights is None else np.array(weights, np.float64)
        candidates = np.ones(count, np.bool_) if among is None else np.array(among, np.bool_)
        if not sums.shape == factors.shape == candidates.shape == (count,):
            raise ValueError(f"{count} sets of signs need as many estimates, weights and candidates")
        if not (np.abs(sums) < _SUM_LIMIT).all() or not ((factors >= 0) & (factors <= 1)).all():
            raise ValueError("estimates of sums must be finite and below 2^44, and weights in [0, 1]")
        if not candidates.any():
            raise ValueError("a selection among sums of signs needs at least one candidate")
        grid = 1 << GRID_BITS
        return np.rint(sums * grid).astype(np.int64), (factors * grid).astype(np.int64), np.flatnonzero(candidates)

    def _read(self) -> NDArray[np.int64]:
        """Return the sums over the records; to be called after the charge."""
        if self.__sums is None:
            odd, total = [np.zeros(len(sets), np.int64) for sets in self._sets], 0
            for piece in pieces_of(self._access.records(), tuple(self._signs)):
                total += len(next(iter(piece.values())))
                words = packed_signs(self._signs, piece)
                n_threads = self._access.sampler.n_threads
                odd = [o + _core.count_odd(words, sets, n_threads) for o, sets in zip(odd, self._sets, strict=True)]
            self.__sums = total - 2 * np.concatenate(odd)
        return self.__sums

    def __repr__(self) -> str:
        return f"{type(self).__name__}(scores behind a ledger)"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a private selector is neither pickled nor copied")


def sign_sums(
    signs: Mapping[str, Bits], sets: Sequence[Sets], columns: Mapping[str, NDArray[np.integer]]
) -> NDArray[np.int64]:
    """Return the sums of the products of sets of signs over records that are public, such as those of a model.

    Examples
    --------
    >>> signs = {"a": np.array([[False, True]]), "b": np.array([[False, True]])}
    >>> sets = [np.array([[0, 1]], np.uint16)]
    >>> sign_sums(signs, sets, {"a": np.array([0, 1, 1]), "b": np.array([1, 1, 0])}).tolist()
    [-1]
    """
    words, total = packed_signs(signs, columns), len(next(iter(columns.values())))
    return np.concatenate([total - 2 * _core.count_odd(words, one, 0) for one in sets])


def packed_signs(signs: Mapping[str, Bits], columns: Mapping[str, NDArray[np.integer]]) -> Words:
    """Return a row of bits for each sign, 64 records a word; bits beyond the last record are 0."""
    rows = [
        np.packbits(sign[columns[a]], bitorder="little") for a, of_attribute in signs.items() for sign in of_attribute
    ]
    words = np.zeros((len(rows), -(-len(rows[0]) // 8)), np.uint64)
    words.view(np.uint8)[:, : len(rows[0])] = rows
    return words


def _weighted(scores: NDArray[np.int64], factors: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return scores times factors of at most 2^16, over 2^16, rounded down.

    A score that changes by at most c 2^16, for an integer c, changes the exact quotient by at most c times the factor:
    an integer, which rounding down keeps as a bound, and at most c 2^16.
    """
    low = scores & ((1 << GRID_BITS) - 1)
    return np.asarray(factors * (scores >> GRID_BITS) + (factors * low >> GRID_BITS))


def _checked_signs(access: TableAccess, attribute: str, given: ArrayLike) -> Bits:
    (name,) = clique = own_clique(access.domain, (attribute,))
    bits = np.array(given, np.bool_)
    if bits.ndim != 2 or bits.shape[1] != access.domain.size(clique):
        raise ValueError(f"signs of {name!r} need a row each with {access.domain.size(clique)} values")
    return bits


def _checked_sets(given: ArrayLike, count: int) -> Sets:
    numbers = np.array(given)
    if numbers.ndim != 2 or numbers.shape[1] < 1 or numbers.dtype.kind not in "iu" or count > _MAX_SIGNS:
        raise ValueError(f"sets of signs need a row of integers each, and at most {_MAX_SIGNS} signs")
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < count:
        raise ValueError(f"sets of signs need numbers of signs below {count}")
    return np.ascontiguousarray(numbers, np.uint16)
