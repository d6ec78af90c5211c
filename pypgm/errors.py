"""Errors of pypgm beyond ``ValueError``, and its warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "ApproximationWarning",
    "BudgetError",
    "ConditionWarning",
    "DraftWarning",
    "EstimateInterruptedWarning",
    "ImpossibleEvidenceError",
    "ModelTooLargeError",
    "OlderFileWarning",
    "ReadingError",
    "ReleaseError",
    "SourceError",
    "TableError",
    "TimeLimitWarning",
    "WeakGuaranteeWarning",
    "table_checked",
    "warn_caller",
]


class ApproximationWarning(RuntimeWarning):
    """An approximate answer of a model whose junction tree does not fit may be far off."""


class BudgetError(ValueError):
    """A charge was refused: it would overdraw its ledger, or comes from a closed part or another process.

    Nothing was read and nothing was charged.
    """


class ConditionWarning(UserWarning):
    """Terms of opposite sign cancel, so that an answer has lost half of its digits or more."""


class DraftWarning(UserWarning):
    """A schema is a draft that nobody has reviewed: the facts it has from the records are not protected."""


class EstimateInterruptedWarning(RuntimeWarning):
    """Ctrl-C ended an estimate, which is the best so far."""


class ImpossibleEvidenceError(ValueError):
    """The evidence has probability zero under the model, so no posterior exists."""


class ModelTooLargeError(MemoryError):
    """A structure does not fit the allowed memory; it is refused before memory is allocated."""


class OlderFileWarning(UserWarning):
    """A release file of an older version has no digest: a change is noticed only if the file contradicts itself."""


class ReadingError(ValueError):
    """A package that reads a table failed, as for a damaged file; the message has only the type of its error."""


class ReleaseError(RuntimeError):
    """A step failed after it was charged; the reason may depend on the records, and is not reported."""


class SourceError(ValueError):
    """A table changed while it was counted, or the connection to it is lost: no value of a record decides that."""


class TableError(ValueError):
    """A table does not fit its schema; the message names columns and rows, never a value."""


class StepSizeWarning(RuntimeWarning):
    """No step of an estimate lowered its loss, or the loss swings: the given stepsize is too large."""


class TimeLimitWarning(RuntimeWarning):
    """A time limit ended an answer, which is the best so far, or is too short for the first step towards one."""


class WeakGuaranteeWarning(UserWarning):
    """A delta is so large that its guarantee protects hardly anybody."""


@contextmanager
def table_checked() -> Iterator[None]:
    """Turn each ``ValueError`` of reading a table into a `TableError`, except one of the package that reads it."""
    try:
        yield
    except (ReadingError, SourceError, TableError):
        raise
    except ValueError as error:
        text = str(error)
    else:
        return
    with _without_context():
        raise TableError(text)


@contextmanager
def _without_context() -> Iterator[None]:
    """Context of a refusal that does not hold the error it follows from, which may be of a record."""
    try:
        yield
    except ValueError as refusal:
        refusal.__context__ = None
        raise


def warn_caller(text: str, category: type[Warning]) -> None:
    """Warn at the line that called the package, from however deep inside it."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "pypgm":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
