"""The iterates of an averaging method on a junction tree, and what they answer."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from pypgm.estimation.fit import Fit, Options, Status, Watch
from pypgm.estimation.path import CHECK_EVERY, Averaging, Path
from pypgm.estimation.steps import Steps
from pypgm.estimation.suffix import Suffix

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.estimation.problem import Answer, Problem

__all__ = ["TreePath", "settled_answer"]

_LEVEL_EVERY = 10  # iterations: potentials drift, and inference is slower where they lie far apart
_SWEEPS = 10  # of fitting at most: the marginals then miss the average by less than 1e-5 a clique
_MISFIT = 1e-4  # of 1 + loss: what fitting may leave


class TreePath(Path):
    """A path by exact inference, with a bound of how far its end is above the optimum."""

    def __init__(
        self,
        problem: Problem,
        steps: Steps,
        options: Options,
        watch: Watch,
        calls: int = 0,
        *,
        averaging: Averaging = "restarted",
        held_out: Sequence[LinearMeasurement] = (),
    ) -> None:
        self.problem = problem
        self.thinned = bool(held_out)
        self.core = problem.acceleration(options.n_threads, held_out)
        super().__init__(steps, options, watch, calls + 1, loss=self.core.loss(), averaging=averaging)
        self.lower = -math.inf  # the highest bound so far that no distribution's loss is below
        self._end: tuple[NDArray[np.float64], NDArray[np.float64], float] | None = None  # once it is settled
        self._settled: NDArray[np.float64] | None = None
        self._suffix = Suffix()
        self._opened = 0  # the iteration since which gradients are averaged, for the bound; 0 before

    def settled(self) -> NDArray[np.float64]:
        """Return potentials whose marginals are the average, as near as fitting comes."""
        if self._settled is not None:
            return self._settled
        average, last, wanted = self.given_back()
        threads = self._options.n_threads

        def misfit(potentials: NDArray[np.float64]) -> float:
            loss = self.problem.started(self.problem.vector(potentials)).descent(threads).loss
            return abs(loss - wanted) / (_MISFIT * (1 + abs(wanted)))  # a lower loss would be another answer

        start = self.problem.start.values
        oracle = self.problem.oracle(threads)
        self._settled = oracle.settled(last, average, _SWEEPS, start=start, misfit=misfit)
        return self._settled

    def given_back(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return the average, the last potentials and the loss; the solver's memory is free from the first call on."""
        if self._end is None:
            self._end = self.core.average, self.core.potentials, self.core.loss()
            del self.core
        return self._end

    def _advance(self) -> tuple[float, float]:
        s, a = self._steps.next()
        loss, of_mean, held_out, slope, curvature = self.core.advance(s, a, self._share(s, a))
        self._note(1, loss, slope, curvature)
        self._suffix.step(a)
        if self.taken % CHECK_EVERY == 0 and self._averaging in {"restarted", "shed"}:
            self._renew()
        if self.taken % _LEVEL_EVERY == 0:
            self.core.level()
        return of_mean, held_out

    def _renew(self) -> None:
        """Leave out of the average what lowers the loss: all but the last point, or the first ones.

        The last point may take the place of an average that is worse with all its weight: what bounds an accelerated
        path, its weight times what its average lacks, only falls. The textbook's methods begin anew.
        """
        if self.core.restart():
            if self._averaging == "restarted":
                self._steps.forget(1.0)
            self._suffix.restart(self.core.average, self.taken)
        elif self._averaging == "shed":
            share = self._suffix.shed(self.core, self.taken)
            if share > 0:
                self._steps.forget(share)
                self.history[-1] = self.core.loss()

    def whole(self) -> NDArray[np.float64]:
        """Return the average with all that was left out of it; see `Suffix.whole`."""
        return self._suffix.whole(self.core.average if self._end is None else self._end[0])

    def _is_optimal(self) -> bool:
        tolerance = self._options.tolerance
        if tolerance == 0 or self.taken % CHECK_EVERY:
            return False
        self.look()
        if self.taken >= 2 * self._opened:
            self.core.open_window()
            self._opened = self.taken
        return self._gap is not None and self._gap <= tolerance * (1 + abs(self.core.loss()))

    def look(self) -> None:
        """Bound the least loss, from the average, the whole one and that of the gradients; keep the best bound.

        The latter is worst in the first iterations, and so those of the first half are left out of it. A path that is
        settled has been looked at where it ended.
        """
        if self._end is not None:
            return
        loss = self.core.loss()
        self.lower = max(self.lower, loss - self.core.gap())
        if self._suffix.has_left_out:
            average = self.core.average
            self.core.set_average(self.whole())
            self.lower = max(self.lower, self.core.loss() - self.core.gap())
            self.core.set_average(average)
        if 0 < self._opened < self.taken:
            self.lower = max(self.lower, self.core.lower_bound())
        self._gap = max(0.0, loss - self.lower)


def settled_answer(problem: Problem, run: TreePath, status: Status, options: Options) -> Answer:
    """Fit potentials to the average a path ended at; loss and bound are those of the model they make.

    A stage of a loss is never above it, so what bounds the stage's optimum from below bounds the loss's.
    """
    lower = -math.inf
    if not run.thinned:  # else its bound is that of another loss
        run.look()
        lower = run.lower
    answer = problem.started(problem.vector(run.settled())).descent(options.n_threads)
    gap = answer.loss - max(lower, answer.loss - answer.gap())
    if status == "converged" and run.problem.loss is not problem.loss and gap > options.tolerance * (1 + answer.loss):
        status = "iterations"  # the last smooth stage of the loss is not as close as was asked for
    seconds = time.perf_counter() - options.started
    fit = Fit(status, answer.loss, max(0.0, gap), run.calls, seconds, tuple(run.history))
    return problem.vector(answer.potentials), problem.vector(answer.marginals), fit
