"""Conditional tables from records, without privacy: maximum likelihood and Dirichlet priors."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.memory import check_fits, short
from pypgm._base.numeric import as_generator, check_choice, checked_integer, checked_real, float_array
from pypgm.bayes.conditional_tables import ConditionalTables
from pypgm.bayes.family_scores import FamilyScores, Score, set_of
from pypgm.bayes.frames import MISSING, Frame, as_codes, domain_of
from pypgm.bayes.missing import PartlyKnown
from pypgm.bayes.network import BayesianNetwork
from pypgm.bayes.structure import Structure, parents_of
from pypgm.data import Dataset
from pypgm.domain import Clique, Domain, check_domain, listed, other_labels

Prior = Literal["k2", "bdeu"] | Mapping[str, ArrayLike] | BayesianNetwork
Criterion = Literal["log_likelihood", "aic", "bic", "bdeu", "k2"]


def learn(
    data: Frame,
    structure: Structure,
    *,
    domain: Domain | None = None,
    weights: ArrayLike | None = None,
    prior: Prior | None = None,
    strength: float = 1.0,
    tolerance: float = 1e-7,
    iterations: int = 1000,
    rng: np.random.Generator | int = 0,
    callback: Callable[[int, float], object] | None = None,
    n_threads: int = 0,
) -> BayesianNetwork:
    r"""Learn the conditional tables of a known structure from records. **Not private**: tables reveal the records.

    A row is :math:`\theta(x \mid p) = (n_{xp} + \alpha) / \sum_{x'} (n_{x'p} + \alpha)`, with the counts n of the
    records. Without a prior it is the maximum of the likelihood, and uniform where no record has these parents.

    If values are missing, at random, n are expected counts under the tables themselves, found by expectation
    maximisation: the objective :math:`L + \sum \alpha \log \theta`, with the log-likelihood L of the known values,
    never falls. The search ends in a local maximum, which may depend on the start.

    Parameters
    ----------
    data : Dataset, data frame, or mapping of str to sequence
        Records, weighted or not. Columns of a frame hold labels, or codes where an attribute has no labels; None, NaN
        and NA are missing, and an attribute without a column is missing in every row.
    structure : BayesianNetwork, networkx.DiGraph, mapping, sequence of pairs, or path
        A network or the path of a BIF file, whose tables are ignored; a directed graph; the parents of each child; or
        arcs (parent, child).
    domain : Domain, optional
        The domain of the network to learn. By default that of a Dataset; with a frame that of a structure that is a
        network, or the values of the frame, in their order.
    weights : array_like of float, shape (n_rows,), optional
        Weights of the records, at least 0; a Dataset may have its own.
    prior : {"k2", "bdeu"}, mapping of str to array_like of float, or BayesianNetwork, optional
        A Dirichlet prior: "k2" adds `strength` to each cell, "bdeu" spreads it evenly over the cells of each table. Or
        pseudo-counts for some tables, of the shape of the table or one for each value, times `strength`. Or a network
        over the same domain, of any structure, which counts as `strength` records of its own.
    strength : float
        Finite and more than 0: prior number of records of a cell ("k2"), or of a table ("bdeu").
    tolerance : float
        At least 0: with missing values, the search ends when an iteration gains less than this a record, in nats.
    iterations : int
        Largest number of iterations with missing values.
    rng : Generator or int
        Randomness of the start, which is random where records say little about a table.
    callback : callable, optional
        Called with the number of the iteration, from 0, and the objective at its start; ends the search by returning a
        true value.
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
        If the argument for the records or for the structure is of another kind.
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
    if not (isinstance(prior, Mapping | BayesianNetwork) or prior in {None, "k2", "bdeu"}):
        raise ValueError(f"prior must be 'k2', 'bdeu', a mapping, a network or None, got {prior!r}")
    strength, tolerance = checked_real("strength", strength), checked_real("tolerance", tolerance, zero=True)
    iterations = checked_integer("iterations", iterations)
    if isinstance(structure, str | os.PathLike):
        structure = ConditionalTables.read_bif(structure)
    domain = _domain_of(data, structure, domain)
    parents = parents_of(domain, structure)
    families = list(checked_families(domain, parents).values())
    added = pseudo_counts(domain, families, prior, strength)
    records: Dataset | None = data if isinstance(data, Dataset) and data.domain == domain and weights is None else None
    if records is None:
        n_rows, columns = as_codes(domain, data)
        times = checked_weights(weights, data.weights if isinstance(data, Dataset) else None, n_rows)
        if len(columns) == len(domain) and all((column != MISSING).all() for column in columns.values()):
            records = Dataset(columns, domain, weights=times)
    if records is not None:
        tables = [rows_of(records.project(f).values + more) for f, more in zip(families, added, strict=True)]
    else:
        known = PartlyKnown(domain, families, columns, np.ones(n_rows) if times is None else times)
        search = _Search(known, added, tolerance, iterations, callback, n_threads)
        tables = search.tables(as_generator(rng))
    return BayesianNetwork(domain, parents, dict(zip(domain, tables, strict=True)))


def _domain_of(data: Frame, structure: Structure, domain: Domain | None) -> Domain:
    """Return the domain to learn over."""
    if domain is not None:
        check_domain(domain)
        return domain
    if isinstance(data, Dataset):
        return data.domain
    if isinstance(structure, ConditionalTables):
        return structure.domain
    return domain_of(data)


def pseudo_counts(
    domain: Domain, families: Sequence[Clique], prior: Prior | None, strength: float
) -> list[NDArray[np.float64]]:
    """Return the pseudo-counts that a Dirichlet prior adds to each family, with as many axes.

    Examples
    --------
    >>> pseudo_counts(Domain({"a": 2, "b": 2}), [("a",), ("a", "b")], "bdeu", 1.0)
    [array([0.5]), array([[0.25]])]
    """
    if isinstance(prior, BayesianNetwork):
        if prior.domain != domain:
            raise ValueError(f"a prior network needs the domain of the records{other_labels(domain, prior.domain)}")
        return [strength * prior.query(f).values for f in families]
    if not isinstance(prior, Mapping):
        each = [0.0 if prior is None else strength / (domain.size(f) if prior == "bdeu" else 1) for f in families]
        return [np.full((1,) * len(f), more) for f, more in zip(families, each, strict=True)]
    domain.indices(tuple(prior))
    added = []
    for family in families:
        given = float_array(f"the prior counts of {family[-1]!r}", prior.get(family[-1], 0.0))
        shape = domain.sizes(family)
        if given.shape not in {(), shape[-1:], shape}:
            what = f"the prior counts of {family[-1]!r} need shape {shape}, of ({listed(family)}), or {shape[-1:]}"
            raise ValueError(f"{what}, got {given.shape}")
        if not ((given >= 0) & (given < np.inf)).all():
            raise ValueError(f"the prior counts of {family[-1]!r} must be finite and at least 0")
        added.append(strength * np.broadcast_to(given, shape))
    return added


def checked_weights(
    weights: ArrayLike | None, from_records: NDArray[np.float64] | None, n_rows: int
) -> NDArray[np.float64] | None:
    """Return weights of records, as given or as the records have them; None if they all count alike."""
    if weights is None:
        return from_records
    if from_records is not None:
        raise ValueError("the records have weights of their own: pass weights= beside records without")
    given = float_array("weights", weights)
    if given.shape != (n_rows,):
        raise ValueError(f"weights need shape ({n_rows},), one for each record, got {given.shape}")
    if not ((given >= 0) & (given < np.inf)).all():
        raise ValueError("weights must be finite and at least 0")
    return given


@dataclass(frozen=True)
class _Search:
    """Expectation maximisation on some records."""

    records: PartlyKnown
    added: list[NDArray[np.float64]]
    tolerance: float
    iterations: int
    callback: Callable[[int, float], object] | None
    n_threads: int

    def tables(self, rng: np.random.Generator) -> list[NDArray[np.float64]]:
        """Return the tables at the end of the search."""
        if not self.records.incomplete:
            return self._maximised(self.records.complete)
        # No cell starts at 0, where it would stay; cells without a known record start at random.
        tables = [rows_of(table + rng.exponential(size=table.shape)) for table in self.records.available]
        last = -math.inf
        for iteration in range(self.iterations):
            counts, objective = self.records.expected(tables, self.n_threads)
            objective += sum(_log_density(t, more) for t, more in zip(tables, self.added, strict=True))
            if self.callback is not None and self.callback(iteration, objective):
                break
            if objective - last < self.tolerance * self.records.total:
                break
            tables, last = self._maximised(counts), objective
        return tables

    def _maximised(self, counts: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        return [rows_of(counted + more) for counted, more in zip(counts, self.added, strict=True)]


def _log_density(table: NDArray[np.float64], added: NDArray[np.float64]) -> float:
    """Return the natural log of a Dirichlet prior's density at a table, up to a constant."""
    counts = np.broadcast_to(added, table.shape)
    some = counts > 0
    return float(counts[some] @ np.log(table[some]))


def checked_families(
    domain: Domain, parents: Mapping[str, Clique], max_bytes: float | None = None
) -> dict[str, Clique]:
    """Return (parents, attribute) of each attribute; ``ModelTooLargeError``, naming it, if a table does not fit."""
    families = {child: (*members, child) for child, members in parents.items()}
    for child, family in families.items():
        cells = domain.size(family)
        what = f"the table of {child!r}, of {len(family) - 1} parents, needs {short(cells)} cells"
        check_fits(16 * cells, max_bytes, what, "such a table does not fit into memory")
    return families


def rows_of(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return nonnegative counts with their last axis scaled to a sum of 1; rows of zeros become uniform."""
    top = counts.max(axis=-1, keepdims=True)
    scaled = np.where(top > 0, counts / np.where(top > 0, top, 1.0), 1.0)  # no sum overflows a double
    rows: NDArray[np.float64] = scaled / scaled.sum(axis=-1, keepdims=True)
    return rows


def fit_score(network: BayesianNetwork, data: Frame, criterion: Criterion, *, strength: float = 1.0) -> float:
    r"""Return a score of the fit of a network to records, larger is better; **not private**.

    With L the natural log of the likelihood of the known values, k the free parameters and N the records: L,
    :math:`L - k` ("aic") or :math:`L - \tfrac12 k \log N` ("bic"). Or the natural log of the probability of the records
    given the structure alone, its tables having the Dirichlet prior "bdeu" or "k2" of `learn`.

    Parameters
    ----------
    network : BayesianNetwork
    data : Dataset, data frame, or mapping of str to sequence
        Unweighted records, of which there is at least one, as `BayesianNetwork.log_likelihood` takes them.
    criterion : {"log_likelihood", "aic", "bic", "bdeu", "k2"}
        The last two need records without missing values.
    strength : float
        Strength of the priors, as for `learn`.

    Raises
    ------
    ValueError
        If the criterion is unknown, there are no records, the records are weighted, a column is not an attribute, or
        values are missing where they are needed.

    Examples
    --------
    >>> from pypgm import Dataset, Domain
    >>> data = Dataset({"a": [0, 1, 1, 1]}, Domain({"a": 2}))
    >>> round(fit_score(learn(data, []), data, "bic"), 4)
    -2.9425
    """
    check_choice("criterion", criterion, get_args(Criterion))
    if criterion == "bdeu" or criterion == "k2":  # noqa: PLR1714 - a set would not narrow its type
        return _marginal_likelihood(network, data, criterion, strength)
    likelihoods = network.log_likelihood(data)
    if getattr(data, "weights", None) is not None or len(likelihoods) == 0:
        raise ValueError("a score needs unweighted records, at least one")
    likelihood = float(likelihoods.sum())
    domain = network.domain
    free = sum((domain.size(a) - 1) * domain.size(network.parents[a]) for a in domain)
    penalty = {"log_likelihood": 0.0, "aic": 1.0, "bic": math.log(len(likelihoods)) / 2}[criterion]
    return likelihood - free * penalty


def _marginal_likelihood(network: BayesianNetwork, data: Frame, prior: Score, strength: float) -> float:
    """Return the natural log of the probability of complete records given a structure and a Dirichlet prior."""
    domain = network.domain
    n_rows, columns = as_codes(domain, data)
    if getattr(data, "weights", None) is not None or n_rows == 0:
        raise ValueError("a score needs unweighted records, at least one")
    if len(columns) < len(domain) or any((column == MISSING).any() for column in columns.values()):
        raise ValueError(f"the score {prior!r} needs records without missing values")
    scores = FamilyScores(domain, columns, prior, strength)
    return scores.total([set_of(domain.indices(network.parents[a])) for a in domain])
