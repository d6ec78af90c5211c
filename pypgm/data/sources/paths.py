"""Files that a folder, a pattern or a list of paths stands for, and the values that folders as month=01 give them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from pypgm.data.sources.files import as_path
from pypgm.data.sources.remote import expanded_remote, is_hidden, is_hidden_folder, is_remote

SUFFIXES = (".csv", ".csv.gz", ".parquet", ".pq", ".jsonl", ".ndjson", ".jsonl.gz")
"""Endings of files that are taken from a folder."""

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # the folder of records whose value is missing


class Place(NamedTuple):
    """A file of a table, and the values that its folders give to columns which are not in it."""

    path: str
    values: Mapping[str, str]


def is_several(source: object) -> bool:
    """Return whether a source is a folder, a pattern that is no file's name, or a list of paths.

    Examples
    --------
    >>> is_several("visits/*.csv"), is_several(["a.csv", "b.csv"]), is_several("a.csv"), is_several([1, 2])
    (True, True, False, False)
    """
    if isinstance(source, str) and is_remote(source):
        return glob.has_magic(source) or source.endswith("/")
    if isinstance(source, str | os.PathLike):
        return as_path(source).is_dir() or _is_pattern(os.fspath(source))
    paths = source if isinstance(source, Sequence) and not isinstance(source, bytes) else ()
    return len(paths) > 0 and all(isinstance(path, str | os.PathLike) for path in paths)


def holds(source: str, path: str) -> bool:
    """Return whether a file would be one of the table that a folder or a pattern stands for.

    Examples
    --------
    >>> holds("visits/*.csv", "visits/out.csv"), holds("visits.csv", "out.csv")
    (True, False)
    """
    if is_remote(source) or not is_several(source):
        return False
    if as_path(source).is_dir():
        return path.endswith(SUFFIXES) and _is_below(path, source)
    return fnmatch(os.path.abspath(path), os.path.abspath(source))


def places_of(source: Any) -> list[Place]:  # noqa: ANN401 - a path or a list of paths
    """Return the files that a source stands for, in the order of their names within each path.

    Raises
    ------
    FileNotFoundError
        If no file fits a path, or a folder has no table.
    ValueError
        If a file comes twice, a folder has a link that leads out of it, or files lie in folders that give values to
        different columns, or several values to one.
    """
    given = list(map(os.fspath, [source] if isinstance(source, str | os.PathLike) else source))
    folders = {os.path.dirname(os.path.abspath(path)) for path in given if as_path(path).is_file()}
    shared = os.path.commonpath(folders) if folders else ""
    places = [Place(path, _values(root, path)) for each in given for root, path in _expanded(each, shared)]
    _check_apart([place.path for place in places])
    names = {tuple(sorted(place.values)) for place in places}
    if len(names) > 1:
        differing = {name for some in names for name in some if not all(name in others for others in names)}
        raise ValueError(f"folders as {min(differing)}=… have to stand around each file of a table, or around none")
    return places


def _check_apart(paths: Sequence[str]) -> None:
    """Raise ``ValueError`` if a file comes twice: its persons would have twice as many records."""
    seen: set[str] = set()
    for path in paths:
        if (real := os.path.realpath(path)) in seen:
            raise ValueError(f"{path} comes more than once: each record would count twice")
        seen.add(real)


def _expanded(path: str, shared: str) -> Iterator[tuple[str, str]]:
    """Yield the files of a path, each after the folder below which names of folders give values."""
    if is_remote(path):
        root = path[: re.search(r"[^/]*[*?[]|$", path).start()]  # type: ignore[union-attr]
        files = expanded_remote(path, SUFFIXES) if is_several(path) else [path]
        yield from ((root, file) for file in files)
        if not files:
            _refuse_missing(path)
        return
    place = as_path(path)
    if place.is_dir():
        yield from ((path, file) for file in _in_folder(path))
    elif place.exists() or not _is_pattern(path):
        if not place.exists():
            _refuse_missing(path)
        yield shared, path
    else:
        root = os.path.join(*takewhile(lambda part: not glob.has_magic(part), place.parts), "")
        fitting = sorted(glob.iglob(path, recursive=True))
        for each in fitting:
            if not Path(each).is_dir():
                yield root, each
            elif "**" not in path:  # which fits each folder and all that is below it
                yield from ((root, file) for file in _in_folder(each))
        if not fitting:
            _refuse_missing(path)


def _refuse_missing(path: str) -> NoReturn:
    raise FileNotFoundError(f"no such file can be read: {path}")


def _in_folder(folder: str) -> list[str]:
    """Return the tables in a folder and in those below it; names that begin with . or _ are no data of their tools."""
    tables: list[str] = []
    for here, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not is_hidden_folder(name))
        files = [name for name in names if name.endswith(SUFFIXES) and not is_hidden(name)]
        for path in (os.path.join(here, name) for name in [*folders, *files]):
            if os.path.islink(path) and not _is_below(path, folder):
                raise ValueError(f"{path} is a link out of the folder {folder}: name that file or folder itself")
        tables += [os.path.join(here, name) for name in files]
    if not tables:
        needed = f"{folder} is a folder without a table, whose name ends in {', '.join(SUFFIXES)}"
        raise FileNotFoundError(f"{needed}; a pattern such as {os.path.join(folder, '*.txt')} names other files")
    return sorted(tables)


def _refuse(error: OSError) -> NoReturn:
    raise error


def _is_below(path: str, folder: str) -> bool:
    root = os.path.realpath(folder)
    return os.path.commonpath([root, os.path.realpath(path)]) == root


def _values(root: str, path: str) -> dict[str, str]:
    """Return the values that folders between a root and a file have in their names.

    Examples
    --------
    >>> _values("visits", "visits/year=2023/month=01/a.parquet")
    {'year': '2023', 'month': '01'}
    """
    from urllib.parse import unquote

    parts = Path(os.path.relpath(path, root or ".")).parts[:-1]
    pairs = [part.partition("=") for part in parts if "=" in part.lstrip("=")]
    values = {unquote(name): "" if value == _NO_VALUE else unquote(value) for name, _, value in pairs}
    if len(values) < len(pairs):
        twice = next(name for name in values if sum(unquote(other) == name for other, *_ in pairs) > 1)
        raise ValueError(f"folders as {twice}=… have to stand once around a file; here one stands in another")
    return values


def _is_pattern(path: str) -> bool:
    return glob.has_magic(path) and not as_path(path).exists()
