"""Tables in sheets of workbooks of Excel and LibreOffice, read by python-calamine."""

from __future__ import annotations

import datetime
import os
from typing import Any

from pypgm.data.columns.values import value_text
from pypgm.data.sources.dialect import Dialect
from pypgm.data.sources.files import as_path, check_no_pipe
from pypgm.data.sources.foreign import guarded
from pypgm.data.sources.frames import imported
from pypgm.domain import listed


def is_workbook(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a workbook, by its name.

    Examples
    --------
    >>> is_workbook("people.xlsx"), is_workbook("people.csv")
    (True, False)
    """
    return os.fspath(path).endswith((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"))


def sheet_rows(path: str | os.PathLike[str], sheet: str | None, dialect: Dialect) -> list[list[Any]]:
    """Return the names of a sheet's columns, and its records: texts, numbers, booleans, dates and None.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is no workbook, the sheet is not in it or not named and one of several, or a value has no name above it.
    ImportError
        If python-calamine is not installed.
    """
    name = os.fspath(path)
    calamine = imported("python_calamine", f"{name} is a workbook, which", "excel")
    check_no_pipe(path)
    with as_path(path).open("rb"):
        pass  # an error of the system has its own text
    with guarded(name, lambda: calamine.CalamineWorkbook.from_path(name)) as book:
        known = book.sheet_names
        if sheet is None and len(known) != 1:
            raise ValueError(f"{name} has the sheets {listed([*map(repr, known)])}: table= or --table names one")
        if sheet is not None and sheet not in known:
            raise ValueError(f"{name} has no sheet {sheet!r}, only {listed([*map(repr, known)])}")
        read = guarded(name, lambda: book.get_sheet_by_name(sheet or known[0]).to_python(skip_empty_area=False))
    rows = read[dialect.skip :]
    texts = [(value_text(value) or "").strip() for value in (rows[0] if rows else [])]
    width = max((place for place, text in enumerate(texts, 1) if text), default=0)
    records = [row for row in rows[dialect.header_lines :] if any(value != "" for value in row)]
    for number, row in enumerate(records, 1):
        if any(value != "" for value in row[width:]):
            raise ValueError(f"{name}: row {number} (the header is row 0) has a value in a column without a name")
    return [texts[:width], *([_plain(value) for value in row[:width]] for row in records)]


def _plain(value: Any) -> Any:  # noqa: ANN401 - a cell
    """Return the value of a cell; None where it is empty. Whole numbers are kept as doubles in a workbook."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, datetime.time | datetime.timedelta):
        return str(value)
    return None if value == "" else value
