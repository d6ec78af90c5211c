"""The page on mechanisms: its blocks run, in order, and its table names every mechanism."""

from __future__ import annotations

import re
from pathlib import Path

from page_blocks import blocks_of, run

from pypgm.mechanisms.tables import mechanism_names

PAGE = Path(__file__).parents[2] / "docs" / "mechanisms.md"


def test_the_page_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(blocks_of(PAGE)) == 5
    names = run(PAGE)
    assert capsys.readouterr().out
    assert names["pure"].ledger.budget.delta == 0
    assert len(names["rounds"].log) == 3
    assert {file.name for file in Path("both").iterdir()} == {"parents.pgm", "children.pgm"}


def test_the_page_names_every_mechanism():
    rows = re.findall(r"^\| `(\w+)`[^|]*\|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(mechanism_names()) <= set(rows)
