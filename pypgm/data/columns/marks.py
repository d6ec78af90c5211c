"""Columns of numbers in a file with its own marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar, cast

from pypgm.data.columns.column import Readable
from pypgm.data.columns.difference import Steps
from pypgm.data.columns.number_text import DecimalMark, marked_number
from pypgm.data.columns.numbers import Numeric
from pypgm.data.sources.dialect import Dialect

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
