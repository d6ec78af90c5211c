"""Mutants of compressed files: a table and a network."""

from __future__ import annotations

import contextlib
import gzip
import random
import tempfile
import zlib
from pathlib import Path

import fuzz_bif
import fuzz_csv
import numpy as np
from mutating import mutated_bytes, mutated_text

import pypgm
from pypgm.bayes import BayesianNetwork

SUFFIX = ".gz"


def seeds() -> dict[str, bytes]:
    """Return a table and a network, and a table in two members."""
    table, net = fuzz_csv.table(10), fuzz_bif.seeds()["own"]
    parts = gzip.compress(table[:200], mtime=0) + gzip.compress(table[200:], mtime=0)
    return {"table": gzip.compress(table, mtime=0), "network": gzip.compress(net, mtime=0), "members": parts}


def mutated(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """Return a mutant of the bytes, or one of what is in them, packed again."""
    if rng.random() < 0.5:
        inner, words = mutated_text(rng, gzip.decompress(data), fuzz_csv.TOKENS)
        return gzip.compress(inner, mtime=0), f"inside: {words}"
    return mutated_bytes(rng, data)


def use(path: str) -> str:
    """Read a compressed file; it is what the bytes are that Python unpacks."""
    read = _network if b"network" in _start(path) else _table
    content = read(path)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain"
        plain.write_bytes(gzip.decompress(Path(path).read_bytes()))
        return "" if content == read(str(plain)) else "another content than what it unpacks to"


def _start(path: str) -> bytes:
    with contextlib.suppress(OSError, EOFError, zlib.error), gzip.open(path) as file:
        return file.read(20)
    return b""


def _table(path: str) -> object:
    data = pypgm.read_table(path, fuzz_csv.schema())
    return {a: np.asarray(c).tolist() for a, c in data.columns.items()}


def _network(path: str) -> object:
    net = BayesianNetwork.read_bif(path)
    return {a: table.values.tolist() for a, table in net.tables.items()}
