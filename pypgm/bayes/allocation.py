"""Allocation of a budget among the tables of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pypgm.bayes.checks import children_of, ordered
from pypgm.bayes.learning import rows_of
from pypgm.bayes.network import BayesianNetwork
from pypgm.domain import Clique, Domain

ErrorModel = Literal["delta", "paper"]

_SHARE_BITS = 32  # shares are multiples of 2^-32: as near to the optimum, and scales that the sampler takes exactly
_LEAST_SHARE = 1e-3  # of an equal share: no table is left without any budget


def structural_weights(
    domain: Domain, parents: Mapping[str, Clique], derivatives: Mapping[str, float]
) -> NDArray[np.float64]:
    r"""Return the weight W = (h + 1)(o + 1)(Delta + 1) of each attribute: how much of the network rests on its table.

    Parameters
    ----------
    domain, parents
        The structure; h is the length of the longest directed path down from an attribute, o its number of children.
    derivatives : mapping of str to float
        Delta: how much the children's probabilities change with the table, see `mean_derivatives` and `co_varied`.

    Examples
    --------
    >>> from pypgm import Domain
    >>> structural_weights(Domain({"a": 2, "b": 2}), {"a": (), "b": ("a",)}, {"a": 0.5, "b": 0.0})
    array([6., 1.])
    """
    children = children_of(domain, parents)
    height: dict[str, int] = {}
    for a in reversed(ordered(domain, parents)):
        height[a] = max((height[c] + 1 for c in children[a]), default=0)
    return np.array([(height[a] + 1.0) * (len(children[a]) + 1) * (derivatives[a] + 1) for a in domain])


def mean_derivatives(domain: Domain, parents: Mapping[str, Clique]) -> dict[str, float]:
    r"""Return the mean of :math:`\partial P(y) / \partial\theta(x \mid p)` over p, x, children Y and y; 0 of a leaf.

    Of one child the derivatives sum to P(p) over y, and over p to 1: the mean is the mean of 1 / size over the
    children, divided by the number of the parents' values. It depends on the structure alone.
    """
    means = {}
    for a, children in children_of(domain, parents).items():
        inverse = [1 / domain.size(c) for c in children]
        means[a] = sum(inverse) / len(inverse) / domain.size(parents[a]) if children else 0.0
    return means


def co_varied(network: BayesianNetwork, max_bytes: float | None = None) -> dict[str, float]:
    r"""Return the mean of :math:`|\mathrm d P(y) / \mathrm d\theta(x \mid p)|` when the rest of a row compensates.

    The other values of the row shrink or grow in proportion, so that it keeps its sum:
    :math:`P(p)\,|P(y \mid x, p) - P(y \mid \lnot x, p)|`, in the mean over p, x, children Y and y; 0 of a leaf.

    Raises
    ------
    ModelTooLargeError
        If the table of a family and a child does not fit; that depends on the structure alone.
    """
    averages = {}
    for a, children in children_of(network.domain, network.parents).items():
        means = []
        for child in children:
            scope = (*network.parents[a], a, child)
            joint = network.query(scope, max_bytes=max_bytes).values
            means.append(_co_varied(joint.reshape(-1, *joint.shape[-2:])))
        averages[a] = float(np.mean(means)) if means else 0.0
    return averages


def _co_varied(joint: NDArray[np.float64]) -> float:
    """Return the mean for probabilities of axes (values of the parents, x, y)."""
    of_parents = joint.sum(axis=(1, 2), keepdims=True)
    with_x = joint.sum(axis=2, keepdims=True)
    rest = joint.sum(axis=1, keepdims=True) - joint
    without_x = of_parents - with_x
    both = (with_x > 0) & (without_x > 1e-12 * of_parents)  # else no other value can compensate
    difference = joint / np.where(both, with_x, 1.0) - rest / np.where(both, without_x, 1.0)
    return float((of_parents * np.where(both, np.abs(difference), 0.0)).mean())


def error_coefficient(counts: NDArray[np.float64], stddev: float, model: ErrorModel) -> float:
    r"""Return the mean standard deviation of a conditional table, up to a factor that all tables share.

    "delta" is :math:`\sqrt{(1 - \theta)^2 + (|X| - 1) \theta^2} / T_p`, that of the ratio of a cell to its row if each
    cell has independent noise; "paper" is :math:`\sqrt{1 + \theta^2} / T_p`, which ignores the correlation.

    Parameters
    ----------
    counts : ndarray of float64, shape (sizes of the parents, size of the attribute)
        Noisy counts, of any sign.
    stddev : float
        Standard deviation of their noise, in counts; a row's T is at least that of its sum, and at least 1.
    model : {"delta", "paper"}
    """
    positive = np.maximum(counts, 0.0)
    theta, size = rows_of(positive), counts.shape[-1]
    rows = np.maximum(positive.sum(axis=-1, keepdims=True), max(1.0, stddev * size**0.5))
    squared = 1 + theta**2 if model == "paper" else (1 - theta) ** 2 + (size - 1) * theta**2
    return float((np.sqrt(squared) / rows).mean())


def shares(weights: Sequence[float] | NDArray[np.float64], unit: Literal["epsilon", "rho"]) -> list[Fraction]:
    r"""Return the parts of a budget that minimise the sum of weight / epsilon over tables.

    If epsilons sum to the budget, parts are in proportion to the square root of the weights; if their squares do (rho),
    to the power 2/3. No part is below a thousandth of an equal part, but for rounding.

    Parameters
    ----------
    weights : sequence of float, at least 0
    unit : {"epsilon", "rho"}
        Of the budget.

    Returns
    -------
    list of Fraction
        Multiples of 2^-32, more than 0, whose sum is exactly 1.

    Examples
    --------
    >>> shares([1, 4, 4], "epsilon")[0] == Fraction(round(2**32 / 5), 2**32)
    True
    """
    return _in_proportion(np.asarray(weights, dtype=np.float64) ** (1 / 2 if unit == "epsilon" else 2 / 3))


def shares_by_size(cells: Sequence[int], records: float, stddev: float) -> list[Fraction]:
    r"""Return parts of a budget in proportion to :math:`\min(c, N / 4\sigma)^{1/3}` for tables of c cells.

    A table of more cells has fewer records in each, and gets more, up to the size that noise would fill anyway. The sum
    of all errors of equal-sized cells alone would suggest a power of 1/2, which is too steep, since counts that noise
    makes negative are known to be 0.

    Parameters
    ----------
    cells : sequence of int
        Number of cells of each table.
    records : float
        Number of records, N; of any sign if it is a noisy count.
    stddev : float
        Standard deviation of the noise in a cell if all parts were equal, in counts.

    Returns
    -------
    list of Fraction
        As for `shares`.

    Examples
    --------
    >>> small, large = shares_by_size([2, 16], 10**6, 10.0)
    >>> round(float(large / small), 6)
    2.0
    """
    most = max(1.0, records / (4 * stddev))
    return _in_proportion(np.minimum(np.asarray(cells, dtype=np.float64), most) ** (1 / 3))


def _in_proportion(power: NDArray[np.float64]) -> list[Fraction]:
    """Return parts in proportion to numbers, as `shares` describes them."""
    wanted = power / power.sum() if power.sum() > 0 else np.full(power.size, 1 / power.size)
    wanted = np.maximum(wanted, _LEAST_SHARE / wanted.size)
    parts = [max(1, round(w * 2**_SHARE_BITS)) for w in wanted / wanted.sum()]
    parts[int(np.argmax(parts))] += 2**_SHARE_BITS - sum(parts)
    return [Fraction(part, 2**_SHARE_BITS) for part in parts]
