"""Hints at lines of CSV files that are no records: titles and comments before the header, and lines below its names."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from pypgm.data.sources.dialect import Dialect
from pypgm.data.sources.files import open_text

_ROWS = 200  # that are looked at
_MAX_TITLE = 20  # rows before a header
_MAX_BELOW = 4  # lines below the names
_MIN_RECORDS = 5  # that are all numbers in a column, before a text above them is no value of it
_COMMENTS = "#%"
_MISSING = {"na", "n/a", "nan", "null", "none", "nil", "missing", "unknown"}


def lines_hint(path: str | os.PathLike[str], dialect: Dialect) -> str:
    r"""Return a hint at lines of a CSV file that look like no records, with the option for it; "" if there is none.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "t.csv")
    >>> size = path.write_text("Report 2023,\na,c\n" + "1,x\n2,y\n" * 5)
    >>> lines_hint(path, Dialect())
    'line 2 looks like the header, below a title: skip=1 or --skip 1 says so'
    """
    rows = _first_rows(path, dialect)
    return _title_hint(rows) or _below_hint([row for _, row in rows])


def _first_rows(path: str | os.PathLike[str], dialect: Dialect) -> list[tuple[int, list[str]]]:
    """Return the first rows of a file, each with the number of its line among those that are not skipped."""
    if dialect.skip or dialect.comment or dialect.header_lines > 1:
        return []  # whoever says so has looked
    with open_text(path, dialect.encoding) as file:
        lines = [line for line in islice(file, _ROWS) if len(line) < csv.field_size_limit()]
    try:
        reader = csv.reader(lines, **dialect.csv_options)
        return [(reader.line_num, list(map(str.strip, row))) for row in reader]
    except csv.Error:
        return []


def _title_hint(rows: Sequence[tuple[int, list[str]]]) -> str:
    """Return a hint at a title or comments above the header."""
    widths = Counter(sum(map(bool, row)) for _, row in rows)
    width = max(widths, key=lambda n: (widths[n], n), default=0)
    for place, (line, row) in enumerate(rows[:_MAX_TITLE]):
        if place and len(set(row)) == width == len(row) and all(row) and not any(map(_is_number, row)):
            marks = {before[0][:1] for _, before in rows[:place] if any(before)}
            if len(marks) == 1 and (mark := marks.pop()) in _COMMENTS:
                return f"lines above the header look like comments: comment={mark!r} or --comment {mark!r} says so"
            skip = line - 1
            return f"line {line} looks like the header, below a title: skip={skip} or --skip {skip} says so"
        # A header whose first names alone are given is none: an index of a frame has no name, and is the first.
        if sum(map(bool, row)) > max(1, width // 2) or (any(row) and not row[0]) or width < 2:
            return ""
    return ""


def _below_hint(rows: Sequence[list[str]]) -> str:
    """Return a hint at lines below the names that look like units or questions, since records below are numbers."""
    body = [row for row in rows[1:] if len(row) == len(rows[0])]
    possible = range(1, min(_MAX_BELOW, len(body) - _MIN_RECORDS) + 1)
    able = (n for n in possible if all(_is_below(row, body[n:]) for row in body[:n]))
    if not (n_below := next(able, 0)):
        return ""
    begin = "line 2 looks" if n_below == 1 else f"{n_below} lines below the names look"
    n_lines = 1 + n_below
    return f"{begin} like a part of the header: header_lines={n_lines} or --header-lines {n_lines} says so"


def _is_below(row: Sequence[str], records: Sequence[Sequence[str]]) -> bool:
    """Return whether all fields of a row are texts that no record has, one of them in a column of numbers alone."""
    columns = list(zip(*records, strict=True))
    if any(_is_number(text) or text in values for text, values in zip(row, columns, strict=True) if text):
        return False
    texts = [[*filter(None, values)] for text, values in zip(row, columns, strict=True) if not _is_missing(text)]
    return any(len(values) >= _MIN_RECORDS and all(map(_is_number, values)) for values in texts)


def _is_number(text: str) -> bool:
    """Return whether a text has digits and no letters, as numbers, dates and amounts have."""
    return any(map(str.isdigit, text)) and not any(map(str.isalpha, text))


def _is_missing(text: str) -> bool:
    return not any(map(str.isalpha, text)) or text.casefold() in _MISSING
