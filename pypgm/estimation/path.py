"""The iterates of an averaging method: how long to follow them, and what they answer."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Protocol

from pypgm.estimation.certificate import is_late, is_worthwhile, levelled_off
from pypgm.estimation.fit import Fit, Options, Status, Watch
from pypgm.estimation.second_average import SecondAverage
from pypgm.estimation.suffix import Suffix

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.estimation.problem import Answer, Problem

__all__ = ["CHECK_EVERY", "Path", "Steps", "settled_answer"]

CHECK_EVERY = 50  # iterations between certificates and between looks at what the average may leave out
_LEVEL_EVERY = 10  # iterations: potentials drift, and inference is slower where they lie far apart
_PATIENCE = 0.25  # of the iterations so far, without a better validation
_MIN_PATIENCE = 10
_SWEEPS = 10  # of fitting at most: the marginals then miss the average by less than 1e-5 a clique
_MISFIT = 1e-4  # of 1 + loss: what fitting may leave


class Steps(Protocol):
    """How far each iteration of an averaging method steps."""

    def next(self) -> tuple[float, float]:
        """Return the length of the step, in count space, and the weight of its end in the average."""

    def learn(self, slope: float, curvature: float) -> None:
        """Take note of slope and curvature of the loss over the step."""

    def forget(self, share: float, /) -> None:
        """Take note that a share of the average is left out of it; of all of it, that the next step's end is it."""


class Path:
    """The iterates of an averaging method, and how long to follow them.

    Where it sheds, the average leaves out its first points, see `Suffix`; where it averages twice, the answer is an
    average of the averages, see `SecondAverage`.
    """

    def __init__(
        self,
        problem: Problem,
        steps: Steps,
        options: Options,
        watch: Watch,
        calls: int = 0,
        *,
        held_out: Sequence[LinearMeasurement] = (),
        sheds: bool = False,
        twice: bool = False,
    ) -> None:
        self.problem = problem
        self.thinned = bool(held_out)
        self.core = problem.acceleration(options.n_threads, held_out)
        self.calls = calls + 1
        self.history = [self.core.loss()]
        self._steps = steps
        self._taken = 0
        self.lower = -math.inf  # the highest bound so far that no distribution's loss is below
        self._gap: float | None = None
        self._end: tuple[NDArray[np.float64], NDArray[np.float64], float] | None = None  # once it is settled
        self._settled: NDArray[np.float64] | None = None
        self._sheds = sheds
        self._suffix = Suffix()
        self._second = SecondAverage() if twice else None
        self._opened = 0  # the iteration since which gradients are averaged, for the bound; 0 before
        self._options = options
        self._watch = watch

    def validate(self, limit: int) -> tuple[Status, int]:
        """Run until the held-out loss has not fallen for a while; return why it ended and the best iteration.

        Only a loss that goes on falling says that noise is fitted: where both have risen the path has overshot, and
        will come back.
        """
        best, best_loss, fitted_at_best = 1, math.inf, math.inf
        try:
            while self.calls < limit:
                if self._is_optimal():
                    return "converged", best
                held_out = self._advance()
                if held_out < best_loss:
                    best, best_loss, fitted_at_best = self._taken, held_out, self.history[-1]
                idle = self._taken - best
                if idle >= max(_MIN_PATIENCE, _PATIENCE * self._taken) and self.history[-1] < fitted_at_best:
                    return "validated", best
                ended = self._watched()
                if ended is not None:
                    return ended, best
        except KeyboardInterrupt:
            return "interrupted", best
        return "iterations", best

    def follow(self, limit: int, *, to_tolerance: bool = False, to_certify: bool = False) -> Status | None:
        """Run until so many oracle calls are spent, or a certificate is due; return why it ended before, or None."""
        try:
            while self.calls < limit:
                if to_tolerance and self._is_optimal():
                    return "converged"
                if to_certify and self._is_certificate_due():
                    return None
                self._advance()
                ended = self._watched()
                if ended is not None:
                    return ended
        except KeyboardInterrupt:
            return "interrupted"
        return None

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

    def nearly_settled(self) -> NDArray[np.float64]:
        """Return potentials whose marginals are about the average, by a short fit."""
        average, last, _ = self.given_back()
        return self.problem.oracle(self._options.n_threads).settled(last, average, 1, misfit=lambda _: 0.0)

    def given_back(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return the average, the last potentials and the loss; the solver's memory is free from the first call on."""
        if self._end is None:
            self._end = self.core.average, self.core.potentials, self.core.loss()
            del self.core
        return self._end

    def _advance(self) -> float:
        """Take one step; return the held-out loss."""
        s, a = self._steps.next()
        loss, held_out, slope, curvature = self.core.advance(s, a, self._share(s, a))
        self.calls += 1
        self._taken += 1
        self.history.append(loss)
        self._steps.learn(slope, curvature)
        self._suffix.step(a)
        if self._taken % CHECK_EVERY == 0:
            self._renew()
        if self._taken % _LEVEL_EVERY == 0:
            self.core.level()
        return held_out

    def _renew(self) -> None:
        """Leave out of the average what lowers the loss: all but the last point, or the first ones."""
        if self._restart():
            self._suffix.restart(self.core.average, self._taken)
        elif self._sheds:
            share = self._suffix.shed(self.core, self._taken)
            if share > 0:
                self._steps.forget(share)
                self.history[-1] = self.core.loss()

    def _share(self, s: float, a: float) -> float:
        """Return the share in the answer of the average that a step leads to."""
        return 1.0 if self._second is None else self._second.share(s, a)

    def _restart(self) -> bool:
        """Begin to average anew where the last point has the lower loss; tell whether it had."""
        if not self.core.restart():
            return False
        self._steps.forget(1.0)
        if self._second is not None:
            self._second.restart()
        return True

    def whole(self) -> NDArray[np.float64]:
        """Return the average with all that was left out of it; see `Suffix.whole`."""
        return self._suffix.whole(self.core.average if self._end is None else self._end[0])

    def _is_optimal(self) -> bool:
        tolerance = self._options.tolerance
        if tolerance == 0 or self._taken % CHECK_EVERY:
            return False
        self.look()
        if self._taken >= 2 * self._opened:
            self.core.open_window()
            self._opened = self._taken
        return self._gap is not None and self._gap <= tolerance * (1 + abs(self.core.loss()))

    def _is_certificate_due(self) -> bool:
        options = self._options
        if options.tolerance == 0 or self._taken % CHECK_EVERY or not self._taken:
            return False
        seconds = time.perf_counter() - options.started
        late = is_late(self.calls, options.iterations, seconds, options.time_limit)
        if not late and not levelled_off(self.history, options.tolerance):
            return False
        enough = options.tolerance * (1 + abs(self.core.loss()))
        return self._gap is not None and is_worthwhile(self.problem, self._taken, self._gap, enough)

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
        if 0 < self._opened < self._taken:
            self.lower = max(self.lower, self.core.lower_bound())
        self._gap = max(0.0, loss - self.lower)

    def _watched(self) -> Status | None:
        return self._watch.ended(self.calls, self.history[-1], self._gap)


def settled_answer(problem: Problem, run: Path, status: Status, options: Options) -> Answer:
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
