"""HDMM's strategies: which marginals or contrasts to measure for a workload, and with how much noise each.

Both strategies depend only on the workload. A contrast of a clique b is the part of its marginal that no smaller one
determines; all contrasts together determine all marginals, and the error of a marginal is a sum over the contrasts
within it. Runs of an ordered attribute's codes, each twice as many as the ones before, are tables between the
marginals with and without it, and have contrasts of their own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_fits, short
from pypgm.domain import Clique, Domain
from pypgm.privacy.relation import Privacy
from pypgm.queries import Kronecker, LinearQuery, Partition
from pypgm.workloads import Workload

if TYPE_CHECKING:
    from scipy import sparse


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
    """Return the numbers of runs of neighbouring codes to split an ordered attribute into: 1, 2, 4, ... and every code.

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


Detail = tuple[tuple[str, int], ...]
"""A table: its attributes, each with the number of runs of codes, or of single codes, that it has there."""

_CELL_BYTES = 48  # the group of a cell, and its entry in the matrices of an estimate
_STEPS = 5000  # of the multiplicative updates: the gap is long below the tolerance by then


@dataclass(frozen=True, slots=True, eq=False)
class Strategy:
    """Queries to measure with Gaussian noise, the share of rho of each, and the expected error.

    Attributes
    ----------
    cliques : tuple of tuple of str
        Cliques whose marginals, or contrasts, are measured; the empty one is the number of records.
    queries : tuple of LinearQuery or None
        The sums that are measured of each marginal; None is every cell, or every contrast.
    shares : ndarray, shape (cliques,)
        Parts of rho; they sum to 1.
    squared_error : float
        The workload's expected squared error, weighted and summed over all answers, of the best linear unbiased ones
        at rho = 1; at another rho divide by it. For runs of different lengths it is within 4 %, for 32 values or more
        within 2 %.
    relative_gap : float
        At most how far `squared_error` is above the least one of its kind, relative to it.
    """

    cliques: tuple[Clique, ...]
    queries: tuple[LinearQuery | None, ...]
    shares: NDArray[np.float64]
    squared_error: float
    relative_gap: float

    def rmse(self, workload: Workload, rho: float) -> float:
        """Return the expected root of the mean squared error over all answers of the workload, in counts."""
        return math.sqrt(self.squared_error / rho / workload.answers())


def contrast_strategy(workload: Workload, privacy: Privacy | None = None) -> Strategy:
    r"""Return the contrasts to measure and the best shares of rho, in closed form.

    With :math:`c_b` the cost of one contrast at noise 1 and :math:`g_b` the squared error that its noise adds to the
    workload, shares are proportional to :math:`\sqrt{c_b g_b}` and the error is :math:`(\sum_b \sqrt{c_b g_b})^2 /
    \rho`, the least that any unbiased Gaussian strategy has under add-remove. Under replace each contrast is charged
    on its own, and the public number of records costs nothing.

    Parameters
    ----------
    workload : Workload
        Workload of whole marginals.
    privacy : Privacy, optional
        The relation; add-remove, one record a person, by default.

    Raises
    ------
    ValueError
        If a query of the workload is not a whole marginal.

    References
    ----------
    Xiao, He, Zhang and Kifer 2023, "An Optimal and Scalable Matrix Mechanism for Noisy Marginals under Convex Loss
    Functions".

    Examples
    --------
    >>> from pypgm import Domain, workloads
    >>> work = workloads.all_k_way(Domain({"a": 100, "b": 50, "c": 7, "d": 4, "e": 2}), 2)
    >>> round(contrast_strategy(work).rmse(work, rho=0.5), 3)
    2.035
    """
    relation = Privacy() if privacy is None else privacy
    if not all(map(is_every_cell, workload.queries)):
        raise ValueError("contrasts need a workload that asks for every cell of its marginals")
    gains = _contrast_gains(workload, _levels(workload))
    cliques = [_clique(b) for b in gains]
    costs = [contrast_cost(workload.domain, c, relation) for c in cliques]
    roots = np.sqrt(np.multiply(costs, list(gains.values())))
    measured = np.flatnonzero(roots > 0)
    total = float(roots.sum())
    # rho_b = c_b / (2 s_b^2): the sum of g_b s_b^2 is half of the sum of g_b c_b / rho_b.
    kept = tuple(cliques[i] for i in measured)
    return Strategy(kept, (None,) * len(kept), roots[measured] / total, total**2 / 2, 0.0)


def contrast_cost(domain: Domain, clique: Clique, privacy: Privacy) -> float:
    """Return the squared L2 sensitivity of the contrasts of a clique, orthonormal along every attribute.

    Records that agree on the attributes S of the clique differ by the product over them of 1 - 1/n, times that of -1/n
    over the others.
    """
    sizes = domain.sizes(clique)
    residual = math.prod(1 - 1 / n for n in sizes)
    people = privacy.records_per_person**2
    if not privacy.total_is_public:
        return people * residual
    # The product is least where an odd number of attributes, those of most values left out last, disagree.
    agreeing = [
        math.prod(1 - 1 / n if s else -1 / n for n, s in zip(sizes, agree, strict=True))
        for agree in itertools.product((False, True), repeat=len(sizes))
    ]
    return people * 2 * (residual - min(agreeing))


def marginal_strategy(workload: Workload, *, tolerance: float = 1e-3) -> Strategy:
    r"""Return the marginals to measure and the best shares of rho among strategies of marginals and their runs.

    If the workload asks more of an attribute than its values, such as prefixes or all ranges, marginals are
    measured also in 1, 2, 4, ... runs of its codes: a range is a sum of few of them.

    The expected squared error :math:`\sum_b g_b / \sum_{a \supseteq b} u_a n_b / n_a` is convex in the shares u.
    Updates :math:`u_a \leftarrow u_a \sqrt{-\partial_a}`, normalised, never raise it, and the largest derivative bounds
    the distance to the optimum.

    Parameters
    ----------
    workload : Workload
        Workload of marginals; a query on several attributes must be a product of queries, one for each.
    tolerance : float
        Stop at this relative gap; small shares that cost no more than as much again are left out.

    Raises
    ------
    ValueError
        If a query of the workload is on several attributes and no product.
    ModelTooLargeError
        If the tables to be measured would not fit in memory.

    References
    ----------
    McKenna, Miklau, Hay and Machanavajjhala 2018, "Optimizing error of high-dimensional statistical queries under
    differential privacy" (weighted marginals); Hay, Rastogi, Miklau and Suciu 2010, "Boosting the accuracy of
    differentially private histograms through consistency" (runs); Fellman 1974, "On the allocation of linear
    observations" (the update).

    Examples
    --------
    >>> from pypgm import Domain, workloads
    >>> work = workloads.Workload(Domain({"a": 2, "b": 3}), [("a", "b")])
    >>> strategy = marginal_strategy(work)
    >>> strategy.cliques, round(strategy.rmse(work, rho=0.5), 6)
    ((('a', 'b'),), 1.0)
    >>> marginal_strategy(workloads.ranges(Domain({"a": 8}), ["a"], ["a"])).shares.round(2)
    array([0.15, 0.08, 0.16, 0.6 ])
    """
    questions = zip(workload.cliques, workload.queries, strict=True)
    _check_tables(workload.domain, {c for c, query in questions if not is_every_cell(query)})
    levels = _levels(workload)
    gains = _contrast_gains(workload, levels)
    details = list(gains)
    inside = _inclusion(details, levels)
    # A contrast of b read off a table a sums the noise of n_a / n_b cells.
    wanted = np.array(list(gains.values()))
    shares = np.full(len(details), 1 / len(details))
    gap = math.inf
    for _ in range(_STEPS):
        known = inside @ shares
        error = float((wanted / known).sum())
        falls = inside.T @ (wanted / known**2)
        gap = float(falls.max()) / error - 1
        if gap <= tolerance:
            break
        shares *= np.sqrt(falls / error)
        shares /= shares.sum()
    kept, kept_shares = _without_small(inside, wanted, shares, error * (1 + tolerance))
    least, error = error * (1 - gap), float((wanted / (inside[:, kept] @ kept_shares)).sum())
    cliques = tuple(_clique(details[i]) for i in kept)
    _check_tables(workload.domain, [_clique(details[i]) for i in kept if not _is_whole(workload.domain, details[i])])
    queries = tuple(_sums(workload.domain, details[i]) for i in kept)
    return Strategy(cliques, queries, kept_shares, error / 2, error / least - 1)


def _check_tables(domain: Domain, cliques: Collection[Clique]) -> None:
    """Raise `ModelTooLargeError` where the groups of cells of tables in runs would not fit."""
    cells = sum(map(domain.size, cliques))
    what = f"the strategy measures {len(cliques):,} tables in runs of {short(cells)} cells"
    check_fits(_CELL_BYTES * cells, None, what, "ask fewer values, in wider bins, or ranges of fewer attributes")


def _without_small(
    inside: sparse.csr_array, wanted: NDArray[np.float64], shares: NDArray[np.float64], limit: float
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the fewest of the largest shares, to a factor of ten, that keep the error within a limit."""
    for part in (0.1, 1e-2, 1e-3, 1e-4, 1e-6):
        kept = np.flatnonzero(shares >= part * shares.max())
        remaining = shares[kept] / shares[kept].sum()
        known = inside[:, kept] @ remaining
        if known.min() > 0 and float((wanted / known).sum()) <= limit:
            return kept, remaining
    return np.arange(shares.size), shares


def _clique(detail: Detail) -> Clique:
    return tuple(attribute for attribute, _ in detail)


def _is_whole(domain: Domain, detail: Detail) -> bool:
    return all(count == domain.size((a,)) for a, count in detail)


def _sums(domain: Domain, detail: Detail) -> LinearQuery | None:
    """Return the sums that a table in some detail has; None for every cell."""
    if _is_whole(domain, detail):
        return None
    return query_of_groups({a: runs(domain.size((a,)), count) for a, count in detail}, _clique(detail))


def _factors(clique: Clique, query: LinearQuery | None) -> dict[str, LinearQuery | None]:
    """Return the factors of a workload's query, one for each attribute."""
    if is_every_cell(query):
        return dict.fromkeys(clique)
    if len(clique) == 1:
        return {clique[0]: query}
    if not isinstance(query, Kronecker) or len(query.factors) != len(clique):
        raise ValueError(f"a strategy needs a product of queries, one for each attribute of {clique}, got {query!r}")
    return dict(zip(clique, query.factors, strict=True))


def _levels(workload: Workload) -> dict[str, list[int]]:
    """Return the numbers of groups that each attribute may be cut into: 1, runs for queries on ranges, every value."""
    factored = [_factors(c, q) for c, q in zip(workload.cliques, workload.queries, strict=True)]
    in_runs = {a for factors in factored for a, query in factors.items() if not is_every_cell(query)}
    sizes = {a: workload.domain.size((a,)) for factors in factored for a in factors}
    return {a: run_counts(size) if a in in_runs else [1, size] for a, size in sizes.items()}


def _contrast_gains(workload: Workload, levels: Mapping[str, Sequence[int]]) -> dict[Detail, float]:
    """Return the error that noise 1 of its contrasts adds, for each table within a requested one, the total first."""
    domain, gains = workload.domain, dict[Detail, float]()
    seen: dict[tuple[str, LinearQuery | None], list[tuple[Detail, float]]] = {}
    for clique, query, weight in zip(workload.cliques, workload.queries, workload.weights, strict=True):
        parts = []
        for a, factor in sorted(_factors(clique, query).items(), key=lambda item: domain.indices(item[:1])):
            if (a, factor) not in seen:
                size, counts = domain.size((a,)), levels[a]
                scaled = energies(factor, size, counts) * counts / size
                ends: list[Detail] = [(), *(((a, c),) for c in counts[1:])]
                seen[a, factor] = list(zip(ends, scaled.tolist(), strict=True))
            parts.append(seen[a, factor])
        for chosen in itertools.product(*parts):
            b = tuple(itertools.chain.from_iterable(part for part, _ in chosen))
            gains[b] = gains.get(b, 0.0) + float(weight) * math.prod(gain for _, gain in chosen)
    return dict(sorted(gains.items(), key=lambda item: (len(item[0]), domain.indices(_clique(item[0])), item[0])))


def _inclusion(details: Sequence[Detail], levels: Mapping[str, Sequence[int]]) -> sparse.csr_array:
    """Return the matrix of n_b / n_a, the part of a cell of b that a cell of a is, for every b no finer than a."""
    from scipy import sparse

    number = {detail: i for i, detail in enumerate(details)}
    cells = [math.prod(count for _, count in detail) for detail in details]
    coarser: dict[tuple[str, int], list[Detail]] = {
        (a, count): [(), *(((a, c),) for c in counts[1 : i + 1])]
        for a, counts in levels.items()
        for i, count in enumerate(counts)
    }
    rows, columns, values = [], [], []
    for column, detail in enumerate(details):
        for chosen in itertools.product(*(coarser[part] for part in detail)):
            row = number[tuple(itertools.chain.from_iterable(chosen))]
            rows.append(row)
            columns.append(column)
            values.append(cells[row] / cells[column])
    return sparse.csr_array((values, (rows, columns)), shape=(len(details), len(details)))
