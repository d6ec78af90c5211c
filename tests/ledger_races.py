"""Threads that meet in the middle of a ledger's sums: what no observer of it can bring about."""

from __future__ import annotations

import threading
from unittest.mock import patch

from pypgm.audit.finding import Finding, finding
from pypgm.errors import BudgetError
from pypgm.privacy.budget import Budget
from pypgm.privacy.laws import Stated
from pypgm.privacy.ledger import Ledger

__all__ = ["check_ledger_races"]


def check_ledger_races() -> Finding:
    """Charge a part and its whole at once, and sum lines while others come."""
    found = []
    if part_and_whole() > 1:
        found.append(("ledger race", "a part and what it was taken from are both charged all there is"))
    if spent_of_two_lines() != 2:
        found.append(("ledger race", "a line that comes while others are summed is in no sum"))
    return finding("ledger races", "Ledger", found, "a part and its whole, and a line in the middle of a sum")


def part_and_whole():
    """Charge the whole all there is, and a part that holds it once half of that is looked at; return how many pass."""
    whole = Ledger(Budget(rho=1))
    part = whole.allocate("part", amount=1)
    held, halfway, tried = Ledger._held, threading.Event(), threading.Event()
    passed = []

    def slow(self):
        if self is whole and not halfway.is_set():
            halfway.set()
            tried.wait(0.05)  # a sound ledger lets nobody charge a part while it adds up
        return held(self)

    def charge(ledger):
        try:
            ledger.charge("do", "it", Stated(rho=1))
        except BudgetError:
            return
        passed.append(ledger)

    def second():
        if halfway.wait(1):
            charge(part)
            tried.set()

    with patch.object(Ledger, "_held", slow):
        workers = [threading.Thread(target=charge, args=(whole,)), threading.Thread(target=second)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return len(passed)


def spent_of_two_lines():
    """Return what is spent of a line that comes again while it is summed."""
    ledger = Ledger(Budget(rho=2))

    class Journal(list):
        def __getitem__(self, key):
            found = super().__getitem__(key)
            if len(self) == 1:
                self.append(super().__getitem__(0))
            return found

    ledger.charge("do", "it", Stated(rho=1))
    ledger._journal = Journal(ledger._journal)
    ledger.spent()
    return ledger.spent()
