"""Model files as archives: nothing is unpacked before it is known to fit; only what pypgm writes is taken."""

from __future__ import annotations

import io
import json
import re
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from fuzz_pgm import ARRAY, digest, pack, unpack

import pypgm
from pypgm import Dataset, Domain, ModelTooLargeError, Release, mechanisms
from pypgm.files.archive import archive_bytes, parse_archive
from pypgm.files.file import file_bytes
from pypgm.files.format import FORMAT, VERSION

MIB = 1 << 20
DATA = Dataset({"a": [0, 1] * 50, "b": [0, 1, 1, 0] * 25}, Domain({"a": 2, "b": ["F", "M"]}))


@pytest.fixture(scope="module")
def whole():
    return file_bytes(mechanisms.mst(DATA, epsilon=1, delta=1e-9, unsafe_seed=1).archive())


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members, law=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", law) as archive:
        for name, body in members:
            archive.writestr(name, body)
    return buffer.getvalue()


def npy(descr, shape, body=b"", fortran=False):
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body


def parsed(data, max_bytes=None):
    return parse_archive(io.BytesIO(data), "it", max_bytes)


def peak_of(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def swollen(whole, name, kind, size):
    """Return a file with a member of so many bytes, all equal."""
    body = npy(kind, f"({size // np.dtype(kind).itemsize},)", (b" " if kind == "|u1" else bytes(1)) * size)
    return zipped((members_of(whole) | {name: body}).items())


@pytest.mark.parametrize(("name", "kind"), [("header.npy", "|u1"), ("array 0.npy", "<f8"), ("array 900.npy", "<f8")])
def test_what_unpacks_to_more_than_the_limit_is_refused_before_it_is_unpacked(whole, name, kind, tmp_path):
    (tmp_path / "bomb.pgm").write_bytes(swollen(whole, name, kind, 64 * MIB))

    def refused():
        with pytest.raises(ModelTooLargeError, match=r"bomb\.pgm unpacks to a header of [\d,]+ bytes and \d+ arrays"):
            pypgm.load(tmp_path / "bomb.pgm", max_bytes=32 * MIB)
        with pytest.raises(ModelTooLargeError, match="pass max_bytes"):
            Release.load(tmp_path / "bomb.pgm", max_bytes=32 * MIB)

    assert peak_of(refused) < 4 * MIB


def test_a_release_fits_a_limit_above_its_size(whole, tmp_path):
    (tmp_path / "a.pgm").write_bytes(whole)
    assert pypgm.load(tmp_path / "a.pgm", max_bytes=1e6).mechanism == "mst"
    with pytest.raises(ModelTooLargeError):
        pypgm.load(tmp_path / "a.pgm", max_bytes=1e3)
    with pytest.raises(ValueError, match="max_bytes must be positive"):
        pypgm.load(tmp_path / "a.pgm", max_bytes=0)


def test_an_array_is_read_once(whole):
    """64 references to an array of 16 MiB: the first one is all that is unpacked."""
    header, arrays = unpack(whole)
    arrays["array 0"] = np.zeros(2 * MIB)
    data = pack(header | {"more": [{ARRAY: "array 0"}] * 64}, arrays)

    def refused():
        with pytest.raises(ValueError, match="twice the same"):
            parsed(data)

    assert peak_of(refused) < 24 * MIB


def test_every_array_is_named(whole):
    header, arrays = unpack(whole)
    with pytest.raises(ValueError, match="arrays that nothing in it names"):
        parsed(pack(header, arrays | {"array 900": np.zeros(3)}))
    with pytest.raises(ValueError, match="it has no 'array 900'"):
        parsed(pack(header | {"more": {ARRAY: "array 900"}}, arrays))


def changed_entry(data, offset, form, value, magic=b"PK\x01\x02"):
    """Change a number of the first entry of the directory, or of another part of that magic."""
    own = bytearray(data)
    struct.pack_into(form, own, own.index(magic) + offset, value)
    return bytes(own)


def with_zip64(data, size):
    """Say in the first entry of the directory, in the fields for large files, that its member has another size."""
    place, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    n_name, n_extra = struct.unpack_from("<2H", data, place + 28)
    extra = struct.pack("<2HQ", 1, 8, size)
    entry = bytearray(data[place : place + 46 + n_name + n_extra])
    struct.pack_into("<L", entry, 24, 0xFFFFFFFF)
    struct.pack_into("<H", entry, 30, len(extra))
    entry[46 + n_name :] = extra
    rest = data[place + 46 + n_name + n_extra : end]
    last = bytearray(data[end:])
    struct.pack_into("<L", last, 12, len(entry) + len(rest))
    return data[:place] + bytes(entry) + rest + bytes(last)


def other_npy(member):
    return lambda whole: zipped((members_of(whole) | {"array 0.npy": member}).items())


def twice(whole):
    with pytest.warns(UserWarning, match="Duplicate name"):
        return zipped([*members_of(whole).items(), ("array 0.npy", members_of(whole)["array 0.npy"])])


ODD = {
    "a member twice": twice,
    "an absolute name": lambda whole: zipped([*members_of(whole).items(), ("/etc/passwd", b"x")]),
    "a name that leads out": lambda whole: zipped([*members_of(whole).items(), ("../array 0.npy", b"x")]),
    "a name that is none of ours": lambda whole: zipped([*members_of(whole).items(), ("README", b"x")]),
    "another number": lambda whole: zipped(
        [(n.replace("array 0", "array 00"), b) for n, b in members_of(whole).items()]
    ),
    "no header": lambda whole: zipped([(n, b) for n, b in members_of(whole).items() if n != "header.npy"]),
    "no member": lambda whole: zipped([]),
    "bzip2": lambda whole: zipped(members_of(whole).items(), zipfile.ZIP_BZIP2),
    "a cipher": lambda whole: changed_entry(whole, 8, "<H", 1),
    "something before it": lambda whole: b"PK\x03\x04" + whole,
    "something behind it": lambda whole: whole + b"PK",
    "a comment": lambda whole: changed_entry(whole, 20, "<H", 2, b"PK\x05\x06") + b"hi",
    "two archives": lambda whole: whole + whole,
    "more than it can be": lambda whole: changed_entry(whole, 24, "<L", 1 << 29),
    "far more than it can be": lambda whole: with_zip64(whole, 1 << 50),
    "less than it is": lambda whole: changed_entry(whole, 24, "<L", 200),
    "another checksum": lambda whole: changed_entry(whole, 16, "<L", 7),
    "a name of one member for another": lambda whole: changed_entry(whole, 42, "<L", 9),
    "objects": other_npy(npy("|O", "(1,)", b"cos\nsystem\n(S'true'\ntR.")),
    "text": other_npy(npy("<U8", "(1,)", bytes(32))),
    "complex numbers": other_npy(npy("<c16", "(1,)", bytes(16))),
    "the highest byte first": other_npy(npy(">f8", "(2,)", bytes(16))),
    "columns first": other_npy(npy("<f8", "(2, 3)", bytes(48), fortran=True)),
    "a size below 0": other_npy(npy("<f8", "(-1,)", bytes(80))),
    "a size beyond it": other_npy(npy("<f8", "(1000000000000,)")),
    "a product that wraps": other_npy(npy("<f8", "(4294967296, 4294967296, 2)")),
    "an empty one without bound": other_npy(npy("<f8", "(0, 18446744073709551616)")),
    "bytes behind an array": other_npy(npy("<f8", "(1,)", bytes(16))),
    "code": other_npy(npy("<f8", "(1,)").replace(b"'<f8'", b"print(1)")),
    "no array": other_npy(b"hello"),
}


@pytest.mark.parametrize("how", ODD)
def test_archives_that_pypgm_does_not_write_are_refused(whole, how):
    header, arrays = unpack(whole)
    assert parsed(whole).keys() == header.keys() - {"digest"}
    with pytest.raises(ValueError, match=r"^it: not a whole pypgm model file \("):
        parsed(ODD[how](whole))
    del arrays


@pytest.mark.parametrize(
    "text",
    [
        b'{"format": "pypgm model", "version": 3, "version": 3}',
        b"[" * 100_000,
        b'{"format": "pypgm model", "version": 3, "a": ' + b'{"b":' * 5_000 + b"1" + b"}" * 5_001,
        b'\xef\xbb\xbf{"format": "pypgm model"}',
        b'{"format": "pypgm model", "x": "\xe9"}',
        '{"format": "pypgm model"}'.encode("utf-16"),
        b'{"format": "pypgm model", "x": ' + b"9" * 5_000 + b"}",
    ],
)
def test_headers_that_are_no_json_are_refused(text):
    with pytest.raises(ValueError, match="not a whole pypgm model file"):
        parsed(zipped([("header.npy", npy("|u1", f"({len(text)},)", text))]))


def test_arrays_of_any_layout_are_written_in_the_one_that_is_read():
    odd = {
        "columns first": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "every other": np.arange(10)[::2],
        "highest first": np.arange(3, dtype=">i4"),
        "empty": np.zeros((0, 3)),
        "one": np.array(7.5),
        "flags": np.array([True, False]),
    }
    for name, array in parsed(archive_bytes(odd)).items():
        if name in odd:
            assert np.array_equal(array, odd[name])
            assert array.shape == odd[name].shape


def test_the_digest_is_of_types_shapes_and_bytes(whole):
    header, arrays = unpack(whole)
    found = {digest(header, arrays)}
    first = arrays["array 0"]
    for other in (first.reshape(1, -1), first.view(np.int64), np.negative(first)):
        found.add(digest(header, arrays | {"array 0": other}))
        with pytest.raises(ValueError, match="something in it was changed"):
            parsed(pack(header, arrays | {"array 0": other}, sealed=False))
    assert len(found) == 4
    again = json.loads(json.dumps(header, indent=3))
    parsed(pack(again, arrays, sealed=False))


def test_measurements_take_no_more_than_they_may_however_often_they_are_held(whole, tmp_path):
    header, arrays = unpack(whole)
    held = header["measurements"][header["recipe"]["measurements"][0]]["values"][ARRAY]
    arrays[held] = np.zeros(MIB // 8, np.int64)
    for _ in range(40):  # the model's prior, and that one's prior
        header["recipe"] = header["recipe"] | {"prior_recipe": header["recipe"]}
    (tmp_path / "bomb.pgm").write_bytes(pack(header, arrays))

    def refused():
        with pytest.raises(ModelTooLargeError, match=r"bomb\.pgm holds measurements of [\d,]+ bytes"):
            pypgm.load(tmp_path / "bomb.pgm", max_bytes=16 * MIB)

    assert peak_of(refused) < 8 * MIB


def test_arrays_of_queries_and_deviations_count_too(whole, tmp_path):
    for part in ("query", "stddev"):
        header, arrays = unpack(whole)
        own = header["measurements"][header["recipe"]["measurements"][0]]
        arrays["array 900"] = np.ones(MIB // 8)
        large = {ARRAY: "array 900"}
        for name in re.findall(r"array \d+", json.dumps(own[part])):
            del arrays[name]
        own[part] = {"class": "Partition", "arguments": [large]} if part == "query" else large
        for _ in range(40):
            header["recipe"] = header["recipe"] | {"prior_recipe": header["recipe"]}
        (tmp_path / "bomb.pgm").write_bytes(pack(header, arrays))
        with pytest.raises(ModelTooLargeError, match="holds measurements of"):
            pypgm.load(tmp_path / "bomb.pgm", max_bytes=16 * MIB)


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["release"]["measurements"].append(99),
        lambda header: header["release"]["measurements"].append(-1),
        lambda header: header["recipe"]["measurements"].append(header["recipe"]["measurements"][0]),
        lambda header: header["measurements"].append(dict(header["measurements"][0], values=[1], query=None)),
        lambda header: header.update(measurements=header["measurements"][:1]),
    ],
)
def test_numbers_of_measurements_are_those_there_are(whole, change, tmp_path):
    header, arrays = unpack(whole)
    change(header)
    (tmp_path / "odd.pgm").write_bytes(pack(header, arrays))
    with pytest.raises(ValueError, match=r"odd\.pgm: not a whole pypgm"):
        pypgm.load(tmp_path / "odd.pgm")


def test_large_arrays_are_compressed_where_they_shrink():
    rng = np.random.default_rng(0)
    arrays = {
        "noise": rng.normal(size=(3, 50_000)),
        "zeros": np.zeros(50_000),
        "counts": rng.integers(0, 9, 50_000),
        "transposed": rng.normal(size=(200, 300)).T,
        "empty": np.zeros((0, 7)),
        "few": rng.normal(size=5),
    }
    packed = archive_bytes({"format": FORMAT, "version": VERSION, **arrays})
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        laws = [info.compress_type for info in archive.infolist()[1:]]
    stored, deflated = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
    assert laws == [stored, deflated, deflated, stored, deflated, deflated]
    again = parsed(packed)
    for name, array in arrays.items():
        np.testing.assert_array_equal(again[name], array)
