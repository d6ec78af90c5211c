"""Distances between networks: their conditional tables, joint distributions and graphs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pypgm.bayes.conditional_tables import ConditionalTables
from pypgm.clique_vector import CliqueVector
from pypgm.graphs import JunctionTree
from pypgm.html import Shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.bayes.network import BayesianNetwork


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
        Over the same domain, with the same parents in any order.

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
        Numbers of arcs in the reference alone, in the other alone, and in both with opposite directions.
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
        Over the same domain; their structures may differ.

    Returns
    -------
    NetworkComparison

    Raises
    ------
    ValueError
        If the domains differ.
    ModelTooLargeError
        If a table on the way, or the junction tree of both together, would not fit.

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
    both = CliqueVector.from_factors(reference.domain, [*reference.tables.values(), *other.tables.values()]).log() * 0.5
    affinity = JunctionTree.of(both).log_partition(both) - (reference._whole.log_total + other._whole.log_total) / 2
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
    divergence = other._whole.log_total - true._whole.log_total
    for net, sign in ((true, 1.0), (other, -1.0)):
        for table in net.tables.values():
            weights = true.query(table.domain.attributes).datavector()
            with np.errstate(divide="ignore"):
                logs = np.log(table.datavector())
            divergence += sign * float(weights[weights > 0] @ logs[weights > 0])
    return max(0.0, divergence)


def check_domains(reference: ConditionalTables, other: ConditionalTables) -> None:
    """Raise ``ValueError`` unless two networks are over the same domain."""
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
