"""Errors behind a charge, which may depend on the records and so have one fixed text."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TypeVar

from pypgm._base.clock import standing_still
from pypgm._base.log import logger
from pypgm.errors import ReleaseError, SourceError

T = TypeVar("T")

_TEXT = (
    "a step failed after it was charged: it releases nothing, and the reason is withheld, as it may depend on the "
    "records"
)


class _FixedErrors:
    """Context in which every error becomes the same `ReleaseError`, without a cause, a context and their frames.

    The time a step takes depends on the records as well: clocks stand still, see `pypgm._base.clock.now`.
    `KeyboardInterrupt` and `SystemExit`, which come from outside, stay themselves, without the frames they interrupted.
    What no record decides, a changed table or a lost connection, goes to the log of the package.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        standing_still.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        standing_still.__exit__()
        if isinstance(error, SourceError):
            logger().error("a step failed after it was charged: %s", error)
        del error, trace  # this frame is in the traceback of what is raised
        if kind is None:
            return
        fixed = kind() if kind is KeyboardInterrupt or kind is SystemExit else ReleaseError(_TEXT)
        try:
            raise fixed
        finally:
            fixed.__context__ = None  # raising has set it, and with it all frames that hold counts


fixed_errors = _FixedErrors()


@contextmanager
def unwarned() -> Iterator[None]:
    """Silence warnings in this context, as their texts may contain values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def unheard(work: Callable[[], T], otherwise: T) -> T:
    """Return the result of the caller's own code that is shown records, or a fixed value if it fails.

    Neither errors nor warnings may reveal a record, and an exit is an error; only `KeyboardInterrupt` comes from
    outside.
    """
    with unwarned():
        try:
            return work()
        except KeyboardInterrupt:
            raise
        except BaseException:
            return otherwise
