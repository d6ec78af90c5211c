"""``python -m pypgm.audit [--tier 0|1|2] [--report FILE]``, or ``--fuzz MINUTES``: exits with 1 if a check fails.

A check that met nothing it could have failed on is no pass either.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pypgm.audit.cases import Case
from pypgm.audit.finding import Finding
from pypgm.audit.fuzz import fuzz
from pypgm.audit.report import failures, row, run, write_report
from pypgm.audit.tiers import suite


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the audit of a tier, print a table, write the report if one is wanted; or fuzz; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pypgm.audit", description="Check that releases are what they say.")
    parser.add_argument(
        "--tier",
        type=int,
        choices=(0, 1, 2),
        default=0,
        help="0: deterministic, under a minute; 1: and statistics, under five minutes; 2: and statistics for a night",
    )
    parser.add_argument(
        "--report", metavar="FILE", help="also write the findings, as JSON if FILE ends in .json, else as Markdown"
    )
    of_fuzz = parser.add_argument_group("random cases of mechanisms, instead of a tier")
    of_fuzz.add_argument("--fuzz", metavar="MINUTES", type=float, help="how long; a failure is told with its seed")
    of_fuzz.add_argument("--seed", type=int, default=0, help="of the first case (0)")
    of_fuzz.add_argument("--cases", type=int, default=1 << 60, help="how many seeds at most; 1 makes one case again")
    of_fuzz.add_argument("--only", default="", metavar="NAME,...", help="cases of these mechanisms alone")
    options = parser.parse_args(arguments)
    if options.fuzz is not None:
        return _fuzzed(options.seed, options.cases, options.fuzz, [n for n in options.only.split(",") if n])

    def tell(found: Finding) -> None:
        print(row(found), flush=True)

    found = run(suite(options.tier), tell)
    failed = failures(found)
    idle, skipped = (sum(f.result == how for f in found) for how in ("not exercised", "skipped"))
    seconds = sum(f.seconds for f in found)
    print(f"{len(found)} checks, {len(failed)} failed, {idle} not exercised, {skipped} skipped, {seconds:.1f} s")
    if options.report:
        write_report(options.report, options.tier, found)
    return 1 if failed or idle else 0


def _fuzzed(seed: int, cases: int, minutes: float, only: Sequence[str]) -> int:
    """Run random cases, print a line for each failure and each mechanism; return the exit code."""

    def tell(number: int, case: Case, found: Finding) -> None:
        print(f"seed {number}: {case}: {found.detail}", flush=True)

    done = fuzz(range(seed, seed + cases), 60 * minutes, only, tell)
    print(*done.lines(), sep="\n")
    print(f"{done.ran.total()} cases, {done.refused.total()} refused, {len(done.failed)} failed")
    return 1 if done.failed or not done.ran else 0


if __name__ == "__main__":
    sys.exit(main())
