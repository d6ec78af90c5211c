"""Counting numbers: the weight of each region's entropy in the entropy of the joint distribution."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import check_choice
from pypgm.domain import Clique

CountingNumbers = Literal["ones", "bethe", "tree_reweighted"]

_FORESTS = 16


def counting_numbers(
    regions: Sequence[Clique], edges: Sequence[tuple[int, int]], kind: CountingNumbers
) -> NDArray[np.float64]:
    r"""Return numbers :math:`c_r` for which :math:`\sum c_r H(b_r)` stands for the joint entropy.

    Parameters
    ----------
    regions : sequence of tuple of str
        Larger ones first.
    edges : sequence of (int, int)
        Edges from parent to child, by the positions of the regions.
    kind : {"ones", "bethe", "tree_reweighted"}
        1 for every region; 1 less the numbers of all regions above, which counts every attribute once; or the mean over
        some acyclic parts of the graph of the numbers that are exact on each, which bounds the entropy from above. On
        the regions of a junction tree the last two are both exact.

    Raises
    ------
    ValueError
        If the kind is unknown.

    References
    ----------
    Yedidia, Freeman, Weiss: Constructing free-energy approximations and generalized belief propagation algorithms,
    2005; Wainwright, Jaakkola, Willsky: A new class of upper bounds on the log partition function, 2005.
    """
    check_choice("counting_numbers", kind, get_args(CountingNumbers))
    if kind == "ones":
        return np.ones(len(regions))
    return _bethe(regions, edges) if kind == "bethe" else _mean_over_forests(regions, edges)


def _bethe(regions: Sequence[Clique], edges: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    import networkx

    above = networkx.DiGraph(edges)
    above.add_nodes_from(range(len(regions)))
    numbers = np.ones(len(regions))
    for r in range(numbers.size):  # larger regions come first, so the numbers of those above a region are known
        numbers[r] = 1.0 - numbers[sorted(networkx.ancestors(above, r))].sum()
    return numbers


def _mean_over_forests(regions: Sequence[Clique], edges: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    scopes = [frozenset(r) for r in regions]
    position = {s: i for i, s in enumerate(scopes)}
    children = {c for _, c in edges}
    roots = [i for i in range(len(scopes)) if i not in children]
    holders: dict[str, list[int]] = {}
    for i, scope in enumerate(scopes):
        for attribute in scope:
            holders.setdefault(attribute, []).append(i)
    used = np.zeros(len(scopes))
    numbers = np.zeros(len(scopes))
    starts = [roots[i * len(roots) // _FORESTS] for i in range(_FORESTS)]
    for start in starts:
        taken = _forest(scopes, position, holders, start, used)
        for region, separator in taken:
            numbers[region] += 1.0 / _FORESTS
            used[region] += 1
            if separator is not None:
                numbers[separator] -= 1.0 / _FORESTS
    return numbers


def _forest(
    scopes: Sequence[frozenset[str]],
    position: dict[frozenset[str], int],
    holders: dict[str, list[int]],
    start: int,
    used: NDArray[np.float64],
) -> list[tuple[int, int | None]]:
    """Grow an acyclic set of regions that covers all attributes, largest separators first, rarely used regions first.

    A region joins with the separator it shares with one region of the set, if that is all it shares with the set.
    """
    taken: list[tuple[int, int | None]] = []
    covered: set[str] = set()
    # What each region shares at most with a single one of the set.
    shared: list[frozenset[str]] = [frozenset()] * len(scopes)

    def rank(i: int) -> tuple[int, int, float, int]:
        return -len(shared[i]), -len(scopes[i]), used[i], i

    # Whether a region fits, and its rank, change only where one joins that has attributes of it: it is then pushed
    # again, and the old entry no longer counts.
    waiting = [(-np.inf, 0, 0.0, start), *map(rank, range(len(scopes)))]
    heapq.heapify(waiting)
    while waiting:
        *_, best = entry = heapq.heappop(waiting)
        scope, separator = scopes[best], shared[best]
        is_current = not taken or entry == rank(best)
        if not is_current or scope <= covered or scope & covered != separator:
            continue
        if separator and separator not in position:
            continue
        taken.append((best, position[separator] if separator else None))
        covered |= scope
        for i in {i for attribute in scope for i in holders[attribute]}:
            common = scopes[i] & scope
            if len(common) > len(shared[i]):
                shared[i] = common
            if not scopes[i] <= covered:
                heapq.heappush(waiting, rank(i))
    return taken
