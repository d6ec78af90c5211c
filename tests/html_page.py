"""A page of HTML: what is on it, and what holds of every page that pypgm writes."""

from __future__ import annotations

import html.parser
import re

__all__ = ["Page", "check_whole"]

_VOID = {"meta", "link", "br", "rect", "line", "circle", "input"}


class Page(html.parser.HTMLParser):
    """What is on a page: its elements with their attributes, its text, and whether elements close in order."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open, self.wrong = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def check_whole(text, page):
    """Check what holds of every page: it loads nothing, runs nothing, closes in order, and has a text for pictures."""
    assert (page.wrong, page.open) == ([], [])
    assert not re.search(r"https?:|url\(|@import", text)
    for tag, attributes in page.elements:
        assert tag not in {"script", "iframe", "object", "embed", "img", "b", "u", "e"}
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("src") is None
        assert attributes.get("href", "data:,") == "data:,"
        if tag == "svg" or attributes.get("role") == "img":
            assert attributes["aria-label"].strip()
    # Nothing in it turns or hides what is read.
    assert all(c.isprintable() or c == "\n" for c in text)
