"""Dialects of CSV files: the mark between fields, the encoding, and the marks of numbers in columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypedDict, TypeVar, cast

from pypgm._base.signatures import split_options
from pypgm.data.columns.column import Readable
from pypgm.data.columns.difference import Steps
from pypgm.data.columns.number_text import DecimalMark, mark_problems, marked_number
from pypgm.data.columns.numbers import Numeric

R = TypeVar("R", bound=Readable)


def marked(columns: Mapping[str, R], dialect: Dialect) -> dict[str, R]:
    """Return columns, those of numbers with the marks of a file unless they declare others.

    Raises
    ------
    ValueError
        If one would have the same mark for decimals and for thousands.

    Examples
    --------
    >>> from pypgm.data import Integer
    >>> marked({"a": Integer(0, 9999)}, Dialect(";", decimal=",", thousands="."))["a"].encode(["1.250"])[0].tolist()
    [1250]
    """
    with_all = dict(columns)
    for name, column in columns.items():
        numbers = column.column if isinstance(column, Steps) else column
        if isinstance(numbers, Numeric):
            decimal: DecimalMark = "," if numbers.decimal == "," else dialect.decimal
            try:
                with_marks = replace(numbers, decimal=decimal, thousands=numbers.thousands or dialect.thousands)
            except ValueError as error:
                raise ValueError(f"column {name!r}: {error}") from None
            with_all[name] = cast("R", replace(column, column=with_marks) if isinstance(column, Steps) else with_marks)
    return with_all


def respelling(
    columns: Mapping[str, Readable], dialect: Dialect
) -> dict[str, Callable[[Sequence[str]], Sequence[str]]]:
    """Return functions that respell numbers of a file as the columns read them, for the columns that need it."""

    def respelled(column: Numeric, file: Numeric, texts: Sequence[str]) -> list[str]:
        plain = map(file.plain_text, texts)
        return [text if text.strip() in column.null_texts else marked_number(text, *column.marks) for text in plain]

    read = {name: column.column if isinstance(column, Steps) else column for name, column in columns.items()}
    numbers = {name: column for name, column in read.items() if isinstance(column, Numeric)}
    files = marked(numbers, dialect)
    return {
        name: partial(respelled, stated, file)
        for name, stated in numbers.items()
        if isinstance(file := files[name], Numeric) and file != stated
    }


class DialectOptions(TypedDict, total=False):
    """Keywords of all functions that read a CSV file, documented at `pypgm.read_table`."""

    delimiter: str
    encoding: str
    decimal: DecimalMark
    thousands: str
    skip: int
    comment: str
    header_lines: int


class Dialect(NamedTuple):
    """The mark between fields, the encoding, the marks of numbers, and the lines of a CSV file that are no records.

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
    skip: int = 0
    comment: str = ""
    header_lines: int = 1

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

    @property
    def written(self) -> Dialect:
        """The dialect of synthetic files: no title, which may hold private text, and one line of names."""
        return self._replace(skip=0, comment="", header_lines=1)

    @property
    def stored(self) -> dict[str, Any]:
        """The marks that a file of a release holds."""
        return {name: mark for name, mark in self._asdict().items() if name in STORED_MARKS}

    def check(self) -> None:
        """Raise ``ValueError`` unless a table may have these marks."""
        if not isinstance(self.delimiter, str) or len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise ValueError(f"delimiter needs one character, got {self.delimiter!r}")
        if problems := [*mark_problems(self.decimal, self.thousands)]:
            raise ValueError(problems[0])
        if self.decimal == self.delimiter:
            raise ValueError("fields and decimals have the same mark")
        for name, least in (("skip", 0), ("header_lines", 1)):
            number = getattr(self, name)
            if not isinstance(number, int) or isinstance(number, bool) or number < least:
                raise ValueError(f"{name} needs a number of lines, {least} or more, got {number!r}")
        if self.comment and (len(self.comment) != 1 or self.comment in {*'"\r\n ', self.delimiter}):
            raise ValueError(f"comment needs one character, other than the delimiter, got {self.comment!r}")


COMMAS = Dialect()
"""Dialect of most files."""

DIALECT_DEFAULTS: Mapping[str, object] = COMMAS._asdict()
"""Defaults of `DialectOptions`."""

MARKS: Mapping[str, str] = {
    "delimiter": "the mark between the fields of a CSV file (default a comma; tab is a tab)",
    "encoding": "the encoding of a CSV file, such as latin-1 (default utf-8)",
    "decimal": "the mark of decimals in a CSV file: . (the default) or ,",
    "thousands": "the mark between thousands in a CSV file, such as , in 62,347.69 (default none)",
    "skip": "lines before the header of a CSV file or a workbook, such as a title (default 0)",
    "comment": "the character that begins lines of a CSV file which are no records, such as # (default none)",
    "header_lines": "lines of the header of a CSV file or a workbook: the first has the names (default 1)",
}
"""Description of each field of a dialect, for the command and the format of files."""

STORED_MARKS = ("delimiter", "encoding", "decimal", "thousands")
"""Marks that synthetic files have too."""
