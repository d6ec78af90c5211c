"""Members of an .npz archive, whose unpacked sizes are known, and within a limit, before any is unpacked."""

from __future__ import annotations

import os
import re
import struct
import zipfile
from math import prod
from typing import IO, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_fits

Array = NDArray[np.generic]

HEADER = "header"
_NAME = re.compile(r"(header|array (?:0|[1-9][0-9]*))\.npy")
_DESCRIBED = re.compile(
    rb"\{'descr': '([<|](?:b1|[iu][1248]|f8))', 'fortran_order': False, 'shape': \(((?:\d+, )*\d*,?)\)(?:, )?\} *\n"
)
_MAGIC = b"\x93NUMPY\x01\x00"
_END = struct.Struct("<4s4H2LH")  # of the archive: magic, disks and entries, length and place of the directory, comment
_ENTRY = 16  # bytes of memory at most that a byte of the directory takes once it is read
_TEXT = 64  # bytes of memory that a byte of the header takes once it is parsed and used: 24 if all objects are empty
_DEFLATED = 1032  # bytes at most to which a byte of a deflated stream unpacks
_OVERHEAD = 64  # bytes to which an empty stream, of few bytes, may seem to unpack
_CHUNK = 1 << 20
_WAY_OUT = "pass max_bytes"


class Members:
    """The arrays of an open archive, each to be read once.

    Only archives such as pypgm writes are accepted: members of its names, each once, stored or deflated, of booleans,
    integers or doubles in C order; nothing before them and nothing after.

    Parameters
    ----------
    file : binary file
        Open, seekable.
    name : str
        Name of the file in errors.
    max_bytes : float, optional
        Memory that all members may take, with the header's text parsed; by default half of the available memory.

    Raises
    ------
    ValueError, or an error of `zipfile`
        If the archive is of another kind, or damaged.
    ModelTooLargeError
        If the archive takes more than that.
    """

    def __init__(self, file: BinaryIO, name: str, max_bytes: float | None = None) -> None:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _END.size))
        magic, *_, directory, _, comment = _END.unpack(file.read(_END.size))
        if magic != b"PK\x05\x06" or comment:
            raise ValueError("it does not end as an archive does")
        check_fits(_ENTRY * min(directory, size), max_bytes, f"{name} has a directory of many members", _WAY_OUT)
        self._archive = zipfile.ZipFile(file)
        self._left = _listed(self._archive, size)
        text = self._left[HEADER].file_size
        needed = _TEXT * text + sum(info.file_size for one, info in self._left.items() if one != HEADER)
        what = f"{name} unpacks to a header of {text:,} bytes and {len(self._left) - 1:,} arrays"
        check_fits(needed, max_bytes, what, _WAY_OUT)

    def __len__(self) -> int:
        """Return the number of arrays not read yet."""
        return len(self._left)

    def read(self, name: str) -> Array:
        """Return an array.

        Raises
        ------
        ValueError, or an error of `zipfile`
            If there is no member of the name, or the member was read before, is of another kind, or is damaged.
        """
        info = self._left.pop(name, None)
        if info is None:
            raise ValueError(f"it has no {name!r}, or twice the same one")
        with self._archive.open(info) as member:
            array = _empty(member, info.file_size)
            rest = array.reshape(-1).view(np.uint8)
            while rest.size:
                chunk = np.frombuffer(member.read(min(_CHUNK, rest.size)), np.uint8)
                if not chunk.size:
                    raise ValueError(f"{name!r} is cut off")
                rest[: chunk.size] = chunk
                rest = rest[chunk.size :]
            if member.read(1):  # reading at the end compares the checksum
                raise ValueError(f"{name!r} continues after its end")
        return array


def sha256(data: bytes | memoryview) -> str:
    """Return the SHA-256 of bytes, 64 hexadecimal digits."""
    import hashlib  # importing it takes a mebibyte, which few calls need

    return hashlib.sha256(data).hexdigest()


def plain_array(array: Array) -> Array:
    """Return an array in the form of a member: C-ordered, the lowest byte first."""
    return np.asarray(array, array.dtype.newbyteorder("<"), order="C")


def line_of(name: str, array: Array) -> str:
    """Return the line of a plain array for the digest: its name, type, shape, and the SHA-256 of its bytes."""
    return f"{name} {array.dtype.str} {array.shape} {sha256(array.reshape(-1).view(np.uint8).data)}"


def number_of(name: str) -> int:
    """Return the number in the name of an array."""
    return int(name.rpartition(" ")[2])


def _listed(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members by the names of their arrays; ``ValueError`` if pypgm would not write one of them."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = _NAME.fullmatch(info.filename)
        if name is None or name[1] in members:
            raise ValueError("it has a member that pypgm does not write, or one twice")
        if info.flag_bits or info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise ValueError("it has a member that is neither stored nor deflated")
        if info.file_size > _DEFLATED * info.compress_size + _OVERHEAD:
            raise ValueError("it has a member that claims to unpack to more than it can")
        members[name[1]] = info
    if HEADER not in members or min(info.header_offset for info in members.values()) != 0:
        raise ValueError("it does not begin with its members, or has no header")
    if sum(info.compress_size for info in members.values()) > size:
        raise ValueError("its members overlap")
    return members


def _empty(member: IO[bytes], size: int) -> Array:
    """Return an empty array of the type and shape in the head of a member, checked against its size."""
    start = member.read(len(_MAGIC) + 2)
    length = int.from_bytes(start[len(_MAGIC) :], "little")
    header = _DESCRIBED.fullmatch(member.read(length))
    if start[: len(_MAGIC)] != _MAGIC or header is None:
        raise ValueError("it has an array that is not of booleans, integers or doubles in C order")
    dtype, shape = np.dtype(header[1].decode()), tuple(int(n) for n in header[2].split(b",") if n.strip())
    if len(start) + length + prod(shape) * dtype.itemsize != size:
        raise ValueError("it has an array of another size than its shape says")
    return np.empty(shape, dtype)
