"""Relations of neighbouring tables, and distances of two columns of a query: the change by a substitution."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Neighbours = Literal["add-remove", "replace"]
EXACT_LIMIT = 1 << 53  # float64 sums of integers are exact below
MAX_COLUMNS = 4096  # up to this number of distinct columns, all pairs are compared
DENSE_ENTRIES = 1 << 24  # of columns that are compared, zeros counted: 128 MiB


def few_columns(columns: NDArray[Any]) -> NDArray[Any] | None:
    """Return the different ones of some columns, in lexicographic order; None where they are too many to compare."""
    distinct = np.unique(columns, axis=1)
    return distinct if distinct.shape[1] <= MAX_COLUMNS else None


def largest_distance(columns: NDArray[Any], norm: Literal[1, 2]) -> float:
    """Return the largest distance between two columns, shape (rows, columns); for norm 2 its square.

    For integers it is exact if four times a column's norm (for norm 2 squared) stays below 2^53: then so does every
    term, and float64 sums of the integers are exact.
    """
    points = columns.T.astype(np.float64)
    if norm == 1:
        from scipy.spatial.distance import pdist

        return float(pdist(points, "cityblock").max(initial=0.0))
    squares = np.square(points).sum(axis=1)
    distances = points @ points.T
    distances *= -2
    distances += squares
    distances += squares[:, None]
    return max(0.0, float(distances.max()))
