"""The file of synthetic records that a card lies beside: its digest, its rows, and the type of each column."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pypgm._base.file_kind import check_suffix
from pypgm.data.sources.files import csv_rows, open_text
from pypgm.data.sources.parquet import is_parquet, rows_in, types_in

if TYPE_CHECKING:
    from pypgm.data.sources.layout import Layout

Type = Literal["Boolean", "Integer", "Float", "Date", "Text"]

RECORDS = (".csv", ".csv.gz", ".parquet", ".pq")
"""Endings of the names of files that cards describe."""

_TEXTS: dict[Type, re.Pattern[str]] = {  # of a type in a CSV file, the narrowest first; a leading 0 is that of a code
    "Boolean": re.compile(r"True|False|true|false"),
    "Integer": re.compile(r"-?(0|[1-9]\d*)"),
    "Float": re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?"),
    "Date": re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?"),
    "Text": re.compile(r".*", re.DOTALL),
}
_ARROW: tuple[tuple[str, Type], ...] = (  # how names of types begin
    (r"bool", "Boolean"),
    (r"u?int\d", "Integer"),
    (r"float|double|halffloat|decimal", "Float"),
    (r"date|timestamp", "Date"),
)
_BLOCK = 1 << 20  # bytes that are read at once


@dataclass(frozen=True)
class RecordFile:
    """A file of synthetic records.

    Attributes
    ----------
    name : str
        Name without its folder: a card lies beside it.
    n_bytes, n_rows : int
    sha256 : str
    is_parquet : bool
    delimiter : str
        Mark between the fields of a CSV file.
    types : mapping of str to str
        The columns in their order, and the narrowest type that holds all values.
    """

    name: str
    n_bytes: int
    n_rows: int
    sha256: str
    is_parquet: bool
    delimiter: str
    types: Mapping[str, Type]

    @classmethod
    def read(cls, path: str | os.PathLike[str], columns: Iterable[str], layout: Layout) -> RecordFile:
        """Read a file that a release has written.

        Parameters
        ----------
        path : str or path-like
            A CSV file, plain or in gzip, or a Parquet file.
        columns : iterable of str
            Columns of the release's records.
        layout : Layout
            Look of the release's records.

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If it has other columns than the release's records: then it may be the real table.
        ImportError
            If it is a Parquet file and pyarrow is not installed.
        """
        import hashlib  # heavy, and of use in few calls

        check_suffix(path, RECORDS)
        place, parquet = Path(path), is_parquet(path)
        n_rows, types = _of_parquet(place) if parquet else _of_csv(place, layout)
        wanted = set(columns)
        if set(types) != wanted:
            few, many = sorted(wanted - set(types)), sorted(set(types) - wanted)
            wrong = [*(f"lacks {name!r}" for name in few[:1]), *(f"has {name!r} too" for name in many[:1])]
            raise ValueError(f"{place} {' and '.join(wrong)}: file needs records that this release drew")
        digest = hashlib.sha256()
        with place.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
        delimiter = "" if parquet else layout.dialect.delimiter
        return cls(place.name, place.stat().st_size, n_rows, digest.hexdigest(), parquet, delimiter, types)


def _of_csv(path: Path, layout: Layout) -> tuple[int, dict[str, Type]]:
    """Return the number of rows of a CSV file, and the types of its columns."""
    dialect = layout.dialect.written
    with open_text(path, dialect.encoding) as file:
        rows = csv_rows(path, file, dialect)
        names = next(rows, [])
        fitting = [iter(_TEXTS.items()) for _ in names]
        types = [next(left) for left in fitting]
        seen: list[set[str]] = [set() for _ in names]
        n_rows = 0
        for row in rows:
            n_rows += 1
            if len(row) != len(names):
                raise ValueError(
                    f"{path}: record {n_rows} has {len(row)} fields, and the first line {len(names)} names"
                )
            for i, text in enumerate(row):
                if text and text not in seen[i]:
                    seen[i].add(text)
        for i, texts in enumerate(seen):
            while not all(map(types[i][1].fullmatch, texts)):
                types[i] = next(fitting[i])
    return n_rows, {
        name: kind if seen[i] else "Text" for i, (name, (kind, _)) in enumerate(zip(names, types, strict=True))
    }


def _of_parquet(path: Path) -> tuple[int, dict[str, Type]]:
    """Return the number of rows of a Parquet file, and the types of its columns."""
    return rows_in(path), {entry.name: _of_arrow(entry.type) for entry in types_in(path)}


def _of_arrow(kind: Any) -> Type:  # noqa: ANN401 - of a package that may be missing
    """Return the type of a column of Arrow."""
    return next((name for begins, name in _ARROW if re.match(begins, str(kind))), "Text")
