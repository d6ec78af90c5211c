"""Runs of checks and the lines of their findings; the audit of your own mechanism, in one call."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pypgm.audit.answers import check_answers
from pypgm.audit.finding import Finding, finding, skipped, timed
from pypgm.audit.mechanisms import check_calibration, check_charges, check_noninterference, run_pairs
from pypgm.audit.pairs import Pair
from pypgm.audit.stated import Effort
from pypgm.data.sources.foreign import missing_package
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.relation import Privacy


def check(
    mechanism: Callable[[PrivateTable], Any],
    budget: Budget,
    *,
    pairs: Sequence[Pair] | None = None,
    given: Sequence[LinearMeasurement] = (),
) -> list[Finding]:
    """Run a mechanism on pairs of tables and check its reads, charges, draws, output and result.

    The second table of a pair is run on the noisy outcomes of the first. Nothing is random. A pass is no proof: other
    tables are not tried.

    Parameters
    ----------
    mechanism : callable
        Function of a `PrivateTable`; it may return a `Release`, measurements, anything. It is called about a hundred
        times, and must work on tables without records.
    budget : Budget
        Budget of each table's ledger.
    pairs : sequence of Pair, optional
        Tables to run on; by default the audit's own tables, over the attributes a (3 values), b and c (2 values), under
        either neighbour relation, with one record a person and with several.
    given : sequence of LinearMeasurement, optional
        Measurements given to the mechanism: its result must begin with them.

    Returns
    -------
    list of Finding
        Four checks. *calibration*: exact counts and scores of neighbours differ by no more than was charged for;
        stated scores on other tables too. *charges*: each line is entered before its read and has its own draw, and
        the sum is within the budget. *answers*: each measurement was drawn in its run, from the counts of its table.
        *non-interference*: the same outcomes give the same bytes of result, text and exceptions, and later use reads
        and charges nothing. A check with nothing to look at (no draw, no measurement, a score that raises) is
        "not exercised", which is not a pass.

    Raises
    ------
    TypeError
        If the mechanism is not a function, or the budget not a `Budget`.

    Examples
    --------
    >>> from pypgm import Budget
    >>> found = check(lambda table: table.measure(("a", "b"), rho=1), Budget(rho=1))
    >>> [(f.check, f.result) for f in found]
    [('calibration', 'ok'), ('charges', 'ok'), ('answers', 'ok'), ('non-interference', 'ok')]
    >>> check(lambda table: print(table.measure("a", rho=2)), Budget(rho=1))[3].defects
    ('no release',)
    """
    _check_arguments(mechanism, budget)

    def entered(data: Any, limit: Budget, privacy: Privacy) -> Any:
        return mechanism(PrivateTable(data, privacy, Ledger(limit)))

    name = getattr(mechanism, "__name__", type(mechanism).__name__)
    runs = run_pairs(name, entered, budget, pairs, given=given, effort=Effort())
    checks = (check_calibration, check_charges, check_answers, check_noninterference)
    return [timed(each, runs) for each in checks]


def _check_arguments(mechanism: object, budget: object) -> None:
    if not (callable(mechanism) and isinstance(budget, Budget)):
        got = f"{type(mechanism).__name__} and {type(budget).__name__}"
        raise TypeError(f"an audit needs a mechanism, a function of a PrivateTable, and a pypgm.Budget, got {got}")


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
