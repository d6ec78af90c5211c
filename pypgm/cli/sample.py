"""``pypgm sample``: more records from a release, at no privacy cost."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

import numpy as np

from pypgm._base.file_kind import TABLES
from pypgm._base.numeric import as_generator
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
from pypgm.data import write_table
from pypgm.domain import Label
from pypgm.files.stored_model import ReleasedModel
from pypgm.jobs.claim import Claim
from pypgm.release import Release, load

_DESCRIPTION = """\
Draw synthetic records from a release, as often as wanted, at no further cost of privacy.

With --given all records agree with the given values; by default there are as many as the release expects.
"""
_USAGE = """\
examples:
  pypgm sample people.pgm --out synthetic.csv
  pypgm sample people.pgm --rows 1000 --given sex=F --seed 7 --out women.csv
  pypgm sample people.pgm --given job=cook,nurse --given age=65.. --out old.csv
  pypgm sample people.pgm --rows 10 --out /dev/stdout
"""


def add_to(commands: Verbs) -> None:
    """Add the subcommand to the command line."""
    summary = "more synthetic records from a release"
    sample = add_verb(commands, "sample", _sample, summary=summary, about=_DESCRIPTION, examples=_USAGE)
    sample.add_argument("release", metavar="RELEASE", help="a file written by synth")
    sample.add_argument(
        "--out", metavar="FILE", required=True, help="where the records go: .csv, .csv.gz, .parquet or .jsonl"
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
    sample.add_argument("--quiet", action="store_true", help="print nothing but warnings")


def _sample(arguments: argparse.Namespace) -> None:
    check_places([arguments.release], [arguments.out], TABLES)
    check_json_alone(arguments)
    content = load(arguments.release)
    release = content if isinstance(content, Release) else None
    model = content.model if isinstance(content, Release) else content
    schema, layout = (None, None) if release is None else (release.schema, release.layout)
    evidence = evidence_given(model.domain, arguments.given, schema)
    if arguments.rows is not None:
        check_rows(model.domain, arguments.rows)
    rows = _expected(model, evidence) if evidence and arguments.rows is None else arguments.rows
    if rows == 0 and arguments.rows is None:
        tell(["warning: the release expects fewer than one such record; --rows N draws N of them"])
    with Claim(arguments.out):
        draws = as_generator(arguments.seed)
        records = (release or model).synthetic_data(rows, draws, evidence=evidence)
        write_table(records, arguments.out, schema, draws, layout=layout)
    if arguments.json or not arguments.quiet:
        facts = {"records": records.n_records, "files": {"records": arguments.out}}
        present(arguments, facts, [f"wrote {records.n_records:,} records to {arguments.out}"], tell)


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
