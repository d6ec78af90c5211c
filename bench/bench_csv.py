"""A CSV file of eight kinds of columns read by Arrow and by the plain reader, whose codes are compared first.

Run: python bench/bench_csv.py [--rows 500000]

Seconds are of the processor, of a file that was read once before.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import check, timed

import pypgm
from pypgm.data import Boolean, Categorical, Date, Integer, Real
from pypgm.data.sources import arrow_csv

CITIES = [f"city {i}" for i in range(300)]
SCHEMA = pypgm.Schema(
    {
        "age": Integer(0, 99, width=5),
        "sex": Categorical(["F", "M"]),
        "city": Categorical(CITIES),
        "income": Real(0, 1e6, bins=50, outside="clip"),
        "hours": Integer(0, 98),
        "joined": Date("2015-01-01", "2023-12-31", "month"),
        "active": Boolean(),
        "score": Real(0, 100, bins=20),
    }
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    print(compared(parser.parse_args().rows))


def compared(rows: int) -> str:
    """Return how long both readers take for a file of so many rows, once their codes are the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        _write(path, rows)
        pypgm.read_table(path, SCHEMA)  # once before
        by_arrow, fast = timed(pypgm.read_table, path, SCHEMA, clock=time.process_time)
        least, arrow_csv._LEAST = arrow_csv._LEAST, 1 << 60  # no file is large enough for Arrow
        plain, slow = timed(pypgm.read_table, path, SCHEMA, clock=time.process_time)
        arrow_csv._LEAST = least
    for name, codes in plain.columns.items():
        check(np.array_equal(by_arrow.columns[name], codes), f"the codes of {name} differ")
    size = f"{rows:,} rows x {len(SCHEMA.columns)} columns"
    return f"{size} of CSV: plain reader {slow:.2f} s, Arrow {fast:.2f} s, {slow / fast:.1f} x"


def _write(path: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    columns = [
        rng.integers(0, 100, n).astype(str),
        rng.choice(["F", "M"], n),
        rng.choice(CITIES, n),
        np.char.mod("%.2f", rng.lognormal(10, 1, n)),
        rng.integers(0, 99, n).astype(str),
        (np.datetime64("2015-01-01") + rng.integers(0, 3000, n)).astype(str),
        rng.choice(["true", "false"], n),
        np.char.mod("%.1f", rng.normal(50, 10, n).clip(0, 100)),
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(SCHEMA.columns)
        writer.writerows(zip(*columns, strict=True))


if __name__ == "__main__":
    main()
