"""``pypgm synth``: private synthetic records from a table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pypgm.cli.arguments import add_budget, add_verb, as_rows, as_seconds, check_places, check_rows
from pypgm.cli.keeping import Place, default_place
from pypgm.cli.workload import HELP, workload_named
from pypgm.data import read_domain, read_table, write_table
from pypgm.mechanisms.registry import BEST, mechanism_named, mechanism_names, takes
from pypgm.privacy import Budget

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from pypgm.cli.arguments import Verbs
    from pypgm.domain import Domain
    from pypgm.release import Release

__all__ = ["PaidError", "add_to", "stop_if_interrupted"]

_ABOUT = """\
Read a table, spend a privacy budget on it once, and write synthetic records.

TABLE is a CSV file with a header, plain or gzip. DOMAIN is a JSON file with a size or a list of labels for each
attribute, written from what is publicly known and never from the records:

    {"age": 85, "sex": ["F", "M"]}

Columns are matched by name. An attribute with labels has labels in the table, one with a size has the codes
0 .. size - 1. The synthetic table looks like the real one.
"""
_EXAMPLES = """\
examples:
  pypgm synth people.csv --domain domain.json --epsilon 1 --delta 1e-9 --out synthetic.csv
  pypgm synth people.csv.gz --domain domain.json --epsilon 0.5 --delta 1e-9 --out synthetic.csv.gz \\
      --model people.pgm --rows 10000 --neighbours replace
  pypgm synth people.csv --domain domain.json --epsilon 1 --delta 1e-9 --out synthetic.csv \\
      --mechanism hdmm --workload up-to-2
"""


def add_to(commands: Verbs) -> None:
    """Add the verb."""
    summary = "private synthetic records from a table"
    synth = add_verb(commands, "synth", _synth, summary=summary, about=_ABOUT, examples=_EXAMPLES)
    synth.add_argument("table", metavar="TABLE", help="the records: a .csv or .csv.gz file with a header")
    synth.add_argument("--domain", metavar="DOMAIN", required=True, help="the attributes: a .json file")
    synth.add_argument("--out", metavar="FILE", required=True, help="where synthetic records go: .csv or .csv.gz")
    add_budget(synth)
    synth.add_argument(
        "--release",
        "--model",
        dest="model",
        metavar="RELEASE",
        help="where to keep the release, for sample, query and info (default: beside the records)",
    )
    synth.add_argument(
        "--mechanism", choices=mechanism_names(), default=BEST, help=f"how to choose what is measured (default {BEST})"
    )
    synth.add_argument("--workload", metavar="WORKLOAD", help=HELP)
    synth.add_argument(
        "--rows",
        metavar="N",
        type=as_rows,
        help="synthetic records (default: the model's number, noisy under add-remove)",
    )
    synth.add_argument(
        "--neighbours",
        choices=["add-remove", "replace"],
        default="add-remove",
        help="what is protected: whether a person is in the table at all (add-remove, the default: the number of "
        "records stays private), or what a person's record holds (replace: the number is public)",
    )
    synth.add_argument("--ignore-extra", action="store_true", help="leave out columns that the domain does not name")
    synth.add_argument("--time-limit", metavar="SECONDS", type=as_seconds, help="end the estimate after so long")
    synth.add_argument("--quiet", action="store_true", help="no progress and no summary")


class PaidError(Exception):
    """What went wrong after the release was paid for and kept, and how to go on."""

    def __init__(self, cause: BaseException, kept: Path, guarantee: str, out: str) -> None:
        ways = f"go on with: pypgm sample {kept} --out {out}"
        super().__init__(f"the release, paid for with {guarantee}, is whole in {kept}, its ledger too; {ways}")
        self.cause = cause


def _synth(arguments: argparse.Namespace) -> None:
    budget = Budget(epsilon=arguments.epsilon, delta=arguments.delta)
    check_places([arguments.table, arguments.domain], [arguments.out])
    file = arguments.model or default_place(arguments.table, arguments.out)
    check_places([arguments.table, arguments.domain, arguments.out], [file])
    talks = sys.stderr.isatty() and not arguments.quiet
    domain = read_domain(arguments.domain)
    check_rows(domain, arguments.rows or 0)
    options = _own_options(domain, arguments.mechanism, arguments.workload)
    options |= {"time_limit": arguments.time_limit, "progress": talks}
    mechanism = mechanism_named(arguments.mechanism)
    data = read_table(arguments.table, domain, ignore_extra=arguments.ignore_extra)
    with Place(file, _bytes_of_pairs(domain)) as place:
        release = mechanism(data, budget=budget, neighbours=arguments.neighbours, **options)
        # From here on nothing depends on the records but through the release.
        del data
        stop_if_interrupted(release)
        kept = place.keep(release)
    try:
        synthetic = release.synthetic_data(arguments.rows)
        write_table(synthetic, arguments.out)
    except (Exception, KeyboardInterrupt) as error:
        raise PaidError(error, kept, release.guarantee, arguments.out) from error
    if not arguments.quiet:
        report = release.report().splitlines()
        report.insert(2, f"synthetic records: {synthetic.n_records:,}")
        lines = [*report, f"wrote {arguments.out}", f"wrote {kept}"]
        sys.stderr.write("\n".join([*lines, ""]))


def _bytes_of_pairs(domain: Domain) -> int:
    """Return what two numbers for each cell of each pair take: about the file of a release, before it is packed."""
    sizes = domain.shape
    return 8 * (sum(sizes) ** 2 - sum(n * n for n in sizes))


def _own_options(domain: Domain, mechanism: str, workload: str | None) -> dict[str, Any]:
    """Return the options that a mechanism has of its own, checked before the table is read."""
    if workload is None:
        return {}
    if not takes(mechanism, "workload"):
        able = ", ".join(name for name in mechanism_names() if takes(name, "workload"))
        raise ValueError(f"{mechanism} chooses what it measures itself and takes no --workload; these do: {able}")
    return {"workload": workload_named(domain, workload)}


def stop_if_interrupted(release: Release) -> None:
    """Turn an estimate that Ctrl-C ended early into the end of the command: the release is discarded unseen."""
    if release.model.fit is not None and release.model.fit.status == "interrupted":
        raise KeyboardInterrupt
