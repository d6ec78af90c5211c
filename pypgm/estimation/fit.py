"""The options of an estimate, what it shows while it runs, and how it ended."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pypgm.clock import now
from pypgm.errors import EstimateInterruptedWarning
from pypgm.html import Shown
from pypgm.numeric import as_generator, checked_integer, checked_real, checked_threads
from pypgm.progress import Bar, checked_progress

if TYPE_CHECKING:
    import numpy as np

    from pypgm.clique_vector import CliqueVector

__all__ = ["ITERATIONS", "Fit", "FitState", "SolverOptions", "Status", "Stop", "warn_if_interrupted"]

ITERATIONS = 5000  # the default limit on the oracle calls of an estimate

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
    marginals : CliqueVector
        Where the search is: counts over the model's cliques, on a region graph over its regions. They are copied when
        they are read, which is as long as the callback runs.
    """

    iteration: int
    loss: float
    gap: float | None
    seconds: float
    look: Callable[[], CliqueVector] = field(repr=False, compare=False)

    @property
    def marginals(self) -> CliqueVector:
        """See the attribute."""
        return self.look()


@dataclass(frozen=True, slots=True)
class Fit(Shown):
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

    def __repr__(self) -> str:
        gap = "None" if self.gap is None else f"{self.gap:.3g}"
        ended = f"{self.status}, loss {self.loss:.6g}, gap {gap}"
        return f"Fit({ended}, {self.iterations} iterations, {self.seconds:.3g} s)"


@dataclass(frozen=True, slots=True)
class SolverOptions:
    """When to stop and what to show; see `pypgm.estimate`. `started` is ``time.perf_counter()`` at the beginning.

    Attributes
    ----------
    keeps : bool
        Whether Ctrl-C ends the estimate with the best so far; else it is raised.
    is_start : bool
        Whether another estimate starts from the answer: an accelerated path need not fit its potentials then.

    Raises
    ------
    ValueError, TypeError
        If one of them is out of range, or no number.
    """

    iterations: int
    tolerance: float
    stepsize: float | Callable[[int], float] | None = None
    time_limit: float | None = None
    callback: Callable[[FitState], object] | None = None
    progress: bool | Bar = False
    n_threads: int = 0
    stop: Stop = "optimum"
    rng: np.random.Generator | int | None = None
    started: float = field(default_factory=now)
    max_bytes: float | None = None
    keeps: bool = True
    is_start: bool = False

    def __post_init__(self) -> None:
        if self.stop not in {"validated", "optimum"}:
            raise ValueError(f"stop must be 'validated' or 'optimum', got {self.stop!r}")
        # What is kept is what was checked: what was given may be read as another number the next time.
        own: dict[str, object] = {"iterations": checked_integer("iterations", self.iterations, 1)}
        own |= {"tolerance": checked_real("tolerance", self.tolerance, zero=True)}
        own |= {"n_threads": checked_threads(self.n_threads), "progress": checked_progress(self.progress)}
        if not (self.stepsize is None or callable(self.stepsize)):
            own["stepsize"] = checked_real("stepsize", self.stepsize)
        if not (self.callback is None or callable(self.callback)):
            raise TypeError(f"callback must be callable, got {type(self.callback).__name__}")
        if self.rng is not None:
            as_generator(self.rng)  # here, for a run that ends before it validates should refuse it too
        for name in ("time_limit", "max_bytes"):
            if getattr(self, name) is not None:
                own[name] = checked_real(name, getattr(self, name), infinite=True)
        for name, value in own.items():
            object.__setattr__(self, name, value)

    def meets(self, distance: float, loss: float) -> bool:
        """Return whether a distance between losses is within the tolerance."""
        return distance <= self.tolerance * (1 + abs(loss))

    def step(self, t: int) -> float | None:
        """Return the given step at iteration t = 1, 2, …, None if the method chooses it."""
        if not callable(self.stepsize):
            return self.stepsize
        return checked_real(f"stepsize({t})", self.stepsize(t))


def warn_if_interrupted(fit: Fit) -> None:
    """Warn the caller of `pypgm.estimate` that the answer is only the best so far."""
    if fit.status == "interrupted":
        text = f"the estimate was interrupted after {fit.iterations} oracle calls: it is the best point so far"
        warnings.warn(text, EstimateInterruptedWarning, stacklevel=4)
