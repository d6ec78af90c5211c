"""``python -m pypgm.audit [MECHANISM ...] [--tier 0|1|2] [--out FILE]``.

It exits with 1 if a check fails, or ends in an exception: those after it are made all the same. A check that met
nothing it could have failed on is no pass either. Interrupted, it writes what was found until then, and exits with 130.
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
from collections.abc import Callable, Sequence
from functools import partial

from pypgm.audit.finding import Check, Finding
from pypgm.audit.own_mechanism import check
from pypgm.audit.report import failures, row, run, unmade
from pypgm.audit.tiers import NAMES, suite
from pypgm.privacy.budget import Budget
from pypgm.reporting.audited import AuditReport, audit_text, write_audit

_INTERRUPTED = 130  # exit status, as of the command


def audit_parser() -> argparse.ArgumentParser:
    """Return the parser of what is audited, how long, and where the report goes."""
    parser = argparse.ArgumentParser(prog="python -m pypgm.audit", description="Check that releases are what they say.")
    parser.add_argument(
        "mechanisms",
        nargs="*",
        metavar="MECHANISM",
        help=f"of whose own checks it consists: {', '.join(NAMES)}; MODULE:FUNCTION for one of yours, which takes a "
        "PrivateTable; none for all and what they rest on",
    )
    parser.add_argument("--rho", default="2", help="budget of a mechanism of yours (2)")
    parser.add_argument(
        "--tier",
        type=int,
        choices=(0, 1, 2),
        default=0,
        help="0: deterministic, some minutes; 1: and statistics, some more; 2: and statistics for a night",
    )
    parser.add_argument(
        "--out", metavar="FILE", help="publish what was found: .json for programs and `pypgm report`, .html, or .md"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an audit, print a table and publish it if that is wanted; return the exit code."""
    parser = audit_parser()
    return audited(parser, parser.parse_args(arguments), suite)


def audited(
    parser: argparse.ArgumentParser,
    options: argparse.Namespace,
    suite: Callable[[int, Sequence[str]], Sequence[Check]],
    report: type[AuditReport] = AuditReport,
) -> int:
    """Make the checks that a suite has for the options; print a table and publish it; return the exit code."""
    names = [name for name in options.mechanisms if ":" not in name]
    try:
        checks = suite(options.tier, names) if names or not options.mechanisms else []
        own = [pkgutil.resolve_name(name) for name in options.mechanisms if ":" in name]
        if options.out:
            audit_text(options.out, report(()))  # refused before minutes are spent
    except (AttributeError, ImportError, ValueError) as error:
        parser.error(str(error))
    except Exception as error:  # that the module of a mechanism ends in
        parser.error(f"{type(error).__name__}: {error}")

    every: list[Callable[[], Finding | list[Finding]]] = [
        *checks,
        *(partial(check, each, Budget(rho=options.rho)) for each in own),
    ]
    found, is_whole = _made(every)
    failed = failures(found)
    idle, skipped = (sum(f.result == how for f in found) for how in ("not exercised", "skipped"))
    seconds = sum(f.seconds for f in found)
    print(f"{len(found)} checks, {len(failed)} failed, {idle} not exercised, {skipped} skipped, {seconds:.1f} s")
    if options.out:
        write_audit(options.out, report(tuple(found), tuple(options.mechanisms), options.tier))
        print(f"wrote {options.out}")
    return (1 if failed or idle else 0) if is_whole else _INTERRUPTED


def _made(checks: Sequence[Callable[[], Finding | list[Finding]]]) -> tuple[list[Finding], bool]:
    """Make checks and print what each found; return it, and whether all were made: Ctrl-C ends the checks alone."""
    found: list[Finding] = []

    def tell(one: Finding) -> None:
        found.append(one)
        print(row(one), flush=True)

    try:
        run(checks, tell)
    except KeyboardInterrupt:
        tell(unmade(len(checks)))
        return found, False
    return found, True


if __name__ == "__main__":
    sys.exit(main())
