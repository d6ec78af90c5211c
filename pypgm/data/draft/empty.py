"""Combinations of two columns that no record has, though many would have by chance, as the records of a draft show."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.bins import Binned
from pypgm.data.columns.column import Column
from pypgm.data.draft.coded import Coder, Piece, hot_products
from pypgm.data.draft.column import NULLS
from pypgm.data.draft.gaps import LISTED
from pypgm.data.draft.warnings import note, propose
from pypgm.data.schema.schema_file import declarations

_EXPECTED = 50  # records by chance, before a combination that no record has is named
_IN_BLOCK = 15  # of them in the first records, by which most pairs of columns are told apart
_WORK = 2e10  # multiplications for the first records, at most
_MAX_FIRST_ROWS = 20_000  # first records, at most
_MAX_PAIRS = 200  # pairs of columns that are followed through all records
_MAX_LINES = 24  # warnings in a draft
_MAX_GROUPS = 12  # combinations in one rule: more are no rule that people know
_GROUPS = 10  # ranges of a column of numbers, in the first records


class Empty(NamedTuple):
    """Pair of columns with combinations that no record has."""

    one: str
    other: str
    expected: float
    """Records by chance, all combinations together."""
    cells: list[list[list[str]]]
    """Combinations: values of the one, each with all of the values of the other."""


class _Axis(NamedTuple):
    """A column, or the ranges of one of numbers, as codes of the first records."""

    name: str
    codes: NDArray[np.int32]
    size: int


class EmptyCells:
    """Pairs of columns, of listed values or of numbers, with combinations that never come.

    Examples
    --------
    >>> coder, wards = Coder(), ["births", "eyes", "bones"] * 200
    >>> empty = EmptyCells(coder)
    >>> columns = {"ward": wards, "sex": ["M" if i % 2 and i % 3 else "F" for i in range(600)]}
    >>> empty.add(coder.piece(columns))
    >>> [(pair.one, pair.other, pair.cells) for pair in empty.of_values()]
    [('ward', 'sex', [[['births'], ['M']]])]
    """

    def __init__(self, coder: Coder) -> None:
        self._coder = coder
        self._came: dict[tuple[str, str], NDArray[np.bool_]] | None = None
        """By pair: whether a record has each combination of codes."""
        self._n_records = 0

    def add(self, piece: Piece) -> None:
        """Add records."""
        if not len(piece.codes):
            return
        self._n_records += len(piece.codes)
        places = {name: i for i, name in enumerate(piece.names)}
        if self._came is None:
            self._came = {pair: np.zeros((0, 0), dtype=bool) for pair in self._candidates(piece)}
        for (one, other), came in list(self._came.items()):
            if one not in places or other not in places:
                del self._came[one, other]
                continue
            shape = tuple(len(self._coder.counts[name]) for name in (one, other))
            whole = np.zeros(shape, dtype=bool)
            whole[: came.shape[0], : came.shape[1]] = came
            whole[piece.codes[:, places[one]], piece.codes[:, places[other]]] = True
            self._came[one, other] = whole

    def _candidates(self, piece: Piece) -> list[tuple[str, str]]:
        """Return pairs with combinations that the first records lack, those of the most records by chance first."""
        axes = list(self._axes(piece))
        n_codes = sum(axis.size for axis in axes)
        n_rows = min(len(piece.codes), _MAX_FIRST_ROWS, int(_WORK / max(n_codes, 1) ** 2))
        if not axes or not n_rows:
            return []
        codes = np.stack([axis.codes[:n_rows] for axis in axes], axis=1)
        sizes = [axis.size for axis in axes]
        starts = np.cumsum([0, *sizes])
        by_code = np.concatenate([np.bincount(codes[:, i], minlength=size) for i, size in enumerate(sizes)])
        owners = np.repeat(np.arange(len(axes)), sizes)
        best: dict[tuple[int, int], float] = {}
        for group, counts in hot_products(codes, sizes):
            first, last = starts[group.start], starts[group.stop]
            expected = np.outer(by_code[first:last], by_code[first:]) / n_rows
            rows, columns = np.nonzero((counts == 0) & (expected >= _IN_BLOCK))
            ones, others = owners[first + rows].tolist(), owners[first + columns].tolist()
            for one, other, records in zip(ones, others, expected[rows, columns].tolist(), strict=True):
                if one < other:
                    best[one, other] = max(best.get((one, other), 0.0), records)
        chosen = sorted(best, key=lambda pair: -best[pair])[:_MAX_PAIRS]
        return [(axes[one].name, axes[other].name) for one, other in sorted(chosen)]

    def _axes(self, piece: Piece) -> Iterator[_Axis]:
        """Yield the columns of listed values, and ranges of those of numbers; missing values are one more range."""
        values = self._coder.values
        for i, name in enumerate(piece.names):
            codes = piece.codes[:, i]
            if 2 <= len(values[name]) <= LISTED:
                yield _Axis(name, codes, len(values[name]))
            elif (numbers := numbers_of(values[name])) is not None:
                ends = np.nanquantile(numbers[codes], np.linspace(0, 1, _GROUPS + 1)[1:-1])
                yield _Axis(name, np.searchsorted(ends, numbers)[codes].astype(np.int32), _GROUPS)

    def of_values(self, without: Collection[str] = ()) -> Iterator[Empty]:
        """Yield pairs of columns of listed values with combinations that no record has."""
        values, counts = self._coder.values, self._coder.counts
        for (one, other), came in (self._came or {}).items():
            if {one, other} & {*without} or max(came.shape) > LISTED:
                continue
            expected = np.outer(counts[one], counts[other]) / self._n_records
            is_value = np.outer(*(np.array([text not in NULLS for text in values[name]]) for name in (one, other)))
            is_empty = ~came & (expected >= _EXPECTED) & is_value
            groups: dict[tuple[str, ...], list[str]] = {}
            for text, row in zip(values[one], is_empty, strict=True):
                if row.any():
                    others = tuple(sorted(value for value, is_so in zip(values[other], row, strict=True) if is_so))
                    groups.setdefault(others, []).append(text)
            if groups and len(groups) <= _MAX_GROUPS:
                cells = [[sorted(texts), list(others)] for others, texts in groups.items()]
                yield Empty(one, other, float(expected[is_empty].sum()), cells)

    def ranges(self, one: str, other: str, column: Binned) -> tuple[float, list[list[Any]]]:
        """Return how many records are expected beyond the numbers that come with each value, and these ranges.

        Parameters
        ----------
        one, other : str
            Column of listed values, and column of numbers.
        column : Binned
            Declaration of the latter: ranges begin and end with its bins.
        """
        pair = (one, other) if (one, other) in (self._came or {}) else (other, one)
        came = (self._came or {})[pair]
        came = came if pair == (one, other) else came.T
        numbers, counts = numbers_of(self._coder.values[other]), self._coder.counts
        codes, problem = column.encode(self._coder.values[other])
        if numbers is None or problem is not None:
            return 0.0, []
        first, last = (column.of_steps(end) for end in column.ends())
        total, cells = 0.0, []
        is_value = codes < column.n_values
        for code, text in enumerate(self._coder.values[one]):
            bins = codes[came[code] & is_value].astype(np.int64)
            if not bins.size or text in NULLS:
                continue
            for beyond, end in ((codes > bins.max(), "from"), (codes < bins.min(), "to")):
                expected = counts[one][code] * counts[other][beyond & is_value].sum() / self._n_records
                if expected >= _EXPECTED:
                    total += float(expected)
                    limit = first[bins.max() + 1] if end == "from" else last[bins.min() - 1]
                    cells.append([text, {end: limit.item()}])
        return total, cells

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Pairs of columns that may have combinations that never come."""
        return list(self._came or {})


def numbers_of(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """Return texts as numbers, NaN for missing ones; None if one is no number, or all are missing."""
    try:
        numbers = np.array([np.nan if text in NULLS else float(text) for text in texts])
    except ValueError:
        return None
    return None if np.isnan(numbers).all() or np.isinf(numbers).any() else numbers


def point_out_empty(draft: dict[str, Any], empty: EmptyCells, without: Collection[str]) -> None:
    """Propose rules against combinations that no record has, those of most records by chance first.

    Parameters
    ----------
    draft : dict
    empty : EmptyCells
    without : collection of str
        Columns that follow from others, or are named by other rules.
    """
    columns = draft["columns"]
    declared, _, _ = declarations({"columns": columns})
    read = {name: column for name, column in declared.items() if isinstance(column, Column)}
    listed = {n for n, fields in columns.items() if fields["kind"] in {"categorical", "boolean"} and n in read}
    binned = {n: c for n, c in read.items() if isinstance(c, Binned) and c.scale == "numbers"}
    proposals = [
        (pair.expected, pair.one, pair.other, [[_entry(e) for e in cell] for cell in pair.cells])
        for pair in empty.of_values(without)
        if {pair.one, pair.other} <= listed
    ]
    for pair in empty.pairs:
        one, other = pair if pair[0] in listed else pair[::-1]
        if one in listed and other in binned and not {one, other} & {*without}:
            expected, cells = empty.ranges(one, other, binned[other])
            proposals += [(expected, one, other, cells)] * (0 < len(cells) <= _MAX_GROUPS)
    for _, one, other, cells in sorted(proposals, key=lambda proposal: -proposal[0])[:_MAX_LINES]:
        propose(draft, other, note("never", one), {"columns": [one, other], "forbidden": cells})


def _entry(texts: list[str]) -> str | list[str]:
    return texts[0] if len(texts) == 1 else texts
