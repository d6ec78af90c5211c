"""How an estimate ended, and what can be watched while it runs."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Fit", "FitState", "ProgressLine"]

Status = Literal["converged", "iterations", "time", "callback", "interrupted"]


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
    """Why it ended: the gap met the tolerance or rounding hides any descent left, or what ran out or stopped it."""
    loss: float
    """The loss at the answer, on counts."""
    gap: float | None
    """Upper bound of loss - optimum, in the loss's unit."""
    iterations: int
    """Oracle calls, rejected trials included."""
    seconds: float
    """Wall time, the plan included."""
    history: tuple[float, ...] = field(repr=False)
    """The loss after each accepted step, the start first."""


class ProgressLine:
    """One line on standard error that is written over while an estimate runs."""

    def __init__(self, iterations: int, *, enabled: bool) -> None:
        self._iterations = iterations
        self._enabled = enabled
        self._shown = -1.0

    def update(self, state: FitState) -> None:
        """Show a state, at most ten times a second."""
        if not self._enabled or state.seconds - self._shown < 0.1:
            return
        self._shown = state.seconds
        gap = "" if state.gap is None else f", gap {state.gap:.3g}"
        sys.stderr.write(f"\restimate: {state.iteration}/{self._iterations} iterations, loss {state.loss:.6g}{gap}   ")
        sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self._enabled and self._shown >= 0:
            sys.stderr.write("\n")
            sys.stderr.flush()
