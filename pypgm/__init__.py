"""pypgm: graphical models from differentially private marginals."""

from __future__ import annotations

from pypgm._core import __version__, build_info
from pypgm.domain import Domain
from pypgm.errors import BudgetError, ImpossibleEvidenceError, ModelTooLargeError

__all__ = [
    "BudgetError",
    "Domain",
    "ImpossibleEvidenceError",
    "ModelTooLargeError",
    "__version__",
    "build_info",
]
