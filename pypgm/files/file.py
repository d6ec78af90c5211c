"""Whole files: their fields are checked, shared and upgraded between the container and the models."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

from pypgm._base.fields import check_fields
from pypgm.data.sources.files import as_path, check_no_pipe, replacing
from pypgm.files import archive
from pypgm.files.archive import shared, spread, upgraded
from pypgm.files.format import FILES

_LINKED = 3  # the first version whose releases link each measurement to the line that charged it
Fields = dict[str, Any]


def write_file(path: str | os.PathLike[str], fields: Fields) -> None:
    """Write fields to a file, whole or not at all; ``OSError`` if it cannot be written."""
    with replacing(path) as file:
        file.write(file_bytes(fields))


def file_bytes(fields: Fields) -> bytes:
    """Return the bytes of a file of JSON values, however nested, with arrays among them."""
    return archive.archive_bytes(shared(fields))


def digest_of(fields: Fields) -> str:
    """Return the digest of the file of these fields, 64 hexadecimal digits."""
    return archive.digest_of(shared(fields))


def read_file(path: str | os.PathLike[str], max_bytes: float | None = None) -> Fields:
    """Read a file that `write_file` wrote; see `parse_file`, whose errors then name the file.

    Raises
    ------
    ValueError
        If the file is not one of pypgm, is truncated or changed, or is of a later version.
    ModelTooLargeError
        If the file unpacks to more than `max_bytes`, by default half of the memory that is available.
    OSError
        If the file cannot be read.
    """
    check_no_pipe(path, "a release or a model")
    with as_path(path).open("rb") as file:
        return parse_file(file, str(path), max_bytes)


def parse_file(file: BinaryIO, name: str, max_bytes: float | None = None) -> Fields:
    """Return the fields of an open file, each of its kind; ``version`` is that of the file.

    Raises
    ------
    ValueError
        If the file is not one of pypgm, is truncated or changed, or is of a later version.
    ModelTooLargeError
        If the file unpacks to more than `max_bytes`; nothing was unpacked then.
    """
    fields = archive.parse_archive(file, name, max_bytes)
    try:
        fields = upgraded(fields, fields["version"])
        check_fields(fields.get("kind"), {*FILES}, "kind")
        check_fields(fields, FILES[fields["kind"]])
        if "release" in fields and fields["version"] >= _LINKED:
            check_fields(fields["release"], {"charged_by": object, "not_held": object}, "release")
        return spread(fields, name, max_bytes)
    except MemoryError:
        raise
    except Exception as error:
        reason = str(error) if type(error) is ValueError else "cut off, damaged, or of another kind"
        raise ValueError(f"{name}: not a whole pypgm model file ({reason})") from None
