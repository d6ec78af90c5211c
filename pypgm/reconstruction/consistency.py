"""Noisy tables made to agree wherever they share attributes; PriView, which frees them of negative counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import checked_integer
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation import LinearMeasurement
from pypgm.factor import Factor
from pypgm.reconstruction.marginals import Reconstructed, pooled, without_negatives

_NEGATIVE = 1e-6  # of the number of records: counts closer to 0 from below are taken for 0
_SWEEPS = 1000  # of proportional fitting
_FITTED = 1e-9  # of the number of records: how far the sums of a fitted table may be off


class Views(Reconstructed):
    """Tables of some cliques that agree wherever they share attributes.

    Parameters
    ----------
    domain : Domain
    tables : mapping of clique to Factor
        Counts; cliques in the domain's order.

    Attributes
    ----------
    least_count : float
        The most negative remaining count, 0 if there is none: answers read it as 0.
    """

    def __init__(self, domain: Domain, tables: Mapping[Clique, Factor]) -> None:
        self.domain = domain
        self.tables = dict(tables)
        first = next(iter(self.tables.values()))
        self.total = max(0.0, float(first.datavector().sum()))
        self.least_count = min(0.0, *(float(t.datavector().min()) for t in self.tables.values()))
        self._tables = CliqueVector.from_factors(domain, list(self.tables.values()))

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """Measured cliques, in the domain's order."""
        return tuple(self.tables)

    def project(self, clique: str | Iterable[str]) -> Factor:
        """Return the table of a clique in counts, axes in the given order.

        It comes from a view that holds it; otherwise it is the table of maximum entropy with the sums of the views.
        """
        ordered = self.domain.canonical(clique)
        if any(set(ordered) <= set(c) for c in self.tables):
            table = self._of_view(ordered)
        else:
            shared = dict.fromkeys(tuple(a for a in ordered if a in c) for c in self.tables)
            largest = [s for s in shared if s and not any(set(s) < set(other) for other in shared)]
            table = self._fitted(ordered, [self._of_view(s) for s in largest])
        return table.project(clique)

    def _of_view(self, clique: Clique) -> Factor:
        """Return the table of a clique from the smallest view that holds it, without negative counts."""
        table = self._tables.project(clique)
        return Factor(table.domain, without_negatives(table.values))

    def _fitted(self, clique: Clique, sums: list[Factor]) -> Factor:
        """Return the table of maximum entropy with some sums, by iterative proportional fitting."""
        domain = self.domain.project(clique)
        table = Factor(domain, np.full(domain.size(), self.total / domain.size()))
        for _ in range(_SWEEPS if sums else 0):
            worst = 0.0
            for wanted in sums:
                now = table.project(wanted.domain.attributes)
                worst = max(worst, float(np.abs(now.values - wanted.values).sum()))
                table = table * (wanted / now)
            if worst <= _FITTED * self.total:
                break
        return table


def priview(
    domain: Domain, measurements: Iterable[LinearMeasurement], *, nonnegative: bool = True, iterations: int = 100
) -> Views:
    """Return noisy marginals made to agree, as least squares does, and freed of negative counts.

    With weights in inverse proportion to the variances the tables that agree are the generalised least squares fit.
    Negative counts are then set to 0 at the cost of the smallest positive ones, which makes the tables disagree again:
    both steps alternate.

    Parameters
    ----------
    domain : Domain
    measurements : sequence of LinearMeasurement
        Measurements of every cell, each with one standard deviation.
    nonnegative : bool
        Whether negative counts are removed.
    iterations : int
        Largest number of iterations, at least 1. The last step makes the tables agree.

    Returns
    -------
    Views

    Raises
    ------
    ValueError
        If there is no measurement, or a measurement has another kind of query or several standard deviations.

    References
    ----------
    Qardaji, Yang and Li 2014, "PriView: Practical differentially private release of marginal contingency tables";
    Zhang, Wang, Li, Honorio, Backes, He, Chen and Zhang 2021, "PrivSyn" (negative counts).

    Examples
    --------
    >>> from pypgm import Domain, LinearMeasurement
    >>> domain = Domain({"a": 2, "b": 2})
    >>> views = priview(domain, [LinearMeasurement([6, 2], "a"), LinearMeasurement([[3, 3], [1, 3]], ("a", "b"))])
    >>> views.project("a").values.round(6), views.project(("a", "b")).values.sum(1).round(6)
    (array([6.      , 2.666667]), array([6.      , 2.666667]))
    """
    times = checked_integer("iterations", iterations, 1)
    means = pooled(domain, measurements)
    cliques, weights = list(means), [1 / variance for _, variance in means.values()]
    tables = consistent(domain, cliques, [t.values for t, _ in means.values()], weights)
    for _ in range(times if nonnegative else 0):
        total = max(1.0, float(tables[0].sum()))
        if min(float(t.min()) for t in tables) >= -_NEGATIVE * total:
            break
        tables = consistent(domain, cliques, [without_negatives(t) for t in tables], weights)
    return Views(domain, {c: Factor(domain.project(c), t) for c, t in zip(cliques, tables, strict=True)})


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
        Whether the weights are divided by k; otherwise they are weights of the sums themselves.

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
