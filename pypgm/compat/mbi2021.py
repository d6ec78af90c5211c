"""The surface of mbi's generation of 2021, around `FactoredInference`, over pypgm's engine."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

import pypgm
from pypgm._base.numeric import numpy_seed
from pypgm.compat import OPTIONS
from pypgm.compat.mbi import dataset as _dataset
from pypgm.compat.mbi import domain as _domain
from pypgm.compat.mbi import factor as _factor
from pypgm.compat.mbi._engine import Bridge
from pypgm.compat.mbi.domain import Clique, as_clique
from pypgm.compat.mbi.junction_tree import make_junction_tree
from pypgm.estimation.total import estimate_total

_METHODS = {"MD": "auto", "RDA": "dual_averaging", "IG": "interior_gradient"}


class Domain(_domain.Domain):
    """Attributes with sizes."""

    def transpose(self, attrs: object) -> _domain.Domain:
        return self.project(attrs)

    def sort(self, how: Literal["size", "name"] = "size") -> _domain.Domain:
        """Return the domain with its attributes by size or by name."""
        return self.project(sorted(self.attributes, key=self.config.__getitem__ if how == "size" else None))


class Factor(_factor.Factor):
    """A table of numbers over a domain; 0 divided by 0 is 0."""

    @staticmethod
    def uniform(domain: _domain.Domain) -> Factor:
        return Factor(domain, np.full(domain.shape, 1 / domain.size()))

    @staticmethod
    def active(domain: _domain.Domain, structural_zeros: Iterable[tuple[int, ...]]) -> Factor:
        """Return a table of 0, with -inf in the named cells."""
        values = np.zeros(domain.shape)
        values[tuple(np.array(list(structural_zeros)).T)] = -np.inf
        return Factor(domain, values)

    condition = _factor.Factor.slice

    def logaddexp(self, other: _factor.Factor) -> _factor.Factor:
        return self._with(other, np.logaddexp)

    def copy(self) -> Factor:
        return Factor(self.domain, self.values.copy())

    def __truediv__(self, other: object) -> _factor.Factor:
        divided = super().__truediv__(other)
        return Factor(divided.domain, np.where(np.isnan(divided.values), 0.0, divided.values))


class CliqueVector(dict[Clique, Any]):
    """A dict of tables by clique, with arithmetic."""

    @staticmethod
    def zeros(domain: _domain.Domain, cliques: Iterable[Clique]) -> CliqueVector:
        return CliqueVector({c: Factor.zeros(domain.project(c)) for c in cliques})

    @staticmethod
    def from_data(data: Dataset, cliques: Iterable[Clique]) -> CliqueVector:
        return CliqueVector({c: Factor(data.domain.project(c), data.project(c).datavector()) for c in cliques})

    def combine(self, other: Mapping[Clique, Any]) -> None:
        """Add the tables of another vector, each to the first clique that holds it."""
        for clique, table in other.items():
            home = next((c for c in self if {*clique} <= {*c}), None)
            if home is not None:
                self[home] = self[home] + table

    def _each(self, how: Callable[[Any, Clique], Any]) -> CliqueVector:
        return CliqueVector({c: how(table, c) for c, table in self.items()})

    def __add__(self, other: Any) -> CliqueVector:
        return self._each(lambda table, c: table + (other[c] if isinstance(other, dict) else other))

    def __mul__(self, const: float) -> CliqueVector:
        return self._each(lambda table, _: table * const)

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> CliqueVector:
        negative: CliqueVector = other * -1
        return self + negative

    def exp(self) -> CliqueVector:
        return self._each(lambda table, _: table.exp())

    def log(self) -> CliqueVector:
        return self._each(lambda table, _: table.log())

    def dot(self, other: Mapping[Clique, Any]) -> float:
        return float(sum((self[c] * other[c]).values.sum() for c in self))

    def size(self) -> int:
        return sum(table.values.size for table in self.values())


class Dataset(_dataset.Dataset):
    """Records; a projection of them is records of fewer columns."""

    def project(self, cols: object) -> Any:
        return self._changed(self.domain.project(cols), self._data)

    def datavector(self, flatten: bool = True) -> Any:
        return super().project(self.domain.attributes).datavector(flatten)


def _tables(domain: _domain.Domain, cliques: Iterable[object], answers: Any) -> CliqueVector:
    """Return the projections of one of the engine's answers onto cliques."""
    vector = Bridge.of(domain).marginals([*map(as_clique, cliques)], answers)
    return CliqueVector({c: Factor(table.domain, table.values) for c, table in vector.tables.items()})


class _Answers:
    """A model of the engine with this generation's names."""

    def __init__(self, domain: _domain.Domain, engine: Any, cliques: Iterable[Clique], total: float) -> None:
        self.domain, self.engine, self.cliques, self.total = domain, engine, list(cliques), total

    def calculate_many_marginals(self, projections: Iterable[object]) -> CliqueVector:
        return _tables(self.domain, projections, self.engine)

    @cached_property
    def marginals(self) -> CliqueVector:
        """Marginals of its cliques, in counts."""
        return self.calculate_many_marginals(self.cliques)

    def project(self, attrs: object) -> Factor:
        """Return the marginal of any attributes, in counts."""
        table: Factor = self.calculate_many_marginals([attrs])[as_clique(attrs)]
        return table

    def datavector(self, flatten: bool = True) -> Any:
        return self.project(self.domain.attributes).datavector(flatten)

    def synthetic_data(self, rows: int | None = None, method: Literal["round", "sample"] = "round") -> Dataset:
        """Return records."""
        how = {} if method == "round" else {"method": "independent"}
        drawn = self.engine.synthetic_data(max(1, int(rows or self.total)), rng=numpy_seed(), **how).columns
        names = Bridge.of(self.domain).names
        return Dataset({a: np.asarray(drawn[n], dtype=np.int64) for a, n in names.items()}, self.domain)


class GraphicalModel(_Answers):
    """A distribution by potentials over the cliques of a junction tree, dicts of tables."""

    def __init__(
        self, domain: _domain.Domain, cliques: Iterable[object], total: float = 1.0, elimination_order: Any = None
    ) -> None:
        tree, self.elimination_order = make_junction_tree(domain, cliques, elimination_order)
        super().__init__(domain, None, tree.nodes, float(total))
        self.size = sum(domain.size(c) for c in self.cliques)
        self.potentials = CliqueVector.zeros(domain, self.cliques)

    @property
    def potentials(self) -> CliqueVector:
        """Natural logs by clique."""
        return self._potentials

    @potentials.setter
    def potentials(self, potentials: Mapping[Clique, Any]) -> None:
        self._potentials, self.engine = CliqueVector(potentials), self._of(potentials)
        self.__dict__.pop("marginals", None)

    def _of(self, potentials: Mapping[Clique, Any]) -> pypgm.GraphicalModel:
        return pypgm.GraphicalModel(Bridge.of(self.domain).vector(potentials.values()), self.total)

    def belief_propagation(self, potentials: Mapping[Clique, Any], logZ: bool = False) -> Any:  # noqa: N803
        """Return the marginals of potentials in counts, or the log of their normaliser."""
        model = self._of(potentials)
        return model.log_partition() if logZ else _tables(self.domain, self.cliques, model)

    def krondot(self, matrices: Sequence[Any]) -> Any:
        """Return the answers to a product of queries, one for each attribute."""
        names = Bridge.of(self.domain).names.values()
        blocks = {name: pypgm.queries.Matrix(np.asarray(m)) for name, m in zip(names, matrices, strict=True)}
        return self.engine.answer(pypgm.KroneckerQuery(blocks))

    def mle(self, marginals: Mapping[Clique, Any]) -> CliqueVector:
        """Return the potentials of given marginals, as ratios along the tree."""
        measured = [(None, table.datavector(), 1.0, c) for c, table in marginals.items()]
        bridge = Bridge.of(self.domain)
        estimate = pypgm.estimate(
            bridge.engine, _engine_measurements(bridge, measured), self.total, stop="optimum", tolerance=1e-9
        )
        return self._over_tree(estimate)

    def fit(self, data: Dataset) -> None:
        """Fit the model to the marginals of records."""
        self.total = float(np.sum(data.weights))
        self.potentials = self.mle(CliqueVector.from_data(data, self.cliques))

    def _over_tree(self, model: pypgm.GraphicalModel) -> CliqueVector:
        bridge, potentials = Bridge.of(self.domain), CliqueVector.zeros(self.domain, self.cliques)
        potentials.combine(bridge.parts(bridge.scopes(model.potentials), model.potentials).tables)
        return potentials

    @staticmethod
    def save(model: GraphicalModel, path: str) -> None:
        """Write the engine's model; mbi's files are pickles."""
        model.engine.save(path)

    @staticmethod
    def load(path: str) -> None:
        """Refuse files of this generation: they are pickles, which are not loaded from strangers."""
        raise ValueError(f"{path} would be a pickle, which can run code; pypgm.load reads the files of save")


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

    oracle: Any = "exact"
    model: Any = None

    def __init__(
        self,
        domain: _domain.Domain,
        backend: str = "numpy",
        structural_zeros: Mapping[Any, Any] | None = None,
        metric: Any = "L2",
        log: bool = False,
        iters: int = 1000,
        warm_start: bool = False,
        elim_order: Any = None,
    ) -> None:
        del backend, warm_start  # there is one engine, and it needs no start
        if log:
            warnings.warn("log prints nothing: a callback is told of each step", stacklevel=2)
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
        bridge = Bridge.of(self.domain)
        measured = _engine_measurements(bridge, measurements)
        records = _total(bridge, measured, total)
        cliques = list(dict.fromkeys(self.domain.canonical(bridge.attributes[n] for n in m.clique) for m in measured))
        if self.metric == "L1" and "stepsize" not in options:
            raise ValueError("metric 'L1' needs options={'stepsize': …}")
        how: dict[str, Any] = {"oracle": self.oracle, "loss": self._loss(cliques)}
        if self.oracle == "exact":
            how["method"] = _METHODS[engine] if self.metric == "L2" else "auto"
        is_free = how.get("method", "auto") == "auto" and isinstance(how["loss"], str)
        if callback is not None:
            how["callback"] = lambda state: callback(_tables(self.domain, cliques, state.marginals))
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

    def _loss(self, cliques: list[Clique]) -> Any:
        if not callable(self.metric):
            return self.metric.lower()
        bridge, metric = Bridge.of(self.domain), self.metric

        def function(vector: pypgm.CliqueVector) -> tuple[float, pypgm.CliqueVector]:
            value, gradient = metric(_tables(self.domain, cliques, vector))
            return float(value), bridge.vector(gradient[c] for c in cliques)

        return pypgm.losses.Custom(function, [bridge.clique(c) for c in cliques])

    def _model(self, estimate: Any, cliques: list[Clique], total: float) -> Any:
        model = GraphicalModel(self.domain, cliques, total, self.elim_order)
        model.potentials = model._over_tree(estimate)
        return model


class LocalInference(FactoredInference):
    """Estimates marginals that agree where cliques meet."""

    def __init__(self, domain: _domain.Domain, *options: Any, marginal_oracle: str = "convex", **how: Any) -> None:
        how.pop("inner_iters", None)
        super().__init__(domain, *options, **how)
        if marginal_oracle in {"approx", "pairwise"}:
            warnings.warn(f"the oracle {marginal_oracle!r} is not convex: the convex one takes its place", stacklevel=2)
        self.oracle = "factor_graph" if "pairwise" in marginal_oracle else "region_graph"

    def _model(self, answers: Any, cliques: list[Clique], total: float) -> Any:
        return _Answers(self.domain, answers, cliques, total)


class PublicInference:
    """Gives public records weights that explain measurements of private ones."""

    def __init__(self, public_data: Dataset, metric: str = "L2") -> None:
        _check_l2(metric)
        self.public_data = public_data

    def estimate(self, measurements: Any, total: float | None = None) -> Dataset:
        """Return the public records with weights."""
        public, bridge = self.public_data, Bridge.of(self.public_data.domain)
        measured = _engine_measurements(bridge, measurements)
        records = pypgm.Dataset({bridge.names[a]: column for a, column in public.data.items()}, bridge.engine)
        reweighted = pypgm.reconstruction.reweight(records, measured, _total(bridge, measured, total))
        return Dataset(public.data, public.domain, reweighted.data.weights)


class MixtureInference:
    """Fits a mixture of products."""

    def __init__(
        self, domain: _domain.Domain, components: int = 10, metric: str = "L2", iters: int = 2500, **options: Any
    ) -> None:
        del options
        _check_l2(metric)
        self.domain, self.components, self.iters = domain, components, iters

    def estimate(self, measurements: Any, total: float | None = None) -> Any:
        """Return the mixture."""
        bridge = Bridge.of(self.domain)
        measured = _engine_measurements(bridge, measurements)
        records, project = _total(bridge, measured, total), pypgm.reconstruction.relaxed_projection
        projection = project(bridge.engine, measured, records, kinds=self.components, iterations=self.iters)
        return _Answers(self.domain, projection, [], records)


def _check_l2(metric: str) -> None:
    if metric != "L2":
        raise ValueError(f"the metric is 'L2' here, got {metric!r}")


class _Logger:
    """Print the distance of marginals from true answers, once in a number of calls."""

    def __init__(self, engine: FactoredInference, true_answers: Any = None, frequency: int = 50) -> None:
        del engine
        self.true_answers, self.frequency, self.calls = true_answers or (), frequency, 0

    def __call__(self, marginals: CliqueVector) -> None:
        if self.calls % self.frequency == 0:
            misses = ((q @ marginals[as_clique(c)].datavector() - y) for q, y, _, c in self.true_answers)
            print(self.calls, *(f"{np.abs(miss).sum():.3f}" for miss in misses), sep="\t")
        self.calls += 1


callbacks = types.SimpleNamespace(Logger=_Logger)
