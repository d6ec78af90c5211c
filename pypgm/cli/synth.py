"""``pypgm synth``: private synthetic records from a table, and a place for the release, reserved beforehand."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pypgm._base.clock import standing_still
from pypgm._base.file_kind import TABLES
from pypgm._base.terminal import laid_out, terminal_width
from pypgm.cli.arguments import (
    HELP,
    Verbs,
    add_budget,
    add_mechanism,
    add_reading,
    add_table,
    add_target,
    add_verb,
    as_rows,
    as_seconds,
    check_json_alone,
    check_new,
    check_places,
    check_rows,
    dialect,
    reading_options,
    schema_in,
    workload_named,
)
from pypgm.cli.job import job_of
from pypgm.cli.printing import json_text, tell
from pypgm.data import OpenSchema, Schema
from pypgm.data.sources.files import has_contents
from pypgm.data.sources.source import open_source
from pypgm.domain import Domain
from pypgm.files.record_table import RecordTable
from pypgm.jobs.claim import Claim
from pypgm.jobs.job import Job
from pypgm.jobs.place import Place, default_place
from pypgm.jobs.stopping import STOPPING
from pypgm.mechanisms.tables import check_options, prepared
from pypgm.privacy.account_run import Reservation
from pypgm.privacy.promise import budget_text
from pypgm.release import Release
from pypgm.reporting.facts import Facts
from pypgm.reporting.quality import SEED
from pypgm.reporting.text import ledger_text, lost_rows, promise_rows, quality_rows, warning_lines

_DESCRIPTION = """\
Read a table, spend a privacy budget on it once, and write synthetic records.

TABLE is a CSV file with a header, plain or gzip, a Parquet file, or a DuckDB file with --table. SCHEMA is a JSON or
YAML file that declares its columns, written from what is publicly known and never from the records; pypgm schema init
drafts one:

    {"columns": {"age": {"kind": "integer", "low": 0, "high": 99, "width": 5}, "sex": ["F", "M"]}, "drop": ["name"]}

The same call again returns the release that is there, spends nothing, and writes what is missing. For new records in a
table of the same name, give each run its --key, such as the date, and its files. The records are those that
pypgm sample draws with --seed 0.

Columns are matched by name. The synthetic table looks like the real one; numbers and dates are drawn within their bins.
A file with only a size or a list of labels for each attribute, {"age": 85, "sex": ["F", "M"]}, is a schema too: one
with a size has the codes 0 .. size - 1 in the table.
"""
_USAGE = """\
examples:
  pypgm synth people.csv --schema schema.json --epsilon 1 --delta 1e-9 --out synthetic.csv
  pypgm synth people.csv.gz --schema schema.json --epsilon 0.5 --delta 1e-9 --out synthetic.csv.gz \\
      --model people.pgm --rows 10000 --neighbours replace
  pypgm synth people.csv --schema schema.json --epsilon 1 --delta 1e-9 --out synthetic.csv \\
      --mechanism hdmm --workload up-to-2
"""


def add_to(commands: Verbs) -> None:
    """Add the subcommand to the command line."""
    summary = "private synthetic records from a table"
    synth = add_verb(commands, "synth", _synth, summary=summary, about=_DESCRIPTION, examples=_USAGE)
    synth.add_argument(
        "table", metavar="TABLE", help="the records: a .csv, .parquet, .jsonl, .xlsx or .duckdb file, or a folder"
    )
    add_table(synth)
    synth.add_argument(
        "--schema", "--domain", dest="schema", metavar="SCHEMA", required=True, help="the columns: .json or .yaml"
    )
    synth.add_argument(
        "--out", metavar="FILE", required=True, help="where synthetic records go: .csv, .csv.gz, .parquet or .jsonl"
    )
    add_budget(synth)
    synth.add_argument(
        "--release",
        "--model",
        dest="model",
        metavar="RELEASE",
        help="where to keep the release, for sample, query and info (default: beside the records)",
    )
    add_mechanism(synth)
    synth.add_argument("--workload", metavar="WORKLOAD", help=HELP)
    add_target(synth)
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
    add_reading(synth)
    synth.add_argument("--time-limit", metavar="SECONDS", type=as_seconds, help="seconds after which the estimate ends")
    synth.add_argument(
        "--account",
        metavar="ACCOUNT",
        help="account of the table's budget, from which this run takes its own: a file, or a postgresql:// URL",
    )
    synth.add_argument(
        "--key",
        metavar="TEXT",
        help="key of the job: a call whose key the release has already returns that release and spends nothing "
        "(default: a digest of schema, mechanism, options, budget and the name of the table)",
    )
    synth.add_argument("--log", metavar="FILE", help="add a line of JSON for each step to a file")
    synth.add_argument("--ledger", action="store_true", help="list what the budget was spent on, draw by draw")
    synth.add_argument("--quiet", action="store_true", help="no progress and no summary, only warnings")


class PaidError(Exception):
    """Error after the release was paid for and kept, with advice on how to go on."""

    def __init__(self, cause: BaseException, kept: Path, price: str, way_on: str) -> None:
        super().__init__(f"the release, paid for with {price}, is whole in {kept}, its ledger too{way_on}")
        self.cause = cause


def _synth(arguments: argparse.Namespace) -> None:
    file = arguments.model or default_place(arguments.table, arguments.out)
    schema = _checked(arguments, file)
    job, is_written = job_of(arguments, schema, file, _options(arguments)), has_contents(arguments.out)
    if (earlier := job.earlier()) is not None:
        _complete(arguments, *earlier)
        return
    if is_written:  # looked at before the release, which another run may be writing: its records come last
        check_new(arguments.out)
    with Claim(arguments.out):
        release, kept = _paid(arguments, schema, job)
        synthetic = _written(arguments, release, kept)
    _present(arguments, release, synthetic, kept)


def _paid(arguments: argparse.Namespace, schema: Schema | OpenSchema, job: Job) -> tuple[Release, Path]:
    """Reserve a place and a budget, read the table, spend the budget on it, and keep the release."""
    expected = _bytes_of_pairs(schema.provisional.domain)
    if job.has_account:  # else the same is refused before anything is spent
        how = {"mechanism": arguments.mechanism, "neighbours": arguments.neighbours}
        source = open_source(arguments.table, arguments.duckdb_table, dialect(arguments))
        check_options(source, schema, job.budget, options=_options(arguments) | {"progress": False}, **how)
    with Place(job.file, expected, partial(_way_on, arguments)) as place, job.reserved() as reservation:
        mechanism_run = _prepared(arguments, schema, reservation)
        arguments.steps.step("opened", key=job.key)
        with arguments.steps.following(alone=not _talks(arguments)):
            release = replace(mechanism_run(), key=job.key, request=job.request)
        # From here on everything depends on the records through the release alone.
        del mechanism_run
        stop_if_interrupted(release)
        with STOPPING.held():
            kept = place.keep(release, partial(job.keep, release))
        if arguments.log is not None:  # the digest takes time
            arguments.steps.step("kept", release=str(kept), digest=release.digest)
    return release, kept


def _checked(arguments: argparse.Namespace, file: str) -> Schema | OpenSchema:
    """Check where results go and how many, start the log, and return the schema."""
    inputs = [arguments.table, arguments.schema, *([arguments.account] if arguments.account else [])]
    check_places([*inputs, arguments.out, file], [arguments.log])
    arguments.steps.start(arguments.verb)
    check_places(inputs, [arguments.out], TABLES, may_exist=True)
    check_json_alone(arguments)
    check_places([*inputs, arguments.out], [file])
    schema = schema_in(arguments.schema)
    check_rows(arguments.rows or 0)
    return schema


def _complete(arguments: argparse.Namespace, release: Release, kept: Path) -> None:
    """Write the records of an earlier run's release if they are not there, and say what was done; spend nothing."""
    arguments.steps.step("done already", key=release.key, release=str(kept))
    synthetic = None
    if not has_contents(arguments.out):
        with Claim(arguments.out):
            synthetic = _written(arguments, release, kept)
    if arguments.json or synthetic is not None:
        _present(arguments, release, synthetic, kept, is_earlier=True)
    elif not arguments.quiet:
        tell([f"done already: {kept} is the release of this call, and {arguments.out} is there; nothing was spent"])


def _written(arguments: argparse.Namespace, release: Release, kept: Path) -> RecordTable:
    """Draw synthetic records of a kept release, write and return them; `PaidError` if that fails."""
    try:
        STOPPING.check()
        synthetic = RecordTable.of(release, arguments.rows, SEED)
        synthetic.write(arguments.out)
    except (Exception, KeyboardInterrupt) as error:
        raise PaidError(error, kept, budget_text(release.ledger.budget), _way_on(arguments, kept)) from error
    arguments.steps.step("written", records=arguments.out, rows=synthetic.rows)
    return synthetic


def _way_on(arguments: argparse.Namespace, kept: Path) -> str:
    """Return the command that draws the requested records from a release in a file, as the end of a sentence."""
    rest = [] if arguments.rows is None else ["--rows", str(arguments.rows)]
    words = ["pypgm", "sample", str(kept), "--out", arguments.out, *rest, *(["--quiet"] if arguments.quiet else [])]
    return f"; go on with: {shlex.join(words)}"


def _present(
    arguments: argparse.Namespace,
    release: Release,
    synthetic: RecordTable | None,
    kept: Path,
    *,
    is_earlier: bool = False,
) -> None:
    """Write a summary of the release, as JSON to the standard output or as lines to the terminal."""
    drawn = None if synthetic is None else synthetic.drawn_at_once
    facts = Facts(release, progress=_talks(arguments), drawn=drawn)
    if arguments.json:
        fields = facts.to_dict(ledger=arguments.ledger) | {"done": "already" if is_earlier else "now"}
        files = {"records": arguments.out, "release": str(kept)}
        fields |= {"synthetic_records": None if synthetic is None else synthetic.rows, "files": files}
        sys.stdout.write(json_text(arguments.verb, fields))
    elif arguments.quiet or synthetic is None:
        tell(warning_lines(facts.warnings))
    else:
        head = ["done already: the records are drawn from the release of an earlier run; nothing was spent", ""]
        tell([*(head if is_earlier else []), *_summary(arguments, facts, synthetic, kept)])


def _summary(arguments: argparse.Namespace, facts: Facts, synthetic: RecordTable, kept: Path) -> list[str]:
    width = terminal_width()
    rows = [
        *promise_rows(facts.release.promise),
        ("records", f"{synthetic.rows:,} synthetic, of {facts.records_text}"),
        *quality_rows(facts.quality, facts.as_values),
        *(lost_rows(facts.losses) or [("lost", "nothing: every value is as it was")]),
        ("files", f"{arguments.out}  the synthetic records"),
        ("", f"{kept}  the release, as public as they are: more records, any answer"),
        ("next", shlex.join(["pypgm", "compare", str(kept), arguments.table, *reading_options(arguments), "--unsafe"])),
        ("", shlex.join(["pypgm", "report", str(kept), "--out", f"{kept.stem}.html"])),
    ]
    ledger = ["", *ledger_text(facts.release.ledger, facts.shares, width)] if arguments.ledger else []
    return [*warning_lines(facts.warnings), *laid_out(rows, width), *ledger]


def _talks(arguments: argparse.Namespace) -> bool:
    return sys.stderr.isatty() and not arguments.quiet


def _prepared(
    arguments: argparse.Namespace, schema: Schema | OpenSchema, account: Reservation | None = None
) -> Callable[[], Release]:
    """Read the table, and return a function that spends the budget on it."""
    with standing_still:  # the log does not show how long the reading takes
        return prepared(
            open_source(arguments.table, arguments.duckdb_table, dialect(arguments)),
            schema,
            arguments.epsilon,
            arguments.delta,
            mechanism=arguments.mechanism,
            neighbours=arguments.neighbours,
            ignore_extra=arguments.ignore_extra,
            options=_options(arguments) | ({} if account is None else {"account": account}),
        )


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the mechanism."""
    workload = None if arguments.workload is None else partial(workload_named, text=arguments.workload)
    progress = _talks(arguments) or arguments.log is not None
    targets = {} if arguments.target is None else {"targets": arguments.target}
    return {"workload": workload, "time_limit": arguments.time_limit, "progress": progress, **targets}


def _bytes_of_pairs(domain: Domain) -> int:
    """Return the bytes of two numbers for each cell of each pair: about a release file before compression."""
    sizes = domain.shape
    return 8 * (sum(sizes) ** 2 - sum(n * n for n in sizes))


def stop_if_interrupted(release: Release) -> None:
    """End the command after an estimate that Ctrl-C ended early: the release is discarded unseen."""
    if STOPPING.number or (release.model.fit is not None and release.model.fit.status == "interrupted"):
        raise KeyboardInterrupt("the release was discarded, and no file was left")
