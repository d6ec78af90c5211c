"""The container of release and model files: fields as one JSON text, and the arrays among them, in an .npz archive.

Members are ``header.npy``, the bytes of the text, and ``array 0.npy``, ``array 1.npy``, ... in the order in which the
text names them, each once. The field ``digest`` is the SHA-256 of the text without that field and without the seconds
of the estimate, which differ between equal estimates, and of a line for each array.
"""

from __future__ import annotations

import io
import json
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pypgm._base.fields import check_fields
from pypgm._base.file_kind import ARCHIVE, RELEASE, START, file_kind
from pypgm._base.memory import check_fits, memory_limit
from pypgm.data.sources.files import ZIP_MAGIC
from pypgm.errors import OlderFileWarning
from pypgm.files.format import FORMAT, MEASUREMENT, VERSION
from pypgm.files.members import HEADER, Members, line_of, number_of, plain_array, sha256

POOL = "measurements"
Fields = dict[str, Any]


def shared(fields: Mapping[str, Any]) -> Fields:
    """Return fields in which each measurement is stored once, in a separate list.

    Two equal measurements in the same list of the fields remain two, each stored for itself.
    """
    pool: dict[tuple[str, int], tuple[int, Fields]] = {}

    def numbers(entries: Iterable[Fields]) -> list[int]:
        seen: Counter[str] = Counter()
        positions = []
        for entry in entries:
            text = _entry_text(entry)
            positions.append(pool.setdefault((text, seen[text]), (len(pool), entry))[0])
            seen[text] += 1
        return positions

    replaced = _replaced(fields, numbers)
    return replaced | {POOL: [entry for _, entry in pool.values()]} if pool else replaced


def spread(fields: Mapping[str, Any], name: str, max_bytes: float | None = None) -> Fields:
    """Undo `shared`.

    Raises
    ------
    ValueError
        If a number is of no measurement or stands twice in a list, or a measurement has no number.
    ModelTooLargeError
        If the measurements take more than `max_bytes`, each as often as it is held.
    """
    fields = dict(fields)
    pool = fields.pop(POOL, [])
    check_fields(pool, [MEASUREMENT], POOL)
    sizes = list(map(_bytes, pool))
    held = [0] * len(pool)

    def entries(numbers: object) -> list[Fields]:
        check_fields(numbers, [int], POOL)
        positions: list[int] = list(numbers)  # type: ignore[call-overload]
        if len(set(positions)) < len(positions) or not all(0 <= i < len(pool) for i in positions):
            raise ValueError("it holds a measurement twice, or one that it does not have")
        for i in positions:
            held[i] += 1
        needed = sum(size * times for size, times in zip(sizes, held, strict=True))
        check_fits(needed, max_bytes, f"{name} holds measurements of {needed:,} bytes", "pass max_bytes")
        return [pool[i] for i in positions]

    replaced = _replaced(fields, entries)
    if not all(held):
        raise ValueError("it has measurements that nothing in it uses")
    return replaced


def _replaced(fields: Mapping[str, Any], change: Callable[[Any], list[Any]]) -> Fields:
    """Return fields with the list of measurements changed in each part that has one: a release, and recipes."""
    changed = dict(fields)
    for part in ("release", "recipe", "prior_recipe"):
        if isinstance(changed.get(part), Mapping):
            changed[part] = _replaced(changed[part], change)
    return changed | {POOL: change(changed[POOL])} if POOL in changed else changed


def _bytes(value: object) -> int:
    """Return the bytes of the arrays in a value."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    parts: Iterable[object] = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return sum(map(_bytes, parts))


def _entry_text(entry: Mapping[str, Any]) -> str:
    """Return a text that is equal only for equal measurements."""
    return json.dumps(entry, default=lambda value: line_of("", plain_array(np.asarray(value))))


def upgraded(fields: Fields, version: int) -> Fields:
    """Return the fields of a file of any version as those of the present one; ``version`` stays that of the file."""
    for step in range(version, VERSION):
        fields = UPGRADES[step](fields)
    return fields


def _from_2(fields: Fields) -> Fields:
    """Give fields their present names, name those that a release may have left out, and share measurements.

    A release has no version of its own. The line that charged each measurement is unknown.
    """
    fields["kind"] = fields.get("kind") or "junction tree"
    if "prior_cells" in fields:
        fields["tree_cells"] = fields.pop("prior_cells")
    if "origin" in fields:
        fields["recipe"] = _recipe(fields.pop("origin"))
    if "release" in fields:
        fields["release"] = {"options": {}, "pypgm": "", "log": []} | fields["release"]
        fields["release"].pop("version")
    return shared(fields)


def _recipe(origin: Fields) -> Fields:
    earlier = origin.pop("earlier")
    return origin | {"prior_recipe": None if earlier is None else _recipe(earlier)}


def _from_3(fields: Fields) -> Fields:
    """Add to a release the reason why pairs were left out, which its mechanism implied, and drop the old digest."""
    if fields.get("release", {}).get("mechanism") == "wide":
        fields["release"]["unmeasured"] = "hidden by noise"
    return fields


UPGRADES: dict[int, Callable[[Fields], Fields]] = {2: _from_2, 3: _from_3}
"""Steps by the version they read."""


_UNSEALED = 2  # the version of files without a digest
_TIMED = 3  # the last version whose digest includes the seconds of the estimate
_ARRAY = "array in this file"  # the key that stands in the text for an array; its value is the array's name
_DIGEST = "digest"
_SAMPLE = 1 << 15  # bytes of a larger array that are compressed to see
_WORTH_IT = 0.9  # of its size
_READERS = {  # for files without a model of pypgm that people try to load, by kind
    "a BIF network": "pypgm.bayes.BayesianNetwork.read_bif",
    "XMLBIF": "pypgm.read_network",
    "XDSL (of GeNIe)": "pypgm.read_network",
    "a NET file (of Hugin)": "pypgm.read_network",
    "a DSC file (of Microsoft's tools)": "pypgm.read_network",
    "a UAI model": "pypgm.read_uai",
}
Arrays = dict[str, "NDArray[Any]"]


def archive_bytes(fields: dict[str, Any]) -> bytes:
    """Return the bytes of a model file of JSON values, however nested, with arrays among them."""
    header, arrays = _split(fields)
    text = _text(header | {_DIGEST: _digest(header, _lines(arrays))})
    buffer = io.BytesIO()
    # Noisy numbers hardly shrink: higher levels, such as that of `numpy.savez_compressed`, gain 1 % and take long.
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in {HEADER: np.frombuffer(text.encode(), dtype=np.uint8), **arrays}.items():
            archive.compression = zipfile.ZIP_DEFLATED if _shrinks(array) else zipfile.ZIP_STORED
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return buffer.getvalue()


def _shrinks(array: NDArray[Any]) -> bool:
    """Return whether an array is worth compressing: not if its middle shows that it would remain about as large."""
    if array.nbytes < _SAMPLE:
        return True
    middle = array.size // 2
    sample = array.reshape(-1)[middle : middle + _SAMPLE // array.itemsize].tobytes()
    return len(zlib.compress(sample, 1)) < _WORTH_IT * len(sample)


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
        If the archive unpacks to more than `max_bytes`; nothing was unpacked then.
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
    """Return an object of JSON; ``ValueError`` if a name is repeated."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a name occurs twice")
    return entries
