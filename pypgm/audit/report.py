"""Runs of checks, and the lines of their findings."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pypgm.audit.finding import Finding, finding, skipped
from pypgm.data.sources.foreign import missing_package


def run(
    checks: Sequence[Callable[[], Finding | list[Finding]]],
    tell: Callable[[Finding], object] = lambda finding: None,  # noqa: ARG005 (prints nothing)
) -> list[Finding]:
    """Run checks in turn and return their findings; `tell` is called with each as it comes.

    A check that lacks a package is skipped; a check that raises anything else has failed, and the next one runs.
    Only `KeyboardInterrupt` ends the run.

    Examples
    --------
    >>> from pypgm.audit.budgets import check_budgets
    >>> [f.result for f in run([check_budgets])]
    ['ok']
    """
    findings: list[Finding] = []
    for check in checks:
        for each in outcomes(check):
            findings.append(each)
            tell(each)
    return findings


def outcomes(check: Callable[[], Finding | list[Finding]]) -> list[Finding]:
    """Run a check and return its findings, with its seconds; if it raises, a finding of the exception."""
    begun = time.perf_counter()
    try:
        made = check()
        findings = [made] if isinstance(made, Finding) else made
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever it is, later checks can run
        findings = [_ended(check, error)]
    seconds = time.perf_counter() - begun
    return [each if each.seconds else replace(each, seconds=seconds) for each in findings]


def _ended(check: Callable[[], Any], error: BaseException) -> Finding:
    """Return the finding of a check that ended in an exception."""
    name, subject = _described(check)
    missing = missing_package(error)
    if missing and missing != __package__.partition(".")[0]:
        return skipped(name, subject, f"{missing} is not installed")
    return finding(name, subject, [("check ended", f"{type(error).__name__}: {error}")], "")


def _described(check: Callable[[], Any]) -> tuple[str, str]:
    """Return the name of a check's function, and its arguments that are text."""
    given: list[Any] = []
    while isinstance(check, partial):
        given = [*check.args, *given]
        check = check.func
    names = [getattr(part, "__name__", "") for part in (*given, check)]
    name = next((n for n in names if n.lstrip("_").startswith("check_")), names[-1]).lstrip("_")
    subject = ", ".join(part for part in given if isinstance(part, str))
    return name.removeprefix("check_").replace("_", " ").strip(), subject


def unmade(n_checks: int) -> Finding:
    """Return the finding of an interrupted run: the remaining checks did not run."""
    return Finding("interrupted", f"of {n_checks} checks", "not exercised", "the run was ended before the others")


def failures(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that failed."""
    return [f for f in findings if f.result == "failed"]


def row(finding: Finding) -> str:
    """Return the line of a finding in a table: check, subject, result, seconds, figures."""
    name = f"{finding.check:24}  {finding.subject[:44]:44}"
    return f"{name}  {finding.result:13}  {finding.seconds:7.2f} s  {finding.detail}"
