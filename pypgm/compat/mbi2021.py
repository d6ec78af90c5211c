"""The surface of mbi's generation of 2021, `FactoredInference` and what it needs, over pypgm's engine."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

import pypgm
from pypgm.compat._options import OPTIONS
from pypgm.compat.mbi import dataset as _dataset
from pypgm.compat.mbi import domain as _domain
from pypgm.compat.mbi import factor as _factor
from pypgm.compat.mbi._engine import Bridge, numpy_seed
from pypgm.compat.mbi.domain import Clique, as_clique
from pypgm.compat.mbi.junction_tree import make_junction_tree
from pypgm.estimation.total import estimate_total

__all__ = [
    "CliqueVector",
    "Dataset",
    "Domain",
    "Factor",
    "FactoredInference",
    "GraphicalModel",
    "LocalInference",
    "MixtureInference",
    "PublicInference",
    "callbacks",
]

_METHODS = {"MD": "auto", "RDA": "dual_averaging", "IG": "interior_gradient"}


class Domain(_domain.Domain):
    """Attributes with sizes."""

    def __init__(self, attrs: Iterable[Any], shape: Iterable[float], labels: Any = None) -> None:
        super().__init__(attrs, shape, labels)

    __hash__ = _domain.Domain.__hash__

    @staticmethod
    def fromdict(config: Mapping[Any, int]) -> Domain:
        return Domain(config.keys(), config.values())

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
        """Return 0, and -inf in the cells named."""
        values = np.zeros(domain.shape)
        values[tuple(np.array(list(structural_zeros)).T)] = -np.inf
        return Factor(domain, values)

    def condition(self, evidence: Mapping[Any, int]) -> _factor.Factor:
        return self.slice(evidence)

    def logaddexp(self, other: _factor.Factor) -> _factor.Factor:
        return self._with(other, np.logaddexp)

    def copy(self) -> Factor:
        return Factor(self.domain, self.values.copy())

    def __truediv__(self, other: object) -> _factor.Factor:
        divided = super().__truediv__(other)
        np.nan_to_num(divided.values, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf)
        return divided

    def __iadd__(self, other: object) -> Factor:
        self.values[...] = (self + other).transpose(self.domain.attributes).values
        return self

    def __imul__(self, other: object) -> Factor:
        self.values[...] = (self * other).transpose(self.domain.attributes).values
        return self


class CliqueVector(dict[Clique, Any]):
    """A dict of tables by clique, with arithmetic."""

    @staticmethod
    def zeros(domain: _domain.Domain, cliques: Iterable[Clique]) -> CliqueVector:
        return CliqueVector({c: Factor(domain.project(c), np.zeros(domain.project(c).shape)) for c in cliques})

    @staticmethod
    def from_data(data: Dataset, cliques: Iterable[Clique]) -> CliqueVector:
        return CliqueVector(
            {c: Factor(data.domain.project(c), data.project(c).datavector(flatten=False)) for c in cliques}
        )

    def combine(self, other: Mapping[Clique, Any]) -> None:
        """Add the tables of another vector, each to the first clique that holds it."""
        for clique, table in other.items():
            home = next((c for c in self if set(clique) <= set(c)), None)
            if home is not None:
                self[home] = self[home] + table

    def __add__(self, other: Any) -> CliqueVector:
        if isinstance(other, dict):
            return CliqueVector({c: self[c] + other[c] for c in self})
        return CliqueVector({c: table + other for c, table in self.items()})

    def __mul__(self, const: float) -> CliqueVector:
        return CliqueVector({c: table * const for c, table in self.items()})

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> CliqueVector:
        negative: CliqueVector = other * -1
        return self + negative

    def exp(self) -> CliqueVector:
        return CliqueVector({c: table.exp() for c, table in self.items()})

    def log(self) -> CliqueVector:
        return CliqueVector({c: table.log() for c, table in self.items()})

    def dot(self, other: Mapping[Clique, Any]) -> float:
        return float(sum((self[c] * other[c]).values.sum() for c in self))

    def size(self) -> int:
        return sum(table.values.size for table in self.values())


class Dataset(_dataset.Dataset):
    """Records; a projection of them is records of fewer columns."""

    def __init__(self, df: Any, domain: _domain.Domain, weights: Any = None) -> None:
        super().__init__(df, domain, weights)

    def project(self, cols: object) -> Any:
        return self._changed(self.domain.project(cols), self._data)

    def datavector(self, flatten: bool = True) -> Any:
        return super().project(self.domain.attributes).datavector(flatten)


class GraphicalModel:
    """A distribution by potentials over the cliques of a junction tree, dicts of tables."""

    def __init__(
        self, domain: _domain.Domain, cliques: Iterable[object], total: float = 1.0, elimination_order: Any = None
    ) -> None:
        tree, self.elimination_order = make_junction_tree(domain, cliques, elimination_order)
        self.domain, self.cliques, self.total = domain, list(tree.nodes), float(total)
        self.size = sum(domain.size(c) for c in self.cliques)
        self._set(CliqueVector.zeros(domain, self.cliques))

    def _set(self, potentials: Mapping[Clique, Any]) -> None:
        self.potentials = CliqueVector(potentials)
        self.engine = pypgm.GraphicalModel(Bridge.of(self.domain).vector(potentials.values()), self.total)
        self.marginals = CliqueVector(self.calculate_many_marginals(self.cliques))

    def belief_propagation(self, potentials: Mapping[Clique, Any], logZ: bool = False) -> Any:  # noqa: N803
        """Return the marginals of potentials in counts, or the log of their normaliser."""
        bridge = Bridge.of(self.domain)
        model = pypgm.GraphicalModel(bridge.vector(potentials.values()), self.total)
        return model.log_partition() if logZ else CliqueVector(_tables(self.domain, model, self.cliques))

    def project(self, attrs: object) -> Factor:
        """Return the marginal of any attributes, in counts."""
        return next(iter(_tables(self.domain, self.engine, [as_clique(attrs)]).values()))

    def calculate_many_marginals(self, projections: Iterable[object]) -> dict[Clique, Factor]:
        return _tables(self.domain, self.engine, list(map(as_clique, projections)))

    def krondot(self, matrices: Sequence[Any]) -> Any:
        """Return the answers to a product of queries, one for each attribute."""
        names = Bridge.of(self.domain).names.values()
        blocks = {name: pypgm.queries.Matrix(np.asarray(m)) for name, m in zip(names, matrices, strict=True)}
        return self.engine.answer(pypgm.KroneckerQuery(blocks))

    def datavector(self, flatten: bool = True) -> Any:
        return self.project(self.domain.attributes).datavector(flatten)

    def mle(self, marginals: Mapping[Clique, Any]) -> CliqueVector:
        """Return the potentials of given marginals: ratios along the tree."""
        bridge = Bridge.of(self.domain)
        told = [pypgm.LinearMeasurement(t.values, bridge.clique(c)) for c, t in marginals.items()]
        found = pypgm.estimate(bridge.engine, told, self.total, stop="optimum", tolerance=1e-9)
        return self._over_tree(found)

    def fit(self, data: Dataset) -> None:
        """Take the marginals of records."""
        self.total = float(np.sum(data.weights))
        self._set(self.mle(CliqueVector.from_data(data, self.cliques)))

    def _over_tree(self, found: pypgm.GraphicalModel) -> CliqueVector:
        bridge, potentials = Bridge.of(self.domain), CliqueVector.zeros(self.domain, self.cliques)
        back = {name: a for a, name in bridge.names.items()}
        for names in found.potentials.cliques:
            scope = tuple(back[name] for name in names)
            table = Factor(self.domain.project(scope), found.potentials[names].values)
            potentials.combine({scope: table})
        return potentials

    def synthetic_data(self, rows: int | None = None, method: Literal["round", "sample"] = "round") -> Dataset:
        """Return records."""
        how: Literal["rounding", "independent"] = "rounding" if method == "round" else "independent"
        records = self.engine.synthetic_data(max(1, int(rows or self.total)), rng=numpy_seed(), method=how)
        return _records(self.domain, records)

    @staticmethod
    def save(model: GraphicalModel, path: str) -> None:
        """Write the engine's model; mbi's files are pickles."""
        model.engine.save(path)

    @staticmethod
    def load(path: str) -> None:
        """Refuse: files of this generation are pickles, which are not loaded from strangers."""
        raise ValueError(f"{path} would be a pickle, which runs what is in it; pypgm.load reads what save wrote")


def _tables(domain: _domain.Domain, model: Any, cliques: Sequence[Clique]) -> dict[Clique, Factor]:
    bridge = Bridge.of(domain)
    found = model.project_many([bridge.clique(c) for c in cliques])
    return {c: Factor(domain.project(c), np.array(t.values)) for c, t in zip(cliques, found, strict=True)}


def _records(domain: _domain.Domain, records: pypgm.Dataset) -> Dataset:
    names = Bridge.of(domain).names
    return Dataset({a: np.asarray(records.columns[n], dtype=np.int64) for a, n in names.items()}, domain)


def _told(domain: _domain.Domain, measurements: Iterable[Any]) -> list[pypgm.LinearMeasurement]:
    """Return 4-tuples (Q, y, noise, proj) as measurements of the engine."""
    bridge, found = Bridge.of(domain), []
    if not isinstance(measurements, list):
        raise ValueError(  # noqa: TRY004 - as a measurement that is no tuple of four
            f"measurements need a list of (Q, y, noise, proj), got {type(measurements).__name__}"
        )
    for each in measurements:
        if len(each) != 4:
            raise ValueError(f"a measurement is (Q, y, noise, proj), got {len(each)} parts")
        matrix, answers, noise, attrs = each
        clique = bridge.clique(as_clique(attrs))
        query: pypgm.queries.LinearQuery | None = None
        if hasattr(matrix, "matvec"):
            query = pypgm.queries.UserOperator(matrix.shape, matrix.matvec, matrix.rmatvec)
        elif matrix is not None:
            query = pypgm.queries.Matrix(matrix)
        found.append(pypgm.LinearMeasurement(np.asarray(answers, dtype=np.float64).reshape(-1), clique, noise, query))
    return found


def _total(domain: _domain.Domain, told: list[pypgm.LinearMeasurement], total: float | None) -> float:
    if total is not None:
        return float(total)
    try:
        return max(1.0, estimate_total(Bridge.of(domain).engine, told)[0])
    except ValueError:  # nothing tells it
        return 1.0


class FactoredInference:
    """Estimates a graphical model from noisy measurements."""

    oracle: Any = "exact"

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
        del backend, log, warm_start  # one engine, which needs no start
        self.domain, self.metric, self.iters, self.elim_order = domain, metric, iters, elim_order
        self.structural_zeros = {as_clique(c): cells for c, cells in (structural_zeros or {}).items()}
        self.model: Any = None

    def estimate(
        self,
        measurements: Any,
        total: float | None = None,
        engine: Literal["MD", "RDA", "IG"] = "MD",
        callback: Callable[[CliqueVector], object] | None = None,
        options: Mapping[str, Any] = types.MappingProxyType({}),
    ) -> Any:
        """Return the model whose marginals are closest to measurements (Q, y, noise, proj)."""
        bridge, told = Bridge.of(self.domain), _told(self.domain, measurements)
        records, back = _total(self.domain, told, total), {name: a for a, name in bridge.names.items()}
        own = list(dict.fromkeys(self.domain.canonical(back[n] for n in m.clique) for m in told))
        if self.metric == "L1" and "stepsize" not in options:
            raise ValueError("metric 'L1' needs options={'stepsize': …}")
        how: dict[str, Any] = {"oracle": self.oracle, "loss": self._loss(own)}
        if self.oracle == "exact":
            how["method"] = _METHODS[engine] if self.metric == "L2" else "auto"

        def look(state: Any) -> None:
            if callback is not None:
                found = {
                    c: Factor(self.domain.project(c), state.marginals.project(bridge.clique(c)).values) for c in own
                }
                callback(CliqueVector(found))

        found = pypgm.estimate(
            bridge.engine,
            told,
            records,
            stop=OPTIONS["stop"] if how.get("method", "auto") == "auto" and isinstance(how["loss"], str) else "optimum",
            iterations=max(1, self.iters),
            tolerance=OPTIONS["tolerance"],
            callback=None if callback is None else look,
            constraints=[
                pypgm.Constraint(bridge.clique(c), forbidden=[tuple(map(int, cell)) for cell in cells])
                for c, cells in self.structural_zeros.items()
            ],
            **how,
        )
        self.model = self._model(found, [*own, *self.structural_zeros], records)
        return self.model

    infer = estimate

    def _loss(self, cliques: list[Clique]) -> Any:
        if not callable(self.metric):
            return self.metric.lower()
        bridge, metric = Bridge.of(self.domain), self.metric

        def function(found: pypgm.CliqueVector) -> tuple[float, pypgm.CliqueVector]:
            tables = {c: Factor(self.domain.project(c), found[bridge.clique(c)].values) for c in cliques}
            value, gradient = metric(CliqueVector(tables))
            return float(value), bridge.vector(gradient[c] for c in cliques)

        return pypgm.losses.Custom(function, [bridge.clique(c) for c in cliques])

    def _model(self, found: Any, cliques: list[Clique], total: float) -> Any:
        model = GraphicalModel(self.domain, cliques, total, self.elim_order)
        model._set(model._over_tree(found))
        return model


class LocalInference(FactoredInference):
    """Estimates marginals that agree where cliques meet."""

    def __init__(self, domain: _domain.Domain, *options: Any, marginal_oracle: str = "convex", **how: Any) -> None:
        how.pop("inner_iters", None)
        super().__init__(domain, *options, **how)
        if marginal_oracle in {"approx", "pairwise"}:
            warnings.warn(f"the oracle {marginal_oracle!r} is not convex: the convex one takes its place", stacklevel=2)
        self.oracle = "factor_graph" if "pairwise" in marginal_oracle else "region_graph"

    def _model(self, found: Any, cliques: list[Clique], total: float) -> Any:
        return _Answers(self.domain, found, list(cliques), total)


class _Answers:
    """A model of the engine with this generation's names."""

    def __init__(self, domain: _domain.Domain, engine: Any, cliques: list[Clique], total: float) -> None:
        self.domain, self.engine, self.cliques, self.total = domain, engine, cliques, total

    @property
    def marginals(self) -> CliqueVector:
        """Of the measured cliques, in counts."""
        return CliqueVector({c: self.project(c) for c in self.cliques})

    def project(self, attrs: object) -> Factor:
        clique = as_clique(attrs)
        found = self.engine.project(Bridge.of(self.domain).clique(clique))
        return Factor(self.domain.project(clique), np.array(found.values))

    def synthetic_data(self, rows: int | None = None) -> Dataset:
        return _records(self.domain, self.engine.synthetic_data(int(rows or self.total), rng=numpy_seed()))


class PublicInference:
    """Gives public records weights that explain measurements of private ones."""

    def __init__(self, public_data: Dataset, metric: str = "L2") -> None:
        if metric != "L2":
            raise ValueError(f"the metric of public records is 'L2', got {metric!r}")
        self.public_data = public_data

    def estimate(self, measurements: Any, total: float | None = None) -> Dataset:
        """Return the public records with weights."""
        domain = self.public_data.domain
        bridge, told = Bridge.of(domain), _told(domain, measurements)
        columns = {bridge.names[a]: column for a, column in self.public_data.data.items()}
        public = pypgm.Dataset(columns, bridge.engine)
        found = pypgm.reconstruction.reweight(public, told, _total(domain, told, total))
        return Dataset(self.public_data.data, domain, found.data.weights)


class MixtureInference:
    """Fits a mixture of products."""

    def __init__(
        self,
        domain: _domain.Domain,
        components: int = 10,
        metric: str = "L2",
        iters: int = 2500,
        warm_start: bool = False,
    ) -> None:
        del warm_start
        if metric != "L2":
            raise ValueError(f"the metric of a mixture is 'L2', got {metric!r}")
        self.domain, self.components, self.iters = domain, components, iters

    def estimate(self, measurements: Any, total: float | None = None) -> Any:
        """Return the mixture."""
        told = _told(self.domain, measurements)
        records = _total(self.domain, told, total)
        found = pypgm.reconstruction.relaxed_projection(
            Bridge.of(self.domain).engine, told, records, kinds=self.components, iterations=self.iters
        )
        return _Answers(self.domain, found, [], records)


class _Logger:
    """Prints how far marginals are from true answers, every so many calls."""

    def __init__(self, engine: FactoredInference, true_answers: Any = None, frequency: int = 50) -> None:
        del engine
        self.true_answers, self.frequency, self.calls = true_answers, frequency, 0

    def __call__(self, marginals: CliqueVector) -> None:
        if self.calls % self.frequency == 0:
            errors = [
                float(np.abs(matrix @ marginals[as_clique(proj)].datavector() - answers).sum())
                for matrix, answers, _, proj in self.true_answers or ()
            ]
            print(self.calls, *(f"{error:.3f}" for error in errors), sep="\t")
        self.calls += 1


callbacks = types.SimpleNamespace(Logger=_Logger)
