"""Dialects of CSV files: the mark between fields, the encoding, and the marks of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypedDict

from pypgm._base.signatures import split_options
from pypgm.data.columns.number_text import DecimalMark, mark_problems


class DialectOptions(TypedDict, total=False):
    """Keywords of all functions that read a CSV file, documented at `pypgm.read_table`."""

    delimiter: str
    encoding: str
    decimal: DecimalMark
    thousands: str


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

    @classmethod
    def of_options(cls, function: str, options: Mapping[str, Any]) -> Dialect:
        """Return the dialect of the keywords of a function; ``TypeError`` names one that is not a mark.

        Examples
        --------
        >>> Dialect.of_options("read_table", {"delimeter": ";"})
        Traceback (most recent call last):
        TypeError: read_table got an unexpected keyword argument 'delimeter'; the nearest is 'delimiter'
        """
        (marks,) = split_options(function, options, DialectOptions)
        return cls(**marks)

    @property
    def csv_options(self) -> dict[str, Any]:
        """Options that readers and writers of the module `csv` need for it."""
        return {"delimiter": self.delimiter}

    def check(self) -> None:
        """Raise ``ValueError`` unless a table may have these marks."""
        if not isinstance(self.delimiter, str) or len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise ValueError(f"delimiter needs one character, got {self.delimiter!r}")
        if problems := [*mark_problems(self.decimal, self.thousands)]:
            raise ValueError(problems[0])
        if self.decimal == self.delimiter:
            raise ValueError("fields and decimals have the same mark")


COMMAS = Dialect()
"""Dialect of most files."""

DIALECT_DEFAULTS: Mapping[str, object] = COMMAS._asdict()
"""Defaults of `DialectOptions`."""
