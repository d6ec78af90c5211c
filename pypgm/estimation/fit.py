"""State of an estimate while it runs, and its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pypgm._base.html import Shown
from pypgm.clique_vector import CliqueVector
from pypgm.errors import EstimateInterruptedWarning, StepSizeWarning, warn_caller

_SWING = 0.01  # of 1 + loss: more than the ripples of a path that converges

Status = Literal["validated", "converged", "iterations", "time", "callback", "interrupted"]


@dataclass(frozen=True, slots=True)
class FitState:
    """State that a callback receives after an iteration, derived from released measurements alone.

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
        Current marginals: counts over the model's cliques, or over the regions of a region graph. They are copied when
        they are read, which is as long as the callback runs.
    """

    iteration: int
    loss: float
    gap: float | None
    seconds: float
    look: Callable[[], CliqueVector] = field(repr=False, compare=False)

    @property
    def marginals(self) -> CliqueVector:
        """The marginals, as the class describes them."""
        return self.look()


@dataclass(frozen=True, slots=True)
class Fit(Shown):
    """End of an estimate: its status, loss and cost.

    Attributes
    ----------
    status : str
        Reason of its end: noise begins to be fitted, the tolerance was met, or a limit or the caller stopped it.
    loss : float
        The loss at the answer, on counts.
    gap : float or None
        Upper bound of loss - optimum, in the loss's unit.
    iterations : int
        Oracle calls, rejected trials and validation included.
    seconds : float
        Wall time, the plan included, but for that of reading private records. Equal fits may differ in it, and the
        digest of a file is not of it.
    history : tuple of float
        The loss after each step, the start first.
    """

    status: Status
    loss: float
    gap: float | None
    iterations: int
    seconds: float = field(compare=False)
    history: tuple[float, ...] = field(repr=False)

    def __repr__(self) -> str:
        gap = "None" if self.gap is None else f"{self.gap:.3g}"
        ended = f"{self.status}, loss {self.loss:.6g}, gap {gap}"
        return f"Fit({ended}, {self.iterations} iterations, {self.seconds:.3g} s)"


def swings(history: Sequence[float]) -> bool:
    """Return whether a path of losses ends clearly above its least: its steps are too large."""
    least = min(history)
    return not history[-1] <= least + _SWING * (1 + abs(least))


def warn_of_the_end(fit: Fit, stepsize: object = None, *, smooth: bool = True) -> None:
    """Warn the caller of `pypgm.estimate` that the answer is only the best so far, or that steps led nowhere.

    Along subgradients of a loss that is not smooth, constant steps swing by nature.
    """
    steps, swung = len(fit.history) - 1, swings(fit.history)
    if stepsize is not None and steps and fit.loss >= fit.history[0] and (fit.status == "iterations" or swung):
        reason = f"no step of {steps} lowered the loss, {fit.loss:.6g}: the answer is the start"
    elif stepsize is not None and smooth and swung:
        reason = f"the loss ended at {fit.history[-1]:.6g}, above that of the answer, {fit.loss:.6g}"
    else:
        reason = ""
    if reason:
        text = f"{reason}. The stepsize is too large; without one, each step is as long as the loss permits"
        warn_caller(text, StepSizeWarning)
    if fit.status == "interrupted":
        text = f"the estimate was interrupted after {fit.iterations} oracle calls: it is the best point so far"
        warn_caller(text, EstimateInterruptedWarning)
