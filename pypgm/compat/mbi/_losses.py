"""A user's loss as the engine takes it: with its gradient."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import pypgm
from pypgm.compat.mbi._engine import Bridge
from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.domain import Clique, Domain
from pypgm.compat.mbi.factor import Factor
from pypgm.compat.mbi.marginal_loss import (
    DatavectorQuery,
    LinearMeasurement,
    MarginalLossFn,
    Stated,
    from_linear_measurements,
)

__all__ = ["loss_and_total", "minimum_variance_unbiased_total", "stated_loss"]

_Differentiated = Callable[[CliqueVector], tuple[float, CliqueVector]]


def minimum_variance_unbiased_total(measurements: Iterable[LinearMeasurement]) -> float:
    """Return the number of records that measurements of all cells tell, weighted by their precision; at least 1."""
    estimates, weights = [], []
    for m in measurements:
        if m.query is Factor.datavector or (isinstance(m.query, DatavectorQuery) and m.query.use_for_total_estimation):
            values = np.asarray(m.noisy_measurement, dtype=np.float64)
            estimates.append(values.sum())
            weights.append(1 / (max(float(m.stddev), 1e-12) ** 2 * max(1, values.size)))
    return max(1.0, float(np.average(estimates, weights=weights))) if estimates else 1.0


def loss_and_total(loss_fn: Any, domain: Domain, known_total: float | None) -> tuple[MarginalLossFn, float]:
    """Return a loss and the number of records, the loss of measurements if these were given."""
    if not isinstance(loss_fn, MarginalLossFn):
        measured = list(loss_fn)
        total = minimum_variance_unbiased_total(measured) if known_total is None else float(known_total)
        return from_linear_measurements(measured), total
    if known_total is None:
        warnings.warn("a loss does not tell how many records there are: known_total is taken for 1", stacklevel=3)
    for clique in loss_fn.cliques:
        domain.project(clique)
    return loss_fn, 1.0 if known_total is None else float(known_total)


def stated_loss(loss: MarginalLossFn, bridge: Bridge) -> Stated:
    """Return a loss as the engine states it.

    Raises
    ------
    TypeError
        If it tells no gradient, and neither JAX nor autograd finds one.
    """
    if loss.stated is not None:
        return loss.stated(bridge)
    cliques = list(loss.cliques)
    differentiated = _differentiated(loss, cliques, bridge.domain)
    scopes = [bridge.clique(c) for c in cliques]

    def function(found: pypgm.CliqueVector) -> tuple[float, pypgm.CliqueVector]:
        tables = {
            c: bridge.table(c, pypgm.Factor(bridge.engine.project(found.cliques[i]), found.table(i)))
            for i, c in enumerate(cliques)
        }
        value, gradient = differentiated(CliqueVector(bridge.domain, cliques, tables))
        return float(value), bridge.vector(gradient[c] for c in cliques)

    return Stated([], pypgm.losses.Custom(function, scopes))


def _differentiated(loss: MarginalLossFn, cliques: list[Clique], domain: Domain) -> _Differentiated:
    """Return a loss as one that tells value and gradient."""
    uniform = CliqueVector.ones(domain, cliques).normalize(log=False)
    if isinstance(loss(uniform), tuple):
        return loss
    for name in ("jax", "autograd"):
        try:
            differentiate = importlib.import_module(name).value_and_grad
        except (ImportError, AttributeError):
            continue
        function = _by(differentiate, loss, cliques, domain)
        try:
            function(uniform)
        except Exception as error:  # of JAX's many kinds
            raise TypeError(f"{name} cannot differentiate the loss: let it return (value, gradient)") from error
        return function
    raise TypeError(
        "the engine needs a gradient: let the loss return (value, CliqueVector), make it by from_linear_measurements "
        "or mle_loss_fn, or install jax or autograd and write it in that"
    )


def _by(differentiate: Any, loss: MarginalLossFn, cliques: list[Clique], domain: Domain) -> _Differentiated:
    """Return value and gradient of a loss by another library, whose arrays the tables then hold."""
    gradient = differentiate(lambda arrays: loss(_of_arrays(domain, cliques, arrays)))

    def function(mu: CliqueVector) -> tuple[float, CliqueVector]:
        value, slopes = gradient([np.asarray(mu[c].values) for c in cliques])
        tables = {c: Factor(domain.project(c), np.asarray(s)) for c, s in zip(cliques, slopes, strict=True)}
        return float(value), CliqueVector(domain, cliques, tables)

    return function


def _of_arrays(domain: Domain, cliques: list[Clique], arrays: list[Any]) -> CliqueVector:
    """Return tables that hold arrays of another library as they are."""
    tables = {}
    for clique, array in zip(cliques, arrays, strict=True):
        table = object.__new__(Factor)
        object.__setattr__(table, "domain", domain.project(clique))
        object.__setattr__(table, "values", array)
        tables[clique] = table
    return CliqueVector(domain, cliques, tables)
