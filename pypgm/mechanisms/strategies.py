"""Which marginals or contrasts to measure for a workload of marginals, and with how much noise each.

Both strategies depend on the workload alone. A contrast of a clique b is what its marginal says that no smaller one
does; all contrasts together determine all marginals, and the error of a marginal is a sum over the contrasts within it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pypgm.domain import Clique, Domain
from pypgm.privacy.relation import Privacy
from pypgm.workloads import Workload

if TYPE_CHECKING:
    from scipy import sparse

__all__ = ["Strategy", "contrast_cost", "contrast_strategy", "marginal_strategy"]

_STEPS = 5000  # of the multiplicative updates: the gap is long below the tolerance by then


@dataclass(frozen=True, slots=True, eq=False)
class Strategy:
    """What to measure with Gaussian noise, at which part of rho each, and the error to expect.

    Attributes
    ----------
    cliques : tuple of tuple of str
        Whose marginals, or whose contrasts, are measured; the empty one is the number of records.
    shares : ndarray, shape (cliques,)
        Parts of rho; they sum to 1.
    squared_error : float
        The workload's expected squared error, weighted and summed over all cells, of the best linear unbiased answers
        at rho = 1; at another rho divide by it.
    relative_gap : float
        At most how far `squared_error` is above the least one of its kind, relative to it.
    """

    cliques: tuple[Clique, ...]
    shares: NDArray[np.float64]
    squared_error: float
    relative_gap: float

    def rmse(self, workload: Workload, rho: float) -> float:
        """Return the expected root of the mean squared error over all cells of the workload, in counts."""
        return math.sqrt(self.squared_error / rho / workload.cells())


def contrast_strategy(workload: Workload, privacy: Privacy | None = None) -> Strategy:
    r"""Return the contrasts to measure and the best shares of rho, in closed form.

    With :math:`c_b` what one contrast costs at noise 1 and :math:`g_b` what its noise adds to the workload's squared
    error, shares are proportional to :math:`\sqrt{c_b g_b}` and the error is :math:`(\sum_b \sqrt{c_b g_b})^2 / \rho`,
    the least that any unbiased Gaussian strategy has under add-remove. Under replace each contrast is charged on its
    own, and the public number of records costs nothing.

    Parameters
    ----------
    workload : Workload
        Of whole marginals.
    privacy : Privacy, optional
        The relation; add-remove, one record a person, by default.

    Raises
    ------
    ValueError
        If a query of the workload is not every cell.

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
    gains = _contrast_gains(workload)
    costs = {b: contrast_cost(workload.domain, b, relation) for b in gains}
    roots = np.array([math.sqrt(costs[b] * gains[b]) for b in gains])
    measured = np.flatnonzero(roots > 0)
    cliques = list(gains)
    total = float(roots.sum())
    # rho_b = c_b / (2 s_b^2): the sum of g_b s_b^2 is half of the sum of g_b c_b / rho_b.
    return Strategy(tuple(cliques[i] for i in measured), roots[measured] / total, total**2 / 2, 0.0)


def contrast_cost(domain: Domain, clique: Clique, privacy: Privacy) -> float:
    """Return the squared L2 sensitivity of the contrasts of a clique, orthonormal along every attribute.

    Records that agree on the attributes S of the clique differ by the product over them of 1 - 1/n, times that of -1/n
    over the others.
    """
    sizes = domain.sizes(clique)
    own = math.prod(1 - 1 / n for n in sizes)
    people = privacy.records_per_person**2
    if not privacy.total_is_public:
        return people * own
    # The product is least where an odd number of attributes, those of most values left out last, disagree.
    agreeing = [
        math.prod(1 - 1 / n if s else -1 / n for n, s in zip(sizes, agree, strict=True))
        for agree in itertools.product((False, True), repeat=len(sizes))
    ]
    return people * 2 * (own - min(agreeing))


def marginal_strategy(workload: Workload, *, tolerance: float = 1e-3) -> Strategy:
    r"""Return the marginals to measure and the best shares of rho among strategies of whole marginals.

    The expected squared error :math:`\sum_b g_b / \sum_{a \supseteq b} u_a n_b / n_a` is convex in the shares u.
    Updates :math:`u_a \leftarrow u_a \sqrt{-\partial_a}`, normalised, never raise it, and the largest derivative bounds
    the distance to the optimum.

    Parameters
    ----------
    workload : Workload
        Of whole marginals.
    tolerance : float
        Stop at this relative gap; small shares that cost no more than as much again are left out.

    Raises
    ------
    ValueError
        If a query of the workload is not every cell.

    References
    ----------
    McKenna, Miklau, Hay and Machanavajjhala 2018, "Optimizing error of high-dimensional statistical queries under
    differential privacy" (weighted marginals); Fellman 1974, "On the allocation of linear observations" (the update).

    Examples
    --------
    >>> from pypgm import Domain, workloads
    >>> work = workloads.Workload(Domain({"a": 2, "b": 3}), [("a", "b")])
    >>> strategy = marginal_strategy(work)
    >>> strategy.cliques, round(strategy.rmse(work, rho=0.5), 6)
    ((('a', 'b'),), 1.0)
    """
    gains = _contrast_gains(workload)
    cliques = list(gains)
    inside = _inclusion(workload.domain, cliques)
    # A contrast of b read off a marginal a sums n_a / n_b cells' noise.
    wanted = np.array(list(gains.values()))
    shares = np.full(len(cliques), 1 / len(cliques))
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
    kept, own = _without_small(inside, wanted, shares, error * (1 + tolerance))
    least, error = error * (1 - gap), float((wanted / (inside[:, kept] @ own)).sum())
    return Strategy(tuple(cliques[i] for i in kept), own, error / 2, error / least - 1)


def _without_small(
    inside: sparse.csr_array, wanted: NDArray[np.float64], shares: NDArray[np.float64], limit: float
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the fewest of the largest shares, to a factor of ten, that keep the error within a limit."""
    for part in (0.1, 1e-2, 1e-3, 1e-4, 1e-6):
        kept = np.flatnonzero(shares >= part * shares.max())
        own = shares[kept] / shares[kept].sum()
        known = inside[:, kept] @ own
        if known.min() > 0 and float((wanted / known).sum()) <= limit:
            return kept, own
    return np.arange(shares.size), shares


def _contrast_gains(workload: Workload) -> dict[Clique, float]:
    """Return for each subset b of a clique, the empty one first, what noise 1 of its contrasts adds to the error."""
    if any(q is not None for q in workload.queries):
        raise ValueError("strategies of marginals and contrasts need a workload that asks every cell of its marginals")
    domain, gains = workload.domain, dict[Clique, float]()
    for clique, weight in zip(workload.cliques, workload.weights, strict=True):
        ordered = domain.canonical(clique)
        sizes = dict(zip(ordered, domain.sizes(ordered), strict=True))
        for k in range(len(ordered) + 1):
            for b in itertools.combinations(ordered, k):
                factor = math.prod(sizes[a] - 1 if a in b else 1 / sizes[a] for a in ordered)
                gains[b] = gains.get(b, 0.0) + float(weight) * factor
    return dict(sorted(gains.items(), key=lambda item: (len(item[0]), domain.indices(item[0]))))


def _inclusion(domain: Domain, cliques: list[Clique]) -> sparse.csr_array:
    """Return the matrix of n_b / n_a, the part of a cell of b that a cell of a is, for every b within a."""
    from scipy import sparse

    number = {c: i for i, c in enumerate(cliques)}
    rows, columns, values = [], [], []
    for a in cliques:
        for k in range(len(a) + 1):
            for b in itertools.combinations(a, k):
                rows.append(number[b])
                columns.append(number[a])
                values.append(domain.size(b) / domain.size(a))
    return sparse.csr_array((values, (rows, columns)), shape=(len(cliques), len(cliques)))
