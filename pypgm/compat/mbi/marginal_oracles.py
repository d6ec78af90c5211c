"""Exact inference under mbi's many names."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

import pypgm
from pypgm.compat.mbi._engine import Bridge, finished, model_of
from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.constraint import Constraint
from pypgm.compat.mbi.domain import Attribute, Clique, Domain, as_clique
from pypgm.compat.mbi.factor import Factor, refuse_mesh
from pypgm.compat.mbi.junction_tree import make_junction_tree

Oracle = Callable[..., CliqueVector]


@runtime_checkable
class MarginalOracle(Protocol):
    """Marginals of potentials."""

    def __call__(self, potentials: CliqueVector, total: float = 1.0) -> CliqueVector: ...


_HUGE, _FEW_NODES, _MOST_BYTES = 50_000_000, 30, 32e9  # size from which mbi prefers the implicit oracle on a GPU


def _named(name: str, says: str = "") -> Oracle:
    def oracle(
        potentials: CliqueVector,
        total: float = 1.0,
        jtree: Any = None,
        *,
        constraints: Sequence[Constraint] = (),
        contraction: Any = None,
        return_messages: bool = False,
        mesh: object = None,
        **options: Any,
    ) -> CliqueVector:
        """Return the exact marginals over the cliques of log-potentials, in counts."""
        del options
        refuse_mesh(mesh)
        if not (jtree is None or hasattr(jtree, "add_edges_from")):  # importing networkx takes longer than an estimate
            raise TypeError(f"a junction tree is a networkx Graph, got {type(jtree).__name__}; meshes are JAX's")
        if return_messages:
            raise TypeError("messages are the engine's own: return_messages needs mbi and JAX")
        if constraints and (says == "refuses" or contraction is einsum_semistable):
            raise ValueError(f"{name} with {getattr(contraction, '__name__', 'this')} does not take constraints")
        if constraints and says == "warns":
            warnings.warn("HUGIN is unstable under constraints in mbi; the engine is not", stacklevel=2)
        return calculate_many_marginals(potentials, potentials.cliques, total, constraints=constraints)

    oracle.__name__ = oracle.__qualname__ = name
    _EXACT.add(oracle)
    return oracle


_EXACT: set[Callable[..., Any]] = set()
message_passing_stable = _named("message_passing_stable")
message_passing_hugin = _named("message_passing_hugin", "warns")
message_passing_shafer_shenoy = _named("message_passing_shafer_shenoy")
message_passing_implicit = _named("message_passing_implicit")
message_passing_fast = _named("message_passing_fast")
brute_force_marginals = _named("brute_force_marginals")
einsum_marginals = _named("einsum_marginals", "refuses")


def is_exact(oracle: Any) -> bool:
    """Return whether an oracle is one of these, or None, so that the engine takes its place."""
    while isinstance(oracle, functools.partial):
        oracle = oracle.func
    return oracle is None or oracle in _EXACT


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
    is_huge = (max(sizes) >= _HUGE and len(sizes) < _FEW_NODES) or 4 * sum(sizes) > _MOST_BYTES
    return message_passing_implicit if is_huge else message_passing_shafer_shenoy


def variable_elimination(
    potentials: CliqueVector,
    clique: object,
    total: float = 1.0,
    evidence: Mapping[Attribute, Any] | None = None,
    *,
    constraints: Sequence[Constraint] = (),
    mesh: object = None,
) -> Factor:
    """Return the marginal of any clique under evidence."""
    refuse_mesh(mesh)
    targets, known = as_clique(clique), dict(evidence or {})
    if set(targets) & set(known):
        raise ValueError("Evidence attributes cannot be in the query clique.")
    bridge = Bridge.of(potentials.domain)
    vector = bridge.vector([*potentials.tables.values(), *(c.potential for c in constraints)])
    table = pypgm.variable_elimination(vector, bridge.clique(targets), float(total), bridge.evidence(known))
    return bridge.table(targets, table)


def calculate_many_marginals(
    potentials: CliqueVector,
    marginal_queries: Iterable[object],
    total: float = 1.0,
    belief_propagation_oracle: Any = None,
    *,
    constraints: Sequence[Constraint] = (),
    **options: Any,
) -> CliqueVector:
    """Return the marginals of any cliques."""
    del belief_propagation_oracle, options
    cliques = list(dict.fromkeys(map(as_clique, marginal_queries)))
    return Bridge.of(potentials.domain).tables(cliques, model_of(potentials, total, constraints))


bulk_variable_elimination = calculate_many_marginals
precompile_bulk_variable_elimination = finished
_EXACT.add(calculate_many_marginals)


def kron_query(
    potentials: CliqueVector,
    query_factors: Mapping[Attribute, Any],
    total: float = 1,
    suffix: str = "_answer",
    *,
    constraints: Sequence[Constraint] = (),
    mesh: object = None,
) -> Factor:
    """Return the answers to a product of queries on single attributes."""
    refuse_mesh(mesh)
    bridge = Bridge.of(potentials.domain)
    blocks = {bridge.names[a]: pypgm.queries.Matrix(np.asarray(m)) for a, m in query_factors.items()}
    answers = model_of(potentials, total, constraints).answer(pypgm.KroneckerQuery(blocks))
    return Factor(Domain([f"{a}{suffix}" for a in query_factors], answers.shape), answers)


def sum_product(factors: Sequence[Factor], dom: Domain, einsum_fn: object = None) -> Factor:
    """Return the product of tables, summed onto a domain; NumPy's einsum is the one that is called."""
    del einsum_fn
    code: dict[Attribute, int] = {a: i for i, a in enumerate(dict.fromkeys(a for f in factors for a in f.domain))}
    operands: list[Any] = [x for f in factors for x in (f.values, [code[a] for a in f.domain])]
    known = dom.project(dom.canonical(code))
    return Factor(known, np.einsum(*operands, [code[a] for a in known], optimize=True)).expand(dom)


def einsum_materialized(log_factors: Sequence[Factor], dom: Domain, **options: Any) -> Factor:
    """Return the log of the product of tables of logarithms, summed onto a domain; also under other names."""
    del options
    product = functools.reduce(Factor.__add__, log_factors)
    return product.project(dom.canonical(product.domain.attributes), log=True).expand(dom)


def einsum_semistable(log_factors: Sequence[Factor], dom: Domain, einsum_fn: object = None) -> Factor:
    """Return the result of `einsum_materialized`; refuse constraints, as mbi does."""
    del einsum_fn
    return einsum_materialized(log_factors, dom)


einsum_fused = logspace_sum_product_fast = logspace_sum_product_stable_v1 = einsum_materialized
