"""Expected errors of synthetic values as files have them: those of bins and counts, and what "other" and bins lose.

Everything is computed from the release and its public schema. Where values lie within a bin is not in the release: they
are taken to be spread smoothly, by a density that slopes as the counts of the bins beside it do. Values that
heap within a bin lose more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pypgm.data.columns.bins import Binned, Scattered
from pypgm.reporting.distance import apart, bins_of, is_read_as_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pypgm.data import Schema
    from pypgm.data.columns.column import Column
    from pypgm.reporting.quality import Quality

_RECORDS = 50_000  # drawn for what the bins of a column lose, at most


class _Sloped(Scattered):
    """A policy in place of `within`: the density in each bin is linear, with the slope of the bins beside it.

    Where the first and the last bin fall off towards the bounds, they do so as declared.

    Parameters
    ----------
    column : Binned
    counts : ndarray of float, shape (bins,)
    """

    def __init__(self, column: Binned, counts: NDArray[np.float64]) -> None:
        assert not isinstance(column.within, Scattered)
        self.within, self.reach = column.within, np.ones(2)
        first, last = (np.asarray(end, dtype=np.float64) for end in column.ends())
        widths = np.maximum(last - first, 0) + (column.per_unit > 0)
        # Between bins of hardly any width, or beside empty ones, slopes overflow, or there are none.
        with np.errstate(all="ignore"):
            density = counts / np.maximum(widths, 1e-300)
            places = (first + last) / 2
            slopes = np.gradient(density, places) if len(counts) > 1 else np.zeros(len(counts))
            relative = np.nan_to_num(slopes * widths / 2 / np.maximum(density, 1e-300))
        # Relative change from the middle of a bin to its end: beyond 1 a density would be negative.
        self._tilt = np.clip(relative, -1.0, 1.0)
        if self.within in {"tapered", "tails"}:
            wide = np.flatnonzero(last > first)
            self._tilt[[*wide[:1], *wide[-1:]]] = 0.0

    def moved(self, codes: NDArray[np.int64], places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return places in the bins of codes, from 0 to 1, for others that are uniform."""
        tilt = self._tilt[codes]
        # The distribution function of the density 1 + tilt (2x - 1) is x + tilt (x^2 - x).
        root = np.sqrt(np.maximum((1 - tilt) ** 2 + 4 * tilt * places, 0))
        return np.asarray(2 * places / np.maximum(1 - tilt + root, 1e-300))


class AsValues(NamedTuple):
    """Expected errors of the columns of synthetic records, as `pypgm.compare` finds them.

    Attributes
    ----------
    points : mapping of str to float
        Percentage points that each column is expected to be off, the worst first; without those never counted.
    """

    points: Mapping[str, float]

    @property
    def mean(self) -> float:
        """Mean points of the columns."""
        return sum(self.points.values()) / len(self.points)

    def to_dict(self) -> dict[str, Any]:
        """Return the points for JSON."""
        return {"points": self.mean, "each": [{"columns": [name], "points": p} for name, p in self.points.items()]}


def as_values(quality: Quality, schema: Schema) -> AsValues | None:
    """Return the expected errors of the values of columns; None if no error is known.

    Parameters
    ----------
    quality : Quality
        Expected errors in the bins and listed values of the schema.
    schema : Schema
    """
    points = {}
    for (name,) in quality.looked_at("columns"):
        if quality.basis[name,] != "unknown":
            points[name] = 100.0 if name in quality.emptied else _points(quality, schema.columns[name], name)
    return AsValues(dict(sorted(points.items(), key=lambda entry: -entry[1]))) if points else None


def _points(quality: Quality, column: Column, name: str) -> float:
    """Return the points that a column is expected to be off as values."""
    counts = np.maximum(quality.answers[name,].datavector(), 0)
    total = max(float(counts.sum()), 1e-300)
    in_bins = (quality.far((name,)) or 0.0) * _pooled_part(column, counts, quality.of_worlds[name,].datavector())
    other = 0.0 if column.other_code is None else 100 * float(counts[column.other_code]) / total
    return min(100.0, other + float(np.hypot(in_bins, _lost_in_bins(column, counts))))


def _pooled_part(column: Column, counts: NDArray[np.float64], errors: NDArray[np.float64]) -> float:
    """Return the part of the errors of counts that is left where numbers are compared in quantiles."""
    if not is_read_as_number(column) or not errors.sum():
        return 1.0
    codes = np.arange(column.size)
    starts = bins_of(codes[: column.n_values], np.ceil(counts[: column.n_values]).astype(np.int64))
    groups = np.where(codes < column.n_values, np.searchsorted(starts, codes, side="right"), codes + column.size)
    squares = np.bincount(np.unique(groups, return_inverse=True)[1], errors**2)
    return float(np.sqrt(squares).sum() / errors.sum())


def is_written_once(column: Binned) -> bool:
    """Return whether all values of a bin are written alike, such as the days of a month by a format without days."""
    first, last = column.ends()
    widest = int(np.argmax(last - first))
    texts = column.written(np.zeros(2, dtype=np.int64), column.of_steps(np.array([first[widest], last[widest]])))
    return bool(texts[0] == texts[1])


def _lost_in_bins(column: Column, counts: NDArray[np.float64]) -> float:
    """Return the points that values within bins are off where they are spread smoothly."""
    if not isinstance(column, Binned) or not column.coarseness or is_written_once(column):
        return 0.0
    counts = counts[: column.n_values]
    n_records = min(int(counts.sum()), _RECORDS)
    if not n_records:
        return 0.0
    edges = np.rint(np.cumsum(counts) / counts.sum() * n_records).astype(np.int64)
    codes = np.repeat(np.arange(column.n_values), np.diff(edges, prepend=0))
    smooth = column._with(within=_Sloped(column, counts))
    assert isinstance(smooth, Binned)
    rng = np.random.default_rng(0)
    values = [np.asarray(drawn_by.drawn(codes, rng)).astype(np.float64) for drawn_by in (smooth, column)]
    starts = bins_of(*np.unique(values[0], return_counts=True))
    return apart([np.searchsorted(starts, v, side="right") for v in values], starts.size + 1)[0]
