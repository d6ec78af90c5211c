"""The Python of docs/migrating.md runs, as one script."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "migrating.md"


def test_the_page_runs(capsys):
    pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 8
    exec("\n".join(blocks), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        *("[43. 60. 22.]", "[43. 60. 22.]", "True", "[60. 62.]", "2"),
        *("100 epsilon 1.0, delta 1e-06", "(100, 2)"),
    ]
