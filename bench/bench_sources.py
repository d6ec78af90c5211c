"""A table that is not in memory: read from CSV, counted in DuckDB and in Spark, released by `wide` in one call.

Run: PYPGM_DATA=... python bench/bench_sources.py [--rows 100000000] [--columns 16] [--folder FOLDER] [--memory 4GB]
     [--largest 6]

It prints how much faster Arrow reads a CSV file than the plain reader (`bench_csv`), what a column of each kind costs
in each source and how that grows (`bench_source_kinds`, up to 10^LARGEST records), how often each mechanism reads a
table, and how many jobs of Spark `wide` takes to count adult (needs the extra `[spark]`, Java and PYPGM_DATA; left out
without them). The table of columns of 2 to 20 values is written once to FOLDER (kept, and taken again), as a table of a
DuckDB file. Counts of some pairs are compared with DuckDB's own group by before anything is timed. Beside the counts
stand a plain scan of the same columns by DuckDB (the sum of each), and in memory NumPy's sum of each column: what
reading alone takes. The limit of memory is DuckDB's; the most the process held is printed.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import os
import resource
import shutil
import tempfile
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow
import pyarrow.parquet
from bench_csv import compared
from bench_source_kinds import by_kind, growth
from harness import timed

import pypgm
from pypgm.data import EngineTable, scan


def main() -> None:
    import duckdb

    arguments = _arguments()
    print(compared(500_000))
    for line in itertools.chain(by_kind(100_000), growth(arguments.largest)):
        print(line)
    print(_later_pass(1_000_000))
    print(_jobs())
    folder = Path(arguments.folder or tempfile.mkdtemp())
    names = [f"x{i}" for i in range(arguments.columns)]
    sizes = [2 + (7 * i) % 19 for i in range(arguments.columns)]
    domain = pypgm.Domain(dict(zip(names, sizes, strict=True)))
    pairs = list(itertools.combinations(names, 2))
    path = folder / f"{len(domain)}-{arguments.rows}.duckdb"
    if not path.exists():
        _write(duckdb, path, domain, arguments.rows)
    with duckdb.connect(str(path), read_only=True, config={"memory_limit": arguments.memory}) as connection:
        relation = connection.table("people")
        print(f"times that each mechanism reads a table, once it is open: {_passes(relation, domain)}")
        table, opened = timed(scan, relation, domain)
        tables, counted = timed(table.count, pairs)
        _check(relation, domain, pairs, tables, table.n_records)
        _, scanned = timed(lambda: relation.aggregate(", ".join(f"sum({n})" for n in names)).fetchall())
    whole = f"{arguments.rows:,} rows, {arguments.columns} columns in DuckDB"
    print(
        f"{whole}, {len(pairs)} pairs: {counted:.1f} s in one pass ({opened:.1f} s to open, which checks all values); "
        f"DuckDB's sums {scanned:.1f} s"
    )
    schema = dict(zip(names, sizes, strict=True))
    release, released = timed(pypgm.synthesize, path, schema, epsilon=1, delta=1e-9, table="people")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{whole}: pypgm.synthesize by wide {released:.1f} s, {len(release.measurements)} measurements, "
        f"{peak:.1f} GiB at most"
    )
    rows = min(arguments.rows, 10_000_000)
    rng = np.random.default_rng(0)
    data = pypgm.Dataset({a: rng.integers(0, domain.size(a), rows, dtype=np.int16) for a in domain}, domain)
    _, in_memory = timed(data.count, pairs)
    _, summed = timed(lambda: [column.sum() for column in data.columns.values()])
    print(
        f"{rows:,} rows of int16 in memory, {len(pairs)} pairs: {in_memory:.2f} s; sums of the columns {summed:.2f} s"
    )


def _later_pass(rows: int) -> str:
    """Return what a pass over 16 Parquet files takes when the table is opened, and later, from its codes."""
    rng = np.random.default_rng(0)
    texts, numbers = [f"v{i}" for i in range(12)], pypgm.data.Integer(0, 99, width=10)
    schema = pypgm.Schema({f"c{i}": numbers if i % 3 else pypgm.data.Categorical(texts) for i in range(12)})
    columns = {a: rng.integers(0, 100, rows) if i % 3 else rng.choice(texts, rows) for i, a in enumerate(schema.domain)}
    with tempfile.TemporaryDirectory() as folder:
        whole = pyarrow.table(columns)
        for i in range(16):
            start, end = rows * i // 16, rows * (i + 1) // 16
            pyarrow.parquet.write_table(whole.slice(start, end - start), f"{folder}/{i:02}.parquet")
        table, opening = timed(scan, folder, schema)
        pairs = list(itertools.combinations(schema.domain, 2))
        parts, reading = timed(lambda: list(table.codes_of(schema.domain.attributes)))
        triple, counting = timed(table.count, [schema.domain.attributes[:3]])
    encoded = schema.encode(columns)
    for name, codes in encoded.columns.items():
        if not np.array_equal(np.concatenate([part[name] for part in parts]), codes):
            raise AssertionError(f"the codes of {name} are not those of memory")
    for clique, cells in [(schema.domain.attributes[:3], triple[0]), *zip(pairs, table.count(pairs), strict=True)]:
        if not np.array_equal(cells, encoded.count([clique])[0]):
            raise AssertionError(f"the counts of {clique} are not those of memory")
    return (
        f"{rows:,} rows, 12 columns in 16 Parquet files: {opening:.2f} s to open and count all pairs; later "
        f"{reading:.3f} s to read all codes ({opening / reading:.0f} times less), {counting:.3f} s for a triple"
    )


def _jobs() -> str:
    """Return how many jobs a local Spark runs for `wide` on adult, those that open the table apart."""
    data = os.environ.get("PYPGM_DATA")
    if not data or not importlib.util.find_spec("pyspark") or not shutil.which("java"):
        return "jobs of Spark: not counted, which needs pyspark, Java and PYPGM_DATA"
    from pyspark.sql import SparkSession

    domain = pypgm.Domain(json.loads((Path(data) / "adult" / "domain.json").read_text()))
    records = pypgm.read_table(Path(data) / "adult" / "adult.csv.gz", domain)
    with tempfile.TemporaryDirectory() as folder:
        pyarrow.parquet.write_table(pyarrow.table(dict(records.columns)), f"{folder}/adult.parquet")
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.warehouse.dir", folder).getOrCreate()
        tracker = session.sparkContext.statusTracker()
        table = EngineTable(ibis.pyspark.connect(session).read_parquet(f"{folder}/adult.parquet"), domain)
        opening = len(tracker.getJobIdsForGroup())
        _, seconds = timed(pypgm.mechanisms.wide, table, epsilon=1, delta=1e-9)
        jobs = len(tracker.getJobIdsForGroup()) - opening
        session.stop()
    return f"wide on adult through a local Spark: {jobs} jobs ({opening} more to open it), {seconds:.1f} s"


def _passes(relation: Any, domain: pypgm.Domain) -> str:
    """Return how many passes each mechanism makes over some of the records, besides that which opens them."""
    counts = []
    for name in ("wide", "mst", "aim", "mwem", "adaptive_grid", "hdmm"):
        table = scan(relation.limit(100_000), domain)
        passes: list[int] = []
        counted = table._scan
        table._scan = lambda *given, scan=counted, seen=passes: (seen.append(1), scan(*given))  # type: ignore[method-assign]
        getattr(pypgm.mechanisms, name)(table, epsilon=1, delta=1e-9, unsafe_seed=0)
        counts.append(f"{name} {len(passes)}")
    return ", ".join(counts)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A table that is not in memory.")
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--columns", type=int, default=16)
    parser.add_argument("--folder")
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--largest", type=int, default=6)
    return parser.parse_args()


def _write(duckdb: Any, path: Path, domain: pypgm.Domain, rows: int) -> None:
    """Make up a table in a file."""
    sizes = zip(domain, domain.shape, strict=True)
    columns = ", ".join(f"(random() * random() * {n})::smallint % {n} as {a}" for a, n in sizes)
    with duckdb.connect(str(path)) as connection:
        connection.sql(f"create table people as select {columns} from range({rows})")


def _check(relation: Any, domain: pypgm.Domain, pairs: list[tuple[str, str]], tables: list[Any], rows: int) -> None:
    for pair, table in list(zip(pairs, tables, strict=True))[:: max(1, len(pairs) // 3)]:
        expected = np.zeros(domain.size(pair), np.int64)
        for one, other, count in relation.aggregate(f"{pair[0]}, {pair[1]}, count(*)").fetchall():
            expected[one * domain.size((pair[1],)) + other] = count
        if not np.array_equal(table, expected) or table.sum() != rows:
            raise AssertionError(f"the counts of {pair} are not DuckDB's")


if __name__ == "__main__":
    main()
