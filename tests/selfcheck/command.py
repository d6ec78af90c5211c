"""Command line on pairs of tables: its output and files are the same for both, and follow from the model."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import runpy
import tempfile
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pypgm
from pypgm.audit.answers import check_answers
from pypgm.audit.finding import Finding, finding
from pypgm.audit.mechanisms import Runs, check_calibration, check_charges, check_noninterference, run_pairs
from pypgm.audit.pairs import PRIVACIES, Pair, far_pairs, neighbour_pairs
from pypgm.audit.trace import Trace
from pypgm.data import Schema
from pypgm.data.sources.opened import opened
from pypgm.domain import Domain
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy

_BUDGET = Budget(epsilon=Fraction(9, 2), delta=Fraction(1, 10**6))
_MODEL, _OUT = "people.pgm", "synthetic.csv"


def check_command(options: Sequence[str] = ("--model", _MODEL)) -> Finding:
    """Run ``pypgm synth`` on pairs of tables, on a terminal, and check its reads, charges, draws, output and files.

    The second table of a pair is run on the noisy outcomes of the first. Both must give the same text and files of the
    same bytes, with as many records as the model says, not as many as were read.
    """
    pairs = [pair for pair in _pairs() if pair.privacy.records_per_person == 1]
    runs = run_pairs("pypgm synth", partial(_synth, options=options), _BUDGET, pairs)
    checks = (check_calibration, check_charges, check_answers, check_noninterference)
    defects = [(defect, f.detail) for f in (check(runs) for check in checks) for defect in f.defects]
    defects += [defect for pair, one, other in runs.traces for t in (one, other) for defect in _written(pair, t)]
    figures = f"{len(pairs)} pairs of tables, {len(_files(runs))} files, identical bytes"
    return finding("command", " ".join(["pypgm synth", *options]), defects, figures)


def _pairs() -> list[Pair]:
    near = [p for p in neighbour_pairs() if p.name.startswith(("crossed", "a rare record, [2", "empty, [0, 0, 0"))]
    return [*near, *far_pairs(PRIVACIES[::2])]


def _files(runs: Runs) -> set[str]:
    return {name for _, one, _ in runs.traces for name in getattr(one.release, "files", {})}


def _synth(data: Any, budget: Budget, privacy: Privacy, *, options: Sequence[str]) -> Any:
    """Write the records, run the command in their folder, and return its files."""
    arguments = ["synth", "people.csv", "--domain", "domain.json", "--out", _OUT, *options]
    arguments += ["--epsilon", str(budget.epsilon), "--delta", str(budget.delta), "--neighbours", privacy.neighbours]

    def noted(*given: Any, **named: Any) -> Any:
        held = opened(*given, **named)

        def records(schema: Schema) -> Any:
            data.schema = schema
            return data if held.records(schema).domain == data.domain else None

        return SimpleNamespace(records=records, values=held.values, layout=held.layout, close=held.close)

    with own_folder() as folder, patch("pypgm.privacy.tables.opened", noted):
        _write(folder, data.domain, [data.unnoted(a) for a in data.domain])
        status = run_command(arguments)
        inputs = {"people.csv", "domain.json"}
        files = {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.name not in inputs}
        release = pypgm.load(_MODEL) if _MODEL in files else None
    return SimpleNamespace(status=status, files=files, model=getattr(release, "model", None))


def run_command(arguments: Sequence[str]) -> int:
    """Run ``python -m pypgm`` in this process and return its exit status."""
    with patch("sys.argv", ["pypgm", *arguments]):
        try:
            runpy.run_module("pypgm", run_name="__main__")
        except SystemExit as ended:
            return int(ended.code or 0)
    return 0


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """Work in a temporary folder."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def _write(folder: Path, domain: Domain, columns: Sequence[Any]) -> None:
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(domain.attributes)
        writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
    sizes = dict(zip(domain.attributes, domain.shape, strict=True))
    (folder / "domain.json").write_text(json.dumps(sizes), encoding="utf-8")


def _written(pair: Pair, trace: Trace) -> Iterator[tuple[str, str]]:
    release = trace.release
    if release is None or release.status != 0:
        yield "no release", f"{pair.name}: the command ends with {getattr(release, 'status', trace.error)}"
    elif release.model is not None:
        rows = release.files[_OUT].count(b"\n") - 1
        if rows != round(release.model.total):
            yield "records counted exactly", f"{rows} records are written, the model has {release.model.total:.2f}"
