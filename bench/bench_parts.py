"""A table in 64 Parquet files through the commands: `pypgm synth` on a pattern, as many records written back in parts.

Run: python bench/bench_parts.py [--rows 1000000 100000000] [--folder FOLDER]

Tables of 10^6 and 10^7 records, or as many as --rows says, of 16 columns (texts, codes, numbers, dates; one is open,
one has bins by quantiles) are made by DuckDB in a folder, which is removed again. Each command is a process of its own:
its seconds of processor and clock, and the most memory that it held. Records are checked first: in three columns, no
value may have a share that differs by 1 % of all records from its share in the table. Beside reading stands what
pyarrow takes to read the same files once, batch by batch. Needs the extra `[duckdb]`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow.dataset
from harness import check

FILES = 64
_HIDDEN = "hash(i) % 9"  # what makes columns depend on each other


def _mixed(k: int, n: int) -> str:
    return f"CAST(({_HIDDEN} * {k + 1} + hash(i + {k}) % {n} * (hash(i * 31 + {k}) % 2)) % {n} AS INTEGER)"


_WAGE = f"CAST(hash(i + 99) % 1000000 * (1 + {_HIDDEN}) / 900.0 AS DOUBLE)"
COLUMNS: dict[str, tuple[str, object]] = {  # the value of record i in SQL, and its declaration
    **{f"code{k}": (_mixed(k, 3 + k), 3 + k) for k in range(6)},
    **{f"text{k}": (f"'v' || {_mixed(k, 5 + k)}", [f"v{i}" for i in range(5 + k)]) for k in range(3)},
    "age": (_mixed(7, 100), {"kind": "integer", "low": 0, "high": 99, "width": 10}),
    "hours": (_mixed(8, 80), {"kind": "integer", "low": 0, "high": 79, "width": 8}),
    "price": (f"{_mixed(9, 1000)} / 10.0", {"kind": "real", "low": 0, "high": 100, "bins": 10}),
    "seen": (
        f"DATE '2020-01-01' + {_mixed(10, 1461)}",
        {"kind": "date", "low": "2020-01-01", "high": "2023-12-31", "resolution": "year"},
    ),
    "flag": (f"{_mixed(11, 2)} = 1", {"kind": "boolean", "values": ["false", "true"]}),
    "job": (f"'job' || {_mixed(12, 300)}", {"kind": "open", "share": 0.1}),
    "wage": (_WAGE, {"kind": "real", "low": 0, "high": 10000, "bins": {"quantiles": 16, "share": 0.1}}),
}
CHECKED = ("code0", "text2", "flag")


class Cost(NamedTuple):
    """What a process took."""

    cpu: float  # seconds
    wall: float  # seconds
    peak: float  # bytes


def main() -> None:
    """Print lines for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            for line in _lines(Path(folder), rows):
                print(line, flush=True)


def _lines(folder: Path, rows: int) -> Iterator[str]:
    """Make a table, and yield lines of what the commands take."""
    n_bytes = _make(folder / "table", rows)
    (folder / "schema.json").write_text(
        json.dumps({"columns": {name: column for name, (_, column) in COLUMNS.items()}})
    )
    pattern, release, written = str(folder / "table" / "*.parquet"), folder / "t.pgm", folder / "synthetic"
    read = _pyarrow(folder / "table")
    first = ["--schema", str(folder / "schema.json"), "--epsilon", "1", "--delta", "1e-9", "--rows", "1000"]
    files = ["--out", str(folder / "few.parquet"), "--release", str(release), "--quiet"]
    synth = _cost("synth", pattern, *first, *files)
    yield f"{rows:,} records in {FILES} files, {n_bytes / 2**20:,.0f} MiB"
    yield f"  synth: {_shown(synth, rows)}; {synth.cpu / read:.1f} times what pyarrow takes to read them once"
    sample = _cost("sample", str(release), "--rows", str(rows), "--out", str(written), "--parts", str(FILES), "--quiet")
    distance = _distance(folder / "table", written, rows)
    yield f"  sample: {_shown(sample, rows)}; shares differ by {distance:.5f} at most"


def _make(folder: Path, rows: int) -> int:
    """Write a table in parts, and return its bytes."""
    folder.mkdir()
    columns = ", ".join(f"{sql} AS {name}" for name, (sql, _) in COLUMNS.items())
    with duckdb.connect() as connection:
        for part in range(FILES):
            some = f"range({rows * part // FILES}, {rows * (part + 1) // FILES}) AS r(i)"
            connection.execute(f"COPY (SELECT {columns} FROM {some}) TO '{folder}/{part:03}.parquet'")
    return sum(path.stat().st_size for path in folder.iterdir())


def _pyarrow(folder: Path) -> float:
    """Return the processor seconds in which pyarrow reads all columns, batch by batch."""
    start = time.process_time()
    for _ in pyarrow.dataset.dataset(folder).to_batches():
        pass
    return time.process_time() - start


def _cost(*words: str) -> Cost:
    """Run a command in a process of its own."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "pypgm", *words])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, f"{words[0]} ended with status {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, time.perf_counter() - start, 1024.0 * usage.ru_maxrss)


def _shown(cost: Cost, rows: int) -> str:
    return (
        f"{cost.cpu:,.1f} processor seconds, {1e6 * cost.cpu / rows:.2f} µs a record, in {cost.wall:,.1f} s; "
        f"{cost.peak / 2**30:.2f} GiB at most"
    )


def _distance(table: Path, written: Path, rows: int) -> float:
    """Return the largest difference of a value's share in two folders."""
    worst = 0.0
    with duckdb.connect() as connection:
        for name in CHECKED:
            found: list[dict[str, int]] = []
            for folder in (table, written):
                of_values = f"SELECT CAST({name} AS VARCHAR), count(*) FROM '{folder}/*.parquet' GROUP BY 1"
                found.append(dict(connection.execute(of_values).fetchall()))
            real, drawn = found
            check(sum(real.values()) == sum(drawn.values()) == rows, f"{sum(drawn.values())} records were written")
            worst = max(worst, *(abs(real.get(v, 0) - drawn.get(v, 0)) / rows for v in real.keys() | drawn.keys()))
    check(worst < 0.01, f"shares differ by {worst}")
    return worst


if __name__ == "__main__":
    main()
