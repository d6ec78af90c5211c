"""Records of adult written in parts: records a CPU second and memory, beside pyarrow writing the same columns.

Run: PYPGM_DATA=... python bench/bench_write.py [--rows 100000000] [--mechanisms mst,wide] [--folder FOLDER]

First the answers: two parts hold the records of one file, and records in blocks are no further from the model than one
draw of as many (mean total variation of all pairs). Then tables of growing size are written, each ten times the one
before, to a folder of a part for each million records, which is removed again. Memory is what the peak grew by. The
peer writes the same columns in pieces of the same size from memory, where they lie already: what writing alone takes.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
from harness import check, table

import pypgm
from pypgm import Dataset
from pypgm.data.sources.parquet import ROWS

LEAST, BESIDE = 100_000, 1_000_000


def main() -> None:
    """Check, then print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--mechanisms", default="mst,wide")
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp())
    for name in arguments.mechanisms.split(","):
        release = getattr(pypgm.mechanisms, name)(table("adult"), epsilon=1, delta=1e-9, unsafe_seed=0)
        print(f"{name}: {_distances(release.model)}; parts are one table: {_is_one(release, folder / 'same')}")
        peer = _peer(release, folder / "peer.parquet")
        print(f"pyarrow: {1e-6 / peer:.2f} million records a CPU second")
        rows = LEAST
        while rows <= arguments.rows:
            seconds, memory = _written(release, folder / "parts", rows)
            print(
                f"{rows:>11,} records: {1e-6 / seconds:.2f} million a CPU second, {seconds / peer:.1f} times as long "
                f"as pyarrow; {memory / 2**20:,.0f} MiB more memory",
                flush=True,
            )
            rows *= 10


def _distances(model: Any) -> str:
    """Return the mean total variation of all pairs from the model, of one draw and of blocks."""
    pairs = list(itertools.combinations(model.domain, 2))
    shares = [answer.values / model.total for answer in model.project_many(pairs)]

    def distance(data: Dataset) -> float:
        found = [data.project(pair).values / len(data) for pair in pairs]
        return float(np.mean([np.abs(a - b).sum() / 2 for a, b in zip(found, shares, strict=True)]))

    blocks = [block.data.columns for block in model.blocks(BESIDE, 0)(0, -(-BESIDE // 2**17))]
    joined = Dataset({a: np.concatenate([block[a] for block in blocks]) for a in model.domain}, model.domain)
    one, in_blocks = distance(model.synthetic_data(BESIDE, 0)), distance(joined)
    check(in_blocks < 1.05 * one, f"{in_blocks} in blocks, {one} in one draw")
    return f"distance of {BESIDE:,} records from the model {in_blocks:.5f} in blocks, {one:.5f} in one draw"


def _is_one(release: pypgm.Release[Any], folder: Path) -> bool:
    release.write(folder, 300_000, 0, parts=2)
    release.write(folder / "_one.parquet", 300_000, 0)
    parts = pyarrow.concat_tables([pyarrow.parquet.read_table(path) for path in sorted(folder.glob("part-*"))])
    is_one = bool(parts.equals(pyarrow.parquet.read_table(folder / "_one.parquet")))
    shutil.rmtree(folder)
    check(is_one, "parts are not one table")
    return is_one


def _peer(release: pypgm.Release[Any], path: Path) -> float:
    """Return the CPU seconds that pyarrow takes to write a record."""
    whole = release.to_frame(BESIDE, 0, library="pyarrow")
    start = time.process_time()
    with pyarrow.parquet.ParquetWriter(path, whole.schema) as writer:
        for begin in range(0, BESIDE, ROWS):
            writer.write_table(whole.slice(begin, ROWS))
    seconds = time.process_time() - start
    path.unlink()
    return seconds / BESIDE


def _written(release: pypgm.Release[Any], folder: Path, rows: int) -> tuple[float, float]:
    """Write a table in parts; return the CPU seconds of a record, and the bytes that the peak grew by."""
    before, start = _held("VmRSS", reset=True), time.process_time()
    release.write(folder, rows, 0, parts=max(1, rows // 1_000_000))
    seconds, memory = (time.process_time() - start) / rows, _held("VmHWM") - before
    shutil.rmtree(folder)
    return seconds, memory


def _held(what: str, *, reset: bool = False) -> float:
    """Return the bytes that the process holds, or held at most since the last reset; NaN where the system hides it."""
    if sys.platform != "linux":
        return float("nan")
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith(what))


if __name__ == "__main__":
    main()
