"""Threads that meet in the middle of a ledger's sums: what comes in between is placed there by hand."""

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
    found = []
    if _part_and_whole() > 1:
        found.append(("ledger race", "a part and what it was taken from are both charged all there is"))
    if _spent_of_two_lines() != 2:
        found.append(("ledger race", "a line that comes while others are summed is in no sum"))
    return finding("ledger races", "Ledger", found, "a part and its whole, and a line in the middle of a sum")


def _part_and_whole() -> int:
    """Charge the whole all there is, and a part that holds it once half of that is looked at; return how many pass."""
    whole = Ledger(Budget(rho=1))
    part = whole.allocate("part", amount=1)
    held, halfway, tried = Ledger._held, threading.Event(), threading.Event()
    passed: list[Ledger] = []

    def slow(self: Ledger) -> Any:
        if self is whole and not halfway.is_set():
            halfway.set()
            tried.wait(0.05)  # a sound ledger lets nobody charge a part while it adds up
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
    """A ledger's lines, of which the last comes once more as soon as others were read to be summed."""

    has_come = False

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if not self.has_come and isinstance(key, slice) and found:
            self.has_come = True
            self.append(found[-1])
        return found


def _spent_of_two_lines() -> int:
    """Return what is spent of a line that comes again while it is summed."""
    ledger = Ledger(Budget(rho=2))
    ledger.charge("do", "it", Stated(rho=1))
    ledger._journal = JournalWithALineMore(ledger._journal)
    ledger.spent()
    return int(ledger.spent())
