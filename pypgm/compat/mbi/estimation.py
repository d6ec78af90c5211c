"""Estimators, each one call of the engine, and the interfaces they share with models."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

import pypgm
from pypgm.compat import OPTIONS
from pypgm.compat.mbi import approximate_oracles, marginal_oracles
from pypgm.compat.mbi._engine import Bridge, finished, model_of
from pypgm.compat.mbi._losses import (
    loss_and_total,
    minimum_variance_unbiased_total,  # noqa: F401 - a name of this module
    stated_loss,
)
from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.constraint import Constraint
from pypgm.compat.mbi.domain import Clique, Domain
from pypgm.compat.mbi.factor import Projectable, refuse_mesh
from pypgm.compat.mbi.marginal_loss import MarginalLossFn, Stated, mle_loss_fn
from pypgm.compat.mbi.markov_random_field import MarkovRandomField


@runtime_checkable
class Model(Projectable, Protocol):
    """Object with marginals and records."""

    def synthetic_data(self, rows: int | None = None) -> Any: ...


CALLBACK_EVERY = 50
Callback = Callable[[CliqueVector], object]


@dataclass(init=False)
class Estimator:
    """Base of all estimators: the engine minimises the loss on a junction tree, without tuning."""

    method: ClassVar[str] = "auto"

    def __init__(
        self, marginal_oracle: Any = None, stepsize: float | None = None, *tuning: Any, **options: Any
    ) -> None:
        del tuning
        refuse_mesh(options.get("mesh"))
        self.marginal_oracle, self.stepsize = marginal_oracle, stepsize

    def estimate(
        self,
        domain: Domain,
        loss_fn: Any,
        known_total: float | None = None,
        constraints: Sequence[Constraint] = (),
        iters: int = 1000,
        callback_fn: Callback | None = None,
        warm_start: Any = None,
        tol: float | None = None,
        patience: int = 2,
        potentials: Any = None,
    ) -> MarkovRandomField:
        """Return the model whose marginals have the least loss.

        Parameters
        ----------
        domain : Domain
        loss_fn : list of LinearMeasurement, or MarginalLossFn
        known_total : float, optional
            Number of records; by default from the measurements.
        constraints : sequence of Constraint
        iters : int
            Largest number of oracle calls; the search ends earlier at the optimum.
        callback_fn : callable, optional
            Called with the marginals of the loss's cliques every `CALLBACK_EVERY` iterations.
        warm_start, potentials : MarkovRandomField or CliqueVector, optional
            The start; the model takes the cliques of the start if they contain the cliques of the loss.
        tol : float, optional
            Relative loss that may remain.
        patience : int
            Not needed: the distance from the optimum is known.
        """
        del patience
        loss, total = loss_and_total(loss_fn, domain, known_total)
        start = warm_start if potentials is None else potentials
        tell = _Blocks(callback_fn, 0 if tol is not None else math.ceil(int(iters) / CALLBACK_EVERY))
        ask = _Request(
            domain, loss, total, tuple(constraints), int(iters), tell, getattr(start, "potentials", start), tol
        )
        if marginal_oracles.is_exact(self.marginal_oracle):
            model = ask.by_engine(self.method, self.stepsize)
            tell.rest(model, loss.cliques)
        else:
            model = ask.by_oracle(self.marginal_oracle, self.stepsize)
        if tol is not None and self._loss_value(model, loss, total, constraints) is None:
            raise ValueError(f"tol needs a loss, and {type(self).__name__} has none")
        return model

    def _loss_value(self, state: Any, loss_fn: Any, known_total: float, constraints: Any = ()) -> Any:
        del known_total, constraints
        return loss_fn(state.marginals)

    precompile = finished


class MirrorDescent(Estimator):
    """The engine's choice of method; mirror descent if a step is given."""


class DualAveraging(Estimator):
    """Regularised dual averaging."""

    method = "dual_averaging"


class InteriorGradient(Estimator):
    """The interior gradient method."""

    method = "interior_gradient"


class LBFGS(Estimator):
    """Quasi-Newton steps over the potentials."""

    method = "lbfgs"


class UniversalAcceleratedMethod(Estimator):
    """The universal gradient method."""

    method = "universal"


@dataclass
class _Blocks:
    """Calls a callback of mbi once for each block of iterations."""

    callback: Callback | None
    wanted: int
    called: int = 0

    def __call__(self, iteration: float, marginals: Callable[[], CliqueVector]) -> None:
        if self.callback is not None and iteration >= CALLBACK_EVERY * (self.called + 1):
            self.called += 1
            self.callback(marginals())

    def rest(self, model: MarkovRandomField, cliques: Sequence[Clique]) -> None:
        """Call it with the final state for the remaining requested iterations, and at least once."""
        for _ in range(max(self.wanted - self.called, 0 if self.wanted else 1)):
            self(math.inf, lambda: CliqueVector.from_projectable(model, cliques))


@dataclass(frozen=True)
class _Request:
    domain: Domain
    loss: MarginalLossFn
    total: float
    constraints: tuple[Constraint, ...]
    iters: int
    tell: _Blocks
    start: CliqueVector | None
    tol: float | None

    @property
    def cliques(self) -> Sequence[Clique]:
        """The cliques of the answer."""
        measured: Sequence[Clique] = self.loss.cliques
        start = self.start
        return start.cliques if start is not None and all(map(start.supports, measured)) else measured

    def by_engine(self, method: str, stepsize: float | None) -> MarkovRandomField:
        """Return the model that the engine finds."""
        bridge = Bridge.of(self.domain)
        stated = stated_loss(self.loss, bridge)
        if not stated.loss.cliques and not self.constraints:
            return self._model(CliqueVector.zeros(self.domain, self.cliques), self.constraints)
        options: dict[str, Any] = {"method": _suitable(method, stated, stepsize), "stop": OPTIONS["stop"]}
        if options["method"] == "mirror_descent":
            options["stepsize"] = stepsize
        if options["method"] not in {"auto", "accelerated"} or not stated.measurements:
            options["stop"] = "optimum"

        def look(state: Any) -> None:
            self.tell(state.iteration, lambda: bridge.marginals(self.loss.cliques, state.marginals))

        model = pypgm.estimate(
            bridge.engine,
            stated.measurements,
            self.total,
            loss=stated.loss,
            constraints=[
                pypgm.Constraint(bridge.clique(c.domain.attributes), allowed=np.isfinite(c.potential.values))
                for c in self.constraints
            ],
            prior=self._prior(stated),
            iterations=max(1, self.iters),
            tolerance=OPTIONS["tolerance"] if self.tol is None else float(self.tol),
            callback=None if self.tell.callback is None else look,
            **options,
        )
        return self._model(*self._shared(bridge, model.potentials))

    def by_oracle(self, oracle: Callable[..., CliqueVector], stepsize: float | None) -> MarkovRandomField:
        """Return the result of mirror descent with a foreign oracle; by default, poor steps are halved."""
        bridge, cliques = Bridge.of(self.domain), list(self.loss.cliques)
        theta = CliqueVector.zeros(self.domain, cliques) if self.start is None else self.start.expand(cliques)
        shape = bridge.vector(theta.tables[c] for c in cliques)
        evaluate = stated_loss(self.loss, bridge).loss.on(bridge.engine, shape.cliques)

        def at(theta: CliqueVector) -> tuple[CliqueVector, CliqueVector, float, CliqueVector]:
            mu = oracle(theta, self.total)
            value, slopes = evaluate(bridge.vector(mu.tables[c] for c in cliques).values)
            return theta, mu, value, bridge.parts(cliques, shape.like(slopes))

        alpha = 2 / ((self.loss.lipschitz or 1.0) * self.total) if stepsize is None else float(stepsize)
        theta, mu, value, slope = at(theta)
        for t in range(1, self.iters + 1):
            tried = at(theta - slope * alpha)
            if stepsize is not None or value - tried[2] >= 0.5 * alpha * slope.dot(mu - tried[1]):
                theta, mu, value, slope = tried
                alpha *= 1.01 if stepsize is None else 1.0
            else:
                alpha *= 0.5
            self.tell(t, lambda: mu)  # noqa: B023 - called at once
        return MarkovRandomField(theta, mu, self.total, self.constraints)

    def _prior(self, stated: Stated) -> pypgm.GraphicalModel | None:
        """Return the start, if the optimum depends on it: if cells of its cliques are not measured one by one."""
        start = self.start
        if start is None or self.constraints or start.domain != self.domain:
            return None
        informative = [
            {*t.domain} for t in start.tables.values() if t.values.size and np.ptp(t.values) > 0 and t.domain
        ]
        is_whole = all(m.linear_map.shape[0] >= m.linear_map.shape[1] for m in stated.measurements)
        if is_whole and all(any(t <= {*c} for c in self.loss.cliques) for t in informative):
            return None
        return model_of(start, self.total)

    def _shared(self, bridge: Bridge, vector: pypgm.CliqueVector) -> tuple[CliqueVector, tuple[Constraint, ...]]:
        """Return the engine's potentials over the answer's cliques; constraints keep the rest."""
        parts = bridge.parts(bridge.scopes(vector), vector)
        potentials = parts.expand(self.cliques)
        left = {frozenset(c): t for c, t in parts.tables.items() if not potentials.supports(c)}
        kept = []
        for c in self.constraints:
            weights = left.pop(frozenset(c.domain), None)
            turned = None if weights is None else weights.transpose(c.domain.attributes)
            kept.append(Constraint(c.domain, c.valid, c.invalid, c.mapping, turned))
        return potentials, tuple(kept)

    def _model(self, potentials: CliqueVector, constraints: tuple[Constraint, ...]) -> MarkovRandomField:
        engine = model_of(potentials, self.total, constraints)
        marginals = Bridge.of(self.domain).tables(potentials.cliques, engine)
        model = MarkovRandomField(potentials, marginals, self.total, constraints)
        model.__dict__["engine"] = engine
        return model


def _suitable(method: str, stated: Stated, stepsize: float | None) -> str:
    """Return the method, or "auto" if the loss does not suit it."""
    is_measured, is_smooth = isinstance(stated.loss, pypgm.losses.L2), stated.loss.smooth
    if method == "auto":
        return "mirror_descent" if stepsize is not None and is_smooth else "auto"
    suits = {"dual_averaging": is_measured, "interior_gradient": is_measured, "lbfgs": is_smooth}
    return method if suits.get(method, True) else "auto"


def _function(kind: type[Estimator]) -> Callable[..., MarkovRandomField]:
    def estimate(
        domain: Domain,
        loss_fn: Any,
        *,
        marginal_oracle: Any = None,
        stepsize: float | None = None,
        stateful: bool = False,
        mesh: object = None,
        **options: Any,
    ) -> MarkovRandomField:
        """Return the model whose marginals have the least loss; see `Estimator.estimate`."""
        refuse_mesh(mesh)
        if not stateful:
            return kind(marginal_oracle, stepsize).estimate(domain, loss_fn, **options)
        if stepsize is None:
            raise ValueError("stateful=True needs a stepsize")
        marginals, total = approximate_oracles.pseudo_marginals(domain, loss_fn, **options)
        return MarkovRandomField(marginals.log(), marginals, total)

    return estimate


mirror_descent = _function(MirrorDescent)
dual_averaging = _function(DualAveraging)
interior_gradient = _function(InteriorGradient)
lbfgs = _function(LBFGS)
universal_accelerated_method = _function(UniversalAcceleratedMethod)


def mle_from_marginals(
    marginals: CliqueVector, known_total: float, iters: int = 250, **options: Any
) -> MarkovRandomField:
    """Return the model of largest likelihood, given the marginals of records."""
    return LBFGS().estimate(marginals.domain, mle_loss_fn(marginals), known_total, iters=iters, **options)
