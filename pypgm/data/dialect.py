"""How a CSV file is written."""

from __future__ import annotations

from typing import NamedTuple

from pypgm.data.number_text import DecimalMark, mark_problems


class Dialect(NamedTuple):
    """The mark between fields, the encoding, and the marks of numbers of a CSV file.

    Examples
    --------
    >>> Dialect(";", decimal=";").check()
    Traceback (most recent call last):
    ValueError: decimal must be '.' or ',', got ';'
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: DecimalMark = "."
    thousands: str = ""

    def check(self) -> None:
        """Raise ``ValueError`` unless a table may have these marks."""
        if not isinstance(self.delimiter, str) or len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise ValueError(f"delimiter needs one character, got {self.delimiter!r}")
        if problems := [*mark_problems(self.decimal, self.thousands)]:
            raise ValueError(problems[0])
        if self.decimal == self.delimiter:
            raise ValueError("fields and decimals have the same mark")


COMMAS = Dialect()
"""How most files are written."""
