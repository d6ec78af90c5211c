"""Conditional tables from records, without privacy: maximum likelihood and Dirichlet priors."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pypgm.bayes.conditional_tables import ConditionalTables
from pypgm.bayes.frames import Frame, as_codes
from pypgm.bayes.missing import PartlyKnown
from pypgm.bayes.network import BayesianNetwork
from pypgm.bayes.structure import Structure, parents_of
from pypgm.data import Dataset
from pypgm.domain import Clique, Domain, check_domain
from pypgm.memory import check_fits, short
from pypgm.numeric import as_generator, checked_integer

__all__ = ["checked_families", "fit_score", "learn", "rows_of"]

Prior = Literal["k2", "bdeu"]


def learn(
    data: Frame,
    structure: Structure,
    *,
    domain: Domain | None = None,
    prior: Prior | None = None,
    strength: float = 1.0,
    tolerance: float = 1e-7,
    iterations: int = 1000,
    rng: np.random.Generator | int = 0,
    callback: Callable[[int, float], object] | None = None,
    n_threads: int = 0,
) -> BayesianNetwork:
    r"""Learn the conditional tables of a known structure from records. **Not private**: the tables tell the records.

    A row is :math:`\theta(x \mid p) = (n_{xp} + \alpha) / \sum_{x'} (n_{x'p} + \alpha)`, with the counts n of the
    records. Without a prior it is the maximum of the likelihood, and uniform where no record has these parents.

    Where values are missing, at random, n are expected counts under the tables themselves, found by expectation
    maximisation: the objective :math:`L + \sum \alpha \log \theta`, with the log-likelihood L of what is known, never
    falls. It ends in a local maximum, which may depend on the start.

    Parameters
    ----------
    data : Dataset, data frame, or mapping of str to sequence
        Records, weighted or not. Columns of a frame hold labels, or codes where an attribute has no labels; None, NaN
        and NA are missing, and an attribute without a column is missing in every row.
    structure : BayesianNetwork, networkx.DiGraph, mapping, sequence of pairs, or path
        A network or the path of a BIF file, whose tables are left aside; a directed graph; the parents of each child;
        or arcs (parent, child).
    domain : Domain, optional
        Of the network to learn. By default that of a Dataset; beside a frame, that of a structure that is a network.
    prior : {"k2", "bdeu"}, optional
        Of Dirichlet form: "k2" adds `strength` to each cell, "bdeu" spreads it evenly over the cells of each table.
    strength : float
        Finite and more than 0: records a cell ("k2"), or a table ("bdeu"), is thought to have had.
    tolerance : float
        At least 0: values being missing, it ends where an iteration gains less than this a record, in nats.
    iterations : int
        At most this many, values being missing.
    rng : Generator or int
        Of the start, which is random where records tell little of a table.
    callback : callable, optional
        Called with the number of the iteration, the first being 0, and the objective at its start; ends the search
        where it returns a true value.
    n_threads : int
        0 for all threads.

    Returns
    -------
    BayesianNetwork

    Raises
    ------
    ValueError
        If the structure does not fit the domain or has a circle, a column or value does not fit it, or an option is out
        of range.
    TypeError
        If the records are none, a frame comes without a domain, or the structure is none.
    ModelTooLargeError
        If a table does not fit the memory available; it is raised before a record is read. Or, values being missing,
        if the junction tree does not.

    References
    ----------
    D. Heckerman, D. Geiger and D. Chickering 1995, "Learning Bayesian networks: the combination of knowledge and
    statistical data". S. Lauritzen 1995, "The EM algorithm for graphical association models with missing data".

    Examples
    --------
    >>> from pypgm import Dataset, Domain
    >>> data = Dataset({"rain": [0, 0, 0, 1], "wet": [0, 0, 1, 1]}, Domain({"rain": 2, "wet": 2}))
    >>> learn(data, [("rain", "wet")], prior="k2").tables["wet"].values
    array([[0.6       , 0.4       ],
           [0.33333333, 0.66666667]])
    >>> frame = {"rain": ["no", "no", "yes", None], "wet": ["no", "no", "yes", "yes"]}
    >>> domain = Domain({"rain": ["no", "yes"], "wet": ["no", "yes"]})
    >>> learn(frame, [("rain", "wet")], domain=domain).tables["rain"].values.round(3)
    array([0.5, 0.5])
    """
    if prior not in {None, "k2", "bdeu"}:
        raise ValueError(f"prior must be 'k2', 'bdeu' or None, got {prior!r}")
    if not 0 < strength < math.inf:
        raise ValueError(f"strength must be finite and more than 0, got {strength!r}")
    if not 0 <= tolerance < math.inf:
        raise ValueError(f"tolerance must be finite and at least 0, got {tolerance!r}")
    iterations = checked_integer("iterations", iterations)
    if isinstance(structure, str | os.PathLike):
        structure = ConditionalTables.read_bif(structure)
    domain = _domain_of(data, structure, domain)
    parents = parents_of(domain, structure)
    families = list(checked_families(domain, parents).values())
    added = [0.0 if prior is None else strength / (domain.size(f) if prior == "bdeu" else 1) for f in families]
    if isinstance(data, Dataset) and data.domain == domain:
        tables = [rows_of(data.project(f).values + more) for f, more in zip(families, added, strict=True)]
    else:
        n_rows, columns = as_codes(domain, data)
        weights = data.weights if isinstance(data, Dataset) else None
        records = PartlyKnown(domain, families, columns, np.ones(n_rows) if weights is None else weights)
        search = _Search(records, added, tolerance, iterations, callback, n_threads)
        tables = search.tables(as_generator(rng))
    return BayesianNetwork(domain, parents, dict(zip(domain, tables, strict=True)))


def _domain_of(data: object, structure: Structure, domain: Domain | None) -> Domain:
    """Return the domain to learn over."""
    if domain is not None:
        check_domain(domain)
        return domain
    if isinstance(data, Dataset):
        return data.domain
    if isinstance(structure, ConditionalTables):
        return structure.domain
    raise TypeError(
        f"data needs a pypgm.Dataset, got {type(data).__name__}: pypgm.read_table(path, schema) reads one; a frame "
        "needs domain=, or a network as its structure"
    )


@dataclass(frozen=True)
class _Search:
    """Expectation maximisation on some records."""

    records: PartlyKnown
    added: list[float]
    tolerance: float
    iterations: int
    callback: Callable[[int, float], object] | None
    n_threads: int

    def tables(self, rng: np.random.Generator) -> list[NDArray[np.float64]]:
        """Return the tables it ends with."""
        if not self.records.incomplete:
            return self._maximised(self.records.complete)
        # No cell starts at 0, where it would stay; what is never known starts at random.
        tables = [rows_of(own + rng.exponential(size=own.shape)) for own in self.records.available]
        last = -math.inf
        for iteration in range(self.iterations):
            counts, objective = self.records.expected(tables, self.n_threads)
            objective += sum(more * float(np.log(t).sum()) for t, more in zip(tables, self.added, strict=True) if more)
            if self.callback is not None and self.callback(iteration, objective):
                break
            if objective - last < self.tolerance * self.records.total:
                break
            tables, last = self._maximised(counts), objective
        return tables

    def _maximised(self, counts: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        return [rows_of(own + more) for own, more in zip(counts, self.added, strict=True)]


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


def fit_score(network: BayesianNetwork, data: Frame, criterion: Literal["log_likelihood", "aic", "bic"]) -> float:
    r"""Return how well a network fits records; more is better; **not private**.

    With L the natural log of the likelihood of what is known, k the free parameters and N the records: L,
    :math:`L - k` ("aic") or :math:`L - \tfrac12 k \log N` ("bic").

    Parameters
    ----------
    network : BayesianNetwork
    data : Dataset, data frame, or mapping of str to sequence
        Unweighted records, of which there is at least one, as `BayesianNetwork.log_likelihood` takes them.
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
    likelihoods = network.log_likelihood(data)
    if getattr(data, "weights", None) is not None or len(likelihoods) == 0:
        raise ValueError("a score needs unweighted records, at least one")
    likelihood = float(likelihoods.sum())
    domain = network.domain
    free = sum((domain.size(a) - 1) * domain.size(network.parents[a]) for a in domain)
    penalty = {"log_likelihood": 0.0, "aic": 1.0, "bic": math.log(len(likelihoods)) / 2}[criterion]
    return likelihood - free * penalty
