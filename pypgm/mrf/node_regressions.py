"""Pairwise fields from one logistic regression of each node, or of each two codes of a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pypgm.mrf.encoding import Field, Records, field_of_pairs, field_of_signs


@dataclass(frozen=True, slots=True, eq=False)
class NodeTask:
    """Regressions of one or more labels on the same records.

    Attributes
    ----------
    features : ndarray of float64, shape (M, F)
        Entries -1, 0 and +1; the last column is the intercept's.
    labels : ndarray of float64, shape (M, R)
        -1 or +1.
    counts : ndarray of float64, shape (M,)
        Records each row stands for.
    allowed : ndarray of bool, shape (F, R)
        All features but the node's own.
    groups : ndarray of int, shape (F,)
        The attribute of each feature; the intercept is a group of its own.
    """

    features: NDArray[np.float64]
    labels: NDArray[np.float64]
    counts: NDArray[np.float64]
    allowed: NDArray[np.bool_]
    groups: NDArray[np.intp]


def field_of_nodes(records: Records, learn: Callable[[NodeTask], NDArray[np.float64]]) -> Field:
    """Return the field that regressions learn: weights of shape (F, R) for each task.

    Binary attributes have one regression each, on features of -1 and +1; its weights are twice the couplings.
    Otherwise there is one for each two codes u < v of an attribute on the records that have one of them, of which the
    weights estimate W(u, .) - W(v, .).
    """
    if all(size == 2 for size in records.domain.shape):
        signs, groups = records.signs, np.arange(len(records.domain) + 1)
        allowed = groups[:, None] != groups[:-1]
        weights = learn(NodeTask(signs, signs[:, :-1], records.counts, allowed, groups))
        return field_of_signs(records.domain, weights.T)
    tasks = ((node, pair, task) for node, pair, task in _pair_tasks(records) if task.counts.sum() > 0)
    return field_of_pairs(records.domain, ((node, pair, learn(task)[:, 0]) for node, pair, task in tasks))


def _pair_tasks(records: Records) -> Iterator[tuple[int, tuple[int, int], NodeTask]]:
    shape = records.domain.shape
    groups = np.append(np.repeat(np.arange(len(shape)), shape), len(shape))
    for node, size in enumerate(shape):
        codes = records.codes[:, node]
        for u, v in combinations(range(size), 2):
            kept = (codes == u) | (codes == v)
            labels = np.where(codes[kept] == u, 1.0, -1.0)
            allowed = (groups != node)[:, None]
            yield node, (u, v), NodeTask(records.one_hot[kept], labels[:, None], records.counts[kept], allowed, groups)
