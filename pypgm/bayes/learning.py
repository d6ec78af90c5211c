"""Conditional tables from records, without privacy: maximum likelihood and Dirichlet priors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pypgm.bayes.network import BayesianNetwork
from pypgm.bayes.structure import Structure, parents_of
from pypgm.data import Dataset
from pypgm.domain import Clique, Domain, check_kind
from pypgm.memory import check_fits, short

__all__ = ["checked_families", "fit_score", "learn", "rows_of"]

Prior = Literal["k2", "bdeu"]


def learn(data: Dataset, structure: Structure, *, prior: Prior | None = None, strength: float = 1.0) -> BayesianNetwork:
    r"""Learn the conditional tables of a known structure from records. **Not private**: the tables tell the records.

    A row is :math:`\theta(x \mid p) = (n_{xp} + \alpha) / \sum_{x'} (n_{x'p} + \alpha)`, with the counts n of the
    records. Without a prior it is the maximum of the likelihood, and uniform where no record has these parents.

    Parameters
    ----------
    data : Dataset
        Records, weighted or not.
    structure : BayesianNetwork, networkx.DiGraph, mapping, sequence of pairs, or path
        A network or the path of a BIF file, whose tables are left aside; a directed graph; the parents of each child;
        or arcs (parent, child).
    prior : {"k2", "bdeu"}, optional
        Of Dirichlet form: "k2" adds `strength` to each cell, "bdeu" spreads it evenly over the cells of each table.
    strength : float
        Finite and more than 0: records a cell ("k2"), or a table ("bdeu"), is thought to have had.

    Returns
    -------
    BayesianNetwork
        Over the domain of the records.

    Raises
    ------
    ValueError
        If the structure does not fit the domain or has a circle, or an option is out of range.
    TypeError
        If the records are no Dataset or the structure is none.
    ModelTooLargeError
        If a table does not fit the memory available; it is raised before a record is read.

    References
    ----------
    D. Heckerman, D. Geiger and D. Chickering 1995, "Learning Bayesian networks: the combination of knowledge and
    statistical data".

    Examples
    --------
    >>> from pypgm import Dataset, Domain
    >>> data = Dataset({"rain": [0, 0, 0, 1], "wet": [0, 0, 1, 1]}, Domain({"rain": 2, "wet": 2}))
    >>> learn(data, [("rain", "wet")], prior="k2").tables["wet"].values
    array([[0.6       , 0.4       ],
           [0.33333333, 0.66666667]])
    """
    check_kind(
        "data", data, Dataset, "pypgm.read_table(path, domain) reads one, pypgm.Dataset(columns, domain) makes one"
    )
    if prior not in {None, "k2", "bdeu"}:
        raise ValueError(f"prior must be 'k2', 'bdeu' or None, got {prior!r}")
    if not 0 < strength < math.inf:
        raise ValueError(f"strength must be finite and more than 0, got {strength!r}")
    domain = data.domain
    parents = parents_of(domain, structure)
    families = checked_families(domain, parents)
    tables = {}
    for child, family in families.items():
        added = 0.0 if prior is None else strength if prior == "k2" else strength / domain.size(family)
        tables[child] = rows_of(data.project(family).values + added)
    return BayesianNetwork(domain, parents, tables)


def checked_families(
    domain: Domain, parents: Mapping[str, Clique], max_bytes: float | None = None
) -> dict[str, Clique]:
    """Return (parents, attribute) of each attribute; ``ModelTooLargeError``, naming it, if a table does not fit."""
    families = {child: (*own, child) for child, own in parents.items()}
    for child, family in families.items():
        cells = domain.size(family)
        what = f"the table of {child!r}, of {len(family) - 1} parents, needs {short(cells)} cells"
        check_fits(16 * cells, max_bytes, what, "such a table cannot be held")
    return families


def rows_of(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return counts that are at least 0 with their last axis scaled to a sum of 1; rows of zeros become uniform."""
    top = counts.max(axis=-1, keepdims=True)
    scaled = np.where(top > 0, counts / np.where(top > 0, top, 1.0), 1.0)  # no sum of it leaves the doubles
    rows: NDArray[np.float64] = scaled / scaled.sum(axis=-1, keepdims=True)
    return rows


def fit_score(network: BayesianNetwork, data: Dataset, criterion: Literal["log_likelihood", "aic", "bic"]) -> float:
    r"""Return how well a network fits records; more is better; **not private**.

    With L the natural log of the likelihood, k the free parameters and N the records: L, :math:`L - k` ("aic") or
    :math:`L - \tfrac12 k \log N` ("bic").

    Parameters
    ----------
    network : BayesianNetwork
    data : Dataset
        Unweighted records, of which there is at least one.
    criterion : {"log_likelihood", "aic", "bic"}

    Raises
    ------
    ValueError
        If the criterion is unknown, there are no records, they are weighted, or a column is no attribute.

    Examples
    --------
    >>> from pypgm import Dataset, Domain
    >>> data = Dataset({"a": [0, 1, 1, 1]}, Domain({"a": 2}))
    >>> round(fit_score(learn(data, []), data, "bic"), 4)
    -2.9425
    """
    if criterion not in {"log_likelihood", "aic", "bic"}:
        raise ValueError(f"criterion must be 'log_likelihood', 'aic' or 'bic', got {criterion!r}")
    check_kind("data", data, Dataset, "pypgm.Dataset(columns, domain) makes one")
    if data.weights is not None or data.n_records == 0:
        raise ValueError("a score needs unweighted records, at least one")
    likelihood = float(network.log_likelihood(data).sum())
    domain = network.domain
    free = sum((domain.size(a) - 1) * domain.size(network.parents[a]) for a in domain)
    penalty = {"log_likelihood": 0.0, "aic": 1.0, "bic": math.log(data.n_records) / 2}[criterion]
    return likelihood - free * penalty
