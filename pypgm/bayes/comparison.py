"""How far the conditional tables of one network are from those of another of the same structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pypgm.bayes.conditional_tables import ConditionalTables
from pypgm.html import Shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TableComparison", "check_domains", "compare_tables", "divergence"]


@dataclass(frozen=True, slots=True)
class TableComparison(Shown):
    """Distances of the table of each attribute; in dicts by attribute, in the order of the domain.

    Attributes
    ----------
    l1 : dict of str to float
        Sum of absolute differences over all rows and values: from 0 to twice the number of rows.
    mean_l1 : dict of str to float
        The same for a row in the mean: from 0 to 2.
    mean_kl : dict of str to float
        Kullback-Leibler divergence of a row of the other network from that of the reference, in nats, in the mean over
        the rows; infinite where the other has probability and the reference has none.
    unsupported : dict of str to int
        Number of cells where that is so.
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
    found = TableComparison({}, {}, {}, {})
    for child, parents in reference.parents.items():
        if set(parents) != set(other.parents[child]):
            raise ValueError(f"{child!r} must have the same parents, got {parents} and {other.parents[child]}")
        size = reference.domain.size(child)
        true = reference.tables[child].values.reshape(-1, size)
        values = other.tables[child].transpose((*parents, child)).values.reshape(-1, size)
        found.l1[child] = float(np.abs(values - true).sum())
        found.mean_l1[child] = found.l1[child] / len(true)
        found.unsupported[child] = int(((values > 0) & (true == 0)).sum())
        found.mean_kl[child] = np.inf if found.unsupported[child] else divergence(true, values)
    return found


def check_domains(reference: ConditionalTables, other: ConditionalTables) -> None:
    """Raise ``ValueError`` unless two networks are over the same domain."""
    if reference.domain != other.domain:
        raise ValueError(f"the networks must be over one domain, got {reference.domain!r} and {other.domain!r}")


def divergence(true: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Return the Kullback-Leibler divergence of a row of values from the true one, in nats, in the mean over the rows.

    Cells that are 0 in either are left out.

    Parameters
    ----------
    true, values : ndarray of float64, shape (n_rows, n_values)
        Rows that sum to 1.
    """
    both = (values > 0) & (true > 0)
    log_ratio = np.log(values[both]) - np.log(true[both])  # a ratio itself may leave the doubles
    return max(0.0, float((values[both] * log_ratio).sum())) / len(true)
