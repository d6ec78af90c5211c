"""Relaxed projection: a mixture of products, fitted to measurements by gradients."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from pypgm._base.clock import Clock
from pypgm._base.constraints import AtLeast, Positive
from pypgm._base.numeric import as_generator, checked_integer, checked_real
from pypgm._base.signatures import checked
from pypgm.data import Dataset
from pypgm.domain import Clique, Domain
from pypgm.estimation import LinearMeasurement
from pypgm.estimation.total import estimate_total
from pypgm.factor import Factor
from pypgm.reconstruction.marginals import at_least_one

_SPREAD = 0.25  # of the first logits
_MEAN_DECAY, _SQUARE_DECAY, _FLOOR = 0.9, 0.999, 1e-8  # decay of the gradient's moments, and their floor


class ProductMixture:
    """Records of several kinds, equally many of each; in a kind the attributes are independent.

    Parameters
    ----------
    domain : Domain
    probabilities : sequence of ndarray, shapes (kinds, size of the attribute)
        Probabilities of each attribute's values in each kind; rows sum to 1.
    total : float
        Number of records.

    Attributes
    ----------
    domain : Domain
    probabilities : tuple of ndarray
    total : float
    """

    def __init__(self, domain: Domain, probabilities: Sequence[NDArray[np.float64]], total: float) -> None:
        self.domain = domain
        self.probabilities = tuple(probabilities)
        self.total = total

    def project(self, clique: str | Iterable[str]) -> Factor:
        """Return the table of any clique in counts, axes in the given order."""
        domain = self.domain.project(clique)
        if not len(domain):
            return Factor(domain, [self.total])
        axes = string.ascii_lowercase[: len(domain)]
        parts = [self.probabilities[i] for i in self.domain.indices(domain.attributes)]
        table = np.einsum(",".join(f"K{a}" for a in axes) + f"->{axes}", *parts, optimize=True)
        return Factor(domain, table * (self.total / len(parts[0])))

    def synthetic_data(self, rows: int | None = None, rng: np.random.Generator | int | None = None) -> Dataset:
        """Draw independent records.

        Parameters
        ----------
        rows : int, optional
            Number of records; the rounded total by default.
        rng : Generator or int, optional
            The operating system's entropy by default.
        """
        n = checked_integer("rows", round(self.total) if rows is None else rows)
        random, kinds = as_generator(rng), len(self.probabilities[0])
        kind = random.integers(kinds, size=n)
        columns = {}
        for a, p in zip(self.domain, self.probabilities, strict=True):
            # Behind one another the rows' running sums are increasing: one search finds all.
            edges = np.minimum(np.cumsum(p, axis=1), 1.0)
            edges[:, -1] = 1.0
            positions = np.searchsorted(
                (edges + np.arange(kinds)[:, None]).reshape(-1), kind + random.random(n), "right"
            )
            columns[a] = np.minimum(positions - kind * p.shape[1], p.shape[1] - 1)
        return Dataset(columns, self.domain)


@checked()
def relaxed_projection(
    domain: Domain,
    measurements: Iterable[LinearMeasurement],
    total: float | None = None,
    *,
    kinds: Annotated[int, AtLeast(1)] = 100,
    iterations: Annotated[int, AtLeast(1)] = 1000,
    stepsize: Annotated[float, Positive()] = 0.1,
    time_limit: float | None = None,
    progress: bool = False,
    rng: np.random.Generator | int | None = 0,
) -> ProductMixture:
    r"""Return the mixture of products that explains measurements best, as far as gradients find it.

    The loss :math:`\frac12 \sum_i \lVert (Q_i \mu_i - y_i) / \sigma_i \rVert^2` is not convex in the logits of the
    probabilities; it is made small by Adam from random logits. Memory and time grow with kinds times measured cells,
    and with nothing else: no clique is too wide because of the structure of the others.

    Parameters
    ----------
    domain : Domain
    measurements : sequence of LinearMeasurement
        Measurements of any queries.
    total : float, optional
        Number of records; estimated from the measurements by default.
    kinds : int
        Products, at least 1.
    iterations : int
        Steps, at least 1.
    stepsize : float
        Step size of Adam, in logits.
    time_limit : float, optional
        Seconds, after which the mixture is returned as it is.
    progress : bool
        Whether steps are shown on standard error.
    rng : Generator, int or None
        Source of the first logits; None is the operating system's entropy.

    Returns
    -------
    ProductMixture

    Raises
    ------
    ValueError
        If there is no measurement, a measurement does not fit the domain, no measurement determines the total, or a
        number is out of range.

    References
    ----------
    Aydore, Brown, Kearns, Kenthapadi, Melis, Roth and Siva 2021, "Differentially Private Query Release Through Adaptive
    Projection"; Kingma and Ba 2015, "Adam".

    Examples
    --------
    >>> from pypgm import Domain, LinearMeasurement
    >>> found = relaxed_projection(Domain({"a": 2, "b": 2}), [LinearMeasurement([[4, 0], [0, 4]], ("a", "b"))])
    >>> found.project(("a", "b")).values.round()
    array([[4., 0.],
           [0., 4.]])
    """
    measured = at_least_one(domain, measurements)
    records = estimate_total(domain, measured)[0] if total is None else checked_real("total", total)
    random = as_generator(rng)
    logits = [_Adam(random.normal(0.0, _SPREAD, (kinds, n))) for n in domain.shape]
    with Clock("relaxed projection", time_limit, progress) as clock:
        scale = 0.0
        for step in range(iterations):
            loss, slopes = _slopes(domain, measured, [_softmax(x.values) for x in logits], records)
            scale = scale or loss or 1.0  # so that the floor of the moments means the same for counts of any size
            for x, slope in zip(logits, slopes, strict=True):
                x.step(slope / scale, stepsize)
            if clock.tick(partial("{}/{} steps, loss {:.6g}".format, step + 1, iterations, loss)):
                break
    return ProductMixture(domain, [_softmax(x.values) for x in logits], records)


class _Adam:
    """Values that follow the mean of their gradients, each in steps of about the same size."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self.values = values
        self._first, self._second = np.zeros_like(values), np.zeros_like(values)
        self._taken = 0

    def step(self, slope: NDArray[np.float64], rate: float) -> None:
        """Take a step against a gradient."""
        self._taken += 1
        self._first += (1 - _MEAN_DECAY) * (slope - self._first)
        self._second += (1 - _SQUARE_DECAY) * (slope**2 - self._second)
        first = self._first / (1 - _MEAN_DECAY**self._taken)
        second = self._second / (1 - _SQUARE_DECAY**self._taken)
        self.values -= rate * first / (np.sqrt(second) + _FLOOR)


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _slopes(
    domain: Domain, measurements: list[LinearMeasurement], probabilities: list[NDArray[np.float64]], total: float
) -> tuple[float, list[NDArray[np.float64]]]:
    """Return the loss, and its gradient with respect to the logits of each attribute."""
    model = ProductMixture(domain, probabilities, total)
    slopes, loss = [np.zeros_like(p) for p in probabilities], 0.0
    for m in measurements:
        table = model.project(m.clique)
        weights = m.weights()
        residual = m.linear_map.matvec(table.datavector()) - m.values
        loss += 0.5 * float((weights * residual**2).sum())
        slope = m.linear_map.rmatvec(weights * residual).reshape(table.domain.shape)
        for i, part in _along(domain, m.clique, slope, probabilities):
            slopes[i] += part
    means = [(p * s).sum(axis=1, keepdims=True) for p, s in zip(probabilities, slopes, strict=True)]
    return loss, [total / len(p) * p * (s - m) for p, s, m in zip(probabilities, slopes, means, strict=True)]


def _along(
    domain: Domain, clique: Clique, slope: NDArray[np.float64], probabilities: list[NDArray[np.float64]]
) -> list[tuple[int, NDArray[np.float64]]]:
    """Return the sums of a table's gradient onto each attribute, weighted by the probabilities of the others."""
    indices = domain.indices(clique)
    axes = string.ascii_lowercase[: len(indices)]
    parts = []
    for i, axis in zip(indices, axes, strict=True):
        others = [(probabilities[j], f"K{b}") for j, b in zip(indices, axes, strict=True) if j != i]
        text = ",".join([axes, *(b for _, b in others)]) + f"->{'K' * bool(others)}{axis}"
        along = np.einsum(text, slope, *(p for p, _ in others), optimize=True)
        parts.append((i, np.broadcast_to(along, probabilities[i].shape)))
    return parts
