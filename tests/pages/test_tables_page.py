"""The page on raw tables: its commands and blocks run, in order, and do what the text says."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import pypgm
from pypgm import cli

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"


def check_members(found):
    """Check what the page says of members of a society, all of whose codes are 0."""
    assert found["number"].tolist() == [f"M-{i:06}" for i in range(1, 51)]
    assert set(found["age"]) == {18}
    assert (found["paid"] == found["fee"] + found["gift"]).all()
    assert set(found["region"]) == {"unknown"}
    assert set(found["class"]) == {"B", "C"}


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    kinds = ["python", "sh", "sh", "json", "json", "sh", "sh", "sh", "python", "python"]
    assert [kind for kind, _ in blocks] == kinds
    told = json.loads(blocks.pop(4)[1])
    assert told["columns"].pop("name")["kind"] == "fake"  # which needs a package
    members = pypgm.Schema.from_dict(told).assumed(4)
    check_members(members.decode(pypgm.Dataset({a: [0] * 50 for a in members.domain}, members.domain), rng=0))
    Path("staff.py").write_text(blocks[0][1].replace("30_000", "8_000"))
    drafted = []
    for kind, block in blocks[1:]:
        if kind == "json":
            drafted.append(pypgm.read_schema("schema.json"))
            Path("schema.json").write_text(block)
        elif kind == "python":
            exec(compile(block, str(PAGE), "exec"), {})
        for line in block.splitlines() if kind == "sh" else ():
            verb, *arguments = shlex.split(line)
            if verb == "python":
                exec(compile(Path(*arguments).read_text(), *arguments, "exec"), {})
            else:
                assert cli.main(arguments) == 0
    (draft,) = drafted
    assert draft.drop == ("id", "name")
    assert list(draft.open) == ["employer"]
    assert set(draft.warned) == {"born", "hired", "employer", "job", "salary"}
    said = capsys.readouterr()
    told = " ".join(said.out.split())
    for text in ("finding the values of employer", "finding the bins of salary", "left out: id, name"):
        assert text in told
    schema = pypgm.load("synthetic.pgm").schema
    employers = schema.columns["employer"].labels
    assert "Employer 0000" in employers
    assert employers[-1] == "other"
    assert len(employers) < 1000
    for name in ("synthetic.csv", "nurses.csv"):
        with open(name, newline="") as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == ["born", "hired", "employer", "job", "full time", "salary"]
        assert {r["employer"] for r in rows} <= set(employers)
        assert all(re.fullmatch(r"(\d+\.\d\d)?", r["salary"]) for r in rows)
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", r["hired"]) for r in rows)
        assert not any(r["born"] >= "1990" and r["hired"] < "2006" for r in rows)
    assert {r["job"] for r in rows} == {"nurse"}
    assert len(rows) == 1000
    assert {file.name for file in Path("both").iterdir()} == {"parents.pgm", "children.pgm"}
    with open("again.csv", newline="") as file:
        assert next(csv.reader(file)) == ["hired", "job", "full time", "salary"]
