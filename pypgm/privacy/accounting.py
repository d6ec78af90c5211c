"""A ledger as events of the package dp-accounting, for a second opinion; needs the extra ``[accounting]``."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from pypgm.privacy.ledger_report import LedgerReport

if TYPE_CHECKING:
    from dp_accounting import DpEvent


def dp_events(ledger: LedgerReport) -> DpEvent:
    """Return the charges as one composed event of dp-accounting, to be accounted for there once more.

    Under a budget in rho every line is an event of zCDP, for `dp_accounting.rdp.RdpAccountant`. Under a pure budget it
    is a unit change of discrete Laplace noise, the worst case of its epsilon, for `dp_accounting.pld.PLDAccountant`.
    Events of continuous Gaussian and Laplace noise are not used, as the discrete laws lose a little more, nor events of
    exponential mechanisms, whose number one of its accountants ignores. Probabilities of failure are not in the event:
    subtract `Ledger.spent_delta()` from delta.

    Parameters
    ----------
    ledger : Ledger or LedgerReport

    Returns
    -------
    dp_accounting.DpEvent
        The composition of all lines.

    Raises
    ------
    ImportError
        If dp-accounting is not installed.
    """
    try:
        import dp_accounting
    except ImportError as error:
        raise ImportError("dp_events needs dp-accounting: pip install 'pypgm[accounting]'") from error
    pure = ledger.budget.unit == "epsilon"
    events = []
    for cost, times in Counter(line.cost for line in ledger.lines if line.cost > 0).items():
        upper = math.nextafter(float(cost), math.inf)
        one = dp_accounting.dp_event.DiscreteLaplaceDpEvent(upper, 1) if pure else dp_accounting.ZCDpEvent(upper)
        events.append(dp_accounting.SelfComposedDpEvent(one, times))
    return dp_accounting.ComposedDpEvent(events)
