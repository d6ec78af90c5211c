"""Mutants of release files: of their bytes, of the directory, of fields of the header, of arrays.

Most mutants of fields and arrays have the digest that belongs to them, as those of who knows the format would.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import random
import struct
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import pypgm

SUFFIX = ".pgm"
ARRAY = "array in this file"
Arrays = dict[str, Any]
_MAX_CELLS = 4000  # cells of a marginal that is looked at

_HOSTILE: list[Any] = [None, True, False, 0, -1, 1, 2, 3, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63), 10**400, 0.0, -0.0]
_HOSTILE += [0.5, -1.5, 1e-320, 1e308, -1e308, float("nan"), float("inf"), float("-inf"), "", "a", "\x00", "\ud800"]
_HOSTILE += [
    "\x1b[2J",
    "x" * 5000,
    "../a",
    "1/0",
    "nan",
    "9" * 5000,
    "1e999999999",
    "1/3",
    [],
    {},
    [[]],
    [0],
    ["a", "a"],
]
_HOSTILE += [{ARRAY: "header"}, {ARRAY: "array 0"}, {ARRAY: "array 1"}, {ARRAY: "nothing"}, {ARRAY: 3}]
_QUERIES: list[tuple[str, list[Any]]] = [
    ("Identity", []),
    ("Matrix", [[1]]),
    ("AllRange", [10**9]),
    ("Prefix", [10**7]),
]
_QUERIES += [("Kronecker", [[]]), ("Folded", [])]
_HOSTILE += [{"class": name, "arguments": arguments} for name, arguments in _QUERIES]
_VALUES = [np.nan, np.inf, -np.inf, 1e308, -1e308, -1.0, 1e-320, 1e19, 0.5, 2.0**53 + 2, 1e6]
_SHAPES = ["(1000000000000,)", "(4294967296, 4294967296, 2)", "(-1,)", "()", "(3, 3)", "(True,)", "(" * 2000]
_TYPES = ["f4", "c16", ">f8", "i1", "u8", "U3", "S2", "?", "f2", "M8[s]", "V8", "O"]


@cache
def seeds() -> dict[str, bytes]:
    """Return a small release of each kind of model, with labels, rounds, a schema, and measurements given to it."""
    newest = max((Path(__file__).parent / "golden").glob("[0-9]*"), key=lambda folder: int(folder.name))
    return {path.stem: path.read_bytes() for path in sorted(newest.glob("*.pgm"))}


def use(path: str) -> str:
    """Load a file, ask, draw, report and save again; return what is wrong."""
    release = pypgm.load(path)
    model = getattr(release, "model", release)
    total, names = model.total, model.domain.attributes
    if not 0 <= total <= 2**53:
        return f"a total of {total}"
    for clique in [*((a,) for a in names[:4]), names[:2]]:
        if model.domain.size(clique) > _MAX_CELLS:
            continue
        values = model.project(clique).values
        if not np.isfinite(values).all() or (values < -1e-6 * max(1.0, total)).any():
            return f"counts of {clique} from {values.min()} to {values.max()}"
        if abs(values.sum() - total) > 1e-6 * max(1.0, total):
            return f"counts of {clique} sum to {values.sum()}, the total is {total}"
    if model.synthetic_data(20, 0).n_records != 20:
        return "another number of records"
    texts = [repr(release), repr(model.domain)]
    if hasattr(release, "ledger"):
        texts += [release.report(), release.guarantee, *map(repr, release.measurements)]
    if any(not c.isprintable() and c != "\n" for text in texts for c in text):
        return "a text that moves the terminal"
    with tempfile.TemporaryDirectory() as folder:
        release.save(again := Path(folder) / "again.pgm")
        read = pypgm.load(again)
    if hasattr(release, "ledger") and read.summary() != release.summary():
        return "another summary after it is saved and read again"
    return ""


def unpack(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file."""
    with np.load(io.BytesIO(data)) as archive:
        return json.loads(archive["header"].tobytes()), {k: archive[k] for k in archive.files if k != "header"}


def pack(header: dict[str, Any], arrays: Arrays, *, sealed: bool = True) -> bytes:
    """Return the bytes of a file; sealed: with the digest of what is in it, where it has one."""
    if sealed and "digest" in header:
        header["digest"] = digest(header, arrays)
    text = np.frombuffer(json.dumps(header).encode("utf-8", "surrogatepass"), np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, header=text, **arrays)
    return buffer.getvalue()


def digest(header: dict[str, Any], arrays: Arrays) -> str:
    """Return the SHA-256 of a header without its digest, and a line for each array, as the documentation has it."""
    said = {k: v for k, v in header.items() if k != "digest"}
    if isinstance(fit := said.get("fit"), dict) and said.get("version") not in (2, 3):  # a list of a mutant has no hash
        said["fit"] = {k: v for k, v in fit.items() if k != "seconds"}
    lines = [json.dumps(said, separators=(",", ":"))]
    for name in sorted(arrays, key=lambda name: (len(name), name)):
        array = np.ascontiguousarray(arrays[name])
        lines.append(f"{name} {array.dtype.str} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def mutated(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """Return a mutant and what was done."""
    kinds: list[Callable[[random.Random, bytes], tuple[bytes, str]]] = [_bytes, _directory, _arrays, _fields, _fields]
    return rng.choice(kinds)(rng, data)


def _bytes(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    changed, start = bytearray(data), rng.randrange(len(data))
    stop = min(len(changed), start + rng.choice([1, 4, 64]))
    what = rng.choice(["bits", "bits", "cut", "block", "deleted", "twice"])
    if what == "bits":
        for _ in range(rng.choice([1, 1, 2, 8])):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    elif what == "cut":
        del changed[start:]
    elif what == "block":
        changed[start:stop] = bytes([rng.choice([0, 255])] * (stop - start))
    elif what == "deleted":
        del changed[start:stop]
    else:
        changed[start:start] = changed[start:stop]
    return bytes(changed), f"{what} at {start}"


def _directory(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """Change a number in the directory of the archive, or its members."""
    changed, what = bytearray(data), rng.choice(["entry", "entry", "end", "local", "members"])
    if what == "members":
        return _members(rng, data)
    magic = {"entry": b"PK\x01\x02", "end": b"PK\x05\x06", "local": b"PK\x03\x04"}[what]
    places = [i for i in range(len(changed)) if changed.startswith(magic, i)]
    start, (offset, size) = rng.choice(places), rng.choice(
        {
            "entry": [(8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (42, 4), (46, 1)],
            "end": [(4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)],
            "local": [(6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2), (30, 1)],
        }[what]
    )  # fmt: skip
    old = int.from_bytes(changed[start + offset : start + offset + size], "little")
    new = rng.choice([0, 1, old + 1, old - 1, 2 * old, (1 << 8 * size) - 1, 1 << 20, rng.getrandbits(8 * size)])
    changed[start + offset : start + offset + size] = (new % (1 << 8 * size)).to_bytes(size, "little")
    return bytes(changed), f"{what} at {start} + {offset}: {old} to {new}"


def _members(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """Write the members anew, some of them otherwise."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    place = rng.randrange(len(members))
    name, body = members[place]
    how = rng.choice(
        ["twice", "renamed", "more", "swapped", "gone", "stored", "bzip2", "path", "shape", "zeros", "raw"]
    )
    if how == "twice":
        members.append((name, rng.choice([body, members[0][1]])))
    elif how == "renamed":
        members[place] = (rng.choice(["/etc/x.npy", "../x.npy", "array 99.npy", "", "header.npy ", name[:-4]]), body)
    elif how == "more":
        members += [(f"array {i}.npy", body) for i in range(900, 900 + rng.choice([1, 100]))]
    elif how == "swapped":
        other = rng.randrange(len(members))
        members[place], members[other] = (name, members[other][1]), (members[other][0], body)
    elif how == "gone":
        del members[place]
    elif how == "path":
        members.append(("../../x", b"x"))
    elif how in {"shape", "zeros", "raw"}:
        shape, kind = rng.choice(_SHAPES), rng.choice(["<f8", "|O", "<i8", "|u1"])
        text = f"{{'descr': '{kind}', 'fortran_order': {rng.choice([True, False])}, 'shape': {shape}, }}"
        head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text.encode() + b"\n"
        new = {"shape": head + body[128:], "zeros": body[:128] + bytes(1 << 22), "raw": rng.randbytes(40)}[how]
        members[place] = (name, new)
    buffer, law = (
        io.BytesIO(),
        {"stored": zipfile.ZIP_STORED, "bzip2": zipfile.ZIP_BZIP2}.get(how, zipfile.ZIP_DEFLATED),
    )
    with zipfile.ZipFile(buffer, "w", law) as archive, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Duplicate name")
        for one, content in members:
            archive.writestr(zipfile.ZipInfo(one or "x"), content, law)
    return buffer.getvalue(), f"{name} {how}"


def _arrays(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    header, arrays = unpack(data)
    name = rng.choice(sorted(arrays))
    a, how = arrays[name], rng.choice(["type", "shape", "value", "value", "value", "integers", "other"])
    if how == "type":
        how = rng.choice(_TYPES)
        with np.errstate(all="ignore"):
            a = a.astype(how)
    elif how == "shape":
        flat = a.reshape(-1)
        turned = np.asfortranarray(flat.reshape(-1, 1) * np.ones((1, 2)))
        a = rng.choice([flat[:-1], np.append(flat, 0), a.reshape((1, *a.shape)), a[:0], np.array(flat[0]), turned])
    elif how == "value":
        value = rng.choice(_VALUES)
        a, how = a.astype("f8"), f"{value}"
        a.reshape(-1)[... if rng.random() < 0.5 else rng.randrange(a.size)] = value
    elif how == "integers" and a.dtype.kind == "i":
        a = np.full(a.shape, rng.choice([-(2**63), 2**63 - 1, -1, 0, 2**62])).astype(a.dtype)
    else:
        a = arrays[other := rng.choice(sorted(arrays))]
        how = f"= {other}"
    arrays[name] = a
    return pack(header, arrays, sealed=rng.random() < 0.9), f"{name}: {how}"


def _fields(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    header, arrays = unpack(data)
    changes = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        paths = [p for p in _paths(header) if p]
        top = rng.choice(sorted({p[0] for p in paths}))
        within = [p for p in paths if p[0] == top]
        path = rng.choice(within if rng.random() < 0.7 else paths)
        changes.append(f"{path}: {_change(rng, header, path, within)}")
    return pack(header, arrays, sealed=rng.random() < 0.9), "; ".join(changes)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from _paths(value[key], (*path, key))
    elif isinstance(value, list):
        for i in range(min(len(value), 12)):
            yield from _paths(value[i], (*path, i))


def _change(rng: random.Random, header: Any, path: tuple[Any, ...], others: list[tuple[Any, ...]]) -> str:
    holder = _at(header, path[:-1])
    how = rng.choice(["hostile"] * 6 + ["gone", "copy", "near", "near", "near", "list"])
    if how == "hostile":
        holder[path[-1]] = value = copy.deepcopy(rng.choice(_HOSTILE))
        return f"{value!r:.40}"
    if how == "gone" and isinstance(holder, dict):
        del holder[path[-1]]
    elif how == "copy":
        holder[path[-1]] = copy.deepcopy(_at(header, rng.choice(others)))
    elif how == "list":
        holder[path[-1]] = [holder[path[-1]]]
    else:
        holder[path[-1]] = _near(rng, holder[path[-1]])
    return how


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def _near(rng: random.Random, x: Any) -> Any:
    if isinstance(x, bool):
        return not x
    if isinstance(x, int):
        return x + rng.choice([-1, 1, 10, -10, 1 << 20])
    if isinstance(x, float):
        return x * rng.choice([-1, 2, 1e10, 1e-10, 1e300, 0])
    if isinstance(x, str):
        return rng.choice([x + "x", x[:-1], x.upper(), f" {x}", x.replace("1", "2", 1), x + "\x1b[2J\u202e"])
    if isinstance(x, list):
        return rng.choice([x[::-1], x[:-1], x + x[:1], x[1:], x * 2])
    if isinstance(x, dict):
        turned, fewer = dict(list(x.items())[::-1]), dict(list(x.items())[:-1])
        return rng.choice([turned, fewer, {f"{k}x": v for k, v in x.items()}, x | {"more": 1}])
    return 0
