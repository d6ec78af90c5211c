"""``pypgm sample``: more records from a release, at no privacy cost."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

import numpy as np

from pypgm._base.file_kind import TABLES
from pypgm.cli.arguments import (
    Verbs,
    add_given,
    add_verb,
    as_rows,
    as_seed,
    check_json_alone,
    check_places,
    check_rows,
    evidence_given,
)
from pypgm.cli.printing import present, tell
from pypgm.domain import Label
from pypgm.files.record_parts import write_parts
from pypgm.files.record_table import RecordTable
from pypgm.files.stored_model import ReleasedModel
from pypgm.jobs.claim import Claim
from pypgm.release import Release, load

_DESCRIPTION = """\
Draw synthetic records from a release, as often as wanted, at no further cost of privacy.

With --given all records agree with the given values; by default there are as many as the release expects.

With --parts the records go to that many files in a folder. The same call writes only the parts that are not there yet;
calls with the same --seed and different --part may run anywhere, and write parts of the same records.
"""
_USAGE = """\
examples:
  pypgm sample people.pgm --out synthetic.csv
  pypgm sample people.pgm --rows 1000 --given sex=F --seed 7 --out women.csv
  pypgm sample people.pgm --given job=cook,nurse --given age=65.. --out old.csv
  pypgm sample people.pgm --rows 10 --out /dev/stdout
  pypgm sample people.pgm --rows 100000000 --out synthetic/ --parts 100 --processes 4
  pypgm sample people.pgm --rows 100000000 --out synthetic/ --parts 100 --part 17 --seed 7
"""


def add_to(commands: Verbs) -> None:
    """Add the subcommand to the command line."""
    summary = "more synthetic records from a release"
    sample = add_verb(commands, "sample", _sample, summary=summary, about=_DESCRIPTION, examples=_USAGE)
    sample.add_argument("release", metavar="RELEASE", help="a file written by synth")
    sample.add_argument(
        "--out",
        metavar="FILE",
        required=True,
        help="where the records go: .csv, .csv.gz, .parquet or .jsonl; with --parts a folder, of Parquet files if its "
        "name has no such ending",
    )
    sample.add_argument(
        "--rows",
        metavar="N",
        type=as_rows,
        help="number of records (default: the number in the release, or of those that agree with --given)",
    )
    add_given(sample)
    sample.add_argument(
        "--seed", metavar="S", type=as_seed, help="draw the same records every time (default: new ones every time)"
    )
    sample.add_argument("--parts", metavar="N", type=as_parts, help="number of files in the folder")
    sample.add_argument(
        "--part",
        metavar="K",
        type=as_parts,
        action="append",
        help="write this part alone, counted from 0, or several by repeating the option (default: all); needs --seed",
    )
    sample.add_argument(
        "--processes", metavar="P", type=as_parts, default=1, help="number of processes that write parts (default 1)"
    )
    sample.add_argument("--quiet", action="store_true", help="print nothing but warnings")


def as_parts(text: str) -> int:
    """Return a number of parts, or of one of them."""
    return as_rows(text, "a whole number")


def _sample(arguments: argparse.Namespace) -> None:
    in_parts = _check_parts(arguments)
    if in_parts and arguments.out == "-":
        raise ValueError("parts go to a folder, not to the standard output; a folder named - is ./-")
    if not in_parts:
        check_places([arguments.release], [arguments.out], TABLES)
    check_json_alone(arguments)
    content = load(arguments.release)
    model, schema = (content.model, content.schema) if isinstance(content, Release) else (content, None)
    evidence = evidence_given(model.domain, arguments.given, schema)
    check_rows(arguments.rows or 0)
    rows = _expected(model, evidence) if evidence and arguments.rows is None else arguments.rows
    if rows == 0 and arguments.rows is None:
        tell(["warning: the release expects fewer than one such record; --rows N draws N of them"])
    if in_parts:
        options = {"evidence": evidence, "part": arguments.part, "processes": arguments.processes}
        n_records = write_parts(content, arguments.out, rows, arguments.seed, parts=arguments.parts, **options)
    else:
        with Claim(arguments.out):
            table = RecordTable.of(content, rows, arguments.seed, evidence)
            table.write(arguments.out)
        n_records = table.rows
    if arguments.json or not arguments.quiet:
        facts = {"records": n_records, "files": {"records": arguments.out}}
        present(arguments, facts, [f"wrote {n_records:,} records to {arguments.out}"], tell)


def _check_parts(arguments: argparse.Namespace) -> bool:
    """Return whether the records go to a folder of parts."""
    if arguments.parts is None and (arguments.part or arguments.processes > 1):
        raise ValueError("--part and --processes are about the parts of a folder, whose number is --parts")
    return arguments.parts is not None


def _expected(model: ReleasedModel, evidence: Mapping[str, Sequence[Label]]) -> int:
    """Return the number of a model's records that agree with evidence: its total times conditional probabilities."""
    expected = model.total
    known: dict[str, Sequence[Label]] = {}
    for name, values in evidence.items():
        labels = model.domain.labels.get(name)
        codes = [int(v) if labels is None else labels.index(v) for v in dict.fromkeys(values)]
        expected *= float(np.take(model.query(name, known).values, codes).sum())
        known[name] = values
    return round(expected)
