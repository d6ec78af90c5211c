"""The README's first lines run and make the picture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(text):
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_readme_is_a_page():
    assert len(README.splitlines()) <= 120
    assert len(blocks(README)[0].splitlines()) <= 11


def test_the_first_lines_make_the_picture(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(blocks(README)[0], names)
    assert Path("titanic.png").read_bytes()[:4] == b"\x89PNG"
    left, right = names["left"], names["right"]
    assert "class × survived" in left.get_title(loc="left")
    assert len(left.patches) == 16  # the model's counts and the real ones
    assert [text.get_text() for text in right.get_xticklabels()] == ["class", "age", "sex", "survived"]
    assert (ROOT / "docs" / "titanic.png").stat().st_size < 60_000
