"""OpenDP: an estimator for its mechanisms, and the measurements in their releases."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

import pypgm
from pypgm.compat import mbi
from pypgm.compat.mbi._engine import Bridge

__all__ = ["estimator", "measurements"]


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
