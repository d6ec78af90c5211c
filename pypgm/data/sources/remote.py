"""Files behind an address such as s3://bucket/people.parquet, which fsspec opens."""

from __future__ import annotations

import io
import itertools
import os
import posixpath
import re
from collections.abc import Sequence
from typing import Any

from pypgm.data.sources.foreign import guarded
from pypgm.data.sources.frames import imported

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://")


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is an address with a protocol.

    Examples
    --------
    >>> is_remote("s3://bucket/people.parquet"), is_remote("people.parquet"), is_remote("C:/people.parquet")
    (True, False, False)
    """
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def is_hidden(name: str) -> bool:
    """Return whether a file in a folder is none of its tables, but of some tool."""
    return name.startswith((".", "_"))


def is_hidden_folder(name: str) -> bool:
    """Return whether a folder in another holds no tables, but what some tool keeps.

    Examples
    --------
    >>> is_hidden_folder("_delta_log"), is_hidden_folder("_year=2023")
    (True, False)
    """
    return is_hidden(name) and "=" not in name


def open_remote(address: str) -> io.BufferedReader:
    """Open a file behind an address, to be read."""
    system, place = _system(address)
    _size(address, system, place)
    file = guarded(f"opening {address}", lambda: system.open(place, "rb"))
    return io.BufferedReader(file)


def remote_version(address: str) -> tuple[int, str]:
    """Return the size of a file behind an address, and what its store says to know the file by."""
    system, place = _system(address)
    guarded(f"looking at {address}", system.invalidate_cache)
    size = _size(address, system, place)
    return size, guarded(f"looking at {address}", lambda: str(system.ukey(place)))


def expanded_remote(address: str, suffixes: Sequence[str]) -> list[str]:
    """Return the files that a pattern stands for, or a folder, whose address ends in a slash."""
    system, place = _system(address)
    what = f"listing {address}"
    if address.endswith("/"):
        places = [file for file in guarded(what, lambda: system.find(place)) if file.endswith(tuple(suffixes))]
        below = [posixpath.relpath(file, place).split("/") for file in places]
        shown = [not any(map(is_hidden_folder, folders)) and not is_hidden(name) for *folders, name in below]
        places = [*itertools.compress(places, shown)]
    else:
        places = guarded(what, lambda: system.glob(place))
    return sorted(guarded(what, lambda: [str(system.unstrip_protocol(file)) for file in places]))


def _size(address: str, system: Any, place: str) -> int:  # noqa: ANN401 - of a package that may be missing
    """Return the size of a file behind an address.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is a folder.
    """

    def looked_up() -> dict[str, Any] | None:
        try:
            return dict(system.info(place))
        except FileNotFoundError:
            return None

    if (file := guarded(f"looking at {address}", looked_up)) is None:
        raise FileNotFoundError(f"no such file can be read: {address}")
    if file["type"] == "directory":
        raise ValueError(f"{address} is a folder, whose address has to end in a slash")
    return int(file["size"])


def _system(address: str) -> tuple[Any, str]:
    fsspec = imported("fsspec", address, "fsspec")
    system, place = guarded(f"reaching {address}", lambda: fsspec.core.url_to_fs(address))
    return system, place
