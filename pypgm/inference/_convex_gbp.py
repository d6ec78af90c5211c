"""Pseudo-marginals by convex generalised belief propagation, which converges if counting numbers are positive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm import _core
from pypgm._base.constraints import THREADS, AtLeast, Positive
from pypgm._base.signatures import checked
from pypgm.clique_vector import CliqueVector
from pypgm.errors import ImpossibleEvidenceError
from pypgm.graphs.counting_numbers import CountingNumbers
from pypgm.graphs.junction_tree import check_logarithms
from pypgm.graphs.region_graph import RegionGraph

_FLOOR = 1e-250  # of a belief whose logarithm is taken
_WATCHED = 50  # tangents in which the feasibility has to reach a new least value
_MOST_INNER = 8  # sweeps a tangent
_FLOODING_DAMPING = 0.5  # without it messages that are all sent at once may swing forever


@dataclass(frozen=True, slots=True)
class ConvexGbp:
    """Pseudo-marginals and how they were found.

    Attributes
    ----------
    marginals : CliqueVector
        Over the regions, counts; each sums to the total.
    feasibility : float
        Mean over the edges of the L1 distance between parent's and child's marginals, as probabilities.
    dual : float
        Upper bound of the maximum of sum <theta_r, b_r> + kappa_r H(b_r), natural logs; with named counting numbers the
        maximum itself, once converged, which stands for log Z.
    gap : float
        The bound less the value of beliefs made exactly consistent; inf where those need a cell of weight zero.
    converged : bool
        Whether the feasibility met the tolerance.
    iterations : int
        Sweeps taken.
    state : ndarray of float64
        The messages and, with counting numbers that are not all positive, what potentials were moved by: a start for
        another call on the same graph.
    """

    marginals: CliqueVector
    feasibility: float
    dual: float
    gap: float
    converged: bool
    iterations: int
    state: NDArray[np.float64] = field(repr=False)


@checked()
def convex_gbp(
    potentials: CliqueVector,
    region_graph: RegionGraph,
    counting_numbers: ArrayLike | CountingNumbers | None = None,
    total: Annotated[float, Positive()] = 1.0,
    *,
    iterations: Annotated[int, AtLeast(1)] = 1000,
    tolerance: Annotated[float, AtLeast(0)] = 1e-6,
    schedule: Literal["sequential", "parallel"] = "sequential",
    damping: Annotated[float, AtLeast(0, below=1)] | None = None,
    state: NDArray[np.float64] | None = None,
    callback: Callable[[int, float], object] | None = None,
    n_threads: Annotated[int, THREADS] = 0,
) -> ConvexGbp:
    r"""Maximise :math:`\sum_r \langle\theta_r, b_r\rangle + \kappa_r H(b_r)` over locally consistent beliefs.

    Beliefs :math:`b_r` of the regions are consistent where each edge's parent and child agree on the child. The
    problem is strictly concave, so the answer depends on neither edges that add no constraint nor the schedule.

    Parameters
    ----------
    potentials : CliqueVector
        Natural logs; each table goes to the smallest region that holds its scope. -inf is a structural zero.
    region_graph : RegionGraph
        The regions and which of them must agree.
    counting_numbers : array_like of float, shape (regions,), or str, optional
        :math:`\kappa_r > 0`; 1 by default. "bethe" and "tree_reweighted" stand for the numbers of
        `RegionGraph.counting_numbers`, which come closer to the joint entropy and are exact on a junction tree: not all
        are positive, so the surplus of positive ones is taken back by moving potentials between the sweeps.
    total : float
        Sum of each marginal.
    iterations : int
        Largest number of sweeps.
    tolerance : float
        Feasibility, on probabilities, at which to end.
    schedule : {"sequential", "parallel"}
        Blocks one after the other, which never raises the dual value, or all messages at once.
    damping : float, optional
        Share of the old message that a new one keeps, in [0, 1): 0 by default if sequential, 0.5 if parallel. Only
        the parallel schedule takes one.
    state : ndarray, optional
        Where to start from, as another result on this graph holds it.
    callback : callable, optional
        Called with the sweeps done and the feasibility after each; true ends them.
    n_threads : int
        0 for all threads; the bits of the answer do not depend on it.

    Raises
    ------
    ImpossibleEvidenceError
        If structural zeros leave a region no weight.
    ValueError
        If no region holds a potential's scope, a counting number is not positive, or an option is out of range.

    References
    ----------
    Hazan, Peng, Shashua: Tightening fractional covering upper bounds on the partition function for high-order region
    graphs, UAI 2012; McKenna, Pradhan, Sheldon, Miklau: Relaxed marginal consistency for differentially private query
    answering, NeurIPS 2021; Yuille: CCCP algorithms to minimize the Bethe and Kikuchi free energies, 2002.

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
    >>> cycle = pypgm.CliqueVector(domain, [("a", "b"), ("b", "c"), ("a", "c")], [1.0, 0.0, 0.0, 0.0] * 3)
    >>> result = pypgm.convex_gbp(cycle, pypgm.RegionGraph.saturated(domain, cycle.cliques))
    >>> result.converged, result.marginals["a"].values.round(3)
    (True, array([0.595, 0.405]))
    """
    if schedule == "sequential" and damping:
        raise ValueError(f"the sequential schedule needs no damping, got {damping}")
    kept = _FLOODING_DAMPING if damping is None else damping
    theta = over_regions(region_graph, potentials)
    numbers = counting_numbers_of(region_graph, counting_numbers)
    run = Propagation(region_graph, theta.values, numbers, None if schedule == "sequential" else kept, n_threads)
    core = run.core
    if not core.possible:
        raise ImpossibleEvidenceError("structural zeros of the potentials leave a region no weight")
    if state is not None:
        run.resume(state)
    sweeps, feasibility, ended = 0, np.inf, False
    while feasibility > tolerance and sweeps < iterations and not ended:
        # A sweep measures before its last move, `finish` after it: what is reported is what ends the loop.
        more, ended = run.sweep(iterations - sweeps, tolerance, callback, sweeps)
        sweeps, feasibility = sweeps + more, core.finish()
    beliefs = core.beliefs
    gap = core.dual - _consistent_value(region_graph, run.counting_numbers, core.potentials, beliefs)
    marginals = CliqueVector(region_graph.domain, region_graph.regions, beliefs * total)
    return ConvexGbp(marginals, feasibility, core.dual, gap, feasibility <= tolerance, sweeps, run.state)


class Propagation:
    """Convex belief propagation whose potentials may be moved between sweeps.

    If counting numbers are not all positive, larger ones are counted, and the excess is taken back by moving the
    potentials.

    Parameters
    ----------
    graph : RegionGraph
    potentials : ndarray
        Over the regions, flat.
    counting_numbers : ndarray
        Counting numbers of any sign.
    damping : float or None
        Share of the old messages where all are sent at once; None sends them block by block.
    n_threads : int

    Attributes
    ----------
    core : _core.ConvexGbp
    counting_numbers : ndarray
        Counting numbers of the sweeps, all positive.
    """

    def __init__(
        self,
        graph: RegionGraph,
        potentials: NDArray[np.float64],
        counting_numbers: NDArray[np.float64],
        damping: float | None,
        n_threads: int,
    ) -> None:
        positive = (counting_numbers > 0).all()
        self.counting_numbers = counting_numbers if positive else np.maximum(counting_numbers, 1.0)
        self.core = _core.ConvexGbp(graph.plan, self.counting_numbers, potentials, n_threads)
        surplus = self.counting_numbers - counting_numbers
        self._surplus = None if positive else np.repeat(surplus, [graph.domain.size(r) for r in graph.regions])
        self._logs: NDArray[np.float64] | None = None
        self._regions, self._n_messages = len(graph.regions), graph.plan.message_cells
        self._potentials = potentials
        self._damping = damping

    def move(self, potentials: NDArray[np.float64]) -> None:
        """Go on with other potentials, from the present messages."""
        self._potentials = potentials
        if self._surplus is not None:
            self._logs = np.log(np.maximum(self.core.beliefs, _FLOOR))
        self.core.set_potentials(self._less_surplus())

    @property
    def state(self) -> NDArray[np.float64]:
        """The messages, and the logs of the beliefs by which the potentials were moved last, if they are moved."""
        return self.core.messages if self._logs is None else np.concatenate([self.core.messages, self._logs])

    def resume(self, state: Sequence[float] | NDArray[np.float64]) -> None:
        """Go on from another run's state, of which the messages are enough."""
        n_messages, n_cells = self._n_messages, self._potentials.size
        given = np.ascontiguousarray(state, dtype=np.float64)
        shapes = [(n_messages,)] if self._surplus is None else [(n_messages,), (n_messages + n_cells,)]
        if given.shape not in shapes or not np.isfinite(given).all():
            what = f"the state needs {n_messages} finite messages of this region graph"
            raise ValueError(f"{what}, got shape {given.shape}")
        if given.size > n_messages:
            self._logs = given[n_messages:]
            self.core.set_potentials(self._less_surplus())
        self.core.set_messages(given[:n_messages])

    def sweep(
        self, most: int, tolerance: float, callback: Callable[[int, float], object] | None = None, done: int = 0
    ) -> tuple[int, bool]:
        """Sweep until the feasibility is within the tolerance or the limit is reached.

        Returns the number of sweeps, and whether the callback ended them.
        """
        inner, pending, least, lately = 1, 0, np.inf, list[float]()
        for sweeps in range(1, most + 1):
            feasibility = self.core.sweep() if self._damping is None else self.core.flood(self._damping)
            pending += self._surplus is not None
            if pending >= inner or (pending and feasibility <= tolerance):
                feasibility, pending = max(feasibility, self._take_back()), 0
                lately.append(feasibility)
            if len(lately) == _WATCHED:
                # One sweep a tangent is enough on most models; on strong ones it may swing for ever.
                inner = min(2 * inner, _MOST_INNER) if min(lately) >= least else inner
                least, lately = min(least, *lately), []
            if callback is not None and callback(done + sweeps, feasibility):
                return sweeps, True
            if not pending and not feasibility > tolerance:
                return sweeps, False
        return most, False

    def _take_back(self) -> float:
        """Move potentials by the slope of the surplus; return how far that has yet to move a region, at the mean."""
        self._logs = np.log(np.maximum(self.core.beliefs, _FLOOR))
        before, moved = self.core.potentials, self._less_surplus()
        self.core.set_potentials(moved)
        finite = np.isfinite(moved) & np.isfinite(before)
        moves = np.subtract(moved, before, out=np.zeros(moved.size), where=finite)
        return float(np.abs(moves * self.core.beliefs).sum() / self._regions)

    def _less_surplus(self) -> NDArray[np.float64]:
        """Return the potentials less the slope of the surplus entropy at the beliefs of the last tangent.

        The surplus is concave: leaving out its tangent never lowers the objective (Yuille 2002).
        """
        if self._surplus is None or self._logs is None:
            return self._potentials
        return np.where(self._surplus > 0, self._potentials + self._surplus * self._logs, self._potentials)


def _consistent_value(
    graph: RegionGraph, kappa: NDArray[np.float64], theta: NDArray[np.float64], beliefs: NDArray[np.float64]
) -> float:
    """Return the value of beliefs made consistent.

    If children of a region disagree on what they share and no edge says so, they are made to agree in the closure of
    the graph, whose further regions count nothing.
    """
    value = _core.consistent_value(graph.plan, kappa, theta, beliefs)
    if not np.isnan(value):
        return value
    closed = type(graph).saturated(graph.domain, graph.regions)
    potentials = over_regions(closed, CliqueVector(graph.domain, graph.regions, theta))
    given = CliqueVector(graph.domain, graph.regions, beliefs)
    tables = CliqueVector.from_factors(graph.domain, [given.project(region) for region in closed.regions])
    numbers = np.zeros(len(closed.regions))
    numbers[[closed.region_of(region) for region in graph.regions]] = kappa
    return _core.consistent_value(closed.plan, numbers, potentials.values, tables.values)


def over_regions(region_graph: RegionGraph, potentials: CliqueVector) -> CliqueVector:
    """Return potentials with one table a region, each table added to the smallest region that holds its scope."""
    domain = region_graph.domain
    if potentials.domain != domain:
        raise ValueError(f"the region graph is over {domain}, got potentials over {potentials.domain}")
    check_logarithms(potentials)
    if potentials.cliques == region_graph.regions:
        return potentials
    theta = CliqueVector(domain, region_graph.regions)
    for i, scope in enumerate(potentials.cliques):
        theta.add(region_graph.region_of(scope), scope, potentials.table(i))
    return theta


def counting_numbers_of(
    region_graph: RegionGraph, counting_numbers: ArrayLike | CountingNumbers | None
) -> NDArray[np.float64]:
    """Return the counting numbers that a name stands for, of any sign, or the given numbers once checked."""
    if isinstance(counting_numbers, str):
        return region_graph.counting_numbers(cast("CountingNumbers", counting_numbers))
    return checked_counting_numbers(region_graph, counting_numbers)


def checked_counting_numbers(region_graph: RegionGraph, counting_numbers: ArrayLike | None) -> NDArray[np.float64]:
    """Return one positive number per region, 1 by default; ``ValueError`` naming the region of another."""
    n = len(region_graph.regions)
    kappa: NDArray[np.float64] = (
        np.ones(n) if counting_numbers is None else np.array(counting_numbers, dtype=np.float64)
    )
    if kappa.shape != (n,):
        raise ValueError(f"{n} regions need as many counting numbers, got shape {kappa.shape}")
    bad = np.flatnonzero(~((kappa > 0) & (kappa < np.inf)))
    if bad.size:
        region = region_graph.regions[bad[0]]
        raise ValueError(f"counting numbers must be positive and finite, region {region} has {kappa[bad[0]]}")
    return kappa
