"""Logistic regressions that a field is learned by, and the reading of their weights as its tables."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain
from pypgm.mrf.encoding import Field, field_of_pairs, field_of_signs
from pypgm.mrf.frank_wolfe import Feature, Node

_MOST_FEATURES = 1 << 16

Weights = Sequence[NDArray[np.float64]]
"""Weights of each node, shape (pairs, features)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Regressions on common features.

    Attributes
    ----------
    features : list of Feature
    nodes : list of Node
    radius : float
        Radius of the L1 ball of each regression's weights.
    read : callable
        Gives the log-potentials that weights stand for.
    """

    features: list[Feature]
    nodes: list[Node]
    radius: float
    read: Callable[[Weights], CliqueVector]


def ising_plan(domain: Domain, width: float) -> Plan:
    """Return one regression an attribute, on the signs of all others; ``ValueError`` unless all have two values."""
    _check_binary(domain, "an Ising model")
    n = len(domain)
    nodes = [Node(i, [(1, 0)], [j for j in range(n + 1) if j != i]) for i in range(n)]

    def read(weights: Weights) -> CliqueVector:
        return _sparse(field_of_signs(domain, np.concatenate(weights)))

    return Plan([*(Feature((i,)) for i in range(n)), Feature(())], nodes, 2 * width, read)


def pairwise_plan(domain: Domain, width: float) -> Plan:
    """Return a regression for each two codes of an attribute, on indicators of the codes of all others.

    Attributes of two values only form an Ising model.
    """
    if domain.shape and all(size == 2 for size in domain.shape):
        return ising_plan(domain, width)
    features = [Feature((i,), code) for i, size in enumerate(domain.shape) for code in range(size)] + [Feature(())]
    nodes = [
        Node(i, list(combinations(range(size), 2)), [f for f, x in enumerate(features) if x.attributes != (i,)])
        for i, size in enumerate(domain.shape)
        if size > 1
    ]

    def read(weights: Weights) -> CliqueVector:
        rows = zip(nodes, weights, strict=True)
        directions = ((node.attribute, *pair) for node, of in rows for pair in zip(node.pairs, of, strict=True))
        return _sparse(field_of_pairs(domain, directions))

    return Plan(features, nodes, 2 * max(domain.shape, default=2) * width, read)


def t_wise_plan(domain: Domain, width: float, order: int) -> Plan:
    """Return one regression an attribute, on the products of up to order - 1 signs of others."""
    _check_binary(domain, f"a field of order {order}")
    n = len(domain)
    needed = sum(math.comb(n, size) for size in range(min(order, n + 1)))
    if needed > _MOST_FEATURES:
        raise ValueError(
            f"order {order} has {needed} products of attributes, more than {_MOST_FEATURES}: pass a lower one"
        )
    products = [s for size in range(order) for s in combinations(range(n), size)]
    at = {s: f for f, s in enumerate(products)}
    nodes = [Node(i, [(1, 0)], [f for f, s in enumerate(products) if i not in s]) for i in range(n)]

    def read(weights: Weights) -> CliqueVector:
        cliques, tables = [], []
        for size in range(1, order + 1):
            for clique in combinations(range(n), size):
                # h_I from the derivative in each of its attributes, whose log odds are twice it.
                others = [(i, at[tuple(a for a in clique if a != i)]) for i in clique]
                height = float(np.mean([weights[i][0, f] for i, f in others])) / 2
                if height or size == 1:
                    signs = functools.reduce(np.kron, [np.array([-1.0, 1.0])] * size)
                    cliques.append(tuple(domain.attributes[a] for a in clique))
                    tables.append(height * signs)
        return CliqueVector(domain, cliques, np.concatenate(tables))

    return Plan([Feature(s) for s in products], nodes, 2 * width, read)


def _check_binary(domain: Domain, what: str) -> None:
    if len(domain) == 0 or any(size != 2 for size in domain.shape):
        raise ValueError(f"{what} needs attributes of two values, at least one, got {domain!r}")


def _sparse(field: Field) -> CliqueVector:
    """Return the log-potentials of the centred field, without pairs whose weights are all 0."""
    potentials = field.to_potentials()
    kept = [i for i, scope in enumerate(potentials.scopes) if len(scope) == 1 or np.any(potentials.table(i))]
    values = np.concatenate([potentials.table(i).ravel() for i in kept])
    return CliqueVector(field.domain, [potentials.cliques[i] for i in kept], values)
