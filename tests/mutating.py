"""Mutants of files of text and of bytes, for the formats of the fuzzer."""

from __future__ import annotations

import gzip
import os
import random
import re
from collections.abc import Sequence
from pathlib import Path

_WORD = re.compile(rb"[^\s,;:\[\]{}()\"]+")

NUMBERS = [b"0", b"-0", b"1", b"-1", b"2", b"0.5", b"-0.1", b"1e-300", b"5e-324", b"1e308", b"1e400", b"-1e400", b"nan"]
NUMBERS += [b"NaN", b"inf", b"Infinity", b"1_0", b"+1", b"0x10", b"1e", b"99999999999999999999", b"2147483648"]
NUMBERS += [b"9007199254740993", b"1e999999999", b"9" * 700, b"9" * 5000, "\u0661".encode(), b"1000000", b"1000000000"]
ODD = [
    b"",
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\r",
    b"\r\n",
    b"\n",
    b"\t",
    b" ",
    b"\x1a",
    b"\x85",
    b"\x0b",
]
ODD += ["\u2028".encode(), "\u00a0".encode(), "\u202e".encode(), "é".encode(), b"\x1b[2J", b" " * 3000, b"x" * 140_000]
BYTES = [b"\x00", b"\xff", b"\x7f", b"\x80", b"\xff" * 4, b"\xff" * 8, b"\x7f\xff\xff\xff", b"\x00" * 64]


def data_files(pattern: str, most: int) -> dict[str, bytes]:
    """Return files of the data folder, unpacked, of at most so many bytes; none where there is no such folder."""
    folder = os.environ.get("PYPGM_DATA")
    files = {}
    for path in sorted(Path(folder).glob(pattern)) if folder else ():
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        if len(data) <= most and data not in files.values():
            files[path.name] = data
    return files


def mutated_text(rng: random.Random, data: bytes, tokens: Sequence[bytes]) -> tuple[bytes, str]:
    """Return a text with words replaced, and parts put in, left out, repeated or moved; and what was done.

    A word becomes a token or, as often, another word of the text: many such texts are files of their format.
    """
    changes = []
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        token = rng.choice(tokens)
        how = rng.choice(["word", "word", "own word", "own word", "line", "insert", "move", "bytes"])
        words = list(_WORD.finditer(data)) if "word" in how else []
        place = rng.randrange(len(data) + 1)
        if words:
            word = rng.choice(words)
            token = rng.choice(words)[0] if how == "own word" else token
            data = data[: word.start()] + token + data[word.end() :]
            changes.append(f"{word[0][:15]!r} is {token[:20]!r}")
        elif how == "line":
            lines = data.splitlines(keepends=True) or [b""]
            first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[first : first + 1] = rng.choice([[], [lines[second]], [lines[second], lines[first]]])
            data = b"".join(lines)
            changes.append(f"line {first} gone, or line {second}")
        elif how == "insert":
            data = data[:place] + token + data[place:]
            changes.append(f"{token[:20]!r} at {place}")
        elif how == "move":
            first, second = sorted((place, rng.randrange(len(data) + 1)))
            third = min(len(data), second + rng.choice([1, 5, 40]))
            data = data[:first] + data[second:third] + data[first:second] + data[third:]
            changes.append(f"{second}:{third} to {first}")
        else:
            data, one = mutated_bytes(rng, data)
            changes.append(one)
    return data, "; ".join(changes)


def mutated_bytes(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """Return bytes with some changed, put in, left out or repeated, or the end cut off; and what was done."""
    place = rng.randrange(len(data) + 1)
    end = min(len(data), place + rng.choice([1, 2, 5, 20, 100]))
    how = rng.choice(["bit", "bit", "put", "gone", "twice", "cut"])
    if how == "bit" and place < len(data):
        changed = bytes([data[place] ^ 1 << rng.randrange(8)])
        return data[:place] + changed + data[place + 1 :], f"a bit of {place}"
    if how == "put":
        more = rng.choice(BYTES)
        return data[:place] + more + data[place:], f"{more[:8]!r} at {place}"
    if how == "gone":
        return data[:place] + data[end:], f"without {place}:{end}"
    if how == "twice":
        return data[:end] + data[place:], f"{place}:{end} twice"
    return data[:place], f"cut at {place}"
