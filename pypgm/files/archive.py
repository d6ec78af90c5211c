"""The container of release and model files: fields as one JSON text, and the arrays among them, in an .npz archive.

Members are ``header.npy``, the bytes of the text, and ``array 0.npy``, ``array 1.npy``, ... in the order in which the
text names them, each once. The field ``digest`` is the SHA-256 of the text without that field and without the seconds
of the estimate, which differ between equal estimates, and of a line for each array.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pypgm._base.file_kind import ARCHIVE, RELEASE, START, file_kind
from pypgm._base.memory import memory_limit
from pypgm.data.sources.files import ZIP_MAGIC
from pypgm.errors import OlderFileWarning
from pypgm.files.format import FORMAT, VERSION
from pypgm.files.members import HEADER, Members, line_of, number_of, plain_array, sha256
from pypgm.files.upgrades import UPGRADES

_UNSEALED = 2  # the version of files without a digest
_TIMED = 3  # the last version whose digest includes the seconds of the estimate
_ARRAY = "array in this file"  # the key that stands in the text for an array; its value is the array's name
_DIGEST = "digest"
_READERS = {  # for files without a model of pypgm that people try to load, by kind
    "a BIF network": "pypgm.bayes.BayesianNetwork.read_bif",
    "a UAI model": "pypgm.read_uai",
}
Arrays = dict[str, "NDArray[Any]"]


def archive_bytes(fields: dict[str, Any]) -> bytes:
    """Return the bytes of a model file of JSON values, however nested, with arrays among them."""
    header, arrays = _split(fields)
    text = _text(header | {_DIGEST: _digest(header, _lines(arrays))})
    buffer = io.BytesIO()
    save: Callable[..., None] = np.savez_compressed  # its own options are keywords like the names of arrays
    save(buffer, header=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)
    return buffer.getvalue()


def digest_of(fields: dict[str, Any]) -> str:
    """Return the digest of the file of these fields, 64 hexadecimal digits."""
    header, arrays = _split(fields)
    return _digest(header, _lines(arrays))


def parse_archive(file: BinaryIO, name: str, max_bytes: float | None = None) -> dict[str, Any]:
    """Return the fields of an open model file without the digest, which is compared.

    Raises
    ------
    ValueError
        If the file is not a model file, is truncated or changed, or is of another version.
    ModelTooLargeError
        If it unpacks to more than `max_bytes`; nothing was unpacked then.
    """
    if max_bytes is not None:
        memory_limit(max_bytes)  # the check happens there
    start = file.read(START)
    kind = file_kind(start)
    if not start.startswith(ZIP_MAGIC) or kind not in {ARCHIVE, RELEASE}:
        reason = f"it is {kind or 'of another kind'}" if start else "it is empty"
        reader = f"; {_READERS[kind]} reads it" if kind in _READERS else ""
        raise ValueError(f"{name}: not a whole pypgm model file ({reason}{reader})")
    try:
        members = Members(file, name, max_bytes)
        header = json.loads(members.read(HEADER).tobytes().decode(), object_pairs_hook=_unique)
    except MemoryError:
        raise
    except Exception:
        # One damaged byte makes the readers of archives raise errors of a dozen kinds.
        raise ValueError(f"{name}: not a whole pypgm model file (cut off, damaged, or of another kind)") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"{name}: not a pypgm model file")
    version = header.get("version")
    if type(version) is not int or version not in {VERSION, *UPGRADES}:
        got = str(version)[:40]
        raise ValueError(f"{name}: files of versions {min(UPGRADES)} to {VERSION} can be read, got version {got}")
    if version == _UNSEALED:
        older = "was written by an older pypgm and has no digest: a change is noticed only where it contradicts itself"
        warnings.warn(f"{name} {older}; save it again to add one", OlderFileWarning, stacklevel=5)
    try:
        return _whole(header, members)
    except MemoryError:
        raise
    except Exception as error:
        reason = str(error) if type(error) is ValueError else "cut off, damaged, or of another kind"
        raise ValueError(f"{name}: not a whole pypgm model file ({reason})") from None


def _split(fields: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """Return the header of the fields as JSON reads it, without the digest, and their arrays."""
    arrays: Arrays = {}

    def plain(value: object) -> object:
        if isinstance(value, np.ndarray):
            arrays[name := f"array {len(arrays)}"] = plain_array(value)
            return {_ARRAY: name}
        if isinstance(value, np.generic):  # a label taken from an array, say
            return value.item()
        raise TypeError(f"a label must be a string or a number to be saved, got {value!r}")

    first = {"format": FORMAT, "version": VERSION}
    text = json.dumps(first | fields | first, default=plain)
    header: dict[str, Any] = json.loads(text)
    return header, arrays


def _whole(header: dict[str, Any], members: Members) -> dict[str, Any]:
    """Return a header with its arrays in their places, after comparing the digest."""
    arrays: Arrays = {}

    def filled(value: object) -> object:
        if isinstance(value, list):
            return [filled(part) for part in value]
        if not isinstance(value, dict):
            return value
        if isinstance(name := value.get(_ARRAY), str) and name != HEADER:
            return arrays.setdefault(name, members.read(name))
        return {key: filled(part) for key, part in value.items()}

    digest = header.pop(_DIGEST, None)
    fields: dict[str, Any] = {key: filled(part) for key, part in header.items()}
    if len(members):
        raise ValueError("it has arrays that nothing in it names")
    if header["version"] != _UNSEALED and digest != _digest(header, _lines(arrays)):
        raise ValueError("its digest does not match its content: something in it was changed")
    return fields


def _lines(arrays: Arrays) -> Iterable[str]:
    return (line_of(name, arrays[name]) for name in sorted(arrays, key=number_of))


def _digest(header: dict[str, Any], lines: Iterable[str]) -> str:
    """Return the SHA-256 of a header and lines of its arrays."""
    fit = header.get("fit")
    if isinstance(fit, dict) and header["version"] > _TIMED:
        header = {**header, "fit": {name: value for name, value in fit.items() if name != "seconds"}}
    return sha256("\n".join([_text(header), *lines]).encode())


def _text(header: dict[str, Any]) -> str:
    """Return a header in its canonical form: without spaces, in ASCII, in its own order."""
    return json.dumps(header, separators=(",", ":"))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; ``ValueError`` if a name comes twice."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a name occurs twice")
    return entries
