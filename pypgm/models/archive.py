"""Model files: an .npz archive of one JSON header and arrays; no pickle."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from pypgm.data.files import ZIP_MAGIC, replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["archive_bytes", "parse_archive", "read_archive", "write_archive"]

_FORMAT = "pypgm model"
_VERSION = 1


def write_archive(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write a header and arrays to a file, whole or not at all; ``OSError`` if it cannot be written."""
    with replacing(path) as file:
        file.write(archive_bytes(header, arrays))


def archive_bytes(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a model file."""
    marked = {"format": _FORMAT, "version": _VERSION, **header, "arrays": sorted(arrays)}
    text = np.frombuffer(json.dumps(marked, default=_plain).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    save: Callable[..., None] = np.savez_compressed  # whose own options are keywords beside the names of arrays
    save(buffer, header=text, **arrays)
    return buffer.getvalue()


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
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


def parse_archive(file: BinaryIO, name: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a model file that is open.

    Raises
    ------
    ValueError
        If the file is not a model file, is truncated, or is of another version.
    """
    start = file.read(len(ZIP_MAGIC))
    file.seek(0)
    if start != ZIP_MAGIC:
        kind = "it is of another kind" if start else "it is empty"
        raise ValueError(f"{name}: not a whole pypgm model file ({kind})")
    try:
        with np.load(file, allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes().decode())
            arrays = {key: archive[key] for key in archive.files if key != "header"}
    except Exception:
        # One damaged byte makes the readers of archives raise errors of a dozen kinds, and NumPy's advise to unpickle.
        raise ValueError(f"{name}: not a whole pypgm model file (cut off, damaged, or of another kind)") from None
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise ValueError(f"{name}: not a pypgm model file")
    if header.get("version") != _VERSION:
        raise ValueError(f"{name}: model files of version {_VERSION} can be read, got version {header.get('version')}")
    if header.pop("arrays", sorted(arrays)) != sorted(arrays):
        raise ValueError(f"{name}: not a whole pypgm model file (arrays are missing)")
    return header, arrays


def _plain(value: object) -> object:
    """Return a NumPy scalar, such as a label taken from an array, as the number it holds."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a label must be a string or a number to be saved, got {value!r}")
