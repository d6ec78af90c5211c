"""The options of an estimate, what it shows while it runs, and how it ended."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pypgm.errors import EstimateInterruptedWarning

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Fit", "FitState", "Options", "Status", "Stop", "warn_if_interrupted"]

Status = Literal["validated", "converged", "iterations", "time", "callback", "interrupted"]
Stop = Literal["validated", "optimum"]


@dataclass(frozen=True, slots=True)
class FitState:
    """What a callback sees after an iteration; all of it follows from released measurements.

    Attributes
    ----------
    iteration : int
        Oracle calls so far.
    loss : float
        The loss at the current marginals, on counts.
    gap : float or None
        The last computed bound of loss - optimum, in the loss's unit; None before the first.
    seconds : float
        Wall time since the start.
    """

    iteration: int
    loss: float
    gap: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Fit:
    """How an estimate ended.

    Attributes
    ----------
    status : str
        Why it ended: where noise begins to be fitted, the tolerance was met, or what ran out or stopped it.
    loss : float
        The loss at the answer, on counts.
    gap : float or None
        Upper bound of loss - optimum, in the loss's unit.
    iterations : int
        Oracle calls, rejected trials and validation included.
    seconds : float
        Wall time, the plan included.
    history : tuple of float
        The loss after each step, the start first.
    """

    status: Status
    loss: float
    gap: float | None
    iterations: int
    seconds: float
    history: tuple[float, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Options:
    """When to stop and what to show; see `pypgm.estimate`. `started` is ``time.perf_counter()`` at the beginning.

    Raises
    ------
    ValueError
        If one of them is out of range.
    """

    iterations: int
    tolerance: float
    stepsize: float | Callable[[int], float] | None = None
    time_limit: float | None = None
    callback: Callable[[FitState], object] | None = None
    progress: bool = False
    n_threads: int = 0
    stop: Stop = "optimum"
    rng: np.random.Generator | int | None = None
    started: float = field(default_factory=time.perf_counter)
    max_bytes: float | None = None
    keeps: bool = True
    """Whether Ctrl-C ends the estimate with the best so far; else it goes through."""

    def __post_init__(self) -> None:
        if self.stop not in {"validated", "optimum"}:
            raise ValueError(f"stop must be 'validated' or 'optimum', got {self.stop!r}")
        if self.iterations < 1:
            raise ValueError(f"iterations must be at least 1, got {self.iterations}")
        if not 0 <= self.tolerance < math.inf:
            raise ValueError(f"tolerance must be finite and at least 0, got {self.tolerance}")
        if self.stepsize is not None and not callable(self.stepsize) and not 0 < self.stepsize < math.inf:
            raise ValueError(f"stepsize must be positive and finite, got {self.stepsize}")
        if self.time_limit is not None and not self.time_limit > 0:
            raise ValueError(f"time_limit must be positive, got {self.time_limit}")
        if self.n_threads < 0:
            raise ValueError(f"n_threads must be 0 (all) or positive, got {self.n_threads}")

    def meets(self, distance: float, loss: float) -> bool:
        """Return whether a distance between losses is within the tolerance."""
        return distance <= self.tolerance * (1 + abs(loss))

    def step(self, t: int) -> float | None:
        """Return the given step at iteration t = 1, 2, …, None if the method chooses it."""
        if not callable(self.stepsize):
            return self.stepsize
        alpha = self.stepsize(t)
        if not 0 < alpha < math.inf:
            raise ValueError(f"stepsize must be positive and finite, got {alpha} for step {t}")
        return alpha


def warn_if_interrupted(fit: Fit) -> None:
    """Warn the caller of `pypgm.estimate` that the answer is only the best so far."""
    if fit.status == "interrupted":
        text = f"the estimate was interrupted after {fit.iterations} oracle calls: it is the best point so far"
        warnings.warn(text, EstimateInterruptedWarning, stacklevel=3)
