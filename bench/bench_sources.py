"""All pairs of a table counted where it is: Parquet files through DuckDB in one pass, and columns in memory.

Run: PYPGM_DATA=... python bench/bench_sources.py [--rows 10000000] [--columns 16] [--folder FOLDER] [--memory 4GB]

A table of columns of 2 to 20 values is written once to FOLDER (kept, and taken again). Counts of some pairs are
compared with DuckDB's own group by before anything is timed. Beside the counts stand a plain scan of the same columns
by DuckDB (the sum of each), and in memory NumPy's sum of each column: what reading alone takes. The limit of memory is
DuckDB's; the most the process held is printed.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pypgm
from pypgm.data import scan

_FILE_ROWS = 10_000_000


def main() -> None:
    import duckdb

    asked = _arguments()
    folder = Path(asked.folder or tempfile.mkdtemp())
    names = [f"x{i}" for i in range(asked.columns)]
    sizes = [2 + (7 * i) % 19 for i in range(asked.columns)]
    domain = pypgm.Domain(dict(zip(names, sizes, strict=True)))
    pairs = list(itertools.combinations(names, 2))
    paths = _written(duckdb, folder, domain, asked.rows)
    connection = duckdb.connect(config={"memory_limit": asked.memory})
    relation = connection.read_parquet([str(p) for p in paths])
    opened, table = _timed(lambda: scan(relation, domain))
    counted, tables = _timed(lambda: table.count(pairs))
    _check(relation, domain, pairs, tables, table.n_records)
    scanned, _ = _timed(lambda: relation.aggregate(", ".join(f"sum({n})" for n in names)).fetchall())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{asked.rows:,} rows, {asked.columns} columns in Parquet, {len(pairs)} pairs: {counted:.1f} s in one pass "
        f"({opened:.1f} s to open, which checks all values); DuckDB's sums {scanned:.1f} s; {peak:.1f} GiB at most"
    )
    print(f"passes of each mechanism over 100,000 records: {_passes(relation, domain)}")
    rows = min(asked.rows, _FILE_ROWS)
    rng = np.random.default_rng(0)
    data = pypgm.Dataset({a: rng.integers(0, domain.size(a), rows, dtype=np.int16) for a in domain}, domain)
    in_memory, _ = _timed(lambda: data.count(pairs))
    summed, _ = _timed(lambda: [column.sum() for column in data.columns.values()])
    print(
        f"{rows:,} rows of int16 in memory, {len(pairs)} pairs: {in_memory:.2f} s; sums of the columns {summed:.2f} s"
    )


def _passes(relation: Any, domain: pypgm.Domain) -> str:
    """Return how many passes each mechanism makes over some of the records, besides that which opens them."""
    told = []
    for name in ("wide", "mst", "aim", "mwem", "adaptive_grid", "hdmm"):
        table = scan(relation.limit(100_000), domain)
        passes: list[int] = []
        counted = table._scan
        table._scan = lambda *asked, scan=counted, seen=passes: (seen.append(1), scan(*asked))  # type: ignore[method-assign]
        getattr(pypgm.mechanisms, name)(table, epsilon=1, delta=1e-9, unsafe_seed=0)
        told.append(f"{name} {len(passes)}")
    return ", ".join(told)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="All pairs of a table counted where it is.")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=16)
    parser.add_argument("--folder")
    parser.add_argument("--memory", default="4GB")
    return parser.parse_args()


def _written(duckdb: Any, folder: Path, domain: pypgm.Domain, rows: int) -> list[Path]:
    """Return the files of a made-up table."""
    paths = []
    for first in range(0, rows, _FILE_ROWS):
        path = folder / f"{len(domain)}-{first}.parquet"
        own = min(_FILE_ROWS, rows - first)
        if not path.exists():
            sizes = zip(domain, domain.shape, strict=True)
            columns = ", ".join(f"(random() * random() * {n})::smallint % {n} as {a}" for a, n in sizes)
            duckdb.sql(f"copy (select {columns} from range({own})) to '{path}' (format parquet)")
        paths.append(path)
    return paths


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    found = run()
    return time.perf_counter() - began, found


def _check(relation: Any, domain: pypgm.Domain, pairs: list[tuple[str, str]], tables: list[Any], rows: int) -> None:
    for pair, table in list(zip(pairs, tables, strict=True))[:: max(1, len(pairs) // 3)]:
        expected = np.zeros(domain.size(pair), np.int64)
        for one, other, count in relation.aggregate(f"{pair[0]}, {pair[1]}, count(*)").fetchall():
            expected[one * domain.size((pair[1],)) + other] = count
        if not np.array_equal(table, expected) or table.sum() != rows:
            raise AssertionError(f"the counts of {pair} are not DuckDB's")


if __name__ == "__main__":
    main()
