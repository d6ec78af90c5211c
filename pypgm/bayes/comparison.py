"""Distances between networks: their conditional tables, joint distributions, graphs and answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pypgm._base.html import Shown
from pypgm.bayes.checks import check_network
from pypgm.bayes.conditional_tables import ConditionalTables
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, as_clique
from pypgm.errors import ImpossibleEvidenceError
from pypgm.graphs import JunctionTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.bayes.network import BayesianNetwork
    from pypgm.graphs.evidence import Evidence


Query: TypeAlias = "str | Sequence[str] | tuple[str | Sequence[str], Sequence[str] | Evidence]"

_UNIFORM_SHARE = 1e-12  # share of the uniform distribution in both sides of a smoothed divergence


@dataclass(frozen=True, slots=True, eq=False)
class AnswerComparison(Shown):
    """Distances of the answers to each query; arrays of shape (n_queries,), NaN if nothing could be compared.

    Attributes
    ----------
    l1 : ndarray of float64
        Sum of absolute differences over all values of the targets and of the given attributes.
    mean_l1 : ndarray of float64
        The same, averaged over the values of the given attributes: from 0 to 2.
    kl : ndarray of float64
        Kullback-Leibler divergence of the other's answer from the reference's, in nats, averaged over the values of the
        given attributes; infinite where the other has probability and the reference has none.
    smoothed_kl : ndarray of float64
        The same with 1e-12 of the uniform distribution mixed into both: always finite.
    map_agreement : ndarray of float64
        Part of the given attributes' values for which both find the same target values most probable; among equally
        probable ones the first counts.
    unsupported : ndarray of int64
        Number of cells in which the other has probability and the reference has none.
    skipped : ndarray of int64
        Number of the given attributes' values that are impossible in one network or both; they count nowhere else.
    """

    l1: NDArray[np.float64]
    mean_l1: NDArray[np.float64]
    kl: NDArray[np.float64]
    smoothed_kl: NDArray[np.float64]
    map_agreement: NDArray[np.float64]
    unsupported: NDArray[np.int64]
    skipped: NDArray[np.int64]


def compare_answers(
    reference: BayesianNetwork, other: BayesianNetwork, queries: Sequence[Query], *, max_bytes: float | None = None
) -> AnswerComparison:
    """Compare the answers of two networks to marginal and conditional queries.

    Parameters
    ----------
    reference, other : BayesianNetwork
        Networks over the same domain; their structures may differ.
    queries : sequence
        Targets, whose joint probabilities are compared; or a pair of targets and given attributes: a mapping, as for
        `query`, is one question; names of attributes give one for each combination of their values.
    max_bytes : float, optional
        Memory a table may take; half of the available memory by default.

    Returns
    -------
    AnswerComparison

    Raises
    ------
    ValueError
        If the domains differ, an attribute, label or code is unknown, or a target is given.
    ModelTooLargeError
        If a table on the way would not fit.

    Examples
    --------
    >>> from pypgm import Domain
    >>> from pypgm.bayes import BayesianNetwork
    >>> domain = Domain({"a": 2, "b": 2})
    >>> tables = {"a": [0.5, 0.5], "b": [[0.5, 0.5], [0.25, 0.75]]}
    >>> first = BayesianNetwork(domain, {"b": ["a"]}, tables)
    >>> second = BayesianNetwork(domain, {"b": ["a"]}, {**tables, "b": [[1, 0], [0.25, 0.75]]})
    >>> compare_answers(first, second, ["a", ("b", {"a": 1}), ("b", ["a"])]).l1.tolist()
    [0.0, 0.0, 1.0]
    """
    check_domains(reference, other)
    rows = [_distances(*_answers(reference, other, query, max_bytes)) for query in queries]
    numbers = np.array(rows, dtype=np.float64).reshape(-1, 7).T
    return AnswerComparison(*numbers[:5], *numbers[5:].astype(np.int64))


def map_agreement(
    reference: BayesianNetwork,
    other: BayesianNetwork,
    evidence_many: Iterable[Evidence | None] = (None,),
    targets: str | Iterable[str] | None = None,
    *,
    max_bytes: float | None = None,
) -> float:
    """Return the part of the questions for which two networks find the same joint target values most probable.

    Parameters
    ----------
    reference, other : BayesianNetwork
        Networks over the same domain; their structures may differ.
    evidence_many : sequence of mappings
        The evidence, one mapping a question; evidence that is impossible in either network is left out.
    targets : str or sequence of str, optional
        All attributes by default, see `BayesianNetwork.map`.
    max_bytes : float, optional
        See `BayesianNetwork.map`.

    Returns
    -------
    float
        Share from 0 to 1; NaN if no question is left.

    Raises
    ------
    ValueError
        If the domains differ, or an attribute, label or code is unknown.
    ModelTooLargeError
        If a table would not fit.

    Examples
    --------
    >>> from pypgm import Domain
    >>> from pypgm.bayes import BayesianNetwork
    >>> domain = Domain({"a": 2})
    >>> first, second = (BayesianNetwork(domain, {}, {"a": row}) for row in ([0.4, 0.6], [0.3, 0.7]))
    >>> map_agreement(first, second)
    1.0
    """
    check_domains(reference, other)
    wanted = None if targets is None else as_clique(targets)
    same = []
    for known in evidence_many:
        try:
            one, two = (net.map(wanted, known, max_bytes=max_bytes)[0] for net in (reference, other))
        except ImpossibleEvidenceError:
            continue
        same.append(one == two)
    return float(np.mean(same)) if same else float("nan")


def _answers(
    reference: BayesianNetwork, other: BayesianNetwork, query: Query, max_bytes: float | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return the answers of both, shape (possible given values, target values), and the number of impossible ones."""
    targets, given = _parts(query)
    if set(targets) & set(given):
        raise ValueError(f"a target cannot be given: {sorted(set(targets) & set(given))}")
    cells = reference.domain.size(targets)
    if isinstance(given, Mapping):
        try:
            answers = [net.query(targets, given, max_bytes=max_bytes).datavector() for net in (reference, other)]
        except ImpossibleEvidenceError:
            return np.empty((0, cells)), np.empty((0, cells)), 1
        return answers[0].reshape(1, -1), answers[1].reshape(1, -1), 0
    joint = [
        net.query((*given, *targets), max_bytes=max_bytes).datavector().reshape(-1, cells) for net in (reference, other)
    ]
    weights = [table.sum(axis=1, keepdims=True) for table in joint]
    possible = ((weights[0] > 0) & (weights[1] > 0))[:, 0]
    true, answer = (table[possible] / weight[possible] for table, weight in zip(joint, weights, strict=True))
    return true, answer, int((~possible).sum())


def _parts(query: Query) -> tuple[Clique, Clique | Evidence]:
    """Return the targets of a query and its given attributes."""
    if isinstance(query, str):
        return (query,), ()
    if len(query) == 2 and not isinstance(query[1], str):
        targets, given = query
        return as_clique(targets), given if isinstance(given, Mapping) else as_clique(given)
    return tuple(map(str, query)), ()


def _distances(true: NDArray[np.float64], answer: NDArray[np.float64], skipped: int) -> tuple[float, ...]:
    """Return the fields of a comparison for one query."""
    n = len(true)
    if n == 0:
        return (float("nan"),) * 5 + (0, skipped)
    l1 = float(np.abs(answer - true).sum())
    unsupported = int(((answer > 0) & (true == 0)).sum())
    mixed = [(1 - _UNIFORM_SHARE) * table + _UNIFORM_SHARE / table.shape[1] for table in (true, answer)]
    kl = np.inf if unsupported else divergence(true, answer)
    agrees = float((true.argmax(axis=1) == answer.argmax(axis=1)).mean())
    return l1, l1 / n, kl, divergence(*mixed), agrees, unsupported, skipped


@dataclass(frozen=True, slots=True)
class TableComparison(Shown):
    """Distances of the table of each attribute; in dicts by attribute, in the order of the domain.

    Attributes
    ----------
    l1 : dict of str to float
        Sum of absolute differences over all rows and values: from 0 to twice the number of rows.
    mean_l1 : dict of str to float
        The same, averaged over rows: from 0 to 2.
    mean_kl : dict of str to float
        Kullback-Leibler divergence of a row of the other network from that of the reference, in nats, averaged over
        the rows; infinite where the other has probability and the reference has none.
    unsupported : dict of str to int
        Number of cells in which the other has probability and the reference has none.
    """

    l1: dict[str, float]
    mean_l1: dict[str, float]
    mean_kl: dict[str, float]
    unsupported: dict[str, int]


def compare_tables(reference: ConditionalTables, other: ConditionalTables) -> TableComparison:
    """Compare conditional tables, every row with the same weight, however rare its parents' values are.

    Parameters
    ----------
    reference, other : BayesianNetwork
        Networks over the same domain, with the same parents in any order.

    Returns
    -------
    TableComparison

    Raises
    ------
    ValueError
        If domains or parents differ.

    Examples
    --------
    >>> from pypgm import Domain
    >>> from pypgm.bayes import BayesianNetwork
    >>> domain = Domain({"a": 2})
    >>> first, second = (BayesianNetwork(domain, {}, {"a": row}) for row in ([0.5, 0.5], [0.75, 0.25]))
    >>> compare_tables(first, second).l1
    {'a': 0.5}
    """
    check_domains(reference, other)
    comparison = TableComparison({}, {}, {}, {})
    for child, parents in reference.parents.items():
        if set(parents) != set(other.parents[child]):
            raise ValueError(f"{child!r} must have the same parents, got {parents} and {other.parents[child]}")
        size = reference.domain.size(child)
        true = reference.tables[child].values.reshape(-1, size)
        values = other.tables[child].transpose((*parents, child)).values.reshape(-1, size)
        comparison.l1[child] = float(np.abs(values - true).sum())
        comparison.mean_l1[child] = comparison.l1[child] / len(true)
        comparison.unsupported[child] = int(((values > 0) & (true == 0)).sum())
        comparison.mean_kl[child] = np.inf if comparison.unsupported[child] else divergence(true, values)
    return comparison


@dataclass(frozen=True, slots=True)
class NetworkComparison(Shown):
    """Distances between the joint distributions and the graphs of two networks.

    Attributes
    ----------
    kl : float
        Kullback-Leibler divergence of the other's joint distribution from the reference's, in nats; infinite where the
        reference has probability and the other has none.
    reverse_kl : float
        The same with the two networks exchanged.
    hellinger : float
        Hellinger distance of the joint distributions, from 0 to 1.
    missing, extra, reversed : int
        Numbers of arcs only in the reference, only in the other, and in both with opposite directions.
    """

    kl: float
    reverse_kl: float
    hellinger: float
    missing: int
    extra: int
    reversed: int

    @property
    def structural_hamming(self) -> int:
        """Number of arcs to add, to remove and to reverse."""
        return self.missing + self.extra + self.reversed


def compare_networks(reference: BayesianNetwork, other: BayesianNetwork) -> NetworkComparison:
    """Compare the joint distributions and the graphs of two networks, exactly, family by family.

    Parameters
    ----------
    reference, other : BayesianNetwork
        Networks over the same domain; their structures may differ.

    Returns
    -------
    NetworkComparison

    Raises
    ------
    ValueError
        If the domains differ.
    ModelTooLargeError
        If an intermediate table, or the junction tree of both together, would not fit.

    Examples
    --------
    >>> from pypgm.bayes import BayesianNetwork
    >>> half = [0.5, 0.5]
    >>> first = BayesianNetwork({"a": 2, "b": 2}, [], {"a": half, "b": half})
    >>> second = BayesianNetwork({"a": 2, "b": 2}, [("a", "b")], {"a": half, "b": [half, [0.25, 0.75]]})
    >>> found = compare_networks(first, second)
    >>> round(found.kl, 4), found.structural_hamming
    (0.0719, 1)
    """
    check_domains(reference, other)
    tables = [table for net in (reference, other) for table in net._distributions.values()]
    both = CliqueVector.from_factors(reference.domain, tables).log() * 0.5
    affinity = JunctionTree.of(both).log_partition(both)
    mine, theirs = (
        {frozenset((p, c)): (p, c) for c, parents in net.parents.items() for p in parents} for net in (reference, other)
    )
    return NetworkComparison(
        _joint_divergence(reference, other),
        _joint_divergence(other, reference),
        math.sqrt(max(0.0, -math.expm1(affinity))),
        len(mine.keys() - theirs.keys()),
        len(theirs.keys() - mine.keys()),
        sum(mine[edge] != theirs[edge] for edge in mine.keys() & theirs.keys()),
    )


def _joint_divergence(true: BayesianNetwork, other: BayesianNetwork) -> float:
    """Return the expectation, under the first, of the log-ratio of two joint distributions."""
    divergence = 0.0
    for net, sign in ((true, 1.0), (other, -1.0)):
        for table in net._distributions.values():
            weights = true.query(table.domain.attributes).datavector()
            with np.errstate(divide="ignore"):
                logs = np.log(table.datavector())
            divergence += sign * float(weights[weights > 0] @ logs[weights > 0])
    return max(0.0, divergence)


def check_domains(reference: ConditionalTables, other: ConditionalTables) -> None:
    """Raise ``ValueError`` unless two networks are over the same domain."""
    for net in (reference, other):
        check_network(net)
    if reference.domain != other.domain:
        raise ValueError(f"the networks must be over one domain, got {reference.domain!r} and {other.domain!r}")


def divergence(true: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Return the Kullback-Leibler divergence of rows of values from the true ones, in nats, averaged over the rows.

    Cells that are 0 in either are left out.

    Parameters
    ----------
    true, values : ndarray of float64, shape (n_rows, n_values)
        Rows that sum to 1.
    """
    both = (values > 0) & (true > 0)
    log_ratio = np.log(values[both]) - np.log(true[both])  # the ratio itself may overflow a double
    return max(0.0, float((values[both] * log_ratio).sum())) / len(true)
