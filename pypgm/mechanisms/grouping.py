"""Groups of an attribute's values, and the sums over them that a clique is measured in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm.domain import Clique
from pypgm.queries import LinearQuery, Partition

Groups = dict[str, Partition]

_AT_ONCE = 256  # groups whose answers are computed together


def is_every_cell(query: LinearQuery | None) -> bool:
    """Return whether the answers of a query are the cells, in their order."""
    if query is None or query.is_identity:
        return True
    return isinstance(query, Partition) and np.array_equal(query.groups, np.arange(query.shape[1]))


def query_of_groups(groups: Mapping[str, Partition], clique: Clique) -> Partition | None:
    """Return the partition of a clique's cells that its attributes' groups make; None if every cell is its own."""
    if all(is_every_cell(groups[a]) for a in clique):
        return None
    cells = np.zeros(1, np.int64)
    for grouping in (groups[a] for a in clique):
        cells = np.add.outer(cells * grouping.shape[0], grouping.groups).ravel()
    return Partition(cells, math.prod(groups[a].shape[0] for a in clique))


def run_counts(size: int) -> list[int]:
    """Return in how many runs of neighbouring codes an ordered attribute is split: 1, 2, 4, ... and every code.

    Examples
    --------
    >>> run_counts(10)
    [1, 2, 4, 8, 10]
    """
    counts = [1]
    while 2 * counts[-1] < size:
        counts.append(2 * counts[-1])
    return [*counts, size]


def runs(size: int, count: int) -> Partition:
    """Return `count` runs of neighbouring codes, as equal as can be; each of `run_counts` divides those before it.

    Examples
    --------
    >>> runs(10, 4).groups.tolist()
    [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    """
    return Partition(np.arange(size) * count // size, count)


def energies(query: LinearQuery | None, size: int, counts: Sequence[int]) -> NDArray[np.float64]:
    r"""Return the energy of a query of one attribute that each number of runs adds to the number before.

    With :math:`P_c` the projection on tables that are constant on each of c runs, the trace of
    :math:`Q P_c Q^\top`, less that of the number before.

    Parameters
    ----------
    query : LinearQuery or None
        On the attribute's values; None is every cell.
    size : int
        Number of values.
    counts : sequence of int
        Numbers of runs; the last is `size`.

    Examples
    --------
    >>> from pypgm.queries import Prefix
    >>> energies(None, 4, [1, 2, 4]).tolist(), energies(Prefix(4), 4, [1, 2, 4]).round(3).tolist()
    ([1.0, 1.0, 2.0], [7.5, 1.5, 1.0])
    """
    if query is None or is_every_cell(query):
        return np.diff([0.0, *counts])
    seen = [_energy(query, runs(size, count)) for count in counts[:-1]]
    return np.diff([0.0, *seen, float(np.square(query.column_norms(2)).sum())])


def _energy(query: LinearQuery, groups: Partition) -> float:
    sizes, total = np.bincount(groups.groups), 0.0
    for first in range(0, groups.shape[0], _AT_ONCE):
        chosen = np.arange(first, min(first + _AT_ONCE, groups.shape[0]))
        unit = np.where(groups.groups[:, None] == chosen, 1 / np.sqrt(sizes[chosen]), 0.0)
        total += float(query.squared_norms(unit).sum())
    return total
