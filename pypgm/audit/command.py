"""The command line on pairs of tables: all it says and writes is the same for both, and follows from the model."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import runpy
import tempfile
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

import pypgm
from pypgm.audit.answers import check_answers
from pypgm.audit.finding import Finding, finding
from pypgm.audit.mechanisms import Runs, check_calibration, check_charges, check_noninterference, run_pairs
from pypgm.audit.pairs import PRIVACIES, Pair, far_pairs, neighbour_pairs
from pypgm.audit.surroundings import all_output, as_told
from pypgm.audit.trace import Trace
from pypgm.data import Boolean, Categorical, Codes, Column, Date, Integer, Real, Schema
from pypgm.data.opened import opened
from pypgm.domain import Domain
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy

__all__ = ["check_command", "check_table_errors"]

_BUDGET = Budget(epsilon=Fraction(9, 2), delta=Fraction(1, 10**6))
_MODEL, _OUT = "people.pgm", "synthetic.csv"


def check_command(options: Sequence[str] = ("--model", _MODEL)) -> Finding:
    """Run ``pypgm synth`` on pairs of tables, on a terminal: what it reads, charges, draws, says and writes.

    The second table of a pair is run on the noisy outcomes of the first. Both must end in the same words and in files
    of the same bytes, whose records are as many as the model says, and not as were read.
    """
    pairs = [pair for pair in _pairs() if pair.privacy.records_per_person == 1]
    runs = run_pairs("pypgm synth", partial(_synth, options=options), _BUDGET, pairs)
    checks = (check_calibration, check_charges, check_answers, check_noninterference)
    found = [(defect, f.detail) for f in (check(runs) for check in checks) for defect in f.defects]
    found += [defect for pair, one, other in runs.traces for t in (one, other) for defect in _written(pair, t)]
    figures = f"{len(pairs)} pairs of tables, {len(_files(runs))} files, identical bytes"
    return finding("command", " ".join(["pypgm synth", *options]), found, figures)


def _pairs() -> list[Pair]:
    near = [p for p in neighbour_pairs() if p.name.startswith(("crossed", "a rare record, [2", "empty, [0, 0, 0"))]
    return [*near, *far_pairs(PRIVACIES[::2])]


def _files(runs: Runs) -> set[str]:
    return {name for _, one, _ in runs.traces for name in getattr(one.release, "files", {})}


def _synth(data: Any, budget: Budget, privacy: Privacy, *, options: Sequence[str]) -> Any:
    """Write the records, run the command in their folder, and return what it left there."""
    arguments = ["synth", "people.csv", "--domain", "domain.json", "--out", _OUT, *options]
    arguments += ["--epsilon", str(budget.epsilon), "--delta", str(budget.delta), "--neighbours", privacy.neighbours]

    def noted(*given: Any, **named: Any) -> Any:
        held = opened(*given, **named)

        def records(schema: Schema) -> Any:
            data.schema = schema
            return data if held.records(schema).domain == data.domain else None

        return SimpleNamespace(records=records, values=held.values, layout=held.layout, close=held.close)

    with _folder() as folder, patch("pypgm.mechanisms.tables.opened", noted):
        _write(folder, data.domain, [data.unnoted(a) for a in data.domain])
        status = _main(arguments)
        inputs = {"people.csv", "domain.json"}
        files = {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.name not in inputs}
        release = pypgm.load(_MODEL) if _MODEL in files else None
    return SimpleNamespace(status=status, files=files, model=getattr(release, "model", None))


def _main(arguments: Sequence[str]) -> int:
    """Run ``python -m pypgm`` in this process and return its exit status."""
    with patch("sys.argv", ["pypgm", *arguments]):
        try:
            runpy.run_module("pypgm", run_name="__main__")
        except SystemExit as ended:
            return int(ended.code or 0)
    return 0


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
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


_SECRETS = ("4711", "-1", "8,9", "Zürich", "1e3", "", "0.5", "2147483648")
"""Values that are in no domain here."""


_UNFIT: dict[str, tuple[Column, tuple[object, ...]]] = {
    "a text among labels": (
        Categorical(["office", "home", "2.5"]),
        ("offic", "Office", "hime", "zebra", "2,5", 2, "x" * 99),
    ),
    "a number among labels": (Categorical([1, 2.5, 40]), (2, 3.5, 41, -1, 10**30, "1,0", "one")),
    "a text for a boolean": (Boolean(["no", "yes"]), ("ye", "yess", "NOT", "2", 2, "maybe")),
    "a code of a column": (Codes(3), (3, 4, -1, "3", "1.5", "x", 10**30)),
    "a whole number beyond": (Integer(0, 9), (10, 11, -1, 10**6, "12", 10.0)),
    "a text for a whole number": (Integer(0, 9), ("7x", "x", "seven", "--", "1_0")),
    "a fraction for a whole number": (Integer(0, 9), (7.5, "7.5", 8.25, -0.5)),
    "a number beyond": (Real(0, 1, bins=2), (1.1, 2, -0.001, 1e300, "1.01")),
    "a text for a number": (Real(0, 1, bins=2), ("0.5x", "x", "half", "1e", "nan")),
    "a day beyond": (Date("2020-01-01", "2020-01-31"), ("2020-02-01", "2019-12-31", "1999-01-01")),
    "a text for a day": (Date("2020-01-01", "2020-01-31"), ("2020-01-32", "2020-13-01", "01.01.2020", "x", "today")),
}


def check_table_errors() -> Finding:
    """Load tables that differ in one bad value: what is said of them is the same, whatever the value."""
    domain = Domain({"a": 3, "b": ["x", "y"]})
    ways: dict[str, Callable[[str], object]] = {
        "a code in a file": lambda value: _read(domain, [["0", "x"], [value, "y"]]),
        "a label in a file": lambda value: _read(domain, [["0", "x"], ["1", value]]),
        "a code on the command line": lambda value: _run(domain, [["0", "x"], [value, "y"]]),
        "a label on the command line": lambda value: _run(domain, [["0", "x"], ["1", value]]),
        "an error that nobody foresaw": lambda value: _unforeseen(domain, value),
    }
    numbers: dict[str, Callable[[int], object]] = {
        "a code": lambda value: pypgm.Dataset({"a": [0, value], "b": [0, 1]}, domain),
        "a code of 64 bits": lambda value: pypgm.Dataset({"a": np.array([0, value]), "b": [0, 1]}, domain),
        "a weight": lambda value: pypgm.Dataset({"a": [0, 1], "b": [0, 1]}, domain, weights=[1.0, -value]),
    }
    found: list[tuple[str, str]] = []
    for name, (column, values) in _UNFIT.items():
        # However near it is to what is allowed, how far beyond it, and how often it comes.
        taken = (partial(Schema({"a": column}).encode, {"a": [value] * n}) for value in values for n in (1, 2, 9))
        found.extend(_same(name, [_said(lambda encode: encode(), each) for each in taken]))
    for name, way in ways.items():
        found.extend(_same(name, [_said(way, value) for value in _SECRETS]))
    for name, way_of_number in numbers.items():
        found.extend(_same(name, [_said(way_of_number, value) for value in (4711, 815, 10**6)]))
    return finding(
        "table errors", "read_table, Dataset", found, f"{len({**ways, **numbers, **_UNFIT})} errors, one text each"
    )


def _read(domain: Domain, rows: list[list[str]]) -> object:
    with _folder() as folder:
        _write_rows(folder, domain, rows)
        return pypgm.read_table("people.csv", domain)


def _run(domain: Domain, rows: list[list[str]]) -> object:
    with _folder() as folder, all_output() as said:
        _write_rows(folder, domain, rows)
        sizes = {"a": 3, "b": ["x", "y"]}
        (folder / "domain.json").write_text(json.dumps(sizes), encoding="utf-8")
        arguments = ["synth", "people.csv", "--domain", "domain.json", "--out", _OUT, "--epsilon", "1"]
        status = _main([*arguments, "--delta", "1e-9"])
    if status != 0:
        raise ValueError(said.getvalue())
    return status


def _unforeseen(domain: Domain, value: str) -> None:
    """Let a mechanism end in an error that holds a value."""
    with patch("pypgm.mechanisms.wide", autospec=True, side_effect=LookupError(value)):
        _run(domain, [["0", "x"], ["1", "y"]])


def _write_rows(folder: Path, domain: Domain, rows: list[list[str]]) -> None:
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([domain.attributes, *rows])


def _said(way: Callable[[Any], object], value: Any) -> str:
    try:
        way(value)
    except (TypeError, ValueError) as error:
        return as_told(error)
    return "nothing"


def _same(name: str, said: list[str]) -> Iterator[tuple[str, str]]:
    if "nothing" in said:
        yield "not refused", f"{name} that is in no domain is taken"
    if len(set(said)) > 1:
        yield "exception tells", f"{name}: what is said depends on the value"
