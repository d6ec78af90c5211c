"""``python -m pypgm.audit [MECHANISM ...] [--tier 0|1|2] [--out FILE]``.

The exit status is 1 if a check fails or raises; later checks run all the same. A check with nothing to look at is not a
pass either. Ctrl-C writes the findings so far and exits with 5.
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
from collections.abc import Callable, Sequence
from functools import partial

from pypgm.audit.finding import Check, Finding
from pypgm.audit.report import check, failures, row, run, unmade
from pypgm.audit.tiers import NAMES, suite
from pypgm.privacy.budget import Budget
from pypgm.reporting.audited import AuditReport, audit_text, write_audit

_INTERRUPTED = 5  # exit status, as of the command


def audit_parser() -> argparse.ArgumentParser:
    """Return the parser of subjects, tier and report file."""
    parser = argparse.ArgumentParser(prog="python -m pypgm.audit", description="Check that releases are what they say.")
    parser.add_argument(
        "mechanisms",
        nargs="*",
        metavar="MECHANISM",
        help=f"mechanisms to audit: {', '.join(NAMES)}; MODULE:FUNCTION for one of your own, a function of a "
        "PrivateTable; by default all of them, the samplers and budgets",
    )
    parser.add_argument("--rho", default="2", help="budget of a mechanism of yours (2)")
    parser.add_argument(
        "--tier",
        type=int,
        choices=(0, 1, 2),
        default=0,
        help="0: deterministic, a few minutes; 1: and statistical, a few more; 2: and statistical for a night",
    )
    parser.add_argument(
        "--out", metavar="FILE", help="write the report: .json for programs and `pypgm report`, .html, or .md"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an audit, print a table, write the report; return the exit status."""
    parser = audit_parser()
    return audited(parser, parser.parse_args(arguments), suite)


def audited(
    parser: argparse.ArgumentParser,
    options: argparse.Namespace,
    suite: Callable[[int, Sequence[str]], Sequence[Check]],
    report: type[AuditReport] = AuditReport,
) -> int:
    """Run the checks of a suite for the options, print a table, write the report; return the exit status."""
    names = [name for name in options.mechanisms if ":" not in name]
    try:
        checks = suite(options.tier, names) if names or not options.mechanisms else []
        mechanisms = [pkgutil.resolve_name(name) for name in options.mechanisms if ":" in name]
        if options.out:
            audit_text(options.out, report(()))  # a name that no report can have is refused before minutes are spent
    except (AttributeError, ImportError, ValueError) as error:
        parser.error(str(error))
    except Exception as error:  # raised by the module of a mechanism
        parser.error(f"{type(error).__name__}: {error}")

    every: list[Callable[[], Finding | list[Finding]]] = [
        *checks,
        *(partial(check, each, Budget(rho=options.rho)) for each in mechanisms),
    ]
    findings, is_whole = _made(every)
    failed = failures(findings)
    idle, skipped = (sum(f.result == how for f in findings) for how in ("not exercised", "skipped"))
    seconds = sum(f.seconds for f in findings)
    print(f"{len(findings)} checks, {len(failed)} failed, {idle} not exercised, {skipped} skipped, {seconds:.1f} s")
    if options.out:
        write_audit(options.out, report(tuple(findings), tuple(options.mechanisms), options.tier))
        print(f"wrote {options.out}")
    return (1 if failed or idle else 0) if is_whole else _INTERRUPTED


def _made(checks: Sequence[Callable[[], Finding | list[Finding]]]) -> tuple[list[Finding], bool]:
    """Run checks and print each finding; return the findings, and False if Ctrl-C stopped the checks."""
    findings: list[Finding] = []

    def tell(one: Finding) -> None:
        findings.append(one)
        print(row(one), flush=True)

    try:
        run(checks, tell)
    except KeyboardInterrupt:
        tell(unmade(len(checks)))
        return findings, False
    return findings, True


if __name__ == "__main__":
    sys.exit(main())
