"""Readers that a draft tries on the texts of a column: numbers with some marks."""

from __future__ import annotations

import math
import re

from pypgm.data.columns.number_text import PLAIN, DecimalMark, plain_number

_MAX_EXACT = 2.0**52  # below it a double, and the bound above it, hold every number of some decimals
_MOST_DIGITS = 15  # of a whole number
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")  # 007, as a postcode, is a text


class NumberReader:
    """Reader of texts as numbers with marks, and their range: ``ValueError`` for a text that is none."""

    def __init__(self, marks: tuple[DecimalMark, str]) -> None:
        self.marks = marks
        self.decimals = 0
        self.is_whole = True  # each, as 1.0 is
        self.marks_seen: dict[str, str] = {}  # marks that came, as entries of a declaration
        self.low, self.high = math.inf, -math.inf

    def read(self, text: str) -> float:
        """Return a number."""
        match = _NUMBER.fullmatch(text if self.marks == PLAIN else plain_number(text, *self.marks))
        if not match:
            raise ValueError
        number, is_integer = float(match[0]), not match[2] and not match[3]
        is_exact = abs(number) < 10**_MOST_DIGITS if is_integer else abs(number) < _MAX_EXACT or match[3]
        if not is_exact or math.isinf(number):
            raise ValueError  # a double may not be this number, which may identify a person
        self.is_whole &= number.is_integer() and abs(number) < _MAX_EXACT
        self.decimals = max(self.decimals, 7 if match[3] else len(match[2] or ".") - 1)
        whole, mark, _ = text.partition(self.marks[0])
        if self.marks[1] and self.marks[1] in whole:
            self.marks_seen["thousands"] = self.marks[1]
        if self.marks[0] == "," and (mark or self.marks_seen.get("thousands") == "."):
            self.marks_seen["decimal"] = ","
        self.low, self.high = min(self.low, number), max(self.high, number)
        return number


def is_number(text: str) -> bool:
    """Return whether a text is a number as most files write numbers."""
    return _NUMBER.fullmatch(text) is not None
