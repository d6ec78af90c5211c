"""Records in JSON: an object in each line, or one list of objects; read and written without nesting."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.made import Cells
from pypgm.data.sources.files import MAX_FIELD, NO_TEXT, open_text, read_text

_NEEDED = "needs one object in each line, or a list of objects"
_NESTED = "holds an object or a list of JSON: flatten it first, as pandas.json_normalize does, or leave it out"


def is_json(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is JSON, by its name.

    Examples
    --------
    >>> is_json("people.jsonl"), is_json("people.csv")
    (True, False)
    """
    return os.fspath(path).removesuffix(".gz").endswith((".jsonl", ".ndjson", ".json"))


def json_records(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """Yield the records of a file.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is no JSON, or a value is an object or a list; the message names the line and the column, never a value.
    """
    name = os.fspath(path)
    with open_text(path) as file:
        start = file.read(1024).lstrip()
    if start.startswith("["):
        listed = _parsed(read_text(path))
        if not isinstance(listed, list):
            raise ValueError(f"{name} {_NEEDED}")
        for number, value in enumerate(listed, 1):
            yield _record(value, f"{name}: object {number}")
        return
    with open_text(path) as file:
        for number, line in enumerate(_lines(file), 1):
            if line.strip():
                yield _record(_parsed(line), f"{name}: line {number}")


def json_names(path: str | os.PathLike[str]) -> list[str]:
    """Return the names that any record has, in the order in which they first come."""
    return list(dict.fromkeys(name for record in json_records(path) for name in record))


def json_pieces(path: str | os.PathLike[str], names: Sequence[str], rows: int) -> Iterator[dict[str, list[Any]]]:
    """Yield the values of some columns, about `rows` records at a time; None where a record lacks a name."""
    records = json_records(path)
    while some := list(islice(records, rows)):
        yield {name: [record.get(name) for record in some] for name in names}


def write_records(file: TextIO, names: Sequence[str], cells: Mapping[str, Cells]) -> None:
    """Write records as lines of JSON: numbers and booleans as such, dates as texts, missing values as null."""
    columns = [_values(cells[name]) for name in names]
    for row in zip(*columns, strict=True):
        file.write(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n")


def _values(cells: Cells) -> list[Any]:
    decoded: NDArray[Any] = np.asarray(cells.decoded())
    texts = cells.plain().texts().tolist()
    are_apart = len(cells.column.null_kinds) > 1
    return [_value(value, str(text), are_apart) for value, text in zip(decoded.tolist(), texts, strict=True)]


def _value(value: object, text: str, are_apart: bool) -> object:
    """Return a decoded value as JSON has it: a number with the decimals of its text, a kind of missing one as text."""
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return text if text and are_apart else None
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        with contextlib.suppress(ValueError):
            return float(text) if "." in text else int(text)
        return value
    return text


def _lines(file: TextIO) -> Iterator[str]:
    while line := file.readline(MAX_FIELD):
        yield line


def _parsed(text: str) -> object:
    """Return the value of a JSON text; None, which is no record, where it is none."""
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text, object_pairs_hook=_unique)
    return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(known := dict(pairs)) != len(pairs):
        raise ValueError
    return known


def _record(value: object, where: str) -> dict[str, Any]:
    """Return a record; ``ValueError`` if it is nested, or none."""
    if not isinstance(value, dict):
        raise ValueError(f"{where} is no object of JSON with each name once; a table {_NEEDED}")  # noqa: TRY004
    if any(isinstance(field, dict | list) for field in value.values()):  # its name may be that of a person
        raise ValueError(f"{where}: a field {_NESTED}")
    try:
        "".join(text for text in [*value, *value.values()] if isinstance(text, str)).encode()
    except UnicodeEncodeError:
        pass
    else:
        return value
    raise ValueError(f"{where}: {NO_TEXT}")
