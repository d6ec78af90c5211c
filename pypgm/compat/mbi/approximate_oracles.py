"""Marginals that agree locally, by convex belief propagation on region graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import pypgm
from pypgm.compat import OPTIONS
from pypgm.compat.mbi._engine import Bridge, finished
from pypgm.compat.mbi._losses import loss_and_total, stated_loss
from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.domain import Domain
from pypgm.compat.mbi.factor import refuse_mesh


@runtime_checkable
class StatefulMarginalOracle(Protocol):
    """Marginals of potentials, and what the next call goes on from."""

    def __call__(self, potentials: CliqueVector, total: float = 1.0, state: Any = None) -> tuple[CliqueVector, Any]: ...


def convex_generalized_belief_propagation(
    potentials: CliqueVector, total: float = 1.0, state: Any = None, mesh: Any = None, **options: Any
) -> tuple[CliqueVector, Any]:
    """Return locally consistent marginals over the cliques of potentials, and the messages.

    Messages run until the marginals agree: `iters` and `damping` are not needed.
    """
    del options
    refuse_mesh(mesh)
    domain, cliques = potentials.domain, potentials.cliques
    if not cliques:
        return CliqueVector(domain, [], {}), state
    bridge = Bridge.of(domain)
    vector = bridge.vector(potentials.tables.values())
    graph = pypgm.RegionGraph.saturated(bridge.engine, vector.cliques)
    result = pypgm.convex_gbp(vector, graph, total=float(total), state=state)
    return bridge.made(cliques, (result.marginals[bridge.clique(c)] for c in cliques)), result.state


def pseudo_marginals(
    domain: Domain,
    loss_fn: Any,
    known_total: float | None = None,
    iters: int = 1000,
    callback_fn: Callable[[CliqueVector], object] | None = None,
    constraints: Any = (),
    **options: Any,
) -> tuple[CliqueVector, float]:
    """Return the locally consistent marginals of least loss over the loss's cliques, and their sum."""
    del options
    if constraints:
        raise ValueError("a region graph of mbi's takes no constraints")
    loss, total = loss_and_total(loss_fn, domain, known_total)
    cliques, bridge = [c for c in loss.cliques if c], Bridge.of(domain)
    if not cliques:
        return CliqueVector(domain, [], {}), total
    stated = stated_loss(loss, bridge)
    limits = {"iterations": max(1, int(iters)), "tolerance": OPTIONS["tolerance"], "stop": "optimum"}
    how: dict[str, Any] = {"oracle": "region_graph", "loss": stated.loss} | limits
    model = pypgm.estimate(bridge.engine, stated.measurements, total, **how)
    marginals = bridge.made(cliques, (model.marginals[bridge.clique(c)] for c in cliques))
    if callback_fn is not None:
        callback_fn(marginals)
    return marginals, total


class ApproxMirrorDescent:
    """The engine's estimate on a region graph; step, sweeps and damping are its own."""

    def __init__(self, stepsize: float | None = None, *tuning: Any, mesh: Any = None, **options: Any) -> None:
        del tuning, options
        refuse_mesh(mesh)
        self.stepsize = stepsize

    def estimate(self, domain: Domain, loss_fn: Any, known_total: float | None = None, **options: Any) -> CliqueVector:
        """Return locally consistent marginals of least loss."""
        return pseudo_marginals(domain, loss_fn, known_total, **options)[0]

    precompile = finished


def mirror_descent(domain: Domain, loss_fn: Any, **options: Any) -> CliqueVector:
    """Return locally consistent marginals of least loss."""
    return pseudo_marginals(domain, loss_fn, **options)[0]


def build_graph(domain: Domain, cliques: Any) -> Any:
    """Refuse to make mbi's own region graph; `pypgm.RegionGraph.saturated` makes the region graph of the engine."""
    del domain, cliques
    raise TypeError("mbi's region graph is not made here: pypgm.RegionGraph.saturated(domain, cliques) is the engine's")
