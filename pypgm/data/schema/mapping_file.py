"""Mappings of derived columns in separate files."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pypgm.data.sources.files import as_path, csv_rows, read_text


def columns_in(fields: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return the columns of a parsed schema file: the entry "columns", else the whole file.

    A file of columns only may have one of this name, whose kind is a text; a column named "kind" is not one.

    Examples
    --------
    >>> columns_in({"columns": {"kind": ["cat", "dog"]}, "drop": ["name"]})
    {'kind': ['cat', 'dog']}
    >>> list(columns_in({"columns": {"kind": "boolean"}, "rows": 3}))
    ['columns', 'rows']
    """
    under = fields.get("columns")
    return under if isinstance(under, Mapping) and not isinstance(under.get("kind"), str) else fields


def with_mappings(fields: object, folder: str | os.PathLike[str]) -> object:
    """Return a parsed schema file with the mappings of the files that it names.

    Parameters
    ----------
    told : object
        Mapping that `Schema.from_dict` accepts.
    folder : str or path-like
        Folder that names of files are relative to.

    Raises
    ------
    OSError
        If a file cannot be read.
    ValueError
        If its name leads out of the folder, or it is not a CSV file whose header names both columns, or a value comes
        twice.
    """
    if not isinstance(fields, Mapping):
        return fields
    columns = columns_in(fields)
    whole = {name: _with_mapping(name, spec, Path(folder)) for name, spec in columns.items()}
    return whole if columns is fields else {**fields, "columns": whole}


def _with_mapping(name: object, spec: object, folder: Path) -> object:
    if not isinstance(spec, Mapping) or spec.get("kind") != "derived" or not isinstance(spec.get("mapping"), str):
        return spec
    return {**spec, "mapping": _read(_below(folder, spec["mapping"], name), spec.get("from"), name)}


def _below(folder: Path, text: str, name: object) -> Path:
    """Return the path of a file below a folder; ``ValueError`` if a name leads out of it, or to no regular file.

    The author of the schema may not know this machine's files, and learns nothing about those outside the folder: all
    names that lead there are refused in the same words, whatever is there. The contents of a mapping are published
    with a release.
    """
    given = as_path(text)
    root, path = Path(os.path.realpath(folder)), Path(os.path.realpath(folder / given))
    if given.anchor or ".." in given.parts or root not in path.parents:
        needed = "needs the name of a file below the folder of the schema, which no link leads out of"
        raise ValueError(f"the mapping of column {name!r} {needed}, got {text!r}: copy it there")
    if path.exists() and not path.is_file():
        raise ValueError(f"the mapping of column {name!r} needs a file, and {text!r} is a folder, a pipe or a device")
    return folder / given


def _read(path: Path, source: object, name: object) -> list[list[Any]]:
    sources = [str(column) for column in source] if isinstance(source, list) else [str(source)]
    rows = csv_rows(path, io.StringIO(read_text(path), newline=""))
    header = [field.strip() for field in next(rows, [])]
    wanted = [*sources, str(name)]
    if any(header.count(column) != 1 for column in wanted):
        names = " and ".join(map(repr, wanted))
        raise ValueError(f"{path} needs a header that names the columns {names}, once each")
    places = [header.index(column) for column in wanted]
    images: dict[tuple[str, ...], str] = {}
    for number, row in enumerate(filter(None, rows), 1):
        where = f"{path}, row {number} (the header is row 0)"
        if len(row) != len(header):
            raise ValueError(f"{where}: needs {len(header)} fields, got {len(row)}")
        *values, image = (row[place] for place in places)
        if images.setdefault(tuple(values), image) != image:
            raise ValueError(f"{where}: maps a value a second time, to another")
    return [[list(values) if isinstance(source, list) else values[0], image] for values, image in images.items()]
