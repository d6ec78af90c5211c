"""Problem of an estimator: a loss, a total, a start, an engine that solves it; a weighted L2 loss in compiled terms."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm.clique_vector import CliqueVector
from pypgm.estimation.fit import Fit
from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.loss import Evaluate, Loss
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.residual_losses import L2
from pypgm.estimation.steps import MeasuredSteps, Validated
from pypgm.estimation.stop_rule import BEYOND, left_to_validate, thinned
from pypgm.queries import Contrasts, LinearQuery

if TYPE_CHECKING:
    _Numbers = NDArray[np.float64]
    _Arrays = tuple[int, _core.LinearMap | None, _Numbers, _Numbers, _Numbers, float]


_CHEAP_ENTRIES = 1 << 16  # entries that are read in the time of a call from Python
_DENSER = 8  # times as many entries as a query's own products take additions


class Term(NamedTuple):
    """A measurement without its answers.

    Attributes
    ----------
    place : int
        Index of the table it is measured on.
    map : LinearMap, optional
        Its query on the table's cells; None for each of them.
    weights : ndarray of float64
        1 / variance, one an answer or one for all.
    """

    place: int
    map: _core.LinearMap | None
    weights: NDArray[np.float64]


def is_compiled(measurement: LinearMeasurement) -> bool:
    """Return whether the compiled solvers take a measurement's query: unless its own products are much faster."""
    query = measurement.linear_map
    return query.n_read <= max(_CHEAP_ENTRIES, _DENSER * query.cost)


def lowered(query: LinearQuery) -> _core.LinearMap | None:
    """Return a query as the compiled solvers take it; None for each cell."""
    if query.is_identity:
        return None
    cells, running, axes, entries, width = query.form()
    if not isinstance(cells, np.ndarray):
        columns = cells.tocsc()
        starts, entries, cells = columns.indptr.astype(np.int64), columns.data.astype(np.float64), columns.indices
    elif entries is not None and (entries != 1).any():
        starts = np.arange(cells.size + 1, dtype=np.int64)
    else:
        starts, entries = np.empty(0, dtype=np.int64), np.empty(0)
    return _core.LinearMap(query.shape[0], cells.astype(np.int32), starts, entries, running, axes, width)


StartFor = Callable[[Sequence["LinearMeasurement"]], CliqueVector]
"""The potentials that measurements suggest to start from."""
_P = TypeVar("_P", bound="Problem")


class Solution(NamedTuple):
    """Result of a solver.

    Attributes
    ----------
    potentials : CliqueVector
        Natural logs.
    marginals : CliqueVector
        Marginals of the potentials, in counts.
    fit : Fit
        Reason why it ended.
    validated : Validated, optional
        Validation path that stopped it.
    """

    potentials: CliqueVector
    marginals: CliqueVector
    fit: Fit
    validated: Validated | None = None


class Step(NamedTuple):
    """Result of one iteration.

    Attributes
    ----------
    loss : float
        At the average.
    held_out : float
        The loss of the average against the measurements to validate with; 0 without them.
    slope, curvature : float
        Derivatives of the loss over the step, which changed it by slope + curvature / 2.
    calls : int
        Oracle calls taken.
    """

    loss: float
    held_out: float
    slope: float
    curvature: float
    calls: int


class Point(NamedTuple):
    """A model of flat tables, and its loss.

    Attributes
    ----------
    potentials : ndarray of float64
        Natural logs.
    marginals : ndarray of float64
        Marginals of the potentials, counts.
    loss : float
        At the marginals.
    lower : float
        A lower bound of the least loss, from the gradient there; -inf where there is none.
    start : ndarray of float64, optional
        Logs that a path over a nearby loss starts from, to go on from here; the potentials by default.
    """

    potentials: NDArray[np.float64]
    marginals: NDArray[np.float64]
    loss: float
    lower: float
    start: NDArray[np.float64] | None = None


class Engine(Protocol):
    """Accelerated mirror descent, one iteration at a time: marginals of potentials, and their average."""

    calls: int
    """Oracle calls that the first point took."""

    @property
    def average(self) -> NDArray[np.float64]:
        """The average of the points, flat, counts; a new array each time."""

    def advance(self, s: float, a: float) -> Step:
        """Step by s along the gradient at (1 - a) average + a last; move the average by a share a to the end."""

    def loss(self) -> float:
        """Return the loss of the average."""

    def lower_bound(self) -> float:
        """Return a lower bound of the least loss, from the iterates so far."""

    @property
    def restart(self) -> Callable[[], int] | None:
        """Makes the average the last point too, and returns the oracle calls that took; None where no path needs it."""

    def answer(self, loss: Loss, earlier: NDArray[np.float64] | None = None, *, rough: bool = False) -> Point:
        """Fit potentials to the average, roughly where another path continues from there; no step may follow.

        With an `earlier` average, they are fitted to the mean of both. The loss of the point is the given one, of which
        the problem's may be a stage.
        """


@dataclass(frozen=True, kw_only=True)
class Problem(ABC):
    """A loss to be minimised over marginals that are consistent with each other.

    Attributes
    ----------
    exact : bool
        Whether marginals are those of the potentials: gradients then bound the least loss, measured steps are safe.
    loss : Loss
        Sum of the marginals, counts.
    total : float
        Number of records, counts.
    start : CliqueVector
        Natural logs; -inf entries are structural zeros and stay.
    start_for : callable, optional
        The start that other answers to the same queries suggest; None where the start does not rest on answers.
    held_out : tuple of LinearMeasurement
        Measurements whose thinned answers the loss has; their rest validates.
    terms : list of Term, optional
        The loss as the compiled solvers take it, without answers; None if they do not.
    """

    exact: ClassVar[bool]

    loss: Loss
    total: float
    start: CliqueVector
    start_for: StartFor | None = None
    held_out: tuple[LinearMeasurement, ...] = ()
    terms: list[Term] | None = None

    def __post_init__(self) -> None:
        if self.terms is None and type(self.loss) is L2 and all(map(is_compiled, self.loss.measurements)):
            key = (self.tables.domain, self.tables.cliques)
            object.__setattr__(self, "terms", self.loss.kept(key, self._terms))

    @property
    def tables(self) -> CliqueVector:
        """Tables of any values over the cliques of an engine; each clique of the loss lies in one of them."""
        return self.start

    def evaluate(self, loss: Loss) -> Evaluate:
        """Return a loss as a function of the tables."""
        return loss.on(self.tables.domain, self.tables.cliques)

    def validation(self) -> Evaluate | None:
        """Return the loss of the part of measurements left to validate with; None if none was held out."""
        if not self.held_out:
            return None
        return self.evaluate(L2(left_to_validate(self.held_out, self.loss.measurements)))

    @abstractmethod
    def engine(self, n_threads: int) -> Engine:
        """Return the solver at its start."""

    @abstractmethod
    def steps(self, options: SolverOptions) -> tuple[MeasuredSteps, int]:
        """Return the steps of its iterations, and the oracle calls it took to find them."""

    def _terms(self) -> list[Term]:
        maps: dict[Contrasts, _core.LinearMap | None] = {}  # those of many pairs are the same
        return [self._term(m, maps) for m in self.loss.measurements]

    def _term(self, m: LinearMeasurement, maps: dict[Contrasts, _core.LinearMap | None]) -> Term:
        home, query = m.on(self.tables)
        known = maps.get(query) if isinstance(query, Contrasts) else None
        lowered_map = lowered(query) if known is None else known
        if isinstance(query, Contrasts):
            maps[query] = lowered_map
        return Term(home, lowered_map, np.atleast_1d(1.0 / np.square(m.stddev)))

    def arrays(self) -> list[_Arrays]:
        """Return the terms for the compiled solvers, with answers and validation data."""
        measurements, nothing = self.loss.measurements, np.empty(0)
        answered = zip(self.terms or (), measurements, self.held_out or itertools.repeat(None), strict=False)
        return [
            (t.place, t.map, _floats(m), t.weights, nothing if whole is None else _floats(whole), BEYOND)
            for t, m, whole in answered
        ]

    def with_loss(self: _P, loss: Loss) -> _P:
        """Return the problem with another loss over the same cliques."""
        return self if loss is self.loss else replace(self, loss=loss, terms=None)

    def thinned(self: _P, options: SolverOptions) -> _P | None:
        """Return the problem that thinned measurements pose; None if the loss rests on more than measurements."""
        measurements = self.loss.measurements
        fitted = thinned(measurements, options.rng) if options.trial is None else options.trial
        loss = self.loss.refitted(fitted) if fitted else None
        if loss is None:
            return None
        # What is fitted starts from its own answers: a start that knew the held-out ones would look too good on them.
        start = self.start if self.start_for is None else self.start_for(fitted)
        return replace(self, loss=loss, start=start, held_out=measurements)


def _floats(m: LinearMeasurement) -> NDArray[np.float64]:
    return np.asarray(m.values, dtype=np.float64)
