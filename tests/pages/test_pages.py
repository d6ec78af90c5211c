"""Pages of text name each other by links, and their lists are whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_are_named_by_links_that_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    assert not re.findall(r"`(?:docs/)?\w+\.md`", text)
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_list_is_split_by_an_empty_line(page):
    assert not re.findall(r"^- [^\n]*\n(?:  [^\n]*\n)*\n- [^\n]*", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
