"""Mutants of tables in Parquet."""

from __future__ import annotations

import io
import random
from functools import cache

import fuzz_csv
import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
from mutating import mutated_bytes

import pypgm
from pypgm.data.sources.frames import as_columns
from pypgm.data.sources.source import open_source, value_texts
from pypgm.errors import ReadingError

SUFFIX = ".parquet"


@cache
def seeds() -> dict[str, bytes]:
    """Return tables of several lengths, packed and not, with numbers, texts, dates, truth values and nulls."""
    made = {}
    for n, packing in ((5, "none"), (20, "snappy"), (20, "gzip")):
        table, buffer = pyarrow.csv.read_csv(io.BytesIO(fuzz_csv.table(n))), io.BytesIO()
        pyarrow.parquet.write_table(table, buffer, compression=packing)
        made[f"{n} rows, {packing}"] = buffer.getvalue()
    return made


seeds()  # what pyarrow sets aside at its first work is no answer to an input


def mutated(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """Return a mutant of the bytes, half of the time of the description at the end."""
    if rng.random() < 0.5:
        return mutated_bytes(rng, data)
    size = int.from_bytes(data[-8:-4], "little")
    place = len(data) - 8 - rng.randrange(size)
    more = bytes([rng.choice([0, 1, 0x7F, 0x80, 0xFF, data[place] ^ 1 << rng.randrange(8)])])
    return data[:place] + more + data[place + 1 :], f"{more!r} for {data[place]} at {place}"


def use(path: str) -> str:
    """Read a table by its schema and as texts, and draft its schema."""
    try:
        data = pypgm.read_table(path, fuzz_csv.schema())
    except ValueError as error:
        if type(error) not in (ValueError, ReadingError):
            raise
        for piece in open_source(path).pieces():
            for name, values in as_columns(piece).items():
                value_texts(path, name, values)
        return fuzz_csv.wrong_draft(path)
    whole = fuzz_csv.schema().encode(pyarrow.parquet.read_table(path, columns=list(data.columns)))
    same = all(np.array_equal(whole.columns[a], data.columns[a]) for a in data.columns)
    return fuzz_csv.wrong_draft(path) if same else "other records than pyarrow reads"
