"""Least squares over all marginals at once, in closed form: pure interactions, each the mean of its measurements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from pypgm.domain import Clique, Domain
from pypgm.estimation import LinearMeasurement
from pypgm.factor import Factor
from pypgm.queries import Contrasts
from pypgm.reconstruction.marginals import Reconstructed, at_least_one, on_simplex


class Residuals(Reconstructed):
    r"""The pure interactions of cliques, which add up to marginals.

    The interaction of a clique b is its marginal after the means along every axis are subtracted. The marginal of A is
    the sum of the interactions of all b within A, each spread evenly over the rest of A. An interaction that was not
    measured counts as 0.

    Parameters
    ----------
    domain : Domain
    interactions : mapping of clique to (ndarray, float)
        The table of each interaction, shape (sizes of the clique, in the domain's order), and the variance v of its
        noise, whose covariance is v times the projection on interactions. The interaction of () is the number of
        records.
    cliques : sequence of cliques
        Measured cliques.
    nonnegative : bool
        Whether each answer is the nearest table without negative counts.
    """

    def __init__(
        self,
        domain: Domain,
        interactions: Mapping[Clique, tuple[NDArray[np.float64], float]],
        cliques: Iterable[Clique],
        *,
        nonnegative: bool = False,
    ) -> None:
        self.domain = domain
        self.interactions = dict(interactions)
        self.total = float(self.interactions[()][0].sum())
        self.nonnegative = nonnegative
        self._cliques = tuple(cliques)

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """Measured cliques, in the domain's order."""
        return self._cliques

    def project(self, clique: str | Iterable[str]) -> Factor:
        """Return the table of any clique in counts, axes in the given order."""
        ordered = self.domain.canonical(clique)
        sizes = self.domain.sizes(ordered)
        table = np.zeros(sizes)
        for b in self._within(ordered):
            shape = [n if a in b else 1 for a, n in zip(ordered, sizes, strict=True)]
            table += self.interactions[b][0].reshape(shape) / (self.domain.size(ordered) / self.domain.size(b))
        if self.nonnegative:
            table = on_simplex(table, max(0.0, self.total))
        return Factor(self.domain.project(ordered), table).project(clique)

    def standard_error(self, clique: str | Iterable[str]) -> float:
        """Return the standard error of each count of a clique before negative ones are removed, only from noise.

        Interactions that were not measured have no noise.
        """
        ordered = self.domain.canonical(clique)
        variance = 0.0
        for b in self._within(ordered):
            rest = self.domain.size(ordered) / self.domain.size(b)
            variance += self.interactions[b][1] * float(np.prod([1 - 1 / n for n in self.domain.sizes(b)])) / rest**2
        return math.sqrt(variance)

    def _within(self, clique: Clique) -> list[Clique]:
        """Return the known interactions of a clique's attributes."""
        every = itertools.chain.from_iterable(itertools.combinations(clique, k) for k in range(len(clique) + 1))
        return [b for b in every if b in self.interactions]


def residual_least_squares(
    domain: Domain, measurements: Iterable[LinearMeasurement], *, nonnegative: bool = False
) -> Residuals:
    r"""Return generalised least squares over all marginals that agree with each other, in closed form.

    Whole marginals and `Contrasts` determine each interaction b independently: a marginal t that holds b with a
    variance of :math:`\sigma^2 n_t / n_b`, contrasts of b itself with :math:`\sigma^2 / \prod n_i^2` (1/2 for an
    attribute of two values). Their mean, weighted by precision, is the least squares fit of all measurements together.

    Parameters
    ----------
    domain : Domain
        Domain of any number of attributes: only measured cliques and their subsets are used.
    measurements : sequence of LinearMeasurement
        Every cell of a marginal, or the contrasts of a clique, each with one standard deviation.
    nonnegative : bool
        Whether each answer becomes the nearest table without negative counts and with the estimated total: closer to
        the truth, but answers of different cliques then no longer agree exactly.

    Returns
    -------
    Residuals

    Raises
    ------
    ValueError
        If there is no measurement, a measurement has another kind of query or several standard deviations, or no
        measurement determines the total.

    References
    ----------
    Xiao, He, Zhang and Kifer 2023, "An Optimal and Scalable Matrix Mechanism for Noisy Marginals under Convex Loss
    Functions"; Mullins, Fuentes, Xiao, Kifer, Musco and Sheldon 2024, "Efficient and Private Marginal Reconstruction
    with Local Non-Negativity".

    Examples
    --------
    >>> from pypgm import Domain, LinearMeasurement
    >>> domain = Domain({"a": 2, "b": 2})
    >>> found = residual_least_squares(domain, [LinearMeasurement([6, 2], "a"), LinearMeasurement([3, 5], "b")])
    >>> found.project(("a", "b")).values
    array([[2.5, 3.5],
           [0.5, 1.5]])
    """
    sums: dict[Clique, NDArray[np.float64]] = {}
    precisions: dict[Clique, float] = {}
    cliques: dict[Clique, None] = {}
    for m in at_least_one(domain, measurements):
        cliques[domain.canonical(m.clique)] = None
        for b, table, variance in _interactions_of(domain, m.ordered(domain)):
            sums[b] = sums.get(b, 0.0) + table / variance
            precisions[b] = precisions.get(b, 0.0) + 1 / variance
    if () not in sums:
        raise ValueError("no measurement tells the total number of records: measure a whole marginal")
    interactions = {b: (s / precisions[b], 1 / precisions[b]) for b, s in sums.items()}
    return Residuals(domain, interactions, cliques, nonnegative=nonnegative)


def _interactions_of(domain: Domain, m: LinearMeasurement) -> list[tuple[Clique, NDArray[np.float64], float]]:
    """Return the interactions in a measurement, with its marginal's axes in order, and their variances."""
    query, sizes = m.linear_map, domain.sizes(m.clique)
    of_cells = query.is_identity or (isinstance(query, Contrasts) and not query.value_groups)
    if not isinstance(m.stddev, float) or not of_cells:
        raise ValueError(
            f"the measurement of {m.clique} must be of every cell or contrasts, with one stddev; got {query}"
        )
    if isinstance(query, Contrasts):
        gain = float(np.prod([2.0 if n == 2 else float(n) ** 2 for n in sizes]))
        contrasts = Factor(domain.project(m.clique), query.rmatvec(m.values) / gain)
        return [(b := domain.canonical(m.clique), contrasts.transpose(b).values, m.stddev**2 / gain)]
    table, interactions = m.values.reshape(sizes).astype(np.float64), []
    for kept in itertools.product((False, True), repeat=len(sizes)):
        part = table
        for axis, keep in enumerate(kept):
            part = part - part.mean(axis, keepdims=True) if keep else part.sum(axis, keepdims=True)
        b = tuple(a for a, keep in zip(m.clique, kept, strict=True) if keep)
        interactions.append((b, part.reshape(domain.sizes(b)), m.stddev**2 * table.size / domain.size(b)))
    return interactions
