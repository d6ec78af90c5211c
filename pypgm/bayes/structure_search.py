"""Searches for the structure of largest score: greedy steps with a list of forbidden ones, trees, all structures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pypgm.bayes.family_scores import FamilyScores, members

_TABU = 100  # steps that may not be undone
_PATIENCE = 15  # steps without a better structure, after which a climb ends
_MIN_GAIN = 1e-9  # gain in nats that is more than rounding

Step = tuple[Literal["add", "remove", "reverse"], int, int]


@dataclass(frozen=True)
class Limits:
    """Structures to search among.

    Attributes
    ----------
    max_parents : int
    allowed : ndarray of bool, shape (n, n)
        Whether an arc may lead from an attribute (row) to another (column).
    required : tuple of int
        Parents that each attribute must have, as bits.
    """

    max_parents: int
    allowed: NDArray[np.bool_]
    required: tuple[int, ...]


class Climb:
    """Greedy search from one structure: add, remove or reverse an arc, whichever gains most.

    A step that loses is made too, and the last steps are not undone; the search ends when so many steps brought nothing
    better. The gain of an arc is kept until the family it belongs to changes.
    """

    def __init__(self, scores: FamilyScores, limits: Limits, start: Sequence[int]) -> None:
        self._scores, self._limits = scores, limits
        self._n = len(start)
        self.parents = list(start)
        self._has = np.zeros((self._n, self._n), dtype=bool)  # parent, child
        for child, parents in enumerate(start):
            self._has[list(members(parents)), child] = True
        self._fixed = np.zeros_like(self._has)
        for child, parents in enumerate(limits.required):
            self._fixed[list(members(parents)), child] = True
        self._above = np.zeros_like(self._has)  # descendant, ancestor
        self._gain = np.full(self._has.shape, -np.inf)  # of adding an arc, or of removing the one that is there
        self._find_ancestors()
        for child in range(self._n):
            self._renew(child)

    def run(self) -> tuple[list[int], float]:
        """Return the best sets of parents met, and their score."""
        now = best = self._scores.total(self.parents)
        kept, waited = list(self.parents), 0
        undoing: list[Step] = []
        while waited < _PATIENCE:
            step, gain = self._best_step(undoing, best + _MIN_GAIN - now)
            if step is None:
                break
            self._take(step)
            undoing = [*undoing[1 - _TABU :], _undone(step)]
            now += gain
            waited += 1
            if now > best + _MIN_GAIN:
                best, kept, waited = now, list(self.parents), 0
        return kept, self._scores.total(kept)

    def _best_step(self, undoing: list[Step], enough: float) -> tuple[Step | None, float]:
        """Return the step that gains most; one of those to avoid only if it gains enough for a new best structure."""
        adding = np.where(self._has | self._above, -np.inf, self._gain)
        arcs = np.nonzero(self._has & ~self._fixed)
        removing = np.full_like(adding, -np.inf)
        removing[arcs] = self._gain[arcs]
        start, end = arcs
        # Reversed, an arc closes a cycle if another path leads from its start to its end.
        cyclic = (self._has[:, end] & self._above[:, start]).any(axis=0)
        reversing = np.full_like(adding, -np.inf)
        reversing[arcs] = np.where(cyclic, -np.inf, self._gain[start, end] + self._gain[end, start])
        gains: dict[Literal["add", "remove", "reverse"], NDArray[np.float64]]
        gains = {"add": adding, "remove": removing, "reverse": reversing}
        for kind, p, c in undoing:
            if gains[kind][p, c] < enough:
                gains[kind][p, c] = -np.inf
        tops = {kind: int(table.argmax()) for kind, table in gains.items()}
        kind = max(tops, key=lambda k: gains[k].flat[tops[k]])
        gain = float(gains[kind].flat[tops[kind]])
        return (None if gain == -np.inf else (kind, *divmod(tops[kind], self._n))), gain

    def _take(self, step: Step) -> None:
        kind, p, c = step
        self._has[p, c] = kind == "add"
        self.parents[c] ^= 1 << p
        if kind == "reverse":
            self._has[c, p] = True
            self.parents[p] ^= 1 << c
            self._renew(p)
        if kind == "add":
            below = self._above[:, c].copy()
            below[c] = True
            self._above[below] |= self._above[p]
            self._above[below, p] = True
        else:
            self._find_ancestors()
        self._renew(c)

    def _find_ancestors(self) -> None:
        self._above[:] = False
        children: list[list[int]] = [[] for _ in self.parents]
        for p, c in np.argwhere(self._has).tolist():
            children[p].append(c)
        waiting = [parents.bit_count() for parents in self.parents]
        order = [a for a, n_parents in enumerate(waiting) if n_parents == 0]
        for p in order:
            for c in children[p]:
                self._above[c] |= self._above[p]
                self._above[c, p] = True
                waiting[c] -= 1
                if waiting[c] == 0:
                    order.append(c)

    def _renew(self, child: int) -> None:
        """Compute the gain of each arc to an attribute anew."""
        parents = self.parents[child]
        able = self._has[:, child].copy()
        if parents.bit_count() < self._limits.max_parents:
            able |= self._limits.allowed[:, child]
        changed = np.flatnonzero(able)
        scored = self._scores.of(child, [parents, *(parents ^ 1 << p for p in changed.tolist())])
        self._gain[:, child] = -np.inf
        self._gain[changed, child] = scored[1:] - scored[0]


def _undone(step: Step) -> Step:
    kind, p, c = step
    return ("reverse", c, p) if kind == "reverse" else ("remove" if kind == "add" else "add", p, c)


def climb(scores: FamilyScores, limits: Limits, restarts: int, rng: np.random.Generator) -> tuple[list[int], float]:
    """Return the best structure of a climb, and of others that start at changed copies of the best one so far.

    Every second one has half of the arcs; the others have four fifths of them, turned along a random order of the
    attributes, since local maxima differ most often in directions.
    """
    best, score = Climb(scores, limits, limits.required).run()
    for i in range(restarts):
        kept, rank = (0.5, None) if i % 2 else (0.8, rng.permutation(len(best)))
        again, reached = Climb(scores, limits, _changed(best, limits, kept, rank, rng)).run()
        if reached > score + _MIN_GAIN:
            best, score = again, reached
    return best, score


def _changed(
    parents: Sequence[int], limits: Limits, kept: float, rank: NDArray[np.intp] | None, rng: np.random.Generator
) -> list[int]:
    """Return a structure with the required arcs and a share of the others, turned along a ranking if there is one."""
    start = list(limits.required)
    is_bound = any(limits.required)  # arcs turned might close a cycle with required ones
    for child, before in enumerate(parents):
        for p in members(before & ~limits.required[child]):
            from_, to = (p, child) if rank is None or is_bound or rank[p] < rank[child] else (child, p)
            fits = limits.allowed[from_, to] and start[to].bit_count() < limits.max_parents
            if fits and rng.random() < kept:
                start[to] |= 1 << from_
    return start


def best_forest(gains: NDArray[np.float64], root: int) -> list[int]:
    """Return the parent of each node, or -1, in the forest of largest gain; nodes are reached from a root.

    Parameters
    ----------
    gains : ndarray of float64, shape (n, n)
        Gain of an edge, symmetric; those of at most 0 are left out.
    root : int

    Examples
    --------
    >>> best_forest(np.array([[0, 5, 4], [5, 0, 1], [4, 1, 0.0]]), 1)
    [1, -1, 0]
    """
    n = len(gains)
    parent, best = [-1] * n, np.full(n, -np.inf)
    via = np.full(n, -1)
    left = np.ones(n, dtype=bool)
    for _ in range(n):
        reach = np.where(left, best, -np.inf)
        node = int(reach.argmax()) if reach.max() > 0 else root if left[root] else int(left.argmax())
        if reach.max() > 0:
            parent[node] = int(via[node])
        left[node] = False
        nearer = gains[node] > best
        best, via = np.where(nearer, gains[node], best), np.where(nearer, node, via)
    return parent


def best_of_all(scores: FamilyScores, limits: Limits) -> tuple[list[int], float]:
    """Return a structure of the largest score of all.

    The best network of some attributes has one without children among them: the best networks of all sets of attributes
    are found by size (Silander and Myllymäki). Families that a smaller one beats with any further parents are skipped.
    """
    n = len(scores.sizes)
    candidates = [_families(scores, limits, child) for child in range(n)]
    best = [_best_within(n, families) for families in candidates]
    sets = np.arange(1 << n)
    sizes = sum(((sets >> i) & 1 for i in range(n)), np.zeros(1 << n, dtype=np.int64))
    order = np.argsort(sizes, kind="stable")
    ends = np.searchsorted(sizes[order], np.arange(n + 1))
    reached = np.full(1 << n, -np.inf)
    reached[0] = 0.0
    for size in range(n):
        layer = order[ends[size] : ends[size + 1]]
        for child in range(n):
            without = layer[layer >> child & 1 == 0]
            grown = without | 1 << child
            reached[grown] = np.maximum(reached[grown], reached[without] + best[child][without])
    parents, left = [0] * n, (1 << n) - 1
    while left:
        options = [c for c in members(left) if reached[left ^ 1 << c] + best[c][left ^ 1 << c] == reached[left]]
        child = options[0]
        left ^= 1 << child
        parents[child] = next(p for p, s in candidates[child].items() if p & ~left == 0 and s == best[child][left])
    return parents, scores.total(parents)


def _families(scores: FamilyScores, limits: Limits, child: int) -> dict[int, float]:
    """Return the score of an attribute with each set of parents that may be the best of those within some set."""
    required = limits.required[child]
    free = [
        p for p in members(sum(1 << int(p) for p in np.flatnonzero(limits.allowed[:, child]))) if not required >> p & 1
    ]
    families: dict[int, float] = {}
    top = {required: -np.inf}  # the best score of a set or of one within it
    layer = [required]
    while layer:
        families.update(zip(layer, scores.of(child, layer).tolist(), strict=True))
        grown: dict[int, float] = {}
        for parents in layer:
            top[parents] = max(top[parents], families[parents])
            if parents.bit_count() >= limits.max_parents or scores.most_with_more(child, parents) <= top[parents]:
                continue
            for p in free:
                if not parents >> p & 1:
                    more = parents | 1 << p
                    grown[more] = max(grown.get(more, -np.inf), top[parents])
        top.update(grown)
        layer = list(grown)
    return families


def _best_within(n: int, families: dict[int, float]) -> NDArray[np.float64]:
    """Return the best score of the families whose parents lie within each set of attributes."""
    best = np.full(1 << n, -np.inf)
    best[list(families)] = list(families.values())
    for i in range(n):
        halves: NDArray[Any] = best.reshape(-1, 2, 1 << i)
        np.maximum(halves[:, 1], halves[:, 0], out=halves[:, 1])
    return best
