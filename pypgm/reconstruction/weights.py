"""Multiplicative weights on the joint tables of attributes that were measured together."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from pypgm._base.clock import Clock
from pypgm._base.memory import check_fits, short
from pypgm._base.numeric import checked_integer, checked_real
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation import LinearMeasurement
from pypgm.estimation.total import estimate_total
from pypgm.factor import Factor
from pypgm.models import GraphicalModel
from pypgm.reconstruction.marginals import at_least_one

_TABLES = 4  # tables of the size of a component in an update


def multiplicative_weights(
    domain: Domain,
    measurements: Iterable[LinearMeasurement],
    total: float | None = None,
    *,
    iterations: int = 100,
    max_bytes: float | None = None,
    time_limit: float | None = None,
    progress: bool = False,
) -> GraphicalModel:
    r"""Return the model that multiplicative weights learn from measurements, taken in turn again and again.

    Attributes that no chain of measurements joins are independent, so that one table for each joined set does. From
    uniform tables p, a measurement y of the queries Q changes its table to
    :math:`p \cdot \exp(Q^T (y - Q p) / 2N)`, scaled to the total N. All measurements count alike, whatever their noise.

    Parameters
    ----------
    domain : Domain
    measurements : sequence of LinearMeasurement
        Measurements of any queries.
    total : float, optional
        Number of records; estimated from the measurements by default.
    iterations : int
        Number of passes over all measurements, at least 1.
    max_bytes : float, optional
        Memory for the largest table; half of the available memory by default.
    time_limit : float, optional
        Seconds, after which the model is returned as it is.
    progress : bool
        Whether sweeps are shown on standard error.

    Returns
    -------
    GraphicalModel
        Its cliques are the joined sets.

    Raises
    ------
    ModelTooLargeError
        If a joined set has too many cells.
    ValueError
        If there is no measurement, a measurement does not fit the domain, or no measurement determines the total.

    References
    ----------
    Hardt, Ligett and McSherry 2012, "A Simple and Practical Algorithm for Differentially Private Data Release".

    Examples
    --------
    >>> from pypgm import Domain, LinearMeasurement
    >>> domain = Domain({"a": 2, "b": 2, "c": 3})
    >>> found = multiplicative_weights(domain, [LinearMeasurement([60, 40], "b")])
    >>> found.project("b").values.round()
    array([60., 40.])
    """
    checked = at_least_one(domain, measurements)
    records = estimate_total(domain, checked)[0] if total is None else checked_real("total", total, zero=True)
    n_sweeps = checked_integer("iterations", iterations, 1)
    parts = joined(domain, [m.clique for m in checked])
    for part in parts:
        cells = domain.size(part)
        what = f"weights of the {short(cells)} cells of {len(part)} attributes that were measured together"
        check_fits(8 * _TABLES * cells, max_bytes, what, "estimate() needs no such table")
    sizes = {part: domain.size(part) for part in parts}
    logs = {part: Factor(domain.project(part), np.full(n, -np.log(n))) for part, n in sizes.items()}
    of = {attribute: part for part in parts for attribute in part}
    informative = [m for m in checked if m.clique and records > 0]
    with Clock("multiplicative weights", time_limit, progress) as clock:
        for sweep in range(n_sweeps):
            for m in informative:
                part = of[m.clique[0]]
                logs[part] = _updated(logs[part], m, records)
            if clock.tick(partial("{}/{} sweeps".format, sweep + 1, n_sweeps)):
                break
    potentials = np.concatenate([np.empty(0), *(logs[part].datavector() for part in parts)])
    return GraphicalModel(CliqueVector(domain, parts, potentials), records)


def joined(domain: Domain, cliques: Iterable[Clique]) -> list[Clique]:
    """Return the sets of attributes that chains of cliques join, in the domain's order."""
    import networkx

    graph: networkx.Graph[str] = networkx.Graph()
    graph.add_nodes_from(domain)
    for clique in cliques:
        networkx.add_path(graph, clique)
    return sorted((domain.canonical(c) for c in networkx.connected_components(graph)), key=domain.indices)


def _updated(logs: Factor, m: LinearMeasurement, total: float) -> Factor:
    """Return the logarithms of weights after an update: where noise is beyond the total, weights would vanish."""
    table = Factor(logs.domain, np.exp(logs.datavector()))
    residual = m.values - m.linear_map.matvec(total * table.project(m.clique).datavector())
    slopes = Factor(logs.domain.project(m.clique), m.linear_map.rmatvec(residual) / (2 * total))
    moved = logs.datavector() + slopes.expand(logs.domain).datavector()
    moved -= moved.max()
    return Factor(logs.domain, moved - np.log(np.exp(moved).sum()))
