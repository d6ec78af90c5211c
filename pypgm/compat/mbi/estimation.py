"""Estimators: one call of the engine each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import pypgm
from pypgm.compat._options import OPTIONS
from pypgm.compat.mbi import approximate_oracles, marginal_oracles
from pypgm.compat.mbi._engine import Bridge, done, model_of
from pypgm.compat.mbi._losses import loss_and_total, minimum_variance_unbiased_total, stated_loss
from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.constraint import Constraint
from pypgm.compat.mbi.domain import Clique, Domain
from pypgm.compat.mbi.factor import refuse_mesh
from pypgm.compat.mbi.marginal_loss import MarginalLossFn, Stated, mle_loss_fn
from pypgm.compat.mbi.markov_random_field import MarkovRandomField

__all__ = [
    "CALLBACK_EVERY",
    "LBFGS",
    "DualAveraging",
    "Estimator",
    "InteriorGradient",
    "MirrorDescent",
    "UniversalAcceleratedMethod",
    "dual_averaging",
    "interior_gradient",
    "lbfgs",
    "minimum_variance_unbiased_total",
    "mirror_descent",
    "mle_from_marginals",
    "universal_accelerated_method",
]

CALLBACK_EVERY = 50
Callback = Callable[[CliqueVector], object]


@dataclass
class Estimator:
    """What all estimators share: the loss is minimised by the engine, on a junction tree."""

    method: ClassVar[str] = "auto"

    marginal_oracle: Any = None
    stepsize: float | None = None
    mesh: Any = None

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
            Number of records; else what measurements tell.
        constraints : sequence of Constraint
        iters : int
            Oracle calls at most; the search ends at the optimum.
        callback_fn : callable, optional
            Called with the marginals of the loss's cliques every `CALLBACK_EVERY` iterations.
        warm_start, potentials : MarkovRandomField or CliqueVector, optional
            Where to start; the model has their cliques if these hold those of the loss.
        tol : float, optional
            Loss that may be left, relative.
        patience : int
            Not needed: the distance from the optimum is known.
        """
        del patience
        refuse_mesh(self.mesh)
        loss, total = loss_and_total(loss_fn, domain, known_total)
        start = warm_start if potentials is None else potentials
        first = getattr(start, "potentials", start)
        ask = _Request(domain, loss, total, tuple(constraints), int(iters), callback_fn, first, tol)
        if marginal_oracles.is_exact(self.marginal_oracle):
            model = ask.by_engine(self.method, self.stepsize)
        else:
            model = ask.by_oracle(self.marginal_oracle, self.stepsize)
        if tol is not None and self._loss_value(model, loss, total, constraints) is None:
            raise ValueError(f"tol needs a loss, and {type(self).__name__} tells none")
        return model

    def _loss_value(self, state: Any, loss_fn: Any, known_total: float, constraints: Any = ()) -> Any:
        del known_total, constraints
        return loss_fn(state.marginals)

    def precompile(self, domain: Domain, *measurements: Any, **options: Any) -> Future[Any]:
        """Return a finished future: there is nothing to compile."""
        del domain, measurements, options
        return done()


class MirrorDescent(Estimator):
    """The engine's choice of method; mirror descent where a step is given."""


@dataclass
class _WithoutStep(Estimator):
    def __init__(self, marginal_oracle: Any = None, mesh: Any = None) -> None:
        super().__init__(marginal_oracle, None, mesh)


class DualAveraging(_WithoutStep):
    """Regularised dual averaging."""

    method = "dual_averaging"


class InteriorGradient(_WithoutStep):
    """The interior gradient method."""

    method = "interior_gradient"


class LBFGS(_WithoutStep):
    """Quasi-Newton steps over the potentials."""

    method = "lbfgs"


class UniversalAcceleratedMethod(_WithoutStep):
    """The universal gradient method; what tunes mbi's is not needed."""

    method = "universal"

    def __init__(self, marginal_oracle: Any = None, *tuning: Any, mesh: Any = None, **further: Any) -> None:
        del tuning, further
        super().__init__(marginal_oracle, mesh)


@dataclass(frozen=True)
class _Request:
    domain: Domain
    loss: MarginalLossFn
    total: float
    constraints: tuple[Constraint, ...]
    iters: int
    callback: Callback | None
    start: CliqueVector | None
    tol: float | None

    @property
    def cliques(self) -> Sequence[Clique]:
        """The cliques of the answer."""
        own: Sequence[Clique] = self.loss.cliques
        start = self.start
        return start.cliques if start is not None and all(map(start.supports, own)) else own

    def by_engine(self, method: str, stepsize: float | None) -> MarkovRandomField:
        """Return the model that the engine finds."""
        bridge = Bridge.of(self.domain)
        stated = stated_loss(self.loss, bridge)
        blocks = _Blocks(self, bridge)
        if not stated.loss.cliques and not self.constraints:
            return blocks.closed(self._model(CliqueVector.zeros(self.domain, self.cliques)))
        options: dict[str, Any] = {"method": _suitable(method, stated, stepsize), "stop": OPTIONS["stop"]}
        if options["method"] == "mirror_descent":
            options["stepsize"] = stepsize
        if options["method"] not in {"auto", "accelerated"} or not stated.measurements:
            options["stop"] = "optimum"
        found = pypgm.estimate(
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
            callback=None if self.callback is None else blocks.look,
            **options,
        )
        return blocks.closed(self._model(*self._shared(bridge, found)))

    def by_oracle(self, oracle: Callable[..., CliqueVector], stepsize: float | None) -> MarkovRandomField:
        """Return what mirror descent with a foreign oracle finds; a step is halved where it does not lower the loss."""
        bridge = Bridge.of(self.domain)
        cliques = list(self.loss.cliques)
        theta = CliqueVector.zeros(self.domain, cliques) if self.start is None else self.start.expand(cliques)
        shape = bridge.vector(theta.tables[c] for c in cliques)
        evaluate = stated_loss(self.loss, bridge).loss.on(bridge.engine, shape.cliques)

        def at(mu: CliqueVector) -> tuple[float, CliqueVector]:
            value, slopes = evaluate(bridge.vector(mu.tables[c] for c in cliques).values)
            found = shape.like(slopes)
            back = {c: bridge.table(c, pypgm.Factor(bridge.engine.project(shape.cliques[i]), found.table(i)))
                    for i, c in enumerate(cliques)}  # fmt: skip
            return value, CliqueVector(self.domain, cliques, back)

        alpha = 2 / ((self.loss.lipschitz or 1.0) * self.total) if stepsize is None else float(stepsize)
        mu = oracle(theta, self.total)
        value, slope = at(mu)
        for t in range(1, self.iters + 1):
            tried = theta - slope * alpha
            there = oracle(tried, self.total)
            lower, steeper = at(there)
            if stepsize is not None or value - lower >= 0.5 * alpha * slope.dot(mu - there):
                theta, mu, value, slope = tried, there, lower, steeper
                alpha *= 1.01 if stepsize is None else 1.0
            else:
                alpha *= 0.5
            if self.callback is not None and t % CALLBACK_EVERY == 0:
                self.callback(mu)
        return self._model(theta, mu)

    def _prior(self, stated: Stated) -> pypgm.GraphicalModel | None:
        """Return the start, if the optimum depends on it: where cells of its cliques are not measured one by one."""
        start = self.start
        if start is None or self.constraints or start.domain != self.domain:
            return None
        told = [t for t in start.tables.values() if t.values.size and np.ptp(t.values) > 0 and len(t.domain)]
        whole = all(m.linear_map.shape[0] >= m.linear_map.shape[1] for m in stated.measurements)
        held = [set(c) for c in self.loss.cliques]
        if whole and all(any(set(t.domain.attributes) <= c for c in held) for t in told):
            return None
        return model_of(start, self.total)

    def _shared(self, bridge: Bridge, found: pypgm.GraphicalModel) -> tuple[CliqueVector, tuple[Constraint, ...]]:
        """Return the engine's potentials over the answer's cliques; what none of these holds, constraints keep."""
        back = {name: a for a, name in bridge.names.items()}
        scopes = [tuple(back[name] for name in c) for c in found.potentials.cliques]
        tables = {c: bridge.table(c, found.potentials[bridge.clique(c)]) for c in scopes}
        own = CliqueVector(self.domain, scopes, tables)
        potentials = own.expand(self.cliques)
        left = {frozenset(c): t for c, t in tables.items() if not potentials.supports(c)}
        kept = []
        for c in self.constraints:
            weights = left.pop(frozenset(c.domain.attributes), None)
            turned = None if weights is None else weights.transpose(c.domain.attributes)
            kept.append(Constraint(c.domain, c.valid, c.invalid, c.mapping, turned))
        return potentials, tuple(kept)

    def _model(self, potentials: CliqueVector, more: Any = ()) -> MarkovRandomField:
        if isinstance(more, CliqueVector):
            return MarkovRandomField(potentials, more, self.total, self.constraints)
        constraints = more or self.constraints
        engine = model_of(potentials, self.total, constraints)
        marginals = Bridge.of(self.domain).tables(potentials.cliques, engine)
        model = MarkovRandomField(potentials, marginals, self.total, constraints)
        model.__dict__["engine"] = engine
        return model


class _Blocks:
    """Calls a callback of mbi once for each block of iterations."""

    def __init__(self, request: _Request, bridge: Bridge) -> None:
        self._request = request
        self._bridge = bridge
        self._called = 0

    def look(self, state: Any) -> None:
        if state.iteration // CALLBACK_EVERY > self._called:
            cliques, marginals = self._request.loss.cliques, state.marginals
            found = {c: self._bridge.table(c, marginals.project(self._bridge.clique(c))) for c in cliques}
            self._call(CliqueVector(self._request.domain, cliques, found))

    def _call(self, marginals: CliqueVector) -> None:
        self._called += 1
        if self._request.callback is not None:
            self._request.callback(marginals)

    def closed(self, model: MarkovRandomField) -> MarkovRandomField:
        """Call it with the end, as often as the iterations asked for had it called; return the model."""
        if self._request.callback is not None:
            wanted = math.ceil(self._request.iters / CALLBACK_EVERY) if self._request.tol is None else self._called + 1
            for _ in range(wanted - self._called):
                self._call(CliqueVector.from_projectable(model, self._request.loss.cliques))
        return model


def _suitable(method: str, stated: Stated, stepsize: float | None) -> str:
    """Return the method, or "auto" where the loss is not for it."""
    measured = isinstance(stated.loss, pypgm.losses.L2)
    if method == "auto" and stepsize is not None and stated.loss.smooth:
        return "mirror_descent"
    if method in {"dual_averaging", "interior_gradient"} and not measured:
        return "auto"
    return "auto" if method == "lbfgs" and not stated.loss.smooth else method


def _function(kind: type[Estimator]) -> Callable[..., MarkovRandomField]:
    def estimate(
        domain: Domain,
        loss_fn: Any,
        *,
        known_total: float | None = None,
        potentials: Any = None,
        marginal_oracle: Any = None,
        iters: int = 1000,
        callback_fn: Callback | None = None,
        mesh: Any = None,
        stateful: bool = False,
        stepsize: float | None = None,
        **options: Any,
    ) -> MarkovRandomField:
        """Return the model whose marginals have the least loss; see `Estimator.estimate`."""
        refuse_mesh(mesh)
        if stateful:
            if stepsize is None:
                raise ValueError("stateful=True needs a stepsize")
            return _stateful(domain, loss_fn, known_total, iters, callback_fn)
        estimator = kind(marginal_oracle)
        estimator.stepsize = stepsize
        return estimator.estimate(
            domain, loss_fn, known_total, iters=iters, callback_fn=callback_fn, potentials=potentials, **options
        )

    return estimate


def _stateful(domain: Domain, loss_fn: Any, known_total: float | None, iters: int, callback: Any) -> MarkovRandomField:
    marginals, total = approximate_oracles.pseudo_marginals(domain, loss_fn, known_total, iters, callback)
    return MarkovRandomField(marginals.log(), marginals, total)


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
