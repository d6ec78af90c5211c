"""Columns of numbers, as a file with marks of its own has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar, cast

from pypgm.data.columns import Readable
from pypgm.data.dialect import Dialect
from pypgm.data.difference import Steps
from pypgm.data.number_text import DecimalMark, marked_number
from pypgm.data.numbers import Numeric

R = TypeVar("R", bound=Readable)


def marked(columns: Mapping[str, R], dialect: Dialect) -> dict[str, R]:
    """Return columns of which those of numbers have the marks of a file, where they state none of their own.

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
    found = dict(columns)
    for name, column in columns.items():
        numbers = column.column if isinstance(column, Steps) else column
        if isinstance(numbers, Numeric):
            own: DecimalMark = "," if numbers.decimal == "," else dialect.decimal
            try:
                with_marks = replace(numbers, decimal=own, thousands=numbers.thousands or dialect.thousands)
            except ValueError as error:
                raise ValueError(f"column {name!r}: {error}") from None
            found[name] = cast("R", replace(column, column=with_marks) if isinstance(column, Steps) else with_marks)
    return found


def respelling(
    columns: Mapping[str, Readable], dialect: Dialect
) -> dict[str, Callable[[Sequence[str]], Sequence[str]]]:
    """Return, for the columns that need it, what spells the numbers of a file as the columns read them."""

    def respelled(column: Numeric, file: Numeric, texts: Sequence[str]) -> list[str]:
        plain = map(file.plain_text, texts)
        return [text if text.strip() in column.null_texts else marked_number(text, *column.marks) for text in plain]

    read = {name: column.column if isinstance(column, Steps) else column for name, column in columns.items()}
    numbers = {name: column for name, column in read.items() if isinstance(column, Numeric)}
    files = marked(numbers, dialect)
    return {
        name: partial(respelled, own, file)
        for name, own in numbers.items()
        if isinstance(file := files[name], Numeric) and file != own
    }
