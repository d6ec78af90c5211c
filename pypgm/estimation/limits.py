"""Limits of an estimate, in time, memory and iterations: the one place that declares, checks and documents them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from pypgm._base.clock import now
from pypgm._base.constraints import THREADS, AtLeast, Positive, check_attributes
from pypgm._base.numeric import as_generator, checked_real
from pypgm._base.progress import Bar, checked_progress
from pypgm.estimation.fit import FitState
from pypgm.estimation.stop_rule import Stop

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Self

    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.estimation.steps import Pace

__all__ = ["ITERATIONS", "LIMIT_DEFAULTS", "LimitOptions", "Limits", "SolverOptions", "Stop"]

ITERATIONS = 5000


class LimitOptions(TypedDict, total=False):
    """The fields of `Limits`, as keywords of a call; None is the default of each."""

    iterations: Annotated[int, AtLeast(1)] | None
    tolerance: Annotated[float, AtLeast(0)] | None
    time_limit: Annotated[float, Positive(infinite=True)] | None
    max_bytes: Annotated[float, Positive(infinite=True)] | None
    callback: Callable[[FitState], object] | None
    progress: bool
    n_threads: Annotated[int, THREADS]


LIMIT_DEFAULTS: Mapping[str, object] = {"progress": False, "n_threads": 0}
"""Defaults of `LimitOptions` other than None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of an estimate in iterations, time and memory: keywords of every function that estimates a model.

    Parameters
    ----------
    iterations : int, optional
        Largest number of oracle calls (one propagation each, rejected trials included); 5000 by default.
    tolerance : float, optional
        Ends when the certified gap is at most ``tolerance * (1 + loss)``, on a region graph when the loss changes by
        less over 50 iterations; 1e-2 by default, 1e-6 on a region graph. 0 runs all iterations.
    time_limit : float, optional
        Seconds after which the best point so far is returned. For a mechanism, seconds of the whole run, except those
        in which private records are read and counted: no limit ends these, since the time that records take would
        reveal something of them. The start of an estimate takes the time it takes. It is looked at between steps:
        where the first, on a junction tree, takes longer, a `TimeLimitWarning` says so before it begins.
    max_bytes : float, optional
        Memory the estimate may take, with all copies of the tables its method keeps; half of the available memory by
        default.
    callback : callable, optional
        Called with a `FitState` after each iteration; a truthy answer ends the estimate. It sees released
        quantities only.
    progress : bool
        Show a line on standard error; for a run that spends a budget, a bar with the charges, the spent share, and the
        estimates.
    n_threads : int
        0 for all threads; the bits of the answer do not depend on it.

    Raises
    ------
    ValueError, TypeError
        If a limit is out of range, or no number.

    Examples
    --------
    >>> Limits(time_limit=60, max_bytes=2**30).time_limit
    60.0
    """

    iterations: int | None = None
    tolerance: float | None = None
    time_limit: float | None = None
    max_bytes: float | None = None
    callback: Callable[[FitState], object] | None = None
    progress: bool | Bar = False
    n_threads: int = 0

    def __post_init__(self) -> None:
        # What is kept is what was checked: what was given may be read as another number the next time.
        check_attributes(self, LimitOptions)
        object.__setattr__(self, "progress", checked_progress(self.progress))
        if not (self.callback is None or callable(self.callback)):
            raise TypeError(f"callback must be callable, got {type(self.callback).__name__}")

    def kept(self) -> dict[str, float]:
        """Return the given limits that a file keeps."""
        named = {n: getattr(self, n) for n in ("iterations", "tolerance", "time_limit", "max_bytes")}
        return {n: value for n, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverOptions(Limits):
    """Limits without gaps, step sizes and the rule of stopping; see `pypgm.estimate`.

    Attributes
    ----------
    started : float
        `pypgm._base.clock.now` at the beginning.
    keeps : bool
        Whether Ctrl-C ends the estimate with the best so far; else it is raised.
    is_start : bool
        Whether another estimate starts from the answer: an accelerated path need not fit its potentials then.
    trial : sequence of LinearMeasurement, optional
        Thinned measurements, for the only path: its answer validates the start.
    pace : Pace, optional
        End of an accelerated path, instead of validation: that of a path from an equally good start, or on nearly the
        same measurements.
    further : float
        Multiple of the validated number of iterations that an accelerated path goes on to: its answer is the mean of
        both points.

    Raises
    ------
    ValueError, TypeError
        If a limit is out of range, or no number.
    """

    iterations: int
    tolerance: float
    stepsize: float | Callable[[int], float] | None = None
    stop: Stop = "optimum"
    rng: np.random.Generator | int | None = None
    started: float = field(default_factory=now)
    keeps: bool = True
    is_start: bool = False
    trial: Sequence[LinearMeasurement] | None = None
    pace: Pace | None = None
    further: Annotated[float, AtLeast(1)] = 1.0

    def __post_init__(self) -> None:
        Limits.__post_init__(self)
        check_attributes(self)
        if not (self.stepsize is None or callable(self.stepsize)):
            object.__setattr__(self, "stepsize", checked_real("stepsize", self.stepsize))
        if self.rng is not None:
            as_generator(self.rng)  # here, for a run that ends before it validates should refuse it too

    @classmethod
    def within(cls, limits: Limits, tolerance: float, **options: Any) -> Self:  # noqa: ANN401 - its fields
        """Return options from limits, with this tolerance if they have none."""
        given = {f.name: getattr(limits, f.name) for f in fields(limits)}
        given["iterations"] = ITERATIONS if limits.iterations is None else limits.iterations
        given["tolerance"] = tolerance if limits.tolerance is None else limits.tolerance
        return cls(**given, **options)

    def meets(self, distance: float, loss: float) -> bool:
        """Return whether a distance between losses is within the tolerance."""
        return distance <= self.tolerance * (1 + abs(loss))

    def step(self, t: int) -> float | None:
        """Return the given step at iteration t = 1, 2, …, None if the method chooses it."""
        if not callable(self.stepsize):
            return self.stepsize
        return checked_real(f"stepsize({t})", self.stepsize(t))
