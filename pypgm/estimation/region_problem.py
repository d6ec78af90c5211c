"""What is minimised over a local polytope: a loss over the tables of a region graph, and where to start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pypgm import _core
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain
from pypgm.errors import ImpossibleEvidenceError
from pypgm.estimation.compiled import is_compiled
from pypgm.estimation.loss import Evaluate, Loss
from pypgm.estimation.residual_losses import L2, Huber
from pypgm.estimation.thinning import BEYOND
from pypgm.factor import Factor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.graphs.region_graph import RegionGraph

__all__ = ["CompiledRegionDescent", "GeneralRegionDescent", "RegionProblem", "on_regions"]

_START_FEASIBILITY = 1e-8
_START_SWEEPS = 100


@dataclass(frozen=True, slots=True)
class RegionProblem:
    """A loss to be minimised over the locally consistent marginals of a region graph."""

    graph: RegionGraph
    """A region holds each clique the loss reads."""
    loss: Loss
    """Of the marginals, counts."""
    total: float
    """Number of records, counts."""
    start: CliqueVector
    """Natural logs of marginals to start from: tables over regions, and over single attributes, of which a region
    without a table of its own starts from the product; attributes without one are uniform. -inf entries are
    structural zeros and stay."""
    counting_numbers: NDArray[np.float64]
    """One positive number a region."""

    @property
    def domain(self) -> Domain:
        """All attributes."""
        return self.graph.domain

    def with_loss(self, loss: Loss) -> RegionProblem:
        """Return the problem with another loss over the same cliques."""
        return replace(self, loss=loss)

    def safe_step(self) -> float:
        """Return the step, in count space, below which plain mirror descent never raises the loss, if that is known.

        Regions are blocks of their own: the least over regions of kappa / (total * K), K a quarter of the largest
        weighted squared distance between two columns of the queries on the region.
        """
        bend = _largest_bend(self.loss)
        if bend is None:
            return 1.0 / self.total
        smoothness = np.zeros(len(self.graph.regions))
        for m in self.loss.measurements:
            smoothness[self.graph.region_of(m.clique)] += bend * _largest_distance(m) / 4
        measured = smoothness > 0
        if not measured.any():
            return 1.0 / self.total
        return float((self.counting_numbers[measured] / smoothness[measured]).min() / self.total)

    def compiles(self) -> bool:
        """Return whether the compiled loop knows the loss: weighted L2 of cells and of sums over groups of cells."""
        return type(self.loss) is L2 and all(map(is_compiled, self.loss.measurements))

    def core(self, n_threads: int) -> _core.RegionDescent:
        """Return the compiled loop, potentials entered, no measurements."""
        core = _core.RegionDescent(self.graph.plan, self.counting_numbers, self.total, n_threads)
        own = {self.graph.region_of(c): i for i, c in enumerate(self.start.cliques) if c in self.graph}
        for region, i in own.items():
            core.enter(region, self.start.table(i))
        holders: dict[str, NDArray[np.uint8]] = {a: np.zeros(len(self.graph.regions), np.uint8) for a in self.domain}
        for k, names in enumerate(self.graph.regions):
            for attribute in names if k not in own else ():
                holders[attribute][k] = 1
        for i, clique in enumerate(self.start.cliques):
            if len(clique) == 1:
                core.enter_everywhere(self.domain.indices(clique), self.start.table(i), holders[clique[0]])
        return core


def _largest_distance(m: LinearMeasurement) -> float:
    return m.linear_map.largest_squared_distance(m.weights())


def _largest_bend(loss: Loss) -> float | None:
    """Return the largest second derivative of a loss of residuals in units of their standard deviation."""
    if type(loss) is L2:
        return 1.0
    return 2.0 / loss.width if isinstance(loss, Huber) else None


def begun(core: _core.RegionDescent) -> int:
    """Settle where a compiled loop starts; return the sweeps that took."""
    sweeps = core.begin(_START_FEASIBILITY, _START_SWEEPS)
    if sweeps < 0:
        raise ImpossibleEvidenceError("structural zeros of the start leave a region no weight")
    return sweeps


class CompiledRegionDescent:
    """The compiled loop for weighted L2 of cells and of sums over groups of cells.

    Parameters
    ----------
    problem : RegionProblem
    n_threads : int
        0 for all threads.
    thinned : iterator of ndarray, optional
        For each measurement answers to fit and answers to validate with, instead of its own.
    """

    def __init__(
        self, problem: RegionProblem, n_threads: int, thinned: Iterator[NDArray[np.float64]] | None = None
    ) -> None:
        self._total = problem.total
        self.core = problem.core(n_threads)
        for m in problem.loss.measurements:
            own = np.ascontiguousarray(m.values, dtype=np.float64)
            answers, held_out = (own, np.empty(0)) if thinned is None else (next(thinned), own)
            self._measure(problem.graph, m, answers, held_out)
        self.sweeps = begun(self.core)

    def advance(
        self, s: float, a: float, share: float, stretch: float, loose: float
    ) -> tuple[float, float, float, float, float, int]:
        """Take one step; return loss, validation loss of mean and average, slope, curvature, and sweeps taken."""
        loss, of_mean, held_out, slope, curvature, _, sweeps = self.core.advance(s, a, share, stretch, loose)
        return loss, of_mean, held_out, slope, self._total * curvature, sweeps

    def restart(self) -> bool:
        """Start the average anew where the last point is better."""
        return self.core.restart(always=False)

    def loss(self) -> float:
        """Return the loss of the average."""
        return self.core.loss()

    def settled_loss(self) -> float:
        """Return the loss of the last beliefs."""
        return self.core.loss_of_beliefs()

    def _measure(
        self, graph: RegionGraph, m: LinearMeasurement, answers: NDArray[np.float64], held_out: NDArray[np.float64]
    ) -> None:
        domain = graph.domain
        region = graph.region_of(m.clique)
        groups = m.groups(domain)
        clique = domain.canonical(m.clique)
        if graph.regions[region] != clique:
            groups = np.arange(domain.size(clique), dtype=np.int32) if groups is None else groups
            wide = Factor(domain.project(clique), groups).expand(domain.project(graph.regions[region]))
            groups = wide.datavector().astype(np.int32)
        weights = np.array([m.stddev**-2.0]) if isinstance(m.stddev, float) else m.in_order(domain, m.weights())
        self.core.measure(
            region,
            np.empty(0, dtype=np.int32) if groups is None else groups,
            m.in_order(domain, answers),
            weights,
            m.in_order(domain, held_out) if held_out.size else held_out,
            BEYOND,
        )


class GeneralRegionDescent:
    """The loop for any loss, evaluated two times an iteration.

    Parameters
    ----------
    problem : RegionProblem
        Its loss a smooth one.
    n_threads : int
        0 for all threads.
    validation : Loss, optional
        Of the answers to validate with.
    """

    def __init__(self, problem: RegionProblem, n_threads: int, validation: Loss | None = None) -> None:
        self._total = problem.total
        self.core = problem.core(n_threads)
        self.sweeps = begun(self.core)
        self._evaluate = on_regions(problem.graph, problem.loss)
        self._validate = None if validation is None else on_regions(problem.graph, validation)

    def advance(
        self, s: float, a: float, share: float, stretch: float, loose: float
    ) -> tuple[float, float, float, float, float, int]:
        """Take one step; return loss, validation loss of mean and average, slope, curvature, and sweeps taken."""
        at = self.core.mean(a)
        value, gradient = self._evaluate(at)
        _, _, _, slope, _, _, sweeps = self.core.advance_along(gradient, s, a, share, stretch, loose)
        self.core.record(s, value - _dot(gradient, at))
        mean = self.core.mean(0.0)
        loss, there = self._evaluate(mean)
        # The mean moved from `at` by a times what the last point moved.
        curvature = _dot(there - gradient, mean - at) / (a * a * self._total)
        of_mean = held_out = 0.0 if self._validate is None else self._validate(mean)[0]
        if share != 1:
            average = self.core.average()
            loss = self._evaluate(average)[0]
            held_out = 0.0 if self._validate is None else self._validate(average)[0]
        return loss, of_mean, held_out, slope, curvature, sweeps

    def restart(self) -> bool:
        """Start both averages anew where the last point is better than the inner one."""
        inner = self._evaluate(self.core.mean(0.0))[0]
        return self.settled_loss() < inner and self.core.restart(always=True)

    def loss(self) -> float:
        """Return the loss of the average."""
        return self._evaluate(self.core.average())[0]

    def settled_loss(self) -> float:
        """Return the loss of the last beliefs."""
        return self._evaluate(self.core.mean(1.0))[0]


def _dot(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return float(np.einsum("i,i->", a, b))


def on_regions(graph: RegionGraph, loss: Loss) -> Evaluate:
    """Return a loss as a function of the tables of all regions, one behind the other."""
    domain = graph.domain
    cliques = list(dict.fromkeys(domain.canonical(c) for c in loss.cliques))
    evaluate = loss.on(domain, cliques)
    homes = [graph.region_of(c) for c in cliques]

    def evaluate_tables(counts: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        tables = CliqueVector(domain, graph.regions, counts)
        read = [
            Factor(domain.project(graph.regions[h]), tables.table(h)).project(c)
            for h, c in zip(homes, cliques, strict=True)
        ]
        value, slopes = evaluate(np.concatenate([np.empty(0), *(t.datavector() for t in read)]))
        gradient = CliqueVector(domain, graph.regions)
        parts = CliqueVector(domain, cliques, slopes)
        for i, (home, clique) in enumerate(zip(homes, cliques, strict=True)):
            own = Factor(domain.project(clique), parts.table(i))
            gradient.table(home)[:] += own.expand(domain.project(graph.regions[home])).datavector()
        return value, gradient.values

    return evaluate_tables
