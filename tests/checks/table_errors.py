"""Errors of tables that hold a value which is in no domain: what is said is the same, whatever the value."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from selfcheck.command import own_folder, run_command

import pypgm
from pypgm.audit.finding import Finding, finding
from pypgm.audit.trace import all_output, as_told
from pypgm.data import Boolean, Categorical, Codes, Column, Date, Integer, Real, Schema
from pypgm.domain import Domain

__all__ = ["check_table_errors"]

Found = Iterator[tuple[str, str]]


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
    defects: list[tuple[str, str]] = []
    for name, (column, values) in _UNFIT.items():
        # However near it is to what is allowed, how far beyond it, and how often it comes.
        taken = (partial(Schema({"a": column}).encode, {"a": [value] * n}) for value in values for n in (1, 2, 9))
        defects.extend(_same(name, [_said(lambda encode: encode(), each) for each in taken]))
    for name, call in ways.items():
        defects.extend(_same(name, [_said(call, value) for value in _SECRETS]))
    for name, way_of_number in numbers.items():
        defects.extend(_same(name, [_said(way_of_number, value) for value in (4711, 815, 10**6)]))
    return finding(
        "table errors", "read_table, Dataset", defects, f"{len({**ways, **numbers, **_UNFIT})} errors, one text each"
    )


def _read(domain: Domain, rows: list[list[str]]) -> object:
    with own_folder() as folder:
        _write_rows(folder, domain, rows)
        return pypgm.read_table("people.csv", domain)


def _run(domain: Domain, rows: list[list[str]]) -> object:
    with own_folder() as folder, all_output() as said:
        _write_rows(folder, domain, rows)
        sizes = {"a": 3, "b": ["x", "y"]}
        (folder / "domain.json").write_text(json.dumps(sizes), encoding="utf-8")
        arguments = ["synth", "people.csv", "--domain", "domain.json", "--out", "synthetic.csv", "--epsilon", "1"]
        status = run_command([*arguments, "--delta", "1e-9"])
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


def _said(call: Callable[[Any], object], value: Any) -> str:
    try:
        call(value)
    except (TypeError, ValueError) as error:
        return as_told(error)
    return "nothing"


def _same(name: str, said: list[str]) -> Iterator[tuple[str, str]]:
    if "nothing" in said:
        yield "not refused", f"{name} that is in no domain is taken"
    if len(set(said)) > 1:
        yield "exception tells", f"{name}: what is said depends on the value"
