"""Versions of files: what differs once a file was written again, found without reading its records."""

from __future__ import annotations

import os

from pypgm.data.schema.person import blake2b
from pypgm.data.sources.files import as_path, open_bytes
from pypgm.data.sources.remote import is_remote, remote_version

_TAIL = 8  # bytes at the end of a Parquet file: the length of the footer, and the mark
_MAX_FOOTER = 1 << 26  # bytes of a footer that are compared


def size_and_time(path: str | os.PathLike[str]) -> tuple[int, int | str]:
    """Return the size of a file, and the time of its last change in nanoseconds, or what its store knows it by."""
    if is_remote(path):
        return remote_version(os.fspath(path))
    state = as_path(path).stat()
    return state.st_size, state.st_mtime_ns


def footer_digest(path: str | os.PathLike[str]) -> bytes:
    """Return a digest of the footer of a Parquet file, which describes its pieces; of another file, of its end."""
    with open_bytes(path) as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(end - _TAIL, 0))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(end - _TAIL - min(length, _MAX_FOOTER), 0))
        digest: bytes = blake2b(file.read()).digest()
    return digest
