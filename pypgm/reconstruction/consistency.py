"""Noisy tables made to agree wherever they share attributes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm.domain import Clique, Domain

Set = frozenset[str]


def consistent(
    domain: Domain,
    cliques: Sequence[Clique],
    tables: Sequence[NDArray[np.float64]],
    weights: Sequence[float],
    *,
    by_cells: bool = True,
) -> list[NDArray[np.float64]]:
    r"""Return tables that agree on every set of attributes two of them share, and on their sums.

    Shared sets are taken from the smallest to the largest; on each, the mean M of the tables' sums spreads evenly over
    the cells that make it up: :math:`T_t \mathrel{+}= (M - S T_t) / k_t` where :math:`k_t` cells of a table make one of
    the shared set. Means are weighted by :math:`w_t / k_t`; with the inverse variances of the cells for w the answer is
    the generalised least squares fit of tables that agree.

    Parameters
    ----------
    domain : Domain
    cliques : sequence of tuple of str
    tables : sequence of ndarray of float64, shapes (sizes of the clique)
        Counts, of any sign; they are not changed.
    weights : sequence of float
        w, more than 0.
    by_cells : bool
        Whether they are divided by k; otherwise they are those of the sums themselves.

    Examples
    --------
    >>> from pypgm import Domain
    >>> tables = [np.array([4.0, 0.0]), np.array([[1.0, 1.0], [1.0, 1.0]])]
    >>> consistent(Domain({"a": 2, "b": 2}), [("a",), ("a", "b")], tables, [1.0, 1.0])[0].round(6)
    array([3.333333, 0.666667])
    """
    adjusted = [np.array(table, dtype=np.float64) for table in tables]
    for shared in _shared(domain, cliques):
        among = [t for t, clique in enumerate(cliques) if shared <= set(clique)]
        sums = {t: _summed(adjusted[t], cliques[t], shared, domain) for t in among}
        cells = domain.size(tuple(shared))
        ratio = {t: adjusted[t].size / cells for t in among}
        precisions = np.array([weights[t] / ratio[t] if by_cells else weights[t] for t in among])
        mean = np.tensordot(precisions / precisions.sum(), np.stack([sums[t] for t in among]), axes=1)
        for t in among:
            adjusted[t] += _spread((mean - sums[t]) / ratio[t], cliques[t], shared, domain)
    return adjusted


def _shared(domain: Domain, cliques: Sequence[Clique]) -> list[Set]:
    """Return the sets that two tables or more share, closed under intersection, smaller ones first; always with {}."""
    scopes = list(dict.fromkeys(frozenset(c) for c in cliques))
    shared = dict.fromkeys(s for s in scopes if sum(s <= set(c) for c in cliques) > 1) | {frozenset[str](): None}
    new = scopes
    while new:
        holders: dict[str, list[Set]] = {}
        for s in scopes:
            for a in s:
                holders.setdefault(a, []).append(s)
        met = dict.fromkeys(s & other for s in new for a in s for other in holders[a] if other != s)
        new = [s for s in met if s not in shared]
        shared |= dict.fromkeys(new)
    return sorted(shared, key=lambda s: (len(s), sorted(domain.indices(tuple(s)))))


def _summed(table: NDArray[np.float64], clique: Clique, shared: Set, domain: Domain) -> NDArray[np.float64]:
    """Return the sums over attributes that are not shared, axes in the order of the domain."""
    sums = table.sum(axis=tuple(i for i, a in enumerate(clique) if a not in shared))
    kept = [a for a in clique if a in shared]
    return np.transpose(sums, [kept.index(a) for a in domain.canonical(tuple(kept))])


def _spread(change: NDArray[np.float64], clique: Clique, shared: Set, domain: Domain) -> NDArray[np.float64]:
    """Return a table over the shared attributes, axes in the order of the domain, as one that adds to a clique's."""
    kept = tuple(a for a in clique if a in shared)
    order = domain.canonical(kept)
    return np.transpose(change, [order.index(a) for a in kept]).reshape(
        [domain.size((a,)) if a in shared else 1 for a in clique]
    )
