"""Exact inference under mbi's many names."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import networkx
import numpy as np

import pypgm
from pypgm.compat.mbi._engine import Bridge, done, model_of
from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.constraint import Constraint
from pypgm.compat.mbi.domain import Attribute, Clique, Domain, as_clique
from pypgm.compat.mbi.factor import Factor
from pypgm.compat.mbi.junction_tree import make_junction_tree

__all__ = [
    "brute_force_marginals",
    "bulk_variable_elimination",
    "calculate_many_marginals",
    "default_oracle",
    "einsum_fused",
    "einsum_marginals",
    "einsum_materialized",
    "einsum_semistable",
    "is_exact",
    "kron_query",
    "message_passing_fast",
    "message_passing_hugin",
    "message_passing_implicit",
    "message_passing_shafer_shenoy",
    "message_passing_stable",
    "precompile_bulk_variable_elimination",
    "sum_product",
    "variable_elimination",
]

Oracle = Callable[..., CliqueVector]

_HUGE, _FEW_NODES, _MOST_BYTES = 50_000_000, 30, 32e9  # what makes mbi prefer the implicit oracle on a GPU


def _exact(
    potentials: CliqueVector,
    total: float = 1.0,
    jtree: Any = None,
    *,
    constraints: Sequence[Constraint] = (),
    return_messages: bool = False,
) -> CliqueVector:
    if not (jtree is None or isinstance(jtree, networkx.Graph)):
        raise TypeError(f"a junction tree is a networkx Graph, got {type(jtree).__name__}; meshes are JAX's")
    if return_messages:
        raise TypeError("messages are the engine's own: return_messages needs mbi and JAX")
    model = model_of(potentials, total, constraints)
    return Bridge.of(potentials.domain).tables(potentials.cliques, model)


def _named(name: str, says: str = "") -> Oracle:
    @functools.wraps(_exact)
    def oracle(potentials: CliqueVector, total: float = 1.0, jtree: Any = None, **options: Any) -> CliqueVector:
        contraction = options.pop("contraction", None)
        if options.get("constraints") and contraction is einsum_semistable:
            raise ValueError("einsum_semistable does not take constraints")
        if options.get("constraints") and says == "refuses":
            raise ValueError(f"{name} does not take constraints")
        if options.get("constraints") and says == "warns":
            warnings.warn(
                "HUGIN is unstable under constraints in mbi; here it is the engine's, which is not", stacklevel=2
            )
        return _exact(potentials, total, jtree, **options)

    oracle.__name__ = oracle.__qualname__ = name
    oracle.__doc__ = "Return the exact marginals over the cliques of log-potentials, in counts."
    return oracle


message_passing_stable = _named("message_passing_stable")
message_passing_hugin = _named("message_passing_hugin", "warns")
message_passing_shafer_shenoy = _named("message_passing_shafer_shenoy")
message_passing_implicit = _named("message_passing_implicit")
message_passing_fast = _named("message_passing_fast")
brute_force_marginals = _named("brute_force_marginals")
einsum_marginals = _named("einsum_marginals", "refuses")


def is_exact(oracle: Any) -> bool:
    """Return whether an oracle is one of these, or none at all: the engine takes its place."""
    while isinstance(oracle, functools.partial):
        oracle = oracle.func
    return oracle is None or getattr(oracle, "__wrapped__", None) is _exact or oracle in _ALSO_EXACT


def default_oracle(
    cliques: Sequence[Clique] | None = None,
    domain: Domain | None = None,
    backend: str | None = None,
    has_constraints: bool = True,
) -> Oracle:
    """Return the oracle that mbi would choose; all are the same here."""
    if backend in {None, "cpu"} or not cliques or domain is None:
        return message_passing_shafer_shenoy if has_constraints else message_passing_hugin
    sizes = [domain.size(c) for c in make_junction_tree(domain, cliques)[0].nodes]
    huge = max(sizes) >= _HUGE and len(sizes) < _FEW_NODES
    if huge or 4 * sum(sizes) > _MOST_BYTES:
        return message_passing_implicit
    return message_passing_shafer_shenoy


def variable_elimination(
    potentials: CliqueVector,
    clique: object,
    total: float = 1.0,
    evidence: Mapping[Attribute, Any] | None = None,
    *,
    constraints: Sequence[Constraint] = (),
) -> Factor:
    """Return the marginal of any clique, where evidence holds."""
    asked, known = as_clique(clique), dict(evidence or {})
    if set(asked) & set(known):
        raise ValueError("Evidence attributes cannot be in the query clique.")
    bridge = Bridge.of(potentials.domain)
    vector = bridge.vector([*potentials.tables.values(), *(c.potential for c in constraints)])
    return bridge.table(
        asked, pypgm.variable_elimination(vector, bridge.clique(asked), float(total), bridge.evidence(known))
    )


def calculate_many_marginals(
    potentials: CliqueVector,
    marginal_queries: Iterable[object],
    total: float = 1.0,
    belief_propagation_oracle: Any = None,
    *,
    constraints: Sequence[Constraint] = (),
) -> CliqueVector:
    """Return the marginals of any cliques."""
    del belief_propagation_oracle
    cliques = list(dict.fromkeys(map(as_clique, marginal_queries)))
    return Bridge.of(potentials.domain).tables(cliques, model_of(potentials, total, constraints))


def bulk_variable_elimination(
    potentials: CliqueVector,
    marginal_queries: Iterable[object],
    total: float = 1.0,
    *,
    constraints: Sequence[Constraint] = (),
    **options: Any,
) -> CliqueVector:
    """Return the marginals of any cliques."""
    del options
    return calculate_many_marginals(potentials, marginal_queries, total, constraints=constraints)


def precompile_bulk_variable_elimination(*arguments: Any, **options: Any) -> Future[None]:
    """Return a finished future: there is nothing to compile."""
    del arguments, options
    return done()


def kron_query(
    potentials: CliqueVector, matrices: Mapping[Attribute, Any], total: float = 1, suffix: str = "_answer"
) -> Factor:
    """Return the answers to a product of queries on single attributes."""
    bridge = Bridge.of(potentials.domain)
    blocks = {bridge.names[a]: pypgm.queries.Matrix(np.asarray(m)) for a, m in matrices.items()}
    answers = model_of(potentials, total).answer(pypgm.KroneckerQuery(blocks))
    return Factor(Domain([f"{a}{suffix}" for a in matrices], answers.shape), answers)


def sum_product(factors: Sequence[Factor], domain: Domain) -> Factor:
    """Return the product of tables, summed onto a domain."""
    attributes = list(dict.fromkeys(a for f in factors for a in f.domain))
    code = {a: i for i, a in enumerate(attributes)}
    operands: list[Any] = [x for f in factors for x in (f.values, [code[a] for a in f.domain])]
    missing = [a for a in domain if a not in code]
    known = domain.marginalize(missing)
    return Factor(known, np.einsum(*operands, [code[a] for a in known], optimize=True)).expand(domain)


def _log_sum_product(log_factors: Sequence[Factor], domain: Domain) -> Factor:
    product = functools.reduce(Factor.__add__, log_factors)
    return product.project(domain.canonical(product.domain.attributes), log=True).expand(domain)


def einsum_semistable(log_factors: Sequence[Factor], domain: Domain) -> Factor:
    """Return the log of the product of tables of logarithms, summed onto a domain."""
    return _log_sum_product(log_factors, domain)


def einsum_materialized(log_factors: Sequence[Factor], domain: Domain) -> Factor:
    """Return the log of the product of tables of logarithms, summed onto a domain."""
    return _log_sum_product(log_factors, domain)


def einsum_fused(log_factors: Sequence[Factor], domain: Domain) -> Factor:
    """Return the log of the product of tables of logarithms, summed onto a domain."""
    return _log_sum_product(log_factors, domain)


_ALSO_EXACT = (calculate_many_marginals, bulk_variable_elimination)
