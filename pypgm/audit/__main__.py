"""``python -m pypgm.audit [--tier 0|1|2] [--report FILE]``: exits with 1 if a check fails."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pypgm.audit.finding import Finding
from pypgm.audit.report import failures, row, run, write_report
from pypgm.audit.tiers import suite


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the audit of a tier, print a table, write the report if one is wanted; return the exit code."""
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
    options = parser.parse_args(arguments)

    def tell(found: Finding) -> None:
        print(row(found), flush=True)

    found = run(suite(options.tier), tell)
    failed = failures(found)
    skipped = sum(f.result == "skipped" for f in found)
    seconds = sum(f.seconds for f in found)
    print(f"{len(found)} checks, {len(failed)} failed, {skipped} skipped, {seconds:.1f} s")
    if options.report:
        write_report(options.report, options.tier, found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
