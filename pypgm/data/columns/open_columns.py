"""Open columns: their values or bins are found privately before they can be encoded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.numeric import fraction_of
from pypgm.data.columns.categorical import Categorical
from pypgm.data.columns.column import NullKind, as_tuple, null_entry
from pypgm.data.columns.numbers import Integer, Real, round_points

Share = int | float | str | Fraction
_MOST_QUANTILES = 1000
_SMALLEST = 2.0**-20  # power of 2 at which bounds of numbers of any resolution are looked for


@dataclass(frozen=True)
class OpenSet:
    """Values that nobody can list: the common ones are found privately, all others become one value, "other".

    Parameters
    ----------
    share : number
        Share of the budget, more than 0, spent on finding them.
    other : str
        Label of all other values.
    null
        See `Column`.

    Examples
    --------
    >>> employer = OpenSet(share="0.05", null=True)
    >>> employer.closed(["acme", "other", "bank"]).labels
    ('acme', 'bank', 'other', '')
    """

    share: Share
    other: str = "other"
    null: bool | str | Sequence[str] | Sequence[NullKind] | Mapping[str, str] = ()

    def __post_init__(self) -> None:
        _check_share(self.share)
        object.__setattr__(self, "null", self.provisional.null)

    @property
    def provisional(self) -> Categorical:
        """The column before any value is found: all values are other ones."""
        return Categorical((), other=self.other, null=self.null)

    def closed(self, labels: Iterable[object]) -> Categorical:
        """Return the column of the values that were settled."""
        kinds = {kind.label for kind in self.provisional.null_kinds}
        texts = {str(value).strip() for value in labels} - {self.other, "", *self.provisional.nulls, *kinds}
        return Categorical(sorted(texts), other=self.other, null=self.null)

    def assumed(self, n_values: int) -> Categorical:
        """Return the column as if `n_values` values had been found."""
        return self.closed(f"value {i + 1}" for i in range(n_values))

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the column in a schema file."""
        fields = {"kind": "open", "share": _plain(self.share)}
        fields |= {} if self.other == "other" else {"other": self.other}
        return fields | null_entry(self.null)


@dataclass(frozen=True)
class QuantileBins:
    """Numbers in bins of about equally many records, whose bounds are found privately.

    Parameters
    ----------
    column : Integer or Real
        Bounds, nulls and all else; its own bins do not matter. Its ``within="tails"``, the default in schema files,
        spreads the largest numbers as those beside them, not evenly up to the bound.
    quantiles : int
        Number of bins, about: fewer where many records have one number, which is a bin of its own where it is several
        quantiles at once, and the grid has it: each number where they are few, else round ones, and both bounds.
    share : number
        Share of the budget, more than 0, spent on finding them.
    heaps : sequence of number
        Numbers that are publicly known to be frequent, such as 0 for amounts: each gets a bin of its own at no cost,
        and the quantiles are those of all others.
    find_bounds : bool
        Whether the column's bounds, which may then be as far apart as numbers of any magnitude, are narrowed to the
        powers of 2 between which the records lie, for half of the share. Numbers beyond are those of the column's
        ``outside``, which must allow them.

    Examples
    --------
    >>> wage = QuantileBins(Real(0, 1000, bins=1, decimals=2), quantiles=4, share="0.05")
    >>> wage.closed([200, 350.5, 350.5]).labels
    ('[0, 200)', '[200, 350.5)', '350.5', '[350.51, 1000]')
    """

    column: Integer | Real
    quantiles: int
    share: Share
    heaps: Sequence[float] = ()
    find_bounds: bool = False

    def __post_init__(self) -> None:
        _check_share(self.share)
        if not isinstance(self.column, Integer | Real):
            raise TypeError(f"quantiles are for an Integer or a Real, got {type(self.column).__name__}")
        object.__setattr__(self, "heaps", as_tuple(self.heaps, "heaps needs a list of numbers"))
        if problem := self._heap_problem():
            raise ValueError(problem)
        if type(self.quantiles) is not int or not 2 <= self.quantiles <= _MOST_QUANTILES:
            raise ValueError(f"quantiles needs a whole number from 2 to {_MOST_QUANTILES:,}")
        if not isinstance(self.find_bounds, bool):
            raise TypeError(f"find_bounds needs True or False, got {type(self.find_bounds).__name__}")
        if self.find_bounds and self.column.outside == "refuse":
            raise ValueError(
                'find_bounds needs "outside": "clip", "null" or "other" for numbers beyond the bounds found'
            )
        object.__setattr__(self, "column", self.provisional)

    @property
    def provisional(self) -> Integer | Real:
        """The column before its bins are found: all values are in one."""
        if isinstance(self.column, Integer):
            return replace(self.column, width=self.column.high - self.column.low + 1, edges=())
        return replace(self.column, bins=1, edges=())

    def _heap_problem(self) -> str:
        """Return the problem of heaps that are no numbers of the column."""
        column = self.column
        for heap in self.heaps:
            if isinstance(heap, bool) or not isinstance(heap, int | float) or not column.low <= heap <= column.high:
                return f"heaps needs numbers from {column.low} to {column.high}, got {heap!r}"
            decimals = 0 if isinstance(column, Integer) else column.decimals
            if decimals is not None and round(heap, decimals) != heap:
                return f"heaps needs numbers of {decimals} decimals, got {heap!r}"
        return ""

    @property
    def grid(self) -> NDArray[np.float64]:
        """Points where bins may begin: all numbers if they are few, else round ones between the bounds, and these."""
        column = self.column
        is_whole = isinstance(column, Integer)
        decimals = 0 if isinstance(column, Integer) else column.decimals
        points = self._within(round_points(column.low, column.high + is_whole, decimals))
        return np.unique([self._least, *points.tolist(), self._most])

    @property
    def powers(self) -> NDArray[np.float64]:
        """Points where bounds are looked for: 0, powers of 2 from the column's resolution on, and its bounds."""
        low, high = float(self.column.low), float(self.column.high)
        first, last = math.floor(math.log2(self._unit)), math.ceil(math.log2(max(abs(low), abs(high), 1)))
        sizes = 2.0 ** np.arange(first, last + 1)
        points = np.concatenate([-sizes, [0.0], sizes])
        return np.unique(
            [low, *points[(points > low) & (points < high)].tolist(), max(high, math.nextafter(low, math.inf))]
        )

    @property
    def _unit(self) -> float:
        decimals = 0 if isinstance(self.column, Integer) else self.column.decimals
        return _SMALLEST if decimals is None else 10.0**-decimals

    def bounded(self, low: float, high: float) -> QuantileBins:
        """Return the column between two of its `powers`, rounded outwards to its resolution."""
        unit = self._unit
        largest = unit * 2.0**53  # doubles are further apart from there on
        ends = [
            max(self.column.low, low if abs(low) >= largest else math.floor(low / unit) * unit),
            min(self.column.high, high if abs(high) >= largest else math.ceil(high / unit) * unit),
        ]
        if isinstance(self.column, Integer):
            low, high = map(int, ends)
            column: Integer | Real = replace(self.column, low=low, high=high, width=high - low + 1, edges=())
        else:
            digits = 12 if self.column.decimals is None else self.column.decimals
            column = replace(self.column, low=round(ends[0], digits), high=round(ends[1], digits), bins=1, edges=())
        heaps = [heap for heap in self.heaps if column.low <= heap <= column.high]
        return QuantileBins(column, self.quantiles, self.share, heaps)

    @property
    def _least(self) -> float:
        """The lowest number of the column."""
        first, _ = self.provisional.ends()
        return float(first[0] / (self.column.per_unit or 1))

    @property
    def _most(self) -> float:
        """The highest number of the column."""
        _, last = self.provisional.ends()
        return float(last[-1] / self.column.per_unit if self.column.per_unit else self.column.high)

    def _within(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the points at which a bin may begin that has a number in it."""
        column = self.column
        if isinstance(column, Real) and column.decimals is not None:
            points = points[np.round(points, column.decimals) == points]
        return points[(points > self._least) & (points <= self._most)]

    def _after(self, point: float) -> float:
        """Return the next number after one."""
        if isinstance(self.column, Integer):
            return point + 1
        decimals = self.column.decimals
        return float(np.nextafter(point, np.inf) if decimals is None else round(point + 10.0**-decimals, decimals))

    def closed(self, points: ArrayLike) -> Integer | Real:
        """Return the column with bins that begin at points of the grid; equal quantiles give one bin."""
        values, times = np.unique(np.asarray(points, dtype=np.float64), return_counts=True)
        alone = [*values[times > 1].tolist(), *map(float, self.heaps)]
        starts = self._within(np.unique([*values.tolist(), *alone, *map(self._after, alone)])).tolist()
        if not starts:
            return self.provisional
        if isinstance(self.column, Integer):
            return replace(self.column, width=1, edges=tuple(map(int, starts)))
        return replace(self.column, bins=None, edges=tuple(starts))

    def assumed(self, n_values: int) -> Integer | Real:
        """Return the column as if its numbers were spread evenly, whatever the number of values of open sets."""
        del n_values
        grid = self.grid
        return self.closed(grid[np.linspace(1, max(grid.size - 1, 1), self.quantiles + 1).astype(int)[1:-1]])

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the column in a schema file."""
        fields = {name: value for name, value in self.column.to_dict().items() if name not in {"width", "edges"}}
        heaps = {"heaps": list(self.heaps)} if self.heaps else {}
        bounds = {"find_bounds": True} if self.find_bounds else {}
        return fields | {"bins": {"quantiles": self.quantiles, "share": _plain(self.share), **heaps, **bounds}}


OpenColumn = OpenSet | QuantileBins


def _check_share(share: object) -> None:
    try:
        fits = not isinstance(share, bool) and 0 < fraction_of(str(share)) <= 1
    except ValueError:
        fits = False
    if not fits:
        raise ValueError("share needs a part of the budget, more than 0 and at most 1")


def _plain(share: Share) -> int | float | str:
    return share if isinstance(share, int | float | str) else str(share)
