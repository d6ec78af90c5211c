"""Estimators from measurements (Q, y, noise, proj), as mbi had them before 1.0."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from scipy import sparse

import pypgm
from pypgm.compat import OPTIONS
from pypgm.compat.mbi._engine import Bridge
from pypgm.compat.mbi.callbacks import Logger
from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.dataset import JaxDataset
from pypgm.compat.mbi.domain import Clique, Domain, as_clique
from pypgm.compat.mbi.extensions.mixture_of_products import MixtureOfProducts  # noqa: F401 - a name of this module
from pypgm.compat.mbi.factor import Factor
from pypgm.compat.mbi.graphical_model import Answers, GraphicalModel, as_tables
from pypgm.estimation.total import estimate_total

_METHODS = {"MD": "auto", "RDA": "dual_averaging", "IG": "interior_gradient"}


def _engine_measurements(bridge: Bridge, measurements: Any) -> list[pypgm.LinearMeasurement]:
    """Return 4-tuples (Q, y, noise, proj) as measurements of the engine."""
    if not isinstance(measurements, list) or any(len(each) != 4 for each in measurements):
        raise ValueError(f"measurements need a list of (Q, y, noise, proj), got {type(measurements).__name__}")
    converted = []
    for matrix, answers, noise, attrs in measurements:
        query: Any = None
        if hasattr(matrix, "matvec"):
            query = pypgm.queries.UserOperator(matrix.shape, matrix.matvec, matrix.rmatvec)
        elif matrix is not None:
            query = pypgm.queries.Matrix(matrix)
        values = np.asarray(answers, dtype=np.float64).reshape(-1)
        converted.append(pypgm.LinearMeasurement(values, bridge.clique(attrs), noise, query))
    return converted


def _total(bridge: Bridge, measured: list[pypgm.LinearMeasurement], total: float | None) -> float:
    if total is not None:
        return float(total)
    try:
        return max(1.0, estimate_total(bridge.engine, measured)[0])
    except ValueError:  # no measurement implies it
        return 1.0


class FactoredInference:
    """Estimates a graphical model from noisy measurements."""

    Factor = Factor
    oracle: Any = "exact"
    model: Any = None

    def __init__(
        self,
        domain: Domain,
        backend: str = "numpy",
        structural_zeros: Mapping[Any, Any] | None = None,
        metric: Any = "L2",
        log: bool = False,
        iters: int = 1000,
        warm_start: bool = False,
        elim_order: Any = None,
    ) -> None:
        del warm_start  # the engine needs no start
        if backend != "numpy":
            raise ValueError(f"backend must be 'numpy': arrays are NumPy's, got {backend!r}")
        self.log = log
        self.domain, self.metric, self.iters, self.elim_order = domain, metric, iters, elim_order
        self.structural_zeros = {as_clique(c): cells for c, cells in (structural_zeros or {}).items()}

    def estimate(
        self,
        measurements: Any,
        total: float | None = None,
        engine: Literal["MD", "RDA", "IG"] = "MD",
        callback: Callable[[CliqueVector], object] | None = None,
        options: Mapping[str, Any] = types.MappingProxyType({}),
    ) -> Any:
        """Return the model whose marginals are closest to measurements (Q, y, noise, proj)."""
        measured, records = self._setup(measurements, total)
        bridge = Bridge.of(self.domain)
        cliques = list(dict.fromkeys(self.domain.canonical(bridge.attributes[n] for n in m.clique) for m in measured))
        if callback is None and self.log:
            callback = Logger(self)
        if self.metric == "L1" and "stepsize" not in options:
            raise ValueError("metric 'L1' needs options={'stepsize': …}")
        how: dict[str, Any] = {"oracle": self.oracle, "loss": self._loss(cliques)}
        if self.oracle == "exact":
            how["method"] = _METHODS[engine] if self.metric == "L2" else "auto"
        is_free = how.get("method", "auto") == "auto" and isinstance(how["loss"], str)
        if callback is not None:
            how["callback"] = lambda state: callback(as_tables(self.domain, cliques, state.marginals))
        zeros = [
            pypgm.Constraint(bridge.clique(c), forbidden=[tuple(map(int, cell)) for cell in cells])
            for c, cells in self.structural_zeros.items()
        ]
        how |= {"iterations": max(1, self.iters), "tolerance": OPTIONS["tolerance"]}
        how["stop"] = OPTIONS["stop"] if is_free else "optimum"
        estimate = pypgm.estimate(bridge.engine, measured, records, constraints=zeros, **how)
        self.model = self._model(estimate, [*cliques, *self.structural_zeros], records)
        return self.model

    infer = estimate

    def mirror_descent(
        self, measurements: Any, total: float | None = None, stepsize: Any = None, callback: Any = None
    ) -> float:
        """Estimate by "MD"; return the loss."""
        self.estimate(measurements, total, "MD", callback, {} if stepsize is None else {"stepsize": stepsize})
        return self._marginal_loss(self.model.marginals)[0]

    def dual_averaging(
        self, measurements: Any, total: float | None = None, lipschitz: Any = None, callback: Any = None
    ) -> None:
        """Estimate by "RDA"; the engine measures how smooth the loss is."""
        del lipschitz
        self.estimate(measurements, total, "RDA", callback)

    def interior_gradient(
        self,
        measurements: Any,
        total: float | None = None,
        lipschitz: Any = None,
        c: float = 1,
        sigma: float = 1,
        callback: Any = None,
    ) -> None:
        """Estimate by "IG"; the engine measures how smooth the loss is."""
        del lipschitz, c, sigma
        self.estimate(measurements, total, "IG", callback)

    def fix_measurements(self, measurements: Any) -> list[tuple[Any, Any, float, Clique]]:
        """Return measurements with tuples of attributes and a matrix each; ``ValueError`` if they do not fit."""
        _engine_measurements(Bridge.of(self.domain), measurements)
        scopes = [as_clique(attributes) for *_, attributes in measurements]
        return [
            (sparse.eye(self.domain.size(c)) if q is None else q, y, noise, c)
            for (q, y, noise, _), c in zip(measurements, scopes, strict=True)
        ]

    def _setup(self, measurements: Any, total: float | None) -> tuple[list[pypgm.LinearMeasurement], float]:
        """Set the measurements and a model without knowledge; return the engine's measurements and the total."""
        bridge = Bridge.of(self.domain)
        measured = _engine_measurements(bridge, measurements)
        records = _total(bridge, measured, total)
        self.measurements = self.fix_measurements(measurements)
        if self.oracle == "exact":
            cliques = [*(c for *_, c in self.measurements), *self.structural_zeros]
            self.model = GraphicalModel(self.domain, cliques, records, self.elim_order)
        return measured, records

    def _marginal_loss(self, marginals: Mapping[Clique, Any], metric: Any = None) -> tuple[float, CliqueVector]:
        """Return the loss of the measurements at marginals, and its gradient."""
        metric = metric or self.metric
        if callable(metric):
            value, slopes = metric(marginals)
            return float(value), slopes
        loss, tables = 0.0, CliqueVector(self.domain, marginals.keys(), marginals)
        gradient = {c: Factor.zeros(self.domain.project(c)) for c in tables.cliques}
        for q, y, noise, clique in self.measurements:
            home = tables.parent(clique)
            if home is None:
                raise ValueError(f"a measurement is of {clique}, the marginals are of {tables.cliques}")
            gap = (q @ tables.project(clique).datavector() - y) / noise
            loss += float(np.abs(gap).sum() if metric == "L1" else gap @ gap / 2)
            slope = q.T @ (np.sign(gap) if metric == "L1" else gap) / noise
            gradient[home] = gradient[home] + Factor(self.domain.project(clique), slope)
        return loss, CliqueVector(self.domain, tables.cliques, gradient)

    def _lipschitz(self, measurements: Any) -> float:
        """Return how smooth the squared loss is, after `_setup`."""
        smooth = dict.fromkeys(self.model.cliques, 0.0)
        for q, _, noise, clique in self.fix_measurements(measurements):
            home = next(c for c in smooth if {*clique} <= {*c})
            squared = q.T @ q
            top = np.linalg.norm(squared, 2) if isinstance(q, np.ndarray) else sparse.linalg.norm(squared, 2)
            smooth[home] += float(top) * self.domain.size(home) / self.domain.size(clique) / noise**2
        return max(smooth.values())

    def _loss(self, cliques: list[Clique]) -> Any:
        if not callable(self.metric):
            return self.metric.lower()
        bridge, metric = Bridge.of(self.domain), self.metric

        def function(vector: pypgm.CliqueVector) -> tuple[float, pypgm.CliqueVector]:
            value, gradient = metric(as_tables(self.domain, cliques, vector))
            return float(value), bridge.vector(gradient[c] for c in cliques)

        return pypgm.losses.Custom(function, [bridge.clique(c) for c in cliques])

    def _model(self, estimate: Any, cliques: list[Clique], total: float) -> Any:
        model = GraphicalModel(self.domain, cliques, total, self.elim_order)
        model.potentials = model.over_tree(estimate)
        return model


class LocalInference(FactoredInference):
    """Estimates marginals that agree where cliques meet."""

    def __init__(
        self,
        domain: Domain,
        backend: str = "numpy",
        structural_zeros: Mapping[Any, Any] | None = None,
        metric: Any = "L2",
        log: bool = False,
        iters: int = 1000,
        warm_start: bool = False,
        marginal_oracle: str = "convex",
        inner_iters: int = 1,
    ) -> None:
        del inner_iters
        super().__init__(domain, backend, structural_zeros, metric, log, iters, warm_start)
        if not isinstance(marginal_oracle, str):
            raise TypeError(f"marginal_oracle is one of mbi's names here, got a {type(marginal_oracle).__name__}")
        if marginal_oracle in {"approx", "pairwise"}:
            warnings.warn(f"the oracle {marginal_oracle!r} is not convex: the convex one takes its place", stacklevel=2)
        self.oracle = "factor_graph" if "pairwise" in marginal_oracle else "region_graph"

    def mirror_descent(
        self, measurements: Any, total: float | None = None, initial_alpha: float = 10.0, callback: Any = None
    ) -> float:
        """Return the loss of an estimate, whose steps the engine chooses."""
        del initial_alpha
        return super().mirror_descent(measurements, total, callback=callback)

    def _model(self, answers: Any, cliques: list[Clique], total: float) -> Any:
        return Answers(self.domain, answers, cliques, total)


class PublicInference:
    """Gives public records weights that explain measurements of private ones."""

    def __init__(self, public_data: Any, metric: str = "L2") -> None:
        _check_l2(metric)
        self.public_data = public_data

    def estimate(self, measurements: Any, total: float | None = None) -> JaxDataset:
        """Return the public records with weights."""
        public, bridge = self.public_data, Bridge.of(self.public_data.domain)
        measured = _engine_measurements(bridge, measurements)
        records = pypgm.Dataset({bridge.names[a]: column for a, column in public.data.items()}, bridge.engine)
        reweighted = pypgm.reconstruction.reweight(records, measured, _total(bridge, measured, total))
        return JaxDataset(public.data, public.domain, reweighted.data.weights)


class MixtureInference:
    """Fits a mixture of products."""

    def __init__(
        self, domain: Domain, components: int = 10, metric: str = "L2", iters: int = 2500, warm_start: bool = False
    ) -> None:
        del warm_start
        _check_l2(metric)
        self.domain, self.components, self.iters = domain, components, iters

    def estimate(self, measurements: Any, total: float | None = None, alpha: float = 0.1) -> Any:
        """Return the mixture; the engine needs no step size."""
        del alpha
        bridge = Bridge.of(self.domain)
        measured = _engine_measurements(bridge, measurements)
        records, project = _total(bridge, measured, total), pypgm.reconstruction.relaxed_projection
        projection = project(bridge.engine, measured, records, kinds=self.components, iterations=self.iters)
        return Answers(self.domain, projection, [], records)


def _check_l2(metric: str) -> None:
    if metric != "L2":
        raise ValueError(f"the metric is 'L2' here, got {metric!r}")
