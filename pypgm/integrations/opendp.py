"""OpenDP: mechanisms as its measurements, an estimator for its own, and the measurements in their releases."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import pypgm
from pypgm.compat import mbi
from pypgm.compat.mbi._engine import Bridge
from pypgm.data.schema.schema import SchemaLike, as_any_schema
from pypgm.privacy.arguments import as_budget
from pypgm.privacy.ledger_report import upward
from pypgm.privacy.rational import Number
from pypgm.queries import Neighbours

__all__ = ["estimator", "measurement", "measurements"]

_LARGEST = 700.0  # whose exponential is a double


def measurement(
    schema: SchemaLike,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    budget: pypgm.Budget | None = None,
    neighbours: Neighbours = "add-remove",
    **options: Any,
) -> Any:
    """Return a mechanism as a measurement of OpenDP, to be composed there with others.

    It takes what `pypgm.synthesize` takes as a table, and returns its release. Its distance is the number of records
    that two tables differ in: those of one table alone for "add-remove" (``symmetric_distance``), changed ones for
    "replace" (``change_one_distance``). Its cost at distance 1 is the budget, which the ledger of the release never
    exceeds; at greater distances it is that of groups. OpenDP's features "contrib" and "honest-but-curious" must be
    enabled.

    Parameters
    ----------
    schema : Schema, Domain, mapping or path
        Without a person: distances are in records.
    epsilon, delta, budget
        The guarantee at distance 1: pure, approximate or in zCDP, which is the measure of its cost.
    neighbours : {"add-remove", "replace"}
    **options
        Further arguments of `pypgm.synthesize`, such as ``mechanism``.

    Returns
    -------
    opendp.Measurement
        With a user-defined ``input_domain``, which ``Context.compositor(..., domain=)`` takes.

    Raises
    ------
    ValueError
        If the schema names a person, or the budget is out of range.

    Examples
    --------
    >>> import opendp.prelude as dp  # doctest: +SKIP
    >>> dp.enable_features("contrib", "honest-but-curious")  # doctest: +SKIP
    >>> made = measurement({"sex": ["F", "M"]}, epsilon=1.0, mechanism="mwem")  # doctest: +SKIP
    >>> made.map(2)  # doctest: +SKIP
    2.0
    """
    import opendp.prelude as dp

    known = as_any_schema(schema)
    if known.person is not None:
        raise ValueError("distances of OpenDP are in records: the schema of a measurement names no person")
    whole = as_budget(epsilon, delta, budget)
    measure, cost = _cost(dp, whole)
    metric = dp.symmetric_distance() if neighbours == "add-remove" else dp.change_one_distance()
    return dp.m.make_user_measurement(
        dp.user_domain("tables of pypgm", lambda _: True),
        metric,
        measure,
        lambda table: pypgm.synthesize(table, known, budget=whole, neighbours=neighbours, **options),
        cost,
    )


def _cost(dp: Any, budget: pypgm.Budget) -> tuple[Any, Callable[[int], Any]]:
    """Return the measure of a budget, and the most that it comes to at a distance, rounded up."""
    if budget.epsilon is None and budget.unit == "rho":
        if budget.reserved_delta:
            raise ValueError("a measurement of OpenDP in zCDP reserves no delta: use epsilon and delta")
        measure, per_record = dp.zero_concentrated_divergence(), upward(budget.limit)
        return measure, lambda distance: _up(per_record * distance**2)
    epsilon = upward(budget.epsilon if budget.epsilon is not None else budget.limit)
    if not budget.delta:
        return dp.max_divergence(), lambda distance: _up(epsilon * distance)
    delta = upward(budget.delta)

    def of_group(distance: int) -> tuple[float, float]:
        total = epsilon * distance
        if total > _LARGEST:
            return _up(total), 1.0
        # delta times the sum of e^(i epsilon) over all i below the distance, which OpenDP may ask of 2^32
        passes = delta * (math.expm1(total) / math.expm1(epsilon) if epsilon else distance)
        return _up(total), min(1.0, _up(passes))

    return dp.approximate(dp.max_divergence()), of_group


def _up(number: float) -> float:
    """Return a number that rounding of a few operations leaves above."""
    return number and number * (1 + 1e-12)


def estimator(domain: Any, loss_fn: Any, *, potentials: Any = None) -> Any:
    """Return the model of least loss, as `opendp.extras.mbi` expects it of an ``estimator``.

    For those who keep mbi: ``dp.mbi.AIM(estimator=pypgm.integrations.opendp.estimator)``. The model is one of the
    installed `mbi`, and has mbi's own records; without mbi and JAX call `pypgm.compat.install_as_mbi` instead.

    Parameters
    ----------
    domain : mbi.Domain
    loss_fn : list of mbi.LinearMeasurement
    potentials : mbi.CliqueVector, optional
        The start of the estimate: dependence that is not measured is kept.

    Returns
    -------
    mbi.MarkovRandomField
    """
    theirs: Any = importlib.import_module("mbi")
    ours = _domain(domain)
    start = potentials
    if start is not None:
        tables = {c: np.asarray(start[c].values) for c in start.cliques}
        start = mbi.CliqueVector(ours, tables, {c: mbi.Factor(ours.project(c), v) for c, v in tables.items()})
    model = mbi.estimation.mirror_descent(ours, [_measurement(m) for m in loss_fn], potentials=start)

    def back(vector: mbi.CliqueVector) -> Any:
        tables = {c: theirs.Factor(domain.project(c), vector[c].values) for c in vector.cliques}
        return theirs.CliqueVector(domain, list(tables), tables)

    return theirs.MarkovRandomField(
        potentials=back(model.potentials), marginals=back(model.marginals), total=model.total
    )


def measurements(table: Any) -> tuple[pypgm.Domain, list[pypgm.LinearMeasurement]]:
    """Return the domain and measurements, for `pypgm.estimate`, of a contingency table that OpenDP has released.

    Parameters
    ----------
    table : opendp.extras.mbi.ContingencyTable
        The release. Its keys become the labels of the domain, a missing one the text "null"; a total becomes a
        measurement of the sum over the smallest attribute.

    Returns
    -------
    domain : Domain
    measurements : list of LinearMeasurement
    """
    labels = {str(name): ["null" if key is None else str(key) for key in keys] for name, keys in table.keys.items()}
    domain, mbi_domain = pypgm.Domain(labels), mbi.Domain(labels, map(len, labels.values()))
    least = min(labels, key=lambda name: len(labels[name]))
    sums = pypgm.queries.Matrix(np.ones((1, len(labels[least]))))
    converted = []
    for m in map(_measurement, table.marginals.flatten()):
        if m.clique:
            converted.append(m.engine(Bridge.of(mbi_domain)))
        else:
            converted.append(pypgm.LinearMeasurement(np.ravel(m.noisy_measurement), (least,), m.stddev, sums))
    return domain, converted


def _domain(domain: Any) -> mbi.Domain:
    return mbi.Domain.fromdict(domain.config)


def _measurement(m: Any) -> mbi.LinearMeasurement:
    """Return a measurement of any mbi as ours; its own query is called with our tables."""
    is_whole = getattr(m.query, "__name__", type(m.query).__name__) in {"datavector", "DatavectorQuery"}
    query = {} if is_whole else {"query": m.query}
    return mbi.LinearMeasurement(np.asarray(m.noisy_measurement), m.clique, float(m.stddev), **query)
