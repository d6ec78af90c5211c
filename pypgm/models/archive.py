"""Model files: an .npz archive of fields as one JSON text, and the arrays among them; no pickle."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from pypgm.data.file_kind import ARCHIVE, RELEASE, START, file_kind
from pypgm.data.files import ZIP_MAGIC, replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["archive_bytes", "parse_archive", "read_archive", "write_archive"]

_FORMAT = "pypgm model"
_VERSION = 2
_ARRAY = "array in this file"  # the key of what stands in the text for an array, whose name is the value


def write_archive(path: str | os.PathLike[str], fields: dict[str, Any]) -> None:
    """Write fields to a file, whole or not at all; ``OSError`` if it cannot be written."""
    with replacing(path) as file:
        file.write(archive_bytes(fields))


def archive_bytes(fields: dict[str, Any]) -> bytes:
    """Return the bytes of a model file: of JSON values, however nested, and arrays among them."""
    arrays: dict[str, NDArray[Any]] = {}

    def plain(value: object) -> object:
        if isinstance(value, np.ndarray):
            arrays[name := f"array {len(arrays)}"] = value
            return {_ARRAY: name}
        if isinstance(value, np.generic):  # such as a label taken from an array
            return value.item()
        raise TypeError(f"a label must be a string or a number to be saved, got {value!r}")

    text = json.dumps({"format": _FORMAT, "version": _VERSION, **fields}, default=plain)
    buffer = io.BytesIO()
    save: Callable[..., None] = np.savez_compressed  # whose own options are keywords beside the names of arrays
    save(buffer, header=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)
    return buffer.getvalue()


def read_archive(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what `write_archive` wrote; see `parse_archive`, whose errors then name the file.

    Raises
    ------
    ValueError
        If the file is not a model file, is truncated, or is of another version.
    OSError
        If it cannot be read.
    """
    # Opened here, because NumPy leaves a file it opened itself open when the archive is broken.
    with Path(path).open("rb") as file:
        return parse_archive(file, str(path))


def parse_archive(file: BinaryIO, name: str) -> dict[str, Any]:
    """Return the fields of a model file that is open.

    Raises
    ------
    ValueError
        If the file is not a model file, is truncated, or is of another version.
    """
    start = file.read(START)
    file.seek(0)
    kind = file_kind(start)
    if not start.startswith(ZIP_MAGIC) or kind not in {ARCHIVE, RELEASE}:
        told = f"it is {kind or 'of another kind'}" if start else "it is empty"
        raise ValueError(f"{name}: not a whole pypgm model file ({told})")
    try:
        with np.load(file, allow_pickle=False) as archive:

            def whole(own: dict[str, Any]) -> object:
                array = own.get(_ARRAY)
                return archive[array] if isinstance(array, str) else own

            fields = json.loads(archive["header"].tobytes().decode(), object_hook=whole)
    except Exception:
        # One damaged byte makes the readers of archives raise errors of a dozen kinds, and NumPy's advise to unpickle.
        raise ValueError(f"{name}: not a whole pypgm model file (cut off, damaged, or of another kind)") from None
    if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
        raise ValueError(f"{name}: not a pypgm model file")
    if fields.get("version") != _VERSION:
        raise ValueError(f"{name}: model files of version {_VERSION} can be read, got version {fields.get('version')}")
    return fields
