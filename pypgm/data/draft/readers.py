"""Readers that a draft tries on the texts of a column: numbers with some marks."""

from __future__ import annotations

import math
import re

from pypgm.data.columns.number_text import PLAIN, DecimalMark, Parts, parts_of, plain_number

_MAX_EXACT = 2.0**52  # below it a double, and the bound above it, hold every number of some decimals
_MOST_DIGITS = 15  # of a whole number
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")  # 007, as a postcode, is a text


class NumberReader:
    """Reader of texts as numbers with marks, and their range: ``ValueError`` for a text that is none.

    The first text decides which currency, percent sign or unit stands beside each number, the first negative one the
    form of a minus.

    Parameters
    ----------
    marks : tuple of str
        Marks of decimals and between groups of digits.

    Examples
    --------
    >>> reader = NumberReader((".", ","))
    >>> [reader.read(text) for text in ("$4,032.10", "($1,200.00)")], reader.marks_seen
    ([4032.1, -1200.0], {'prefix': '$', 'thousands': ',', 'minus': 'brackets'})
    """

    def __init__(self, marks: tuple[DecimalMark, str]) -> None:
        self.marks = marks
        self.decimals = 0
        self.is_whole = True  # each, as 1.0 is
        self.marks_seen: dict[str, str] = {}  # marks that came, as entries of a declaration
        self.low, self.high = math.inf, -math.inf
        self._around: tuple[str, str] | None = None
        self._tails: set[str] = set()  # decimals with their point, two different ones at most
        self._pluses: set[bool] = set()  # whether numbers above zero have one

    @property
    def spelling_seen(self) -> dict[str, str]:
        """Entries of a declaration for marks that came, zeros behind each whole number, and a plus before others.

        Examples
        --------
        >>> reader = NumberReader((".", ""))
        >>> [reader.read(text) for text in ("+7.0", "-12.0")], reader.spelling_seen
        ([7.0, -12.0], {'suffix': '.0', 'minus': 'plus'})
        """
        seen = dict(self.marks_seen)
        if self.is_whole and len(self._tails) == 1 and (zeros := next(iter(self._tails))):
            seen["suffix"] = zeros.replace(".", self.marks[0]) + seen.get("suffix", "")
        return seen | ({"minus": "plus"} if self._pluses == {True} and "minus" not in seen else {})

    @property
    def is_plain(self) -> bool:
        """True if numbers have no marks but a decimal point."""
        return self.marks == PLAIN and not self.marks_seen

    def read(self, text: str) -> float:
        """Return a number."""
        match, parts = self._matched(text), Parts("", text, "", "-" if text.startswith("-") else None)
        if not match:
            parts = parts_of(text) or parts
            match = self._matched(parts.digits)
        if not match:
            raise ValueError
        number, is_integer = float(match[0]), not match[2] and not match[3]
        is_exact = abs(number) < 10**_MOST_DIGITS if is_integer else abs(number) < _MAX_EXACT or match[3]
        if not is_exact or math.isinf(number):
            raise ValueError  # a double may not be this number, which may identify a person
        self._see_around(parts)
        number = -abs(number) if parts.minus else number
        self.is_whole &= number.is_integer() and abs(number) < _MAX_EXACT
        self.decimals = max(self.decimals, 7 if match[3] else len(match[2] or ".") - 1)
        whole, mark, _ = parts.digits.partition(self.marks[0])
        if self.marks[1] and self.marks[1] in whole:
            self.marks_seen["thousands"] = self.marks[1]
        if self.marks[0] == "," and (mark or self.marks_seen.get("thousands") == "."):
            self.marks_seen["decimal"] = ","
        if parts.minus not in {None, "-"}:
            self.marks_seen["minus"] = str(parts.minus)
        if len(self._tails) < 2:
            self._tails.add("e" if match[3] else match[2] or "")
        if number > 0:
            self._pluses.add("+" in text[:1] or "+" in parts.digits[:1])
        self.low, self.high = min(self.low, number), max(self.high, number)
        return number

    def _matched(self, text: str) -> re.Match[str] | None:
        return _NUMBER.fullmatch(text if self.marks == PLAIN else plain_number(text, *self.marks))

    def _see_around(self, parts: Parts) -> None:
        """Keep the texts around a number, and refuse another than came first."""
        around = parts.prefix.strip(), parts.suffix.strip()
        if self._around is None:
            self._around = around
            self.marks_seen |= {n: t for n, t in (("prefix", parts.prefix), ("suffix", parts.suffix)) if t}
        is_negative = self.low < 0
        if around != self._around or (parts.minus and is_negative and parts.minus != self.marks_seen.get("minus", "-")):
            raise ValueError


def is_number(text: str) -> bool:
    """Return whether a text is a number as most files write numbers."""
    return _NUMBER.fullmatch(text) is not None
