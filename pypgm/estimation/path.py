"""The path of an averaging method over trees or region graphs, and when it is optimal."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pypgm.estimation.fit import Status
from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.loss import Loss
from pypgm.estimation.problem import Point, Problem
from pypgm.estimation.solver import StepwiseSolver
from pypgm.estimation.steps import Steps
from pypgm.estimation.stop_rule import StopRule

_RISE_EVERY = 10  # iterations between checks of whether the loss has risen
_RISE = 1e-2  # of the loss above its least: more than the ripples of an accelerated path


class Path(StepwiseSolver):
    """The iterates of an averaging method by a problem's engine; its answer is their average, or the mean of two.

    Parameters
    ----------
    problem : Problem
    options : SolverOptions
    calls : int
        Oracle calls spent before.
    steps : Steps, optional
        Step of each iteration; measured by default.
    rule : StopRule, optional
        When the path ends, apart from limits and tolerance.
    target : Loss, optional
        The loss of the answer, of which that of the problem is a stage or a thinned version; the problem's by default.
    """

    check_every: ClassVar[int] = 50

    def __init__(
        self,
        problem: Problem,
        options: SolverOptions,
        calls: int = 0,
        *,
        steps: Steps | None = None,
        rule: StopRule | None = None,
        target: Loss | None = None,
    ) -> None:
        self.steps, trials = problem.steps(options) if steps is None else (steps, 0)
        self.engine = problem.engine(options.n_threads)
        super().__init__(problem, options, self.engine.loss(), calls + trials + self.engine.calls)
        self._rule = rule
        self._target = problem.loss if target is None else target
        self._end: Point | None = None
        self._earlier: NDArray[np.float64] | None = None
        self._since = 0  # the iteration of the last restart

    def advance(self) -> Status | None:
        """Take one step; see `Solver`."""
        step = self.engine.advance(*self.steps.next())
        self.calls += step.calls
        self.history.append(step.loss)
        self.steps.learn(step.slope, step.curvature)
        taken = self.taken + 1
        if self.engine.restart is not None and self._has_risen(taken):
            self.calls += self.engine.restart()
            self.steps = self.steps.restarted()
            self._since = taken
        return None if self._rule is None else self._rule(taken, step.loss, step.held_out)

    @property
    def has_kept(self) -> bool:
        """Whether an earlier average is kept for the answer."""
        return self._earlier is not None

    def keep(self) -> None:
        """Keep the average: the answer is the mean of it and the last one."""
        self._earlier = self.engine.average

    def marginals(self) -> NDArray[np.float64]:
        """Return the average; see `Solver`."""
        return np.array(self.engine.average)

    def lower_bound(self) -> float:
        """Return a lower bound of the least loss from the iterates so far; see `Solver`."""
        return self.engine.lower_bound() if self._end is None else self._end.lower

    def is_optimal(self) -> bool:
        """Return whether the gap meets the tolerance, over region graphs the change of the loss since the last check.

        A lower bound over region graphs rises too slowly.
        """
        if self.problem.exact:
            return super().is_optimal()
        before = self.history[-1 - self.check_every] if self.taken else float("inf")
        return self.options.meets(abs(before - self.history[-1]), self.history[-1])

    def point(self) -> Point:
        """Return the model of the average; see `Solver`.

        A stage of a loss is never above it, so a lower bound of the stage is one of the loss.
        """
        if not self.problem.held_out:  # else the bound is that of another loss
            self.look()
        is_rough = self.options.trial is not None or (self.problem.exact and self.options.is_start)
        return self.fitted(rough=is_rough)

    def fitted(self, *, rough: bool = False) -> Point:
        """Return the average with potentials to it, fitted once, roughly where another path continues from there."""
        if self._end is None:
            self._end = self.engine.answer(self._target, self._earlier, rough=rough)
        return self._end

    def _has_risen(self, steps: int) -> bool:
        """Return whether the path has left its valley: no step is safe for certain while messages lag."""
        taken, loss = steps - self._since, self.history[-1]
        if taken < _RISE_EVERY or taken % _RISE_EVERY:
            return False
        least = min(self.history[-taken:])
        return loss - least > _RISE * abs(least) or (
            taken % self.check_every == 0 and loss > self.history[-self.check_every]
        )
