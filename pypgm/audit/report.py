"""Running checks and telling what they found."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pypgm.audit.finding import Check, Finding, timed


def run(checks: Sequence[Check], tell: Callable[[Finding], object] = lambda found: None) -> list[Finding]:  # noqa: ARG005 (says nothing)
    """Make checks one after the other and return their findings; each is handed to `tell` as it comes.

    Examples
    --------
    >>> from pypgm.audit.accounting import check_line_costs
    >>> [f.result for f in run([check_line_costs])]
    ['ok']
    """
    found = []
    for check in checks:
        found.append(timed(check))
        tell(found[-1])
    return found


def failures(found: Sequence[Finding]) -> list[Finding]:
    """Return the findings that failed."""
    return [f for f in found if f.result == "failed"]


def row(found: Finding) -> str:
    """Return a finding as a line of a table: check, what it looked at, result, seconds, figures."""
    return f"{found.check:24}  {found.subject[:44]:44}  {found.result:13}  {found.seconds:7.2f} s  {found.detail}"
