"""Single cells, sets of cells and ranges of an ordered attribute."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pypgm.queries.matrix import IntegerMatrix

__all__ = ["point", "ranges", "subset"]


def point(size: int, cell: int) -> IntegerMatrix:
    """Return the query of one cell of a table of `size` cells.

    Raises
    ------
    ValueError
        If the cell is not in 0..size-1.

    Examples
    --------
    >>> point(3, 1).entries.tolist()
    [[0, 1, 0]]
    """
    return subset(size, [cell])


def subset(size: int, cells: Iterable[int]) -> IntegerMatrix:
    """Return the sum over a set of cells of a table of `size` cells, as one answer.

    Raises
    ------
    ValueError
        If the set is empty, or a cell is not in 0..size-1 or comes twice.

    Examples
    --------
    >>> subset(4, [0, 3]).entries.tolist()
    [[1, 0, 0, 1]]
    """
    chosen = list(cells)
    if not chosen or len(set(chosen)) != len(chosen) or min(chosen) < 0 or max(chosen) >= size:
        raise ValueError(f"a subset of {size} cells needs different cells in 0..{size - 1}, got {chosen}")
    row = np.zeros((1, size), dtype=np.int64)
    row[0, chosen] = 1
    return IntegerMatrix(row)


def ranges(size: int, bounds: Iterable[tuple[int, int]]) -> IntegerMatrix:
    """Return one answer a range of ordered cells, both ends counted.

    Parameters
    ----------
    size : int
        Number of cells.
    bounds : iterable of (int, int)
        First and last cell of each range.

    Raises
    ------
    ValueError
        If there is no range, or one does not lie in 0..size-1 with its first cell not after its last.

    Examples
    --------
    >>> ranges(4, [(0, 1), (1, 3)]).entries.tolist()
    [[1, 1, 0, 0], [0, 1, 1, 1]]
    """
    asked = list(bounds)
    if not asked:
        raise ValueError("a query of ranges needs at least one")
    rows = np.zeros((len(asked), size), dtype=np.int64)
    for row, (first, last) in zip(rows, asked, strict=True):
        if not 0 <= first <= last < size:
            raise ValueError(f"a range of {size} cells needs 0 <= first <= last < {size}, got ({first}, {last})")
        row[first : last + 1] = 1
    return IntegerMatrix(rows)
