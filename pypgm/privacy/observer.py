"""Observers of the charges, draws and requests of a run: the seam at which the audit follows it.

A release is observed by nobody. An observer is shown public things (lines, candidates, estimates); draws, and the
counts they are made on, go to the samplers that it brings.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, ParamSpec, TypeVar

from pypgm import _core

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Observer:
    """Observer that sees nothing and changes nothing: its methods are there to be overridden.

    Attributes
    ----------
    core : object
        The object whose samplers each draw looks up: it has the drawing functions of the compiled core.
    not_private : str
        The mark that ledgers of tables entered meanwhile get, as its samplers may be anything. Leave it empty only if
        they are known to be as good as those of the core.
    batch_cells : int
        Largest number of cells that are counted in one pass over the records.
    kept_cells : int
        Largest number of counted cells that a selector keeps (8 bytes each); more are counted again each time.
    """

    core: Any = _core
    not_private: str = "drawn under an observer, by samplers of its own"
    batch_cells: int = 1 << 22
    kept_cells: int = 1 << 25

    def secret(self) -> bytes | None:
        """Return a stand-in for a secret of 16 bytes; None for one that is drawn."""
        return None

    def entering(self, ledger: object, lines: Sequence[object]) -> None:
        """Receive all lines of a charge that fits, before the first of them is entered; an error refuses all."""

    def charged(self, ledger: object, line: object) -> None:
        """Receive a line that fits and is about to be entered in the ledger that was charged."""

    def allocated(self, ledger: object, part: object) -> None:
        """Receive a part of a ledger that fits and is about to be set aside."""

    def compared(self, selector: object, candidates: object, by: T) -> T:
        """Receive the caller's function that a selector compares from now on; return one to call instead."""
        del selector, candidates
        return by

    def queried(self, selector: object, query: T) -> T:
        """Receive the function that gives the queries of a selector; return one to call instead."""
        del selector
        return query

    def selecting(
        self, selector: object, given: tuple[object, ...], named: dict[str, object]
    ) -> AbstractContextManager[object]:
        """Receive the step of a selector; the step runs within the context that is returned."""
        del selector, given, named
        return nullcontext()


_NOBODY = Observer()
_NOBODY.not_private = ""
_at: Observer = _NOBODY


def the_observer() -> Observer:
    """Return the observer of all tables, samplers and ledgers of this process; by default one that does nothing."""
    return _at


@contextmanager
def observed_by(observer: Observer) -> Iterator[None]:
    """Set the observer of everything in this process for a context; nothing else may run in it meanwhile."""
    global _at  # noqa: PLW0603 (the one seam)
    before, _at = _at, observer
    try:
        yield
    finally:
        _at = before


def observed(method: Callable[P, R]) -> Callable[P, R]:
    """Return a method of a selector whose steps the observer receives."""

    @functools.wraps(method)
    def inside(*given: P.args, **named: P.kwargs) -> R:
        with the_observer().selecting(given[0], given[1:], named):
            return method(*given, **named)

    return inside
