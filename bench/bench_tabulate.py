"""Seconds to count records by pairs of columns, beside numpy.bincount on the numbers of their cells.

Run: python bench/bench_tabulate.py [--rows N]

numpy.bincount takes the mixed-radix cell number of each row: once with the time of making it from the columns, which is
the same work, and once given it. All run on one thread; a time is the median of seven; the counts are compared first.
The last lines count all 91 pairs of 14 columns in one call, on one and on two threads.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
from harness import median_seconds

import pypgm

SHAPES = {"small": (10, 10), "middle": (100, 100), "large": (1000, 1000)}


def pair(rows: int, shape: tuple[int, int], dtype: str) -> pypgm.Dataset:
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, size, rows).astype(dtype) for name, size in zip("ab", shape, strict=True)}
    return pypgm.Dataset(columns, pypgm.Domain(("a", "b"), shape))


def cell_numbers(data: pypgm.Dataset) -> np.ndarray:
    return data.columns["a"].astype(np.int64) * data.domain.shape[1] + data.columns["b"]


def bench_pair(rows: int, name: str, dtype: str) -> None:
    data = pair(rows, SHAPES[name], dtype)
    cells, n = cell_numbers(data), data.domain.size()
    if not np.array_equal(data.count([("a", "b")], n_threads=1)[0], np.bincount(cells, minlength=n)):
        raise SystemExit(f"{name} {dtype}: the counts differ from numpy.bincount")
    ours = median_seconds(lambda: data.count([("a", "b")], n_threads=1), 7)
    whole = median_seconds(lambda: np.bincount(cell_numbers(data), minlength=n), 7)
    given = median_seconds(lambda: np.bincount(cells, minlength=n), 7)
    size = "×".join(map(str, SHAPES[name]))
    print(
        f"{rows:>11,} rows  {dtype:>6}  {size:>9}  {ours * 1e3:9.3f} ms  {ours / rows * 1e9:5.2f} ns a row  "
        f"numpy.bincount {whole * 1e3:9.3f} ms (ratio {whole / ours:.2f}), given the cells {given * 1e3:9.3f} ms "
        f"(ratio {given / ours:.2f})"
    )


def bench_pairs_of_a_table(rows: int) -> None:
    rng = np.random.default_rng(0)
    domain = pypgm.Domain([f"x{i}" for i in range(14)], [20] * 14)
    data = pypgm.Dataset({name: rng.integers(0, 20, rows).astype(np.uint8) for name in domain}, domain)
    cliques = list(itertools.combinations(domain, 2))
    tables = [data.count(cliques, n_threads=n) for n in (1, 2)]
    if not all(np.array_equal(one, two) and one.sum() == rows for one, two in zip(*tables, strict=True)):
        raise SystemExit("the counts depend on the number of threads")
    for n in (1, 2):
        seconds = median_seconds(lambda n=n: data.count(cliques, n_threads=n), 3)
        print(f"{rows:>11,} rows  {len(cliques)} pairs of uint8, {n} thread{'s' * (n > 1)}  {seconds * 1e3:9.3f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    rows = parser.parse_args().rows
    bench_pair(10_000, "small", "int16")
    for name in SHAPES:
        bench_pair(rows, name, "int16")
    bench_pair(rows, "middle", "int64")
    bench_pairs_of_a_table(rows // 20)


if __name__ == "__main__":
    main()
