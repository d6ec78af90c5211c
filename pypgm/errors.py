"""The errors of pypgm that are more than a ``ValueError``."""

from __future__ import annotations

__all__ = ["BudgetError", "ImpossibleEvidenceError", "ModelTooLargeError"]


class BudgetError(ValueError):
    """A charge would overdraw the privacy ledger; nothing was read and nothing was charged."""


class ImpossibleEvidenceError(ValueError):
    """The evidence has probability zero under the model, so no posterior exists."""


class ModelTooLargeError(MemoryError):
    """A structure does not fit the memory allowed; it is refused before memory is taken."""
