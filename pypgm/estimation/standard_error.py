"""The covariance of the generalised least squares estimate: the uncertainty by noise, without other constraints."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement, cells_of
from pypgm.estimation.stacked_measurements import StackedMeasurements
from pypgm.estimation.total import estimate_total

_MOST_PARAMETERS = 1500  # of a dense linear system: a second of work
_MOST_ENTRIES = 1 << 24  # of the matrix from parameters to cells
_SINGULAR = 1e-10  # of the largest eigenvalue: below, answers leave a direction open


class LeastSquares:
    """All marginals of measured cliques as a linear function of independent parameters, and their covariance.

    A table is the sum of its interactions, one for each subset of its attributes; tables that share a subset share the
    interaction, and so agree wherever they meet.

    Attributes
    ----------
    offsets : dict of clique to int
        Position of the first parameter of each interaction.
    covariance : ndarray, shape (parameters, parameters)
        Covariance of the parameters, in squared counts.
    """

    def __init__(self, domain: Domain, offsets: dict[Clique, int], covariance: NDArray[np.float64]) -> None:
        self._domain = domain
        self.offsets = offsets
        self.covariance = covariance

    def holds(self, clique: Clique) -> bool:
        """Return whether the marginal of a clique follows from the parameters."""
        return self._domain.canonical(clique) in self.offsets

    def standard_error(self, clique: Clique) -> NDArray[np.float64]:
        """Return the standard deviation of each cell of a clique that it `holds`, counts, axes in the given order."""
        table = _design(self._domain, clique, self.offsets, len(self.covariance))
        variance = np.einsum("ij,ij->i", table @ self.covariance, table)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)), dtype=np.float64)


def least_squares(
    domain: Domain, measurements: Sequence[LinearMeasurement], *, total_is_known: bool
) -> LeastSquares | None:
    """Return the covariance of generalised least squares over all measurements.

    It minimises the weighted squared residuals over tables that agree with each other but may be negative, and whose
    total is that of `estimate_total` unless it is known.

    Parameters
    ----------
    domain : Domain
        The attributes.
    measurements : sequence of LinearMeasurement
        Only their noise counts, not their values.
    total_is_known : bool
        Whether the number of records is not an estimate.

    Returns
    -------
    LeastSquares or None
        None if the system is large (more than 1,500 parameters) or the answers leave some of it open.

    Examples
    --------
    >>> domain = Domain({"a": 2, "b": 2})
    >>> pair = LinearMeasurement([1, 2, 3, 4], ("a", "b"), 1.0)
    >>> found = least_squares(domain, [pair], total_is_known=False)
    >>> assert found is not None
    >>> found.standard_error(("a",)).round(4)
    array([1.4142, 1.4142])
    """
    cliques = list(dict.fromkeys(domain.canonical(m.clique) for m in measurements))
    offsets, parameters = _interactions(domain, cliques)
    if parameters > _MOST_PARAMETERS or parameters * sum(map(domain.size, cliques)) > _MOST_ENTRIES:
        return None
    design = np.concatenate([_design(domain, c, offsets, parameters) for c in cliques])
    stacked = StackedMeasurements(domain, cliques, measurements)
    free = slice(1, None) if total_is_known else slice(None)
    scaled = np.stack([stacked.answers(column) for column in design.T[free]], axis=1)
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    if values.size and values[0] <= _SINGULAR * values[-1]:
        return None
    covariance = np.zeros((parameters, parameters))
    covariance[free, free] = (vectors / values) @ vectors.T
    if not total_is_known:
        # An estimate keeps to its own total, whose error beyond that of the least squares is independent of theirs.
        shift = covariance[:, 0] / covariance[0, 0]
        further = estimate_total(domain, measurements)[1] - covariance[0, 0]
        covariance += further * np.outer(shift, shift)
    return LeastSquares(domain, offsets, covariance)


def _interactions(domain: Domain, cliques: Sequence[Clique]) -> tuple[dict[Clique, int], int]:
    """Return the offset of the parameters of each subset of the cliques, the empty one first, and their number."""
    subsets = {s for c in cliques for n in range(len(c) + 1) for s in itertools.combinations(c, n)} | {()}
    offsets, parameters = {}, 0
    for subset in sorted(subsets, key=lambda s: (len(s), domain.indices(s))):
        offsets[subset] = parameters
        parameters += math.prod(n - 1 for n in domain.sizes(subset))
    return offsets, parameters


def _design(domain: Domain, clique: Clique, offsets: dict[Clique, int], parameters: int) -> NDArray[np.float64]:
    """Return the matrix from parameters to the cells of a clique, axes in the given order."""
    canonical = domain.canonical(clique)
    design = np.zeros((domain.size(clique), parameters))
    for n in range(len(clique) + 1):
        for members in itertools.combinations(canonical, n):
            block: NDArray[np.float64] = np.ones((1, 1))
            for a in canonical:
                block = np.asarray(np.kron(block, _part(domain.size(a), a in members)), dtype=np.float64)
            design[:, offsets[members] : offsets[members] + block.shape[1]] = block
    return design[np.argsort(cells_of(domain, clique, canonical))]


def _part(size: int, interacts: bool) -> NDArray[np.float64]:
    """Return an orthonormal basis of the vectors that sum to 0, shape (size, size - 1), or the even unit vector."""
    if not interacts:
        return np.full((size, 1), 1 / size)
    basis = np.linalg.qr(np.column_stack([np.ones(size), np.eye(size)[:, : size - 1]]))[0]
    return np.asarray(basis[:, 1:], dtype=np.float64)
