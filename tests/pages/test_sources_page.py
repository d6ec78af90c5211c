"""The page on sources: its blocks run, in order, but that of a server that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "sources.md"


def test_the_page_runs():
    for package in ("pandas", "narwhals", "duckdb", "pyarrow"):
        pytest.importorskip(package)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        if "doctest: skip" not in block:
            exec(compile(block, str(PAGE), "exec"), names)
    assert names["visits"].n_records == 2000
    assert names["release"].model.total > 1000
