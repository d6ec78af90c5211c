"""Marginals that agree locally, by convex belief propagation on region graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import pypgm
from pypgm.compat._options import OPTIONS
from pypgm.compat.mbi._engine import Bridge, done
from pypgm.compat.mbi._losses import loss_and_total, stated_loss
from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.domain import Domain
from pypgm.compat.mbi.factor import refuse_mesh

__all__ = [
    "ApproxMirrorDescent",
    "build_graph",
    "convex_generalized_belief_propagation",
    "mirror_descent",
    "pseudo_marginals",
]


def convex_generalized_belief_propagation(
    potentials: CliqueVector,
    total: float = 1.0,
    state: Any = None,
    mesh: Any = None,
    iters: int = 1,
    damping: float = 0.5,
) -> tuple[CliqueVector, Any]:
    """Return locally consistent marginals over the cliques of potentials, and the messages.

    It runs until they agree: `iters` and `damping` are not needed.
    """
    del iters, damping
    refuse_mesh(mesh)
    domain, cliques = potentials.domain, potentials.cliques
    if not cliques:
        return CliqueVector(domain, [], {}), state
    bridge = Bridge.of(domain)
    vector = bridge.vector(potentials.tables.values())
    graph = pypgm.RegionGraph.saturated(bridge.engine, vector.cliques)
    found = pypgm.convex_gbp(vector, graph, total=float(total), state=state)
    tables = {c: bridge.table(c, found.marginals[bridge.clique(c)]) for c in cliques}
    return CliqueVector(domain, cliques, tables), found.state


def pseudo_marginals(
    domain: Domain,
    loss_fn: Any,
    known_total: float | None,
    iters: int,
    callback: Callable[[CliqueVector], object] | None,
) -> tuple[CliqueVector, float]:
    """Return the locally consistent marginals of least loss over the loss's cliques, and their sum."""
    loss, total = loss_and_total(loss_fn, domain, known_total)
    cliques, bridge = [c for c in loss.cliques if c], Bridge.of(domain)
    if not cliques:
        return CliqueVector(domain, [], {}), total
    stated = stated_loss(loss, bridge)
    model = pypgm.estimate(
        bridge.engine,
        stated.measurements,
        total,
        oracle="region_graph",
        loss=stated.loss,
        stop="optimum",
        iterations=max(1, int(iters)),
        tolerance=OPTIONS["tolerance"],
    )
    tables = {c: bridge.table(c, model.marginals[bridge.clique(c)]) for c in cliques}
    found = CliqueVector(domain, cliques, tables)
    if callback is not None:
        callback(found)
    return found, total


@dataclass
class ApproxMirrorDescent:
    """The engine's estimate on a region graph; step and sweeps are its own."""

    stepsize: float | None = None
    oracle_iters: int = 1
    damping: float = 0.5
    mesh: Any = None

    def estimate(
        self,
        domain: Domain,
        loss_fn: Any,
        known_total: float | None = None,
        iters: int = 1000,
        callback_fn: Callable[[CliqueVector], object] | None = None,
        **options: Any,
    ) -> CliqueVector:
        """Return locally consistent marginals of least loss."""
        refuse_mesh(self.mesh)
        if options.get("constraints"):
            raise ValueError("a region graph of mbi's takes no constraints")
        return pseudo_marginals(domain, loss_fn, known_total, iters, callback_fn)[0]

    def precompile(self, domain: Domain, *measurements: Any, **options: Any) -> Future[Any]:
        """Return a finished future: there is nothing to compile."""
        del domain, measurements, options
        return done()


def mirror_descent(
    domain: Domain, loss_fn: Any, *, known_total: float | None = None, stepsize: float | None = None, **options: Any
) -> CliqueVector:
    """Return locally consistent marginals of least loss."""
    return ApproxMirrorDescent(stepsize).estimate(domain, loss_fn, known_total, **options)


def build_graph(domain: Domain, cliques: Sequence[object]) -> Any:
    """Refuse: mbi's graph is its own; `pypgm.RegionGraph.saturated` makes the engine's."""
    del domain, cliques
    raise TypeError("mbi's region graph is not made here: pypgm.RegionGraph.saturated(domain, cliques) is the engine's")
