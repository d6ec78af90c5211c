"""The page on what may be computed from synthetic records: its blocks run, and its figures are what they give."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "computing.md"


@pytest.mark.slow
def test_the_page_runs_and_its_table_is_what_it_gives(capsys):
    pytest.importorskip("pandas")
    text = PAGE.read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    shown = {
        name: [float(x) for x in row.split("|")]
        for name, row in re.findall(r"^\| `?([a-z ]+)`? \| ([-\d. |]+) \|$", text, flags=re.MULTILINE)
    }
    assert shown.pop("real records") == pytest.approx(names["true"], abs=0.006)
    assert set(shown) == {"wide", "aim", "mst"}
    for name, row in shown.items():
        assert row == pytest.approx(names["found"][name], abs=0.03)
    assert np.abs(names["found"]["mst"]).max() < np.abs(names["true"]).max() / 2
    assert "read these intervals as the least there is to doubt" in capsys.readouterr().out
    school, wage = (names["people"].columns[a] for a in ("school", "wage"))
    counts = np.bincount(2 * (school > 3) + (wage > 9), minlength=4)
    assert np.abs(names["direct"].values - counts).max() < 5 * names["direct"].stddev
    true = np.log(counts[0] * counts[3] / (counts[1] * counts[2]))
    assert names["odds_ratio"] == pytest.approx(true, abs=0.15)
