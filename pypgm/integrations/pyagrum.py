"""Networks and fields of pyAgrum, converted to pypgm's and back, which gives access to all formats of pyAgrum."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from pypgm.bayes import BayesianNetwork
from pypgm.data.columns.codebook import label_texts
from pypgm.domain import Domain
from pypgm.factor import Factor
from pypgm.mrf import MarkovRandomField

__all__ = ["from_pyagrum", "to_pyagrum"]


def from_pyagrum(model: Any) -> BayesianNetwork | MarkovRandomField:
    """Return a Bayesian network or Markov random field of pyAgrum; labels are text, in pyAgrum's order.

    Examples
    --------
    >>> import pyagrum  # doctest: +SKIP
    >>> from_pyagrum(pyagrum.loadBN("network.xdsl"))  # doctest: +SKIP
    """
    variables = [model.variable(node) for node in sorted(model.nodes())]
    domain = Domain({variable.name(): list(variable.labels()) for variable in variables})
    if not hasattr(model, "cpt"):
        factors = [model.factor(scope) for scope in model.factors()]
        return MarkovRandomField.from_factors(domain, [_factor(domain, factor) for factor in factors])
    tables = {a: _factor(domain, model.cpt(a)) for a in domain}
    parents = {a: tuple(name for name in model.cpt(a).names if name != a) for a in domain}
    return BayesianNetwork(domain, parents, tables)


def _factor(domain: Domain, table: Any) -> Factor:
    """Return a table of pyAgrum, whose arrays have their axes in the reverse order of its names."""
    return Factor(domain.project(tuple(reversed(table.names))), np.array(table.toarray(), dtype=np.float64))


def to_pyagrum(model: BayesianNetwork | MarkovRandomField) -> Any:
    """Return a network as pyAgrum's ``BayesNet``, a field as its ``MarkovRandomField``; labels as text.

    Raises
    ------
    ImportError
        If pyAgrum is not installed.
    ValueError
        If two labels of an attribute read the same as text.
    """
    pyagrum = importlib.import_module("pyagrum")
    domain = model.domain
    is_network = isinstance(model, BayesianNetwork)
    network = pyagrum.BayesNet(model.name) if isinstance(model, BayesianNetwork) else pyagrum.MarkovRandomField()
    for a in domain:
        labels = label_texts(domain, a) or list(map(str, range(domain.size(a))))
        network.add(pyagrum.LabelizedVariable(a, a, labels))
    if isinstance(model, BayesianNetwork):
        for child, parents in model.parents.items():
            for parent in parents:
                network.addArc(parent, child)
        tables: Iterable[Factor] = model.tables.values()
    else:
        cliques = enumerate(model.cliques)
        tables = [Factor(domain.project(scope), np.exp(model.potentials.table(i)).reshape(-1)) for i, scope in cliques]
    for table in tables:
        scope = table.domain.attributes
        own_table = network.cpt(scope[-1]) if is_network else network.addFactor(list(scope))
        order = tuple(reversed(own_table.names))
        own_table.fillWith(table.transpose(order).datavector().tolist())
    return network
