"""Distances between the values of two tables, numbers in bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.column import Column
from pypgm.data.columns.numbers import number_in

BINS = 20
"""Bins of a column of numbers, each of about as many records of the first table."""

_EXPECTED = math.sqrt(2 / math.pi)  # the mean absolute value of a standard normal

Both = tuple[float, float]


def is_read_as_number(column: Column) -> bool:
    """Return whether values of a column are compared as numbers or dates, so that many of them are pooled in bins."""
    labels = column.value_labels  # of codes none: they are numbers themselves
    return column.reader() is not None or labels is None or not any(math.isnan(number_in(str(v))) for v in labels)


def bins_of(values: NDArray[Any], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the starts of bins of about equally many records: few values, and frequent ones, have their own bins.

    Parameters
    ----------
    values : ndarray, shape (values,)
        Different values, rising.
    counts : ndarray of int, shape (values,)
        Number of records of each.
    """
    if values.size <= BINS:
        return values.astype(np.float64)
    heaps = np.flatnonzero(counts * BINS >= max(counts.sum(), 1))
    rest = np.delete(np.arange(values.size), heaps)
    ranks = np.cumsum(counts[rest]) - 1
    # Of fewer than BINS records, the last would begin beyond them.
    steps = np.searchsorted(ranks, np.minimum(np.arange(BINS) / BINS * (ranks[-1] + 1), ranks[-1]))
    after = heaps[heaps + 1 < values.size] + 1
    chosen = np.unique(np.concatenate([[0], heaps, after, rest[steps]]))
    return np.asarray(values[chosen], dtype=np.float64)


def apart(codes: Sequence[NDArray[np.int64]], n_codes: int) -> Both:
    """Return the percentage of records to change, and that expected of two samples of the same people."""
    counts = [np.bincount(table, minlength=n_codes) for table in codes]
    shares = [table / table.sum() for table in counts]
    both = sum(counts) / sum(table.sum() for table in counts)
    noise = np.sqrt(both * (1 - both) * sum(1 / table.sum() for table in counts))
    return 50.0 * float(np.abs(shares[0] - shares[1]).sum()), 50.0 * _EXPECTED * float(noise.sum())
