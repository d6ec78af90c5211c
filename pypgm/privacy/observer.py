"""Who is shown what a run charges, draws and asks for: the seam at which the audit follows it.

Nobody observes a release. An observer is shown public things (lines, candidates, estimates); what is drawn, and what it
is drawn on, goes to the samplers that it brings.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from pypgm import _core

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Observer:
    """Sees nothing and changes nothing: what there is to override.

    Attributes
    ----------
    core : object
        Where samplers are looked up at each draw: has the functions of the compiled core that draw.
    opendp : module, optional
        What stands for the prelude of OpenDP.
    not_private : str
        What ledgers say of tables that are entered meanwhile, as its samplers may be anything. Only who knows that
        they are as good as those of the core leaves it empty.
    batch_cells : int
        Most cells that are counted in one pass over the records.
    kept_cells : int
        Most cells of counts that a selector keeps (8 bytes each); what is beyond is counted again each time.
    """

    core: Any = _core
    opendp: ModuleType | None = None
    not_private: str = "drawn under an observer, by samplers of its own"
    batch_cells: int = 1 << 22
    kept_cells: int = 1 << 25

    def secret(self) -> bytes | None:
        """Return what stands for a secret of 16 bytes; None for one that is drawn."""
        return None

    def charged(self, ledger: object, line: object) -> None:
        """Receive that a line fits and is about to be entered in the ledger that was charged."""

    def allocated(self, ledger: object, part: object) -> None:
        """Receive that a part of a ledger fits and is about to be set aside."""

    def compared(self, selector: object, candidates: object, by: T) -> T:
        """Receive what a selector compares from now on, as the caller gave it; return what is called for it."""
        del selector, candidates
        return by

    def queried(self, selector: object, query: T) -> T:
        """Receive what gives the queries of a selector; return what is called for it."""
        del selector
        return query

    def selecting(
        self, selector: object, given: tuple[object, ...], named: dict[str, object]
    ) -> AbstractContextManager[object]:
        """Receive the step of a selector, for as long as what is returned is open."""
        del selector, given, named
        return nullcontext()


_NOBODY = Observer()
_NOBODY.not_private = ""
_at: Observer = _NOBODY


def the_observer() -> Observer:
    """Return who observes all tables, samplers and ledgers of this process; by default one who does nothing."""
    return _at


@contextmanager
def observed_by(observer: Observer) -> Iterator[None]:
    """Let somebody observe everything in this process; nothing else may run in it meanwhile."""
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
