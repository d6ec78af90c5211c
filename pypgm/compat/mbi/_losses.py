"""Users' losses in the engine's form, with their gradients."""

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

_Differentiated = Callable[[CliqueVector], tuple[float, CliqueVector]]


def minimum_variance_unbiased_total(measurements: Iterable[LinearMeasurement]) -> float:
    """Return the number of records by measurements of all cells, weighted by their precision; at least 1."""
    estimates, weights = [], []
    for m in measurements:
        if m.query is Factor.datavector or (isinstance(m.query, DatavectorQuery) and m.query.use_for_total_estimation):
            values = np.asarray(m.noisy_measurement, dtype=np.float64)
            estimates.append(values.sum())
            weights.append(1 / (max(float(m.stddev), 1e-12) ** 2 * max(1, values.size)))
    return max(1.0, float(np.average(estimates, weights=weights))) if estimates else 1.0


def loss_and_total(loss_fn: Any, domain: Domain, known_total: float | None) -> tuple[MarginalLossFn, float]:
    """Return a loss and the number of records; measurements, if given, imply both."""
    if not isinstance(loss_fn, MarginalLossFn):
        measured = list(loss_fn)
        total = minimum_variance_unbiased_total(measured) if known_total is None else float(known_total)
        return from_linear_measurements(measured), total
    if known_total is None:
        warnings.warn("a loss does not imply a number of records: known_total is assumed to be 1", stacklevel=3)
    for clique in loss_fn.cliques:
        domain.project(clique)
    return loss_fn, 1.0 if known_total is None else float(known_total)


def stated_loss(loss: MarginalLossFn, bridge: Bridge) -> Stated:
    """Return a loss in the engine's form.

    Raises
    ------
    TypeError
        If the loss gives no gradient, and neither JAX nor autograd finds one.
    """
    if loss.stated is not None:
        return loss.stated(bridge)
    cliques = list(loss.cliques)
    differentiated = _differentiated(loss, cliques, bridge.domain)
    scopes = [bridge.clique(c) for c in cliques]

    def function(marginals: pypgm.CliqueVector) -> tuple[float, pypgm.CliqueVector]:
        value, gradient = differentiated(bridge.parts(cliques, marginals))
        return float(value), bridge.vector(gradient[c] for c in cliques)

    return Stated([], pypgm.losses.Custom(function, scopes))


def _differentiated(loss: MarginalLossFn, cliques: list[Clique], domain: Domain) -> _Differentiated:
    """Return a loss as a function that gives value and gradient."""
    uniform = CliqueVector.ones(domain, cliques).normalize(log=False)
    if isinstance(loss(uniform), tuple):
        return loss
    for name in ("jax", "autograd"):
        try:
            gradient = importlib.import_module(name).value_and_grad(
                lambda arrays: loss(_vector(domain, cliques, arrays))
            )
        except (ImportError, AttributeError):
            continue

        def function(mu: CliqueVector, by: Any = gradient) -> tuple[float, CliqueVector]:
            value, slopes = by([np.asarray(mu[c].values) for c in cliques])
            return float(value), _vector(domain, cliques, map(np.asarray, slopes))

        try:
            function(uniform)
        except Exception as error:  # any of JAX's many kinds of errors
            raise TypeError(f"{name} cannot differentiate the loss: let it return (value, gradient)") from error
        return function
    raise TypeError(
        "the engine needs a gradient: let the loss return (value, CliqueVector), make it by from_linear_measurements "
        "or mle_loss_fn, or install jax or autograd and write it in that"
    )


def _vector(domain: Domain, cliques: list[Clique], arrays: Iterable[Any]) -> CliqueVector:
    """Return tables of arrays, of any library, without converting them."""
    tables = {c: Factor.zeros(domain.project(c)) for c in cliques}
    for table, array in zip(tables.values(), arrays, strict=True):
        object.__setattr__(table, "values", array)
    return CliqueVector(domain, cliques, tables)
