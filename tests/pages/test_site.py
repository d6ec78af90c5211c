"""Pages that only the site has list every planted defect."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from mutants import MUTANTS

SCRIPT = Path(__file__).parents[2] / ".ci" / "mutants_page"


def test_the_page_of_planted_defects_names_the_check_of_each():
    if not SCRIPT.exists():
        pytest.skip("the scripts of the repository are not here")
    text = runpy.run_path(str(SCRIPT))["page"]()
    rows = [line.removeprefix("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]
    assert [row[0] for row in rows] == [mutant.name for mutant in MUTANTS]
    assert "?" not in {row[2] for row in rows}
