"""The words of a BIF file: comments, quotes, lists and lines."""

from __future__ import annotations

import bisect
import re
from typing import NoReturn

__all__ = ["QUOTED", "Words", "items", "shown", "written"]

_SPECIAL = r'\s,;{}()\[\]|"'
_TOKEN = re.compile(rf'\s*(?:"([^"]*)"|([^{_SPECIAL}]+)|(\S)|$)')
_COMMENT = re.compile(r'"[^"]*"|//[^\n]*|/\*.*?(?:\*/|$)', re.DOTALL)
_ITEM = re.compile(r'\s*(?:"([^"]*)"|([^,"]+))\s*(?:,|$)')
_BARE = re.compile(rf"[^{_SPECIAL}]+")
QUOTED = r'"[^"]*"'


class Words:
    """A position in a text, and the name or mark that stands there.

    Parameters
    ----------
    text : str
    path : str
        What messages call the text.
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
        """Return the next name, and fail if there is none."""
        name, mark = self.token()
        if name is None:
            self.fail(f"{what} must stand here, got {shown(mark)}")
        return name

    def mark(self, wanted: str, after: str) -> None:
        """Pass over a mark, and fail if it does not stand here."""
        name, mark = self.token()
        if mark != wanted:
            self.fail(f"{wanted!r} must follow {after}, got {shown(mark if name is None else name)}")


def written(text: str) -> str:
    """Return a name as a BIF file holds it, in quotes if need be; ``ValueError`` if it cannot."""
    if '"' in text or "\n" in text or "\r" in text:
        raise ValueError(f"a BIF file cannot hold {text!r}: it has a double quote or a line break")
    bare = _BARE.fullmatch(text) and "//" not in text and "/*" not in text
    return text if bare else f'"{text}"'


def _without_comments(text: str) -> str:
    """Replace comments by as many line breaks as they hold; an open one goes to the end and is found missing there."""
    if "//" not in text and "/*" not in text:
        return text
    return _COMMENT.sub(lambda m: m[0] if m[0][0] == '"' else " " + "\n" * m[0].count("\n"), text)


def items(text: str, count: int) -> list[str]:
    """Split a list at its commas, or at white space if it has none; spaces belong to a label that stands alone."""
    if '"' in text:
        text = text.strip()
        items = [m[1] if m[1] is not None else m[2].strip() for m in _ITEM.finditer(text)]
        if len(items) != count:
            items = [m[1] if m[1] is not None else m[2] for m in _TOKEN.finditer(text) if m[1] or m[2]]
        return items
    if "," in text:
        return [v for v in (v.strip() for v in text.split(",")) if v]
    return [text.strip()] if count == 1 else text.split()


def shown(text: str) -> str:
    """Return a word as messages show it."""
    return repr(text) if text else "the end of the file"
