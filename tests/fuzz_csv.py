"""Mutants of tables in CSV: read whole, read in pieces, drafted, written and read again."""

from __future__ import annotations

import random
import tempfile
from functools import cache, partial
from pathlib import Path

import fuzz_schema
import numpy as np
from mutating import NUMBERS, ODD, mutated_text

import pypgm
from pypgm.data import scan
from pypgm.data.draft import draft_schema

SUFFIX = ".csv"
TOKENS = [
    *NUMBERS,
    *ODD,
    b'"',
    b'""',
    b",",
    b";",
    b"NULL",
    b"None",
    b"2020-02-30",
    b"2020-06-01",
    b"," * 300,
    b"TRUE",
    b"5.",
]
TOKENS += [
    b"5.0",
    b"05",
    b"F",
    b"M",
    b"cook",
    b'\\"',
    b"1,5",
    b"-999",
    b'"a\nb"',
    b'"a\rb"',
    b"0001-01-01",
    b"31.12.2020",
]


@cache
def schema() -> pypgm.Schema:
    """Return the schema of the tables."""
    return pypgm.Schema.from_dict({name: column for name, column in fuzz_schema.SCHEMA.items() if name != "rules"})


def seeds() -> dict[str, bytes]:
    """Return tables of a few and of many rows."""
    return {f"{n} rows": table(n) for n in (1, 5, 40)}


def table(n: int) -> bytes:
    """Return the text of a table."""
    rng, lines = random.Random(n), ["id,age,sex,pay,day,ok,job,k"]
    for i in range(n):
        day = f"2020-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}" if i % 7 else ""
        words = [
            i,
            rng.randrange(100),
            rng.choice("FM"),
            f"{rng.random() * 100:.2f}",
            day,
            rng.choice(["true", "false"]),
        ]
        lines.append(",".join(map(str, [*words, rng.choice(["cook", '"x,y"', "é", "zz"]), rng.randrange(3)])))
    return ("\n".join(lines) + "\n").encode()


mutated = partial(mutated_text, tokens=TOKENS)


def use(path: str) -> str:
    """Read a table in all ways."""
    return wrong_with(path) or wrong_draft(path)


def wrong_with(path: str) -> str:
    """Return what is wrong with a table that was read by the schema."""
    known = schema()
    try:
        data = pypgm.read_table(path, known)
    except ValueError as error:
        return _check_refused(path, error)
    cliques = [(a,) for a in known.domain]
    if any((a != b).any() for a, b in zip(scan(path, known).count(cliques), data.count(cliques), strict=True)):
        return "other counts where it is read in pieces"
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder) / "again.csv"
        pypgm.write_table(data, again, known, rng=0)
        read = pypgm.read_table(again, known)
    same = all(np.array_equal(read.columns[a], data.columns[a]) for a in known.domain)
    return "" if same else "other records after they are written and read again"


def _check_refused(path: str, error: ValueError) -> str:
    if type(error) is not ValueError:
        raise error
    try:
        scan(path, schema())
    except ValueError:
        return ""
    return "refused whole, and read in pieces"


def wrong_draft(path: str) -> str:
    """Return what is wrong with the draft of a table's schema."""
    drafted = pypgm.Schema.from_dict(draft_schema(path))
    if drafted.open:
        return ""
    try:
        pypgm.read_table(path, drafted)
    except ValueError as error:
        return f"a draft that its own table does not fit: {error}"
    return ""
