"""Threads that meet in the middle of a ledger's sums, interleaved by hand."""

from __future__ import annotations

import threading
from typing import Any
from unittest.mock import patch

from pypgm.audit.finding import Finding, finding
from pypgm.errors import BudgetError
from pypgm.privacy.budget import Budget
from pypgm.privacy.laws import Stated
from pypgm.privacy.ledger import Ledger


def check_ledger_races() -> Finding:
    """Charge a part and its whole at once, and enter a line while others are summed."""
    defects = []
    if _part_and_whole() > 1:
        defects.append(("ledger race", "a part and its whole are both charged the whole budget"))
    if _spent_of_two_lines() != 2:
        defects.append(("ledger race", "a line entered while others are summed is in no sum"))
    return finding("ledger races", "Ledger", defects, "a part and its whole, and a line in the middle of a sum")


def _part_and_whole() -> int:
    """Charge a whole ledger, and meanwhile its part, each with everything; return the number of charges accepted."""
    whole = Ledger(Budget(rho=1))
    part = whole.allocate("part", amount=1)
    held, halfway, tried = Ledger._held, threading.Event(), threading.Event()
    passed: list[Ledger] = []

    def slow(self: Ledger) -> Any:
        if self is whole and not halfway.is_set():
            halfway.set()
            tried.wait(0.05)  # a sound ledger lets nobody charge a part while it sums
        return held(self)

    def charge(ledger: Ledger) -> None:
        try:
            ledger.charge("do", "it", Stated(rho=1))
        except BudgetError:
            return
        passed.append(ledger)

    def second() -> None:
        if halfway.wait(1):
            charge(part)
            tried.set()

    with patch("pypgm.privacy.ledger.Ledger._held", slow):
        workers = [threading.Thread(target=charge, args=(whole,)), threading.Thread(target=second)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return len(passed)


class JournalWithALineMore(list[Any]):
    """Lines of a ledger that append their last line again as soon as they were read for a sum."""

    has_come = False

    def __getitem__(self, key: Any) -> Any:
        lines = super().__getitem__(key)
        if not self.has_come and isinstance(key, slice) and lines:
            self.has_come = True
            self.append(lines[-1])
        return lines


def _spent_of_two_lines() -> int:
    """Return the amount spent on a line that is entered again while it is summed."""
    ledger = Ledger(Budget(rho=2))
    ledger.charge("do", "it", Stated(rho=1))
    ledger._journal = JournalWithALineMore(ledger._journal)
    ledger.spent()
    return int(ledger.spent())
