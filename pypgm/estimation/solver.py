"""The loop that all estimators share: limits, tolerance, callback, clock, Ctrl-C, and how a run ended."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm._base.clock import Clock, now
from pypgm.clique_vector import CliqueVector
from pypgm.estimation.fit import Fit, FitState, Status
from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.problem import Point, Problem, Solution


class Watch:
    """Shows a running estimate on standard error, calls its callback and checks the clock.

    Attributes
    ----------
    begun : bool
        Whether an iteration is done, so that there is something to return.
    clock : Clock
    """

    def __init__(self, options: SolverOptions) -> None:
        self.begun = False
        self.clock = Clock("estimate", options.time_limit, options.progress, options.started)
        self._options = options

    def ended(self, iteration: int, loss: float, gap: float | None, look: Callable[[], CliqueVector]) -> Status | None:
        """Show an iteration; return why the estimate has to end, None if it does not.

        Parameters
        ----------
        iteration : int
        loss : float
        gap : float or None
        look : callable
            Returns the marginals, for a callback that reads them.
        """
        self.begun = True
        callback, most = self._options.callback, self._options.iterations
        bound = "" if gap is None else f", gap {gap:.3g}"
        over = self.clock.tick(lambda: f"{iteration} iterations of at most {most}, loss {loss:.6g}{bound}")
        if callback is not None and callback(FitState(iteration, loss, gap, self.clock.seconds, look)):
            return "callback"
        return "time" if over else None


class Solver(ABC):
    """The iterates of an estimator, and the bounds of the least loss.

    Parameters
    ----------
    problem : Problem
    options : SolverOptions
    loss : float
        At the start.
    calls : int
        Oracle calls spent so far, that at the start included.

    Attributes
    ----------
    history : list of float
        The loss after each step, the start first.
    taken : int
        Steps.
    lower : float
        The highest lower bound of the least loss so far; -inf where there is none.
    gap : float or None
        The distance of the loss from it when it was last computed.
    """

    check_every: ClassVar[int] = 25
    """Iterations between checks of the tolerance."""

    def __init__(self, problem: Problem, options: SolverOptions, loss: float, calls: int = 1) -> None:
        self.problem = problem
        self.options = options
        self.calls = calls
        self.history = [loss]
        self.taken = 0
        self.lower = -math.inf
        self.gap: float | None = None

    @abstractmethod
    def follow(self, watch: Watch, limit: int) -> Status:
        """Iterate until something ends the loop, or the oracle calls are spent; return the reason."""

    @abstractmethod
    def lower_bound(self) -> float:
        """Return a lower bound of the least loss, from the current iterate."""

    @abstractmethod
    def point(self) -> Point:
        """Return the best point found, as a model; no step may follow."""

    @abstractmethod
    def marginals(self) -> NDArray[np.float64]:
        """Return a copy of the flat marginals whose loss is the last of the history, counts."""

    def seen(self) -> CliqueVector:
        """Return `marginals` over the cliques of the problem."""
        return self.problem.tables.like(self.marginals())

    def best(self) -> float:
        """Return the loss at the current answer, the last point in `history`."""
        return self.history[-1]

    def look(self) -> float:
        """Improve the lower bound; return how far the loss is above it.

        If the loss is not convex, this measures how far the iterate is from stationary, and bounds nothing.
        """
        convex, bound = self.problem.loss.convex, self.lower_bound()
        self.lower = max(self.lower, bound) if convex else bound
        distance = max(0.0, self.best() - self.lower)
        self.gap = distance if convex else None
        return distance

    def is_optimal(self) -> bool:
        """Return whether the tolerance is met."""
        return self.options.meets(self.look(), self.best())

    def due(self, limit: int) -> Status | None:
        """Return why no further step is to be taken, None if there is no reason."""
        if self.calls >= limit:
            return "iterations"
        check = self.options.tolerance > 0 and self.taken % self.check_every == 0
        return "converged" if check and self.is_optimal() else None

    def solution(self, status: Status) -> Solution:
        """Return potentials, marginals and how the run ended; without a certificate it has not converged."""
        point = self.point()
        lower = max(point.lower, self.lower)
        certified = lower > -math.inf and self.problem.loss.convex
        gap = max(0.0, point.loss - max(lower, self.problem.loss.least)) if certified else None
        if status == "converged" and self.problem.exact and (gap is None or not self.options.meets(gap, point.loss)):
            status = "iterations"
        seconds = now() - self.options.started
        fit = Fit(status, point.loss, gap, self.calls, seconds, tuple(self.history))
        potentials = self.problem.tables.like(point.potentials)
        return Solution(potentials, potentials.like(point.marginals), fit)


class StepwiseSolver(Solver):
    """A run that takes one step at a time."""

    @abstractmethod
    def advance(self) -> Status | None:
        """Take one step and append its loss to the history; return why it is the last one, None if it is not."""

    def follow(self, watch: Watch, limit: int) -> Status:
        """Take steps until something ends them; see `Solver`."""
        while True:
            ended = self.due(limit)
            if ended is not None:
                return ended
            last = self.advance()
            self.taken += 1
            ended = watch.ended(self.calls, self.history[-1], self.gap, self.seen) or last
            if ended is not None:
                return ended


def watched(loop: Callable[[Watch], Status], options: SolverOptions) -> Status:
    """Run a loop to its end and return why it ended; Ctrl-C interrupts it once an iteration is done."""
    watch = Watch(options)
    try:
        with watch.clock:
            return loop(watch)
    except KeyboardInterrupt:
        if not (watch.begun and options.keeps):
            raise
        return "interrupted"


def solved(solver: Solver) -> Solution:
    """Run a solver to its end and return its result.

    Ctrl-C lets the current step end. A second Ctrl-C ends the step midway, without a result.
    """
    status = watched(lambda watch: solver.follow(watch, solver.options.iterations), solver.options)
    try:
        return solver.solution(status)
    except _core.HalfDone:
        raise KeyboardInterrupt from None
