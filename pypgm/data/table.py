"""Tables of records in text files."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from pypgm.data.dataset import Dataset
from pypgm.data.files import open_text, replacing_text
from pypgm.data.schema import Codebook, label_texts
from pypgm.domain import Domain, check_domain

__all__ = ["read_table", "write_table"]

_CHUNK = 8192  # records held as text at a time


def read_table(path: str | os.PathLike[str], domain: Domain, *, ignore_extra: bool = False) -> Dataset:
    """Read records from a CSV file with a header, plain or compressed with gzip.

    Columns are matched by name; labels become codes. Where an attribute has no labels the file holds its codes.

    Parameters
    ----------
    path : str or path-like
        The file, in UTF-8. Blank lines are skipped.
    domain : Domain
        The attributes to read, known before the file is (see `read_domain`).
    ignore_extra : bool, default False
        Leave out columns the domain does not have, instead of refusing the file.

    Returns
    -------
    Dataset
        With columns of the smallest unsigned type that holds the attribute's codes.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is truncated, not text, has no header, lacks a column, has one twice or one too many, a row has too
        few or too many fields, or a value is none of the attribute's. The message names the column, the row (the header
        is row 0) and the values allowed, never the value.

    Examples
    --------
    >>> read_table("adult.csv.gz", read_domain("domain.json"))  # doctest: +SKIP
    Dataset(48842 records; age: 85, workclass: 9, …)
    """
    check_domain(domain)
    name = os.fspath(path)
    with open_text(path) as file:
        try:
            columns = _read_columns(file, domain, ignore_extra)
        except csv.Error:
            raise ValueError(f"{name} is not a CSV file: a quote does not close, or a field is too long") from None
        except _TableError as error:
            raise ValueError(f"{name}{error}") from None
    return Dataset(columns, domain)


def write_table(data: Dataset, path: str | os.PathLike[str]) -> None:
    """Write records to a CSV file with a header; a name that ends in ``.gz`` compresses it.

    Codes become labels where an attribute has them. The file appears when it is complete, and not at all if writing
    fails.

    Parameters
    ----------
    data : Dataset
    path : str or path-like

    Raises
    ------
    OSError
        If the file cannot be written.
    ValueError
        If the records have weights, or two labels of an attribute read the same as text.

    Examples
    --------
    >>> write_table(release.synthetic_data(), "synthetic.csv")  # doctest: +SKIP
    """
    if not isinstance(data, Dataset):
        raise TypeError(f"data needs a pypgm.Dataset, got {type(data).__name__}")
    if data.weights is not None:
        raise ValueError("a table file has no place for weights; write records without them")
    texts = {name: label_texts(data.domain, name) for name in data.domain}
    columns = [(data.columns[name], None if t is None else np.array(t, dtype=object)) for name, t in texts.items()]
    with replacing_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(data.domain.attributes)
        for start in range(0, data.n_records, _CHUNK):
            writer.writerows(zip(*_decoded(columns, slice(start, start + _CHUNK)), strict=True))


class _TableError(ValueError):
    """What is wrong with a table, still without the name of its file."""


def _read_columns(file: TextIO, domain: Domain, ignore_extra: bool) -> dict[str, NDArray[Any]]:
    rows = csv.reader(file, strict=True)
    header = [name.strip() for name in next(rows, [])]
    _check_header(header, domain, ignore_extra)
    books = [(header.index(name), name, Codebook(domain, name)) for name in domain]
    types = [np.min_scalar_type(min(size, 1 << 63) - 1) for size in domain.shape]
    parts: list[list[NDArray[Any]]] = [[np.empty(0, dtype=t)] for t in types]
    first_row = 1
    for chunk in _chunks(rows, len(header), first_row):
        fields = list(zip(*chunk, strict=True))
        for (place, name, book), dtype, done in zip(books, types, parts, strict=True):
            done.append(_encode(fields[place], name, book, dtype, first_row))
        first_row += len(chunk)
    return {name: np.concatenate(done) for name, done in zip(domain, parts, strict=True)}


def _check_header(header: Sequence[str], domain: Domain, ignore_extra: bool) -> None:
    """Refuse a header that does not fit; a first line that is none is a record, and its content is never shown."""
    if not any(header):
        raise _TableError(" is empty; it needs a header line with the names of the columns")
    missing = [name for name in domain if name not in header]
    if len(missing) == len(domain):
        raise _TableError(f" needs a header line that names the columns ({_names(missing)}); the first line has none")
    if missing:
        raise _TableError(f" lacks a column for {_names(missing)}")
    repeated = [name for name in domain if header.count(name) > 1]
    if repeated:
        raise _TableError(f" has more than one column for {_names(repeated)}")
    extra = [name for name in header if name not in domain]
    if extra and not ignore_extra:
        way_out = "ignore_extra=True or --ignore-extra leaves them out"
        raise _TableError(f" has columns that the domain does not: {_names(extra)}; {way_out}")


def _chunks(rows: Iterator[list[str]], n_fields: int, first_row: int) -> Iterator[list[list[str]]]:
    """Yield some thousand rows at a time, without blank ones; refuse a row of another number of fields."""
    while chunk := list(islice(rows, _CHUNK)):
        if any(len(row) != n_fields for row in chunk):
            chunk = [row for row in chunk if row]
            for row, fields in enumerate(chunk, first_row):
                if len(fields) != n_fields:
                    raise _TableError(f", row {row} (the header is row 0): needs {n_fields} fields, got {len(fields)}")
        if chunk:
            first_row += len(chunk)
            yield chunk


def _encode(texts: Sequence[str], name: str, book: Codebook, dtype: np.dtype[Any], first_row: int) -> NDArray[Any]:
    try:
        return np.fromiter(map(book.__getitem__, texts), dtype=dtype, count=len(texts))
    except KeyError:
        row = first_row + next(i for i, text in enumerate(texts) if not _known(text, book))
        where = f"column {name!r}, row {row} (the header is row 0)"
        raise _TableError(f", {where}: needs {book.allowed}, and has another value") from None


def _known(text: str, book: Codebook) -> bool:
    try:
        return book[text] >= 0
    except KeyError:
        return False


def _decoded(columns: Sequence[tuple[NDArray[Any], NDArray[Any] | None]], rows: slice) -> Iterator[list[Any]]:
    for codes, labels in columns:
        yield codes[rows].tolist() if labels is None else labels[codes[rows]].tolist()


def _names(names: Sequence[str], limit: int = 8) -> str:
    shown = ", ".join(map(repr, names[:limit]))
    return shown if len(names) <= limit else f"{shown}, … ({len(names)} in all)"
