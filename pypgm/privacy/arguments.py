"""What every mechanism is asked in the same words: a budget and a neighbour relation."""

from __future__ import annotations

from pypgm.privacy.budget import Budget
from pypgm.privacy.rational import Number
from pypgm.privacy.relation import Privacy
from pypgm.queries import Neighbours

__all__ = ["as_budget", "as_privacy", "gaussian_budget"]


def as_budget(epsilon: Number | None, delta: Number | None, budget: Budget | None) -> Budget:
    """Return the budget named one way or the other; ``TypeError`` unless it is exactly one."""
    if budget is None:
        if epsilon is None:
            raise TypeError("a mechanism needs a budget: epsilon and delta, or budget=")
        return Budget(epsilon=epsilon, delta=delta)
    if epsilon is not None or delta is not None:
        raise TypeError("pass either epsilon and delta or budget=, not both")
    if not isinstance(budget, Budget):
        raise TypeError(f"budget needs a Budget, got {type(budget).__name__}")
    return budget


def gaussian_budget(name: str, epsilon: Number | None, delta: Number | None, budget: Budget | None) -> Budget:
    """Return the budget as `as_budget` does; ``ValueError``, naming the mechanism, if it is a pure one."""
    asked = as_budget(epsilon, delta, budget)
    if asked.unit == "epsilon":
        raise ValueError(
            f"{name} draws Gaussian noise, which gives no pure guarantee: delta must be more than 0 (for example 1e-9)"
        )
    return asked


def as_privacy(neighbours: Neighbours | None, privacy: Privacy | None) -> Privacy:
    """Return the relation named one way or the other, add-remove if neither; ``TypeError`` if both."""
    if privacy is None:
        return Privacy() if neighbours is None else Privacy(neighbours)
    if neighbours is not None:
        raise TypeError("pass either neighbours or privacy=, not both")
    if not isinstance(privacy, Privacy):
        raise TypeError(f"privacy needs a Privacy, got {type(privacy).__name__}")
    return privacy
