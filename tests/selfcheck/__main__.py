"""``python tests/selfcheck [MECHANISM ...] [--tier 0|1|2] [--out FILE]``, or ``--fuzz MINUTES``.

It makes the checks of ``python -m pypgm.audit`` and those of this package alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # its modules are those of a package beside the tests

from pypgm.audit.__main__ import audit_parser, audited
from pypgm.audit.finding import Finding
from pypgm.reporting.audited import AuditReport
from selfcheck.everything import suite
from selfcheck.fuzz import Tried, fuzz


class FullReport(AuditReport):
    """Report of all checks."""

    @property
    def command(self) -> str:
        """The command that makes these checks again."""
        return super().command.replace("-m pypgm.audit", "tests/selfcheck")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make all checks, or fuzz; return the exit code."""
    parser = audit_parser()
    parser.prog = "python tests/selfcheck"
    of_fuzz = parser.add_argument_group("random cases of mechanisms, instead of a tier")
    of_fuzz.add_argument("--fuzz", metavar="MINUTES", type=float, help="how long; a failure is printed with its seed")
    of_fuzz.add_argument("--seed", type=int, default=0, help="of the first case (0)")
    of_fuzz.add_argument("--cases", type=int, default=1 << 60, help="how many seeds at most; 1 makes one case again")
    of_fuzz.add_argument("--only", default="", metavar="NAME,...", help="cases of these mechanisms alone")
    options = parser.parse_args(arguments)
    if options.fuzz is None:
        return audited(parser, options, suite, FullReport)
    return _fuzzed(options.seed, options.cases, options.fuzz, [name for name in options.only.split(",") if name])


def _fuzzed(seed: int, cases: int, minutes: float, only: Sequence[str]) -> int:
    """Run random cases, print a line for each failure and each mechanism; return the exit code."""

    def tell(number: int, case: Tried, finding: Finding) -> None:
        print(f"seed {number}: {case}: {finding.detail}", flush=True)

    done = fuzz(range(seed, seed + cases), 60 * minutes, only, tell)
    print(*done.lines(), sep="\n")
    print(f"{done.ran.total()} cases, {done.refused.total()} refused, {len(done.failed)} failed")
    return 1 if done.failed or not done.ran else 0


if __name__ == "__main__":
    sys.exit(main())
