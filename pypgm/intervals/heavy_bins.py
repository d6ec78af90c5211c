"""Bins that hold so many records that a statistic of their column is known no better than the bin."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.bins import Binned

if TYPE_CHECKING:
    from pypgm.data import Schema
    from pypgm.files.stored_model import ReleasedModel
    from pypgm.intervals.frames import DrawnRecords

_HEAVY = 1 / 3  # of the records, from which on the values of a bin decide the median and most of the mean
_MOVED = 1 / 4  # of the bin's width, by which a mean or quantile moves at least when its values do

Array = NDArray[np.float64]


def heavy_bins(model: ReleasedModel, schema: Schema) -> Iterator[tuple[str, int]]:
    """Yield column and code of each bin of several values that holds more than a third of the records."""
    total = max(model.total, 1e-300)
    for name, column in schema.columns.items():
        if isinstance(column, Binned) and column.coarseness:
            counts = model.project(name).values[: column.n_values]
            largest, (first, last) = int(counts.argmax()), column.ends()
            if counts[largest] > total * _HEAVY and first[largest] != last[largest]:
                yield name, largest


def heavy_columns(
    model: ReleasedModel, schema: Schema | None, names: Collection[str]
) -> Iterator[tuple[str, int, Binned, str]]:
    """Yield heavy bins of numbers of some attributes: name, code, column and label."""
    if schema is None:
        return
    for name, code in heavy_bins(model, schema):
        column = schema.columns[name]
        if name in names and isinstance(column, Binned) and not column.has_dates:
            yield name, code, column, str(model.domain.labels[name][code])


class HeavyBin(NamedTuple):
    """A bin whose values move an answer.

    Attributes
    ----------
    low, high : float
        Ends of the bin.
    text : str
        Column and bin in words.
    is_moved : ndarray of bool
        Which numbers of the answer move with the values of the bin, as a mean or a quantile does.
    """

    low: float
    high: float
    text: str
    is_moved: NDArray[np.bool_]


def widened(bins: Iterable[HeavyBin], low: Array, high: Array) -> tuple[Array, Array, tuple[str, ...]]:
    """Return the ends of intervals, each of which holds the bins that it touches, and those bins in words."""
    texts = []
    for one in bins:
        with np.errstate(invalid="ignore"):
            falls = one.is_moved & (low <= one.high) & (high >= one.low)
        low, high = np.where(falls, np.minimum(low, one.low), low), np.where(falls, np.maximum(high, one.high), high)
        texts += [one.text] * bool(falls.any())
    return low, high, tuple(texts)


def moving_bins(
    statistic: Callable[[Any], Array],
    some: DrawnRecords,
    names: Iterable[str],
    columns: Iterable[tuple[str, int, Binned, str]],
) -> Iterator[HeavyBin]:
    """Yield the heavy bins whose values move an answer of drawn records.

    The statistic is computed with all values of a bin at its lower end, and at its upper one.

    Parameters
    ----------
    statistic : callable
        The statistic of a frame, as an array.
    some : DrawnRecords
        The drawn records.
    names : iterable of str
        Columns of the frame.
    columns : iterable of (str, int, Binned, str)
        What `heavy_columns` yields.
    """
    names = tuple(names)
    for name, code, column, label in columns:
        low, high = (float(column.of_steps(end[code : code + 1])[0]) for end in column.ends())
        below, above = (statistic(some.placed(name, code, end)(names)) for end in (low, high))
        if below.shape == above.shape:
            with np.errstate(invalid="ignore"):
                yield HeavyBin(low, high, f"{name} {label}", above - below >= _MOVED * (high - low))
