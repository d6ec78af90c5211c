"""What an estimator is given: a loss, a total, a start, and the engine that follows it over trees or region graphs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, TypeVar

from pypgm.clique_vector import CliqueVector
from pypgm.estimation.fit import Fit, Options
from pypgm.estimation.loss import Loss
from pypgm.estimation.objective import Objective
from pypgm.estimation.steps import MeasuredSteps
from pypgm.estimation.thinning import answers_to_fit

if TYPE_CHECKING:
    import numpy as np

    from pypgm.domain import Domain
    from pypgm.estimation.measurement import LinearMeasurement

__all__ = ["Answer", "Engine", "Point", "Problem", "StartFor", "Step"]

Answer = tuple[CliqueVector, CliqueVector, Fit]
"""Potentials (natural logs), their marginals (counts), and how it ended."""
StartFor = Callable[[Sequence["LinearMeasurement"]], CliqueVector]
"""The potentials that measurements suggest to start from."""


Of = TypeVar("Of", bound="Problem")


class Step(NamedTuple):
    """What one iteration showed."""

    loss: float
    """At the average."""
    held_out: float
    """The loss of the average against the measurements to validate with; 0 without them."""
    slope: float
    """Of the loss over the step."""
    curvature: float
    """Of the loss over the step, which changed it by slope + curvature / 2."""
    calls: int
    """Oracle calls taken."""


class Point(NamedTuple):
    """Where a path ended, as a model."""

    potentials: CliqueVector
    """Natural logs."""
    marginals: CliqueVector
    """Those of the potentials, counts."""
    loss: float
    lower: float
    """What the gradient there says the least loss is not below; -inf where it says nothing."""
    start: CliqueVector
    """Where a path over a nearby loss starts to go on from here."""


class Engine(Protocol):
    """Accelerated mirror descent, one iteration at a time: marginals of potentials, and their average."""

    calls: int
    """Oracle calls that the first point took."""

    def advance(self, s: float, a: float) -> Step:
        """Step by s along the gradient at (1 - a) average + a last; move the average by a share a to the end."""

    def loss(self) -> float:
        """Return the loss of the average."""

    def lower_bound(self) -> float:
        """Return what the iterates so far say the least loss is not below."""

    def restart(self) -> int:
        """Make the average the last point too; return the oracle calls that took."""

    def answer(self, loss: Loss, *, rough: bool = False) -> Point:
        """Fit potentials to the average, roughly where the path goes on from there; nothing else may follow.

        The loss of the point is that of another stage, if so wished.
        """


@dataclass(frozen=True, kw_only=True)
class Problem(ABC):
    """A loss to be minimised over marginals that are consistent with each other."""

    exact: ClassVar[bool]
    """Whether marginals are those of the potentials: gradients then bound the least loss, measured steps are safe."""

    loss: Loss
    """Of the marginals, counts."""
    total: float
    """Number of records, counts."""
    start: CliqueVector
    """Natural logs; -inf entries are structural zeros and stay."""
    start_for: StartFor | None = None
    """The start that other answers to the same queries suggest; None where the start does not rest on answers."""
    held_out: tuple[LinearMeasurement, ...] = ()
    """What was measured, where the loss has thinned answers to the same queries: the rest of it validates."""
    objective: Objective | None = None
    """The loss as the compiled solvers take it, None if they do not; the answers are those of the loss."""

    def __post_init__(self) -> None:
        if self.objective is None:
            object.__setattr__(self, "objective", self._lowered())

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """All attributes."""

    @abstractmethod
    def engine(self, n_threads: int) -> Engine:
        """Return the solver at its start."""

    @abstractmethod
    def _lowered(self) -> Objective | None:
        """Return the loss as the compiled solvers take it, None if they do not."""

    @abstractmethod
    def steps(self, options: Options) -> tuple[MeasuredSteps, int]:
        """Return how far its iterations step, and how many oracle calls it took to find out."""

    def with_loss(self: Of, loss: Loss) -> Of:
        """Return the problem with another loss over the same cliques."""
        return self if loss is self.loss else replace(self, loss=loss, objective=None)

    def started(self: Of, start: CliqueVector) -> Of:
        """Return the problem with another start."""
        return replace(self, start=start)

    def thinned(self: Of, rng: np.random.Generator | int | None) -> Of | None:
        """Return the problem that thinned measurements pose; None if the loss rests on more than measurements."""
        own = self.loss.measurements
        fitted = [m.answered(y) for m, y in zip(own, answers_to_fit(self.domain, own, rng), strict=True)]
        loss = self.loss.refitted(fitted) if fitted else None
        if loss is None:
            return None
        # What is fitted starts from its own answers: a start that knew the held-out ones would look too good on them.
        start = self.start if self.start_for is None else self.start_for(fitted)
        return replace(self, loss=loss, start=start, held_out=own)
