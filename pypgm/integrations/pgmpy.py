"""Networks and fields of pgmpy, converted to pypgm's and back."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.bayes import BayesianNetwork
from pypgm.domain import Domain
from pypgm.factor import Factor
from pypgm.mrf import MarkovRandomField

__all__ = ["from_pgmpy", "to_pgmpy"]


def from_pgmpy(model: Any) -> BayesianNetwork | MarkovRandomField:
    """Return a discrete Bayesian network or Markov network of pgmpy; names of states become labels.

    Numbered states, as pgmpy has them without names, are codes.

    Raises
    ------
    ValueError
        If an attribute has no table.

    Examples
    --------
    >>> from pgmpy.example_models import load_model  # doctest: +SKIP
    >>> from_pgmpy(load_model("bnlearn/alarm"))  # doctest: +SKIP
    """
    is_network = hasattr(model, "get_cpds")
    given = list(model.get_cpds() if is_network else model.get_factors())
    names: dict[str, list[Any]] = {}
    for table in given:
        for a in table.variables[:1] if is_network else table.variables:
            names.setdefault(a, list(table.state_names[a]))
    lost = [a for a in model.nodes() if a not in names]
    if lost:
        raise ValueError(f"node {lost[0]!r} of the model has no table")
    domain = Domain({a: len(values) if values == list(range(len(values))) else values for a, values in names.items()})
    if not is_network:
        return MarkovRandomField.from_factors(domain, [_factor(domain, names, table) for table in given])
    tables = {table.variables[0]: _factor(domain, names, table) for table in given}
    parents = {table.variables[0]: tuple(table.variables[1:]) for table in given}
    return BayesianNetwork(domain, parents, tables)


def _factor(domain: Domain, names: dict[str, list[Any]], table: Any) -> Factor:
    """Return a table with the states of each attribute in one order, as each of pgmpy's has its own."""
    values: NDArray[np.float64] = np.asarray(table.values, dtype=np.float64)
    for axis, a in enumerate(table.variables):
        states = list(table.state_names[a])
        values = values.take([states.index(name) for name in names[a]], axis=axis)
    return Factor(domain.project(tuple(table.variables)), values)


def to_pgmpy(model: BayesianNetwork | MarkovRandomField) -> Any:
    """Return a network as pgmpy's ``DiscreteBayesianNetwork``, a field as its ``DiscreteMarkovNetwork``.

    Raises
    ------
    ImportError
        If pgmpy is not installed.
    """
    models, factors = (importlib.import_module(f"pgmpy.{name}") for name in ("models", "factors.discrete"))
    domain = model.domain
    names = {a: list(domain.labels.get(a, range(domain.size(a)))) for a in domain}
    if isinstance(model, BayesianNetwork):
        network = models.DiscreteBayesianNetwork(list(model.to_networkx().edges))
        network.add_nodes_from(list(domain))
        for a, table in model.tables.items():
            values = table.values.reshape(-1, domain.size(a)).T
            parents = list(model.parents[a])
            states = {b: names[b] for b in (a, *parents)}
            cpd = (a, domain.size(a), values, parents or None, list(domain.sizes(parents)) or None)
            network.add_cpds(factors.TabularCPD(*cpd, state_names=states))
        return network
    network = models.DiscreteMarkovNetwork(list(model.to_networkx().edges))
    network.add_nodes_from(list(domain))
    for i, scope in enumerate(model.cliques):
        weights = np.exp(model.potentials.table(i)).reshape(-1)
        states = {a: names[a] for a in scope}
        network.add_factors(factors.DiscreteFactor(list(scope), _sizes(domain, scope), weights, state_names=states))
    return network


def _sizes(domain: Domain, scope: Sequence[str]) -> list[int]:
    return list(domain.sizes(tuple(scope)))
