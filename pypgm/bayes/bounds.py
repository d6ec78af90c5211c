"""Bounds on the spread of errors of conditional tables when attributes are summed out of a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.bayes.checks import children_of
from pypgm.bayes.network import BayesianNetwork
from pypgm.factor import Factor
from pypgm.graphs import JunctionTree


@dataclass(frozen=True, slots=True)
class ErrorBounds:
    """Bounds on the error of the factor that remains when one attribute is summed out of its tables.

    The error of a factor is its sum of absolute errors; the error of each cell of a table is at least `least` and at
    most `most`.

    Attributes
    ----------
    factors : int
        Largest number of tables that share an attribute, its own and its children's, which a sum over it multiplies.
    eta : int
        The published figure in place of `factors`: one more than the most arcs of an attribute, to and from it.
    width : int
        Width of the junction tree: at least the treewidth.
    values : int
        Largest number of values of an attribute.
    least, most : float
        Smallest and largest error of a probability.
    paper_lower : float
        The published lower bound. It is an order of magnitude and no bound: errors of two tables can cancel.
    safe_lower : float
        The lower bound that holds in every case: 0.
    paper_upper : float
        The published upper bound; its proof counts one attribute less than the widest clique has, and does not cover
        attributes of more than two values.
    safe_upper : float
        An upper bound in every case.
    """

    factors: int
    eta: int
    width: int
    values: int
    least: float
    most: float
    paper_lower: float
    safe_lower: float
    paper_upper: float
    safe_upper: float


def error_bounds(network: BayesianNetwork, errors: Mapping[str, Factor | ArrayLike]) -> ErrorBounds:
    r"""Compute bounds of the error of a sum over one attribute, as published and as they hold.

    With t tables that share an attribute, at most :math:`\eta` by the published count, d values, the width
    :math:`\kappa` and errors from :math:`\delta_{\min}` to :math:`\delta_{\max}`, the published bounds are
    :math:`\sqrt{\eta - 1}\,\delta_{\min}\,\phi_{\min}^{\eta - 2}`, with the smallest entry of all tables, and
    :math:`2 \eta d^\kappa \delta_{\max}`. The safe ones are 0 and :math:`t d^{\kappa + 1} \delta_{\max}`: entries lie
    in [0, 1], so a product of t of them is off by at most the sum of their errors, and at most :math:`d^{\kappa + 1}`
    products are summed.

    Parameters
    ----------
    network : BayesianNetwork
    errors : mapping of str to Factor or array_like of float
        Error of each probability of each table, at least 0; a `Factor` may have its axes in any order. A release gives
        them by `standard_error`.

    Returns
    -------
    ErrorBounds

    Raises
    ------
    ValueError
        If an attribute is unknown or has no errors, or if errors differ from the table in shape, or are negative or
        NaN.

    References
    ----------
    Chowdhury, Rekatsinas and Jha 2020, "Data-Dependent Differentially Private Parameter Learning for Directed
    Graphical Models", Theorems 4.1 and 4.2.

    Examples
    --------
    >>> from pypgm import Domain
    >>> from pypgm.bayes import BayesianNetwork
    >>> tables = {"a": [0.5, 0.5], "b": [[0.5, 0.5], [0.25, 0.75]]}
    >>> net = BayesianNetwork(Domain({"a": 2, "b": 2}), {"b": ["a"]}, tables)
    >>> found = error_bounds(net, {"a": [0.01, 0.01], "b": [[0.02, 0.02], [0.03, 0.03]]})
    >>> found.factors, found.width, round(found.safe_upper, 12)
    (2, 1, 0.24)
    """
    domain = network.domain
    domain.indices(tuple(errors))
    missing = [a for a in domain if a not in errors]
    if missing:
        raise ValueError(f"each attribute needs errors; {missing[0]!r} has none")
    cells = np.concatenate([_checked(network, a, errors[a]).reshape(-1) for a in domain])
    least, most = (float(bound) for bound in (cells.min(initial=np.inf), cells.max(initial=0.0)))
    children = children_of(domain, network.parents)
    factors = 1 + max(map(len, children.values()), default=0)
    eta = 1 + max((len(children[a]) + len(network.parents.get(a, ())) for a in domain), default=0)
    width = max(0, JunctionTree(domain, [t.domain.attributes for t in network.tables.values()]).cost.width)
    values = max(domain.shape, default=1)
    smallest = min((float(t.values.min()) for t in network.tables.values()), default=1.0)
    lower = 0.0 if eta == 1 else (eta - 1) ** 0.5 * least * smallest ** (eta - 2)
    spread = float(values) ** width * most
    return ErrorBounds(
        factors, eta, width, values, least, most, lower, 0.0, 2 * eta * spread, factors * values * spread
    )


def _checked(network: BayesianNetwork, attribute: str, errors: Factor | ArrayLike) -> NDArray[np.float64]:
    table = network.tables[attribute]
    if isinstance(errors, Factor):
        if set(errors.domain) != set(table.domain):
            raise ValueError(f"the errors of {attribute!r} must be over {table.domain.attributes}, got {errors.domain}")
        errors = errors.transpose(table.domain.attributes).values
    values = np.asarray(errors, dtype=np.float64)
    if values.shape != table.domain.shape:
        raise ValueError(f"the errors of {attribute!r} need shape {table.domain.shape}, got {values.shape}")
    if not (values >= 0).all():
        raise ValueError(f"the errors of {attribute!r} must be at least 0")
    return values
