"""A progress bar that follows a ledger: its last charge, and the spent share of its budget."""

from __future__ import annotations

from pypgm.privacy.budget import Budget
from pypgm.privacy.charge import Charge
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.observer import Observer, the_observer
from pypgm.progress import Bar


def shown_ledger(budget: Budget, bar: Bar | None) -> Ledger:
    """Return a ledger whose charges move a progress bar, if there is one.

    Parameters
    ----------
    budget : Budget
    bar : Bar or None

    Examples
    --------
    >>> from pypgm import Budget
    >>> shown_ledger(Budget(rho=1), None).remaining()
    Fraction(1, 1)
    """
    if bar is None:
        return Ledger(budget)
    shown = _ShownCharges(bar)
    shown.ledger = Ledger(budget, shown)
    return shown.ledger


class _ShownCharges(Observer):
    """Observer that shows each line before it is entered, and so before data is read: nothing shown is private."""

    ledger: Ledger

    def __init__(self, bar: Bar) -> None:
        self._bar = bar

    def charged(self, ledger: object, line: Charge) -> None:  # type: ignore[override]
        """Show a line, and the share of the whole budget spent including it."""
        the_observer().charged(ledger, line)
        share = float((self.ledger.spent() + line.cost) / self.ledger.budget.limit)
        self._bar.show(lambda: f"{line.what} {line.on}", share)

    def allocated(self, ledger: object, part: object) -> None:
        """Pass the allocation on to the observer of the process."""
        the_observer().allocated(ledger, part)
