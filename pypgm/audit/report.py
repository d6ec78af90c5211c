"""Running checks and telling what they found."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pypgm.audit.finding import Finding, finding, skipped
from pypgm.data.foreign import missing_package


def run(
    checks: Sequence[Callable[[], Finding | list[Finding]]],
    tell: Callable[[Finding], object] = lambda found: None,  # noqa: ARG005 (says nothing)
) -> list[Finding]:
    """Make checks one after the other and return their findings; each is handed to `tell` as it comes.

    A check that lacks a package is skipped; one that ends in another exception has failed, and the next one is made.
    Only `KeyboardInterrupt` ends the run.

    Examples
    --------
    >>> from pypgm.audit.budgets import check_budgets
    >>> [f.result for f in run([check_budgets])]
    ['ok']
    """
    found: list[Finding] = []
    for check in checks:
        for each in outcomes(check):
            found.append(each)
            tell(each)
    return found


def outcomes(check: Callable[[], Finding | list[Finding]]) -> list[Finding]:
    """Make a check and return its findings, with its seconds; where it ends in an exception, one that says so."""
    begun = time.perf_counter()
    try:
        made = check()
        found = [made] if isinstance(made, Finding) else made
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever it is, the checks after it can be made
        found = [_ended(check, error)]
    seconds = time.perf_counter() - begun
    return [each if each.seconds else replace(each, seconds=seconds) for each in found]


def _ended(check: Callable[[], Any], error: BaseException) -> Finding:
    """Return the finding of a check that ended in an exception."""
    name, subject = _described(check)
    missing = missing_package(error)
    if missing and missing != __package__.partition(".")[0]:
        return skipped(name, subject, f"{missing} is not installed")
    return finding(name, subject, [("check ended", f"{type(error).__name__}: {error}")], "")


def _described(check: Callable[[], Any]) -> tuple[str, str]:
    """Return the name of a check's function and what it was given by name or text."""
    given: list[Any] = []
    while isinstance(check, partial):
        given = [*check.args, *given]
        check = check.func
    names = [getattr(part, "__name__", "") for part in (*given, check)]
    name = next((n for n in names if n.lstrip("_").startswith("check_")), names[-1]).lstrip("_")
    subject = ", ".join(part for part in given if isinstance(part, str))
    return name.removeprefix("check_").replace("_", " ").strip(), subject


def unmade(n_checks: int) -> Finding:
    """Return the finding of a run that was interrupted: what is not told here was not looked at."""
    return Finding("interrupted", f"of {n_checks} checks", "not exercised", "the run was ended before the others")


def failures(found: Sequence[Finding]) -> list[Finding]:
    """Return the findings that failed."""
    return [f for f in found if f.result == "failed"]


def row(found: Finding) -> str:
    """Return a finding as a line of a table: check, what it looked at, result, seconds, figures."""
    return f"{found.check:24}  {found.subject[:44]:44}  {found.result:13}  {found.seconds:7.2f} s  {found.detail}"
