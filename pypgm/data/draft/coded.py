"""Columns of texts as integer codes, which relations between many columns are looked for in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm.data.draft.column import NULLS

MAX_VALUES = 10_000
"""Values of a column that are told apart here, at most: a column of more stands in no relation."""

MIN_RECORDS = 10
"""Records that would be otherwise by chance, before a relation is believed."""

FIRST_ROWS = 100
"""Records by which most pairs of columns are told apart."""

_HOT = 512  # columns of zeros and ones that are multiplied at once
_ROWS = 4096  # records that are multiplied at once


class Piece(NamedTuple):
    """Records as codes, which number the texts of each column as they come."""

    names: Sequence[str]  # of columns whose values are told apart
    codes: NDArray[np.int32]  # (n_records, n_columns)
    all_names: Sequence[str]
    is_filled: NDArray[np.bool_]  # (n_records, n_all_columns)


class Coder:
    """Codes of the texts of columns, the same in all pieces of a table.

    Examples
    --------
    >>> coder = Coder()
    >>> coder.piece({"sex": ["F", "M", "F"], "plan": ["", "", "gold"]}).codes.tolist()
    [[0, 0], [1, 0], [0, 1]]
    >>> coder.values
    {'sex': ['F', 'M'], 'plan': ['', 'gold']}
    """

    def __init__(self) -> None:
        self._places: dict[str, dict[str, int]] | None = None
        self.counts: dict[str, NDArray[np.int64]] = {}

    def piece(self, columns: Mapping[str, Sequence[str]]) -> Piece:
        """Return records as codes; columns that have too many values by now are left out for good."""
        if self._places is None:
            self._places = {name: {} for name in columns}
            self.counts = {name: np.zeros(0, dtype=np.int64) for name in columns}
        n_rows = len(next(iter(columns.values()), ()))
        is_filled = np.empty((n_rows, len(columns)), bool)
        coded: dict[str, NDArray[np.int32]] = {}
        for i, (name, texts) in enumerate(columns.items()):
            places = self._places.get(name)
            if places is None:
                is_filled[:, i] = [text not in NULLS for text in texts]
                continue
            codes = np.array([places.setdefault(text, len(places)) for text in texts], dtype=np.int32)
            is_filled[:, i] = np.array([text not in NULLS for text in places], dtype=bool)[codes]
            if len(places) > MAX_VALUES:
                del self._places[name], self.counts[name]
                continue
            coded[name] = codes
            counts = np.bincount(codes, minlength=len(places))
            counts[: len(self.counts[name])] += self.counts[name]
            self.counts[name] = counts
        all_codes = np.empty((n_rows, len(coded)), np.int32)
        for i, codes in enumerate(coded.values()):
            all_codes[:, i] = codes
        return Piece(list(coded), all_codes, list(columns), is_filled)

    @property
    def values(self) -> dict[str, list[str]]:
        """The texts of each column, in the order of their codes."""
        return {name: list(places) for name, places in (self._places or {}).items()}


def hot_products(
    codes: NDArray[np.int32], sizes: Sequence[int], right: NDArray[np.bool_] | None = None
) -> Iterator[tuple[range, NDArray[np.float32]]]:
    """Yield the numbers of records with each code of some columns and each of further properties.

    Parameters
    ----------
    codes : ndarray of int, shape (n_records, n_columns)
    sizes : sequence of int
        Number of codes of each column.
    right : ndarray of bool, shape (n_records, n_properties), optional
        Properties of records; by default to have each code of each column from the first of the group on.

    Yields
    ------
    group : range
        Places of columns.
    counts : ndarray, shape (n_codes_of_group, n_properties)

    Examples
    --------
    >>> [(list(group), counts.tolist()) for group, counts in hot_products(np.array([[0, 1], [1, 1]]), [2, 2])]
    [([0, 1], [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 2.0]])]
    """
    start, n_columns = 0, len(sizes)
    while start < n_columns:
        stop, n_codes = start + 1, sizes[start]
        while stop < n_columns and n_codes + sizes[stop] <= _HOT:
            n_codes += sizes[stop]
            stop += 1
        width = sum(sizes[start:]) if right is None else right.shape[1]
        counts = np.zeros((n_codes, width), np.float32)
        for first in range(0, len(codes), _ROWS):
            rows = slice(first, first + _ROWS)
            if right is None:
                others = _hot(codes[rows, start:], sizes[start:])
                left = others[:, :n_codes]
            else:
                left, others = _hot(codes[rows, start:stop], sizes[start:stop]), right[rows].astype(np.float32)
            counts += left.T @ others
        yield range(start, stop), counts
        start = stop


def _hot(codes: NDArray[np.int32], sizes: Sequence[int]) -> NDArray[np.float32]:
    """Return a column of zeros and ones for each code of each column."""
    starts = np.cumsum([0, *sizes[:-1]])
    hot = np.zeros((len(codes), sum(sizes)), np.float32)
    hot[np.arange(len(codes))[:, None], starts + codes] = 1
    return hot
