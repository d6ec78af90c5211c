r"""Text of files, of names and labels, as a terminal may have it: nothing in it moves, hides or turns what is shown."""

from __future__ import annotations

import json
import unicodedata

__all__ = ["escaped", "escaped_json"]

_JOINERS = "\u200c\u200d"  # format characters that words of Persian and of India's languages are written with


def escaped(text: object) -> str:
    r"""Return a text with escapes, as Python writes them, in the place of what is no printable character.

    These are control characters, line breaks of all kinds, marks that turn the direction of writing or have no width,
    and lone surrogates.

    Examples
    --------
    >>> print(escaped("café \x1b[2J\u202e\nguarantee"))
    café \x1b[2J\u202e\nguarantee
    """
    own = str(text)
    if own.isprintable():
        return own
    return "".join(c if _is_shown(c) else c.encode("unicode_escape").decode("ascii") for c in own)


def escaped_json(text: str) -> str:
    r"""Return a text in JSON with its escapes in the place of what is no printable character; it means the same.

    Examples
    --------
    >>> print(escaped_json('["\u202e"]'))
    ["\u202e"]
    """
    return "".join(c if c == "\n" or _is_shown(c) else json.dumps(c)[1:-1] for c in text)


def _is_shown(c: str) -> bool:
    return c.isprintable() or c in _JOINERS or unicodedata.category(c) == "Zs"
