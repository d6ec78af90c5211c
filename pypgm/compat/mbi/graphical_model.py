"""Models by potentials, and marginals that agree locally, as mbi had them before 1.0."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

import pypgm
from pypgm._base.numeric import numpy_seed
from pypgm.compat.mbi import junction_tree, marginal_oracles
from pypgm.compat.mbi._engine import Bridge
from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.dataset import Dataset
from pypgm.compat.mbi.domain import Attribute, Clique, Domain, as_clique, every_spelling
from pypgm.compat.mbi.factor import Factor
from pypgm.compat.mbi.marginal_loss import primal_feasibility


def as_tables(domain: Domain, cliques: Iterable[object], answers: Any) -> CliqueVector:
    """Return the projections of one of the engine's answers onto cliques."""
    return Bridge.of(domain).marginals([*dict.fromkeys(map(as_clique, cliques))], answers)


@every_spelling
class Answers:
    """A model of the engine under the names of mbi before 1.0."""

    def __init__(self, domain: Domain, engine: Any, cliques: Iterable[Clique], total: float) -> None:
        self.domain, self.engine, self.cliques, self.total = domain, engine, list(cliques), total

    def calculate_many_marginals(self, projections: Iterable[object]) -> CliqueVector:
        return as_tables(self.domain, projections, self.engine)

    @cached_property
    def marginals(self) -> CliqueVector:
        """Marginals of its cliques, in counts."""
        return self.calculate_many_marginals(self.cliques)

    def project(self, attributes: object) -> Factor:
        """Return the marginal of any attributes, in counts."""
        return self.calculate_many_marginals([attributes])[attributes]

    def datavector(self, flatten: bool = True) -> Any:
        return self.project(self.domain.attributes).datavector(flatten)

    def synthetic_data(self, rows: int | None = None, method: Literal["round", "sample"] = "round") -> Dataset:
        """Return records."""
        how = {} if method == "round" else {"method": "independent"}
        drawn = self.engine.synthetic_data(max(1, int(rows or self.total)), rng=numpy_seed(), **how).columns
        names = Bridge.of(self.domain).names
        return Dataset({a: np.asarray(drawn[n], dtype=np.int64) for a, n in names.items()}, self.domain)


class GraphicalModel(Answers):
    """A distribution by potentials over the cliques of a junction tree."""

    def __init__(
        self, domain: Domain, cliques: Iterable[object], total: float = 1.0, elimination_order: Any = None
    ) -> None:
        self.tree = junction_tree.JunctionTree(domain, cliques, elimination_order)
        super().__init__(domain, None, self.tree.maximal_cliques(), float(total))
        self.elimination_order, self.neighbors = self.tree.elimination_order, self.tree.neighbors()
        self.size = sum(domain.size(c) for c in self.cliques)
        self.potentials = CliqueVector.zeros(domain, self.cliques)

    @property
    def potentials(self) -> CliqueVector:
        """Natural logs by clique."""
        return self._potentials

    @potentials.setter
    def potentials(self, potentials: Mapping[Clique, Any]) -> None:
        self._potentials = CliqueVector(self.domain, potentials.keys(), potentials)
        self.engine = self._of(potentials)
        self.__dict__.pop("marginals", None)

    def _of(self, potentials: Mapping[Clique, Any]) -> pypgm.GraphicalModel:
        return pypgm.GraphicalModel(Bridge.of(self.domain).vector(potentials.values()), self.total)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "total" and "_potentials" in self.__dict__:
            self.potentials = self._potentials  # a total counts from when it is set

    def belief_propagation(self, potentials: Mapping[Clique, Any], logZ: bool = False) -> Any:  # noqa: N803
        """Return the marginals of potentials in counts, or the log of their normaliser."""
        model = self._of(potentials)
        return model.log_partition() if logZ else as_tables(self.domain, self.cliques, model)

    def krondot(self, matrices: Sequence[Any]) -> Any:
        """Return the answers to a product of queries, one for each attribute."""
        names = Bridge.of(self.domain).names.values()
        blocks = {name: pypgm.queries.Matrix(np.asarray(m)) for name, m in zip(names, matrices, strict=True)}
        return self.engine.answer(pypgm.KroneckerQuery(blocks))

    def mle(self, marginals: Mapping[Clique, Any]) -> CliqueVector:
        """Return the potentials of given marginals, as ratios along the tree."""
        bridge = Bridge.of(self.domain)
        measured = [pypgm.LinearMeasurement(t.datavector(), bridge.clique(c), 1.0) for c, t in marginals.items()]
        estimate = pypgm.estimate(bridge.engine, measured, self.total, stop="optimum", tolerance=1e-9)
        return self.over_tree(estimate)

    def fit(self, data: Dataset) -> None:
        """Fit the model to the marginals of records."""
        self.total = float(np.sum(data.weights))
        self.potentials = self.mle(CliqueVector.from_data(data, self.cliques))

    def over_tree(self, model: pypgm.GraphicalModel) -> CliqueVector:
        """Return the potentials of one of the engine's models over the cliques of this tree."""
        bridge, potentials = Bridge.of(self.domain), CliqueVector.zeros(self.domain, self.cliques)
        potentials.combine(bridge.parts(bridge.scopes(model.potentials), model.potentials).tables)
        return potentials

    @staticmethod
    def save(model: GraphicalModel, path: str) -> None:
        """Write the engine's model; mbi's files are pickles."""
        model.engine.save(path)

    @staticmethod
    def load(path: str) -> None:
        """Refuse files of mbi before 1.0: they are pickles, which are not loaded from strangers."""
        raise ValueError(f"{path} would be a pickle, which can run code; pypgm.load reads the files of save")


@every_spelling
class RegionGraph(Answers):
    """Marginals that agree locally, by convex belief propagation on the regions of cliques.

    Messages run until the marginals agree; numbers that tune them are taken and not needed.
    """

    _graph: Callable[..., pypgm.RegionGraph] = staticmethod(pypgm.RegionGraph.saturated)

    def __init__(
        self,
        domain: Domain,
        cliques: Iterable[object],
        total: float = 1.0,
        minimal: bool = True,
        convex: bool = True,
        iters: int = 25,
        convergence: float = 1e-3,
        damping: float = 0.5,
    ) -> None:
        self.minimal, self.convex, self.iters = minimal, convex, iters
        self.convergence, self.damping = convergence, damping
        bridge = Bridge.of(domain)
        self._regions = self._graph(bridge.engine, [bridge.clique(c) for c in map(as_clique, cliques)])
        scopes = [tuple(bridge.attributes[name] for name in region) for region in self._regions.regions]
        super().__init__(domain, None, sorted(scopes, key=len), float(total))
        self.potentials = CliqueVector.zeros(domain, self.cliques)
        self.belief_propagation(self.potentials)

    def belief_propagation(
        self, potentials: Mapping[Clique, Any], callback: Callable[[CliqueVector], object] | None = None
    ) -> CliqueVector:
        """Return the marginals of potentials in counts; they answer queries from then on."""
        self.potentials = CliqueVector(self.domain, potentials.keys(), potentials)
        vector = Bridge.of(self.domain).vector(potentials.values())
        beliefs = pypgm.convex_gbp(vector, self._regions, None if self.convex else "bethe", self.total)
        self.engine = pypgm.models.RegionGraphModel(self._regions, beliefs.marginals, self.total)
        self.__dict__.pop("marginals", None)
        if callback is not None:
            callback(self.marginals)
        return self.marginals

    hazan_peng_shashua = generalized_belief_propagation = belief_propagation

    def project(self, attributes: object, maxiter: int = 100, alpha: float | None = None) -> Factor:
        """Return the marginal of any attributes, in counts; the engine needs neither number."""
        del maxiter, alpha
        return super().project(attributes)

    def primal_feasibility(self, mu: CliqueVector) -> float:
        """Return the mean distance between marginals where their cliques meet."""
        return primal_feasibility(mu)

    def is_converged(self, mu: CliqueVector) -> bool:
        """Return whether marginals agree to within `convergence`."""
        return self.primal_feasibility(mu) <= self.convergence


class FactorGraph(RegionGraph):
    """Marginals that agree on single attributes."""

    _graph = staticmethod(pypgm.RegionGraph.factor_graph)

    def __init__(
        self, domain: Domain, cliques: Iterable[object], total: float = 1.0, convex: bool = False, iters: int = 25
    ) -> None:
        super().__init__(domain, cliques, total, convex=convex, iters=iters)

    loopy_belief_propagation = convergent_belief_propagation = RegionGraph.belief_propagation


def variable_elimination(factors: Iterable[Factor], elim: Iterable[Attribute]) -> Factor:
    """Return the product of tables, summed over some attributes."""
    tables = list(factors)
    domain = functools.reduce(Domain.merge, (t.domain for t in tables))
    return marginal_oracles.sum_product(tables, domain.marginalize(list(elim)))


def variable_elimination_logspace(potentials: Iterable[Factor], elim: Iterable[Attribute], total: float) -> Factor:
    """Return the marginal in counts of the product of tables of logarithms."""
    summed = functools.reduce(Factor.__add__, potentials)
    return summed.logsumexp(list(elim)).normalize(total, log=True).exp()


def greedy_order(domain: Domain, cliques: Iterable[object], elim: Iterable[Attribute]) -> list[Attribute]:
    """Return a greedy elimination order, cheapest attribute next."""
    return junction_tree.greedy_order(domain, cliques, elim=elim)[0]
