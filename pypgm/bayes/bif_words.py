"""The words of a BIF file: comments, quotes, lists and lines."""

from __future__ import annotations

import bisect
import re
from typing import NoReturn

_SPECIAL = r'\s,;{}()\[\]|"'
# Each is linear in the text: no two repetitions that meet can take the same character.
_TOKEN = re.compile(rf'\s*(?:"([^"]*)"|([^{_SPECIAL}]+)|(\S)|$)')
_COMMENT = re.compile(r'"[^"]*"|//[^\n]*|/\*.*?(?:\*/|$)', re.DOTALL)
_LIST_PART = re.compile(r'(?:[^,"]+|"[^"]*")+')  # a part of a list, up to a comma outside quotes; never backtracks
_ITEM = re.compile(r'"([^"]*)"|([^"]+)')
_BARE = re.compile(rf"[^{_SPECIAL}]+")
_MARKS = re.compile(r'"[^"]*"|[{};"]')


class Words:
    """A position in a text, and the name or mark that stands there.

    Parameters
    ----------
    text : str
    path : str
        Name of the text in messages.
    """

    def __init__(self, text: str, path: str) -> None:
        self.text = _without_comments(text)
        self.path = path
        self.position = 0
        self._breaks: list[int] = []

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        """Raise ``ValueError`` with the line of a position, by default the current one."""
        line = self.line(self.position if position is None else position)
        raise ValueError(f"{self.path}, line {line}: {message}")

    def line(self, position: int) -> int:
        """Return the line of a position; the first is 1."""
        if not self._breaks:
            self._breaks = [m.start() for m in re.finditer("\n", self.text)] or [len(self.text)]
        return bisect.bisect_left(self._breaks, position) + 1

    def token(self) -> tuple[str | None, str]:
        """Return the next name, quoted or not, or None and the next mark, "" at the end."""
        match = _TOKEN.match(self.text, self.position)
        assert match is not None
        self.position = match.end()
        if match[3] == '"':
            self.fail("a quote must be closed, and the file ends")
        name = match[1] if match[1] is not None else match[2]
        return name, match[3] or ""

    def word_or_end(self) -> str | None:
        """Return the next name or mark, None at the end."""
        name, mark = self.token()
        return None if name is None and not mark else name if name is not None else mark

    def name(self, what: str) -> str:
        """Return the next name; fail if there is none."""
        name, mark = self.token()
        if name is None:
            self.fail(f"{what} must stand here, got {shown(mark)}")
        return name

    def mark(self, wanted: str, after: str) -> None:
        """Pass over a mark, and fail if it does not stand here."""
        name, mark = self.token()
        if mark != wanted:
            self.fail(f"{wanted!r} must follow {after}, got {shown(mark if name is None else name)}")

    def find(self, stops: str, end: int | None = None) -> int:
        """Return the position of the next of some marks, outside quotes and inner braces; the end if there is none."""
        depth, limit = 0, len(self.text) if end is None else end
        for match in _MARKS.finditer(self.text, self.position, limit):
            mark = match[0]
            if mark == '"':
                self.fail("a quote must be closed, and the file ends", match.start())
            if depth == 0 and mark in stops:
                return match.start()
            depth += (mark == "{") - (mark == "}")
        return limit

    def braced(self, what: str) -> tuple[int, int]:
        """Pass over braces and their contents; return the positions at which the contents begin and end."""
        begun = self.position
        opens = self.token() == (None, "{")
        start, end = self.position, self.find("}") if opens else len(self.text)
        if end == len(self.text):
            self.fail(f"{what} must stand here in braces", begun)
        self.position = end + 1
        return start, end


def written(text: str) -> str:
    """Return a name as a BIF file holds it, in quotes if need be; ``ValueError`` if it cannot."""
    if '"' in text or "\n" in text or "\r" in text:
        raise ValueError(f"a BIF file cannot hold {text!r}: it has a double quote or a line break")
    bare = _BARE.fullmatch(text) and "//" not in text and "/*" not in text
    return text if bare else f'"{text}"'


def _without_comments(text: str) -> str:
    """Replace comments by the line breaks they hold; an unclosed comment goes to the end of the text."""
    if "//" not in text and "/*" not in text:
        return text
    return _COMMENT.sub(lambda m: m[0] if m[0][0] == '"' else " " + "\n" * m[0].count("\n"), text)


def items(text: str, count: int) -> list[str]:
    """Split a list at its commas, or at white space if it has none; a label that stands alone keeps its spaces."""
    if '"' in text:
        parts = [_ITEM.fullmatch(part.strip()) for part in _LIST_PART.findall(text)]
        whole = [m[1] if m[1] is not None else m[2] for m in parts if m]
        if len(parts) == len(whole) == count:
            return whole
        return [m[1] if m[1] is not None else m[2] for m in _TOKEN.finditer(text) if m[1] or m[2]]
    if "," in text:
        return [v for v in (v.strip() for v in text.split(",")) if v]
    return [text.strip()] if count == 1 else text.split()


def shown(text: str) -> str:
    """Return the form of a word in messages."""
    return repr(text) if text else "the end of the file"
