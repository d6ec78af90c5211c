"""How an estimate is asked for, watched, and how it ended."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pypgm.errors import EstimateInterruptedWarning

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Fit", "FitState", "Options", "Status", "Watch", "warn_if_interrupted", "watched"]

Status = Literal["validated", "converged", "iterations", "time", "callback", "interrupted"]
StepSize = float | Callable[[int], float] | None


@dataclass(frozen=True, slots=True)
class FitState:
    """What a callback sees after an iteration; all of it follows from released measurements."""

    iteration: int
    """Oracle calls so far."""
    loss: float
    """The loss at the current marginals, on counts."""
    gap: float | None
    """The last computed bound of loss - optimum, in the loss's unit; None before the first."""
    seconds: float
    """Wall time since the start."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How an estimate ended."""

    status: Status
    """Why it ended: where noise begins to be fitted, the tolerance was met, or what ran out or stopped it."""
    loss: float
    """The loss at the answer, on counts."""
    gap: float | None
    """Upper bound of loss - optimum, in the loss's unit."""
    iterations: int
    """Oracle calls, rejected trials and validation included."""
    seconds: float
    """Wall time, the plan included."""
    history: tuple[float, ...] = field(repr=False)
    """The loss after each step, the start first."""


@dataclass(frozen=True, slots=True)
class Options:
    """When to stop and what to watch; see `pypgm.estimate`."""

    iterations: int
    tolerance: float
    stepsize: StepSize
    time_limit: float | None
    callback: Callable[[FitState], object] | None
    progress: bool
    n_threads: int
    stop: Literal["validated", "optimum"]
    rng: np.random.Generator | int | None
    started: float
    """``time.perf_counter()`` when the work began."""

    def meets(self, distance: float, loss: float) -> bool:
        """Return whether a distance between losses is within the tolerance."""
        return distance <= self.tolerance * (1 + abs(loss))

    def step(self, t: int) -> float | None:
        """Return the step asked for at iteration t = 1, 2, …, None if it is the method's to choose."""
        if self.stepsize is None:
            return None
        alpha = self.stepsize(t) if callable(self.stepsize) else self.stepsize
        if not 0 < alpha < math.inf:
            raise ValueError(f"stepsize needs to be positive and finite, got {alpha} for step {t}")
        return alpha


class Watch:
    """Shows a running estimate on standard error, asks its callback, and looks at the clock.

    Attributes
    ----------
    begun : bool
        Whether an iteration is done, so that there is something to return.
    """

    def __init__(self, options: Options) -> None:
        self.begun = False
        self._options = options
        self._shown = -1.0

    def ended(self, iteration: int, loss: float, gap: float | None) -> Status | None:
        """Tell of an iteration; return why the estimate has to end, None if it has not."""
        self.begun = True
        options = self._options
        state = FitState(iteration, loss, gap, time.perf_counter() - options.started)
        self._show(state)
        if options.callback is not None and options.callback(state):
            return "callback"
        if options.time_limit is not None and state.seconds >= options.time_limit:
            return "time"
        return None

    def close(self) -> None:
        """End the progress line."""
        if self._shown >= 0:
            sys.stderr.write("\n")
            sys.stderr.flush()

    def _show(self, state: FitState) -> None:
        """Write the progress line over, at most ten times a second."""
        if not self._options.progress or state.seconds - self._shown < 0.1:
            return
        self._shown = state.seconds
        gap = "" if state.gap is None else f", gap {state.gap:.3g}"
        limit = self._options.iterations
        sys.stderr.write(f"\restimate: {state.iteration}/{limit} iterations, loss {state.loss:.6g}{gap}   ")
        sys.stderr.flush()


def watched(loop: Callable[[Watch], Status], options: Options) -> Status:
    """Run a loop to its end and return why it ended; Ctrl-C interrupts it once an iteration is done."""
    watch = Watch(options)
    try:
        return loop(watch)
    except KeyboardInterrupt:
        if not watch.begun:
            raise
        return "interrupted"
    finally:
        watch.close()


def warn_if_interrupted(fit: Fit | None) -> None:
    """Warn whoever called `pypgm.estimate` that the answer is only the best so far."""
    if fit is not None and fit.status == "interrupted":
        text = f"the estimate was interrupted after {fit.iterations} oracle calls: it is the best point so far"
        warnings.warn(text, EstimateInterruptedWarning, stacklevel=3)
