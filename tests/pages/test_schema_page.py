"""The page of the schema: its examples do what the text says, by the command."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import numpy as np

import pypgm
from pypgm import cli

DOCS = Path(__file__).parents[2] / "docs"
STAFF, MEMBERS = (
    json.loads(block)
    for block in re.findall(r"```json\n(.*?)```", (DOCS / "schema.md").read_text(encoding="utf-8"), flags=re.DOTALL)
)


def test_columns_that_depend_on_others_are_made_as_declared():
    assert MEMBERS["columns"].pop("name")["kind"] == "fake"  # which needs a package
    members = pypgm.Schema.from_dict(MEMBERS).assumed(4)
    rows = members.decode(pypgm.Dataset({a: [0] * 50 for a in members.domain}, members.domain), rng=0)
    assert rows["number"].tolist() == [f"M-{i:06}" for i in range(1, 51)]
    assert set(rows["age"]) == {18}
    assert (rows["paid"] == rows["fee"] + rows["gift"]).all()
    assert set(rows["region"]) == {"unknown"}
    assert set(rows["class"]) == {"B", "C"}


def write_staff(path, n):
    """Write a table that fits the example."""
    draw = np.random.default_rng(1)
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "name", *STAFF["columns"]])
        for i in range(n):
            born = 1960 + draw.integers(30)
            hired = f"{born + draw.integers(20, 25)}-03-0{draw.integers(1, 9)}"
            salary = "" if draw.random() < 0.05 else round(draw.lognormal(10.5, 0.4), 2)
            kept = (f"Employer {int(draw.pareto(1)):04}", ["nurse", "cook", ""][draw.integers(3)], "yes")
            rows.writerow([f"P{i:06}", f"A. K{i}", f"{born}-01-05", hired, *kept, salary])


def test_the_commands_of_the_notebook_run_with_the_example(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_staff("staff.csv", 8000)
    Path("schema.json").write_text(json.dumps(STAFF))
    text = (DOCS / "notebooks" / "1_your_table.md").read_text(encoding="utf-8")
    (commands,) = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    for line in commands.splitlines():
        _, *arguments = shlex.split(line)
        assert cli.main(arguments) == 0
    said = " ".join(capsys.readouterr().out.split())
    for part in ("finding the values of employer", "finding the bins of salary", "left out: id, name"):
        assert part in said
    with open("nurses.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["job"] for row in rows] == ["nurse"] * 1000
    assert not any(row["born"] >= "1990" and row["hired"] < "2006" for row in rows)
