"""The notebooks run as scripts, in order, and do what their text says."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

import pypgm

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("[0-9]_*.md"))


def run(name, tmp_path, monkeypatch):
    """Run the cells of a notebook in an empty folder and return its names."""
    pytest.importorskip("matplotlib").use("agg")
    pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    monkeypatch.chdir(tmp_path)
    names = {}
    text = (FOLDER / name).read_text(encoding="utf-8")
    for tags, cell in re.findall(r"^```\{code-cell\}\n((?::[^\n]*\n)*)(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        code = compile(cell, name, "exec")
        if "raises-exception" in tags:
            with pytest.raises(pypgm.BudgetError):
                exec(code, names)
        else:
            exec(code, names)
    return names


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS[1:])
def test_a_notebook_runs(name, tmp_path, monkeypatch):
    names = run(name, tmp_path, monkeypatch)
    if name.startswith("4"):
        assert names["model"].fit.iterations
        assert names["triple"].values.shape == (4, 4, 4)
    if name.startswith("5"):
        assert names["truth"].query("rain", {"slippery": "yes"}).values[1] > 0.6
        assert names["neighbours"].min() > 0.3 > names["others"].max()


@pytest.mark.slow
def test_the_first_notebook_makes_records_of_the_same_look(tmp_path, monkeypatch, capsys):
    names = run(NOTEBOOKS[0], tmp_path, monkeypatch)
    assert (names["synthetic"].dtypes == names["members"].dtypes).all()
    draft = names["draft"]
    assert draft.drop == ("id", "name")
    assert set(draft.open) == {"employer", "salary"}
    assert set(draft.warned) == {"born", "hired", "employer", "job", "salary"}
    said = " ".join(capsys.readouterr().out.split())
    for text in ("finding the values of employer", "finding the bins of salary", "left out: id, name"):
        assert text in said
    employers = names["again"].schema.columns["employer"].labels
    assert "Employer 0000" in employers
    assert employers[-1] == "other"
    assert len(employers) < 1000
    for path in ("synthetic.csv", "nurses.csv"):
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == ["born", "hired", "employer", "job", "full time", "salary"]
        assert {row["employer"] for row in rows} <= set(employers)
        assert all(re.fullmatch(r"(\d+\.\d\d)?", row["salary"]) for row in rows)
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", row["hired"]) for row in rows)
        assert not any(row["born"] >= "1990" and row["hired"] < "2006" for row in rows)
    assert {row["job"] for row in rows} == {"nurse"}
    assert len(rows) == 1000
