"""How time and memory grow, an axis at a time: records, columns, values of a column, cliques, epsilon.

Run: python bench/bench_growth.py [--axes records,columns,values,cliques,epsilon] [--largest 8]

    records   `synthesize` of 10^4, 10^5, … records of a Parquet file of 12 columns, up to 10^LARGEST (7 by default)
    columns   `wide`, all pairs of 10 to 1,000 binary columns, 5,000 records
    values    `wide` and its records: a column of 2 to 10^5 values beside four small ones, 50,000 records
    cliques   `estimate` from 10 to 10^5 measured pairs of 1,000 attributes, by region graphs, 20 iterations
    epsilon   `wide` and its records at .1 to 100: 12 columns of 2 to 31 values, 50,000 records

Each size is a process of its own: CPU seconds of the job, without imports and made-up input, and the most memory that
the process held. Answers are checked before they count. Beside each size stands the exponent by which its seconds grew
from the one before: ratio of the seconds = (ratio of the work)^exponent. The work is the size, but of columns their
pairs. More than 1.3 is a cliff, and so is a ratio of seconds above 3 between two epsilons. What takes less than .05 s
counts as .05: the exponents of noise say nothing. The axis of records needs the extra `[parquet]`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import harness
import numpy as np
from harness import binary, check, check_spent, total_variation

if TYPE_CHECKING:
    import pypgm

MOST_EXPONENT = 1.3
MOST_RATIO_OF_EPSILONS = 3.0
LEAST_SECONDS = 0.05
SIZES = [2, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 31]
timed = partial(harness.timed, clock=time.process_time)


class Axis(NamedTuple):
    """A job at several sizes."""

    job: Callable[[float], float]  # from the size to CPU seconds
    sizes: list[float]
    work: Callable[[float], float] = float  # what the seconds should grow with


def main() -> None:
    """Print a line for each size of each axis."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--axes", default=",".join(AXES))
    parser.add_argument("--largest", type=int, default=7, help="records: the power of ten of the largest file")
    parser.add_argument("--one", nargs=2, metavar=("AXIS", "SIZE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        axis, size = arguments.one
        seconds = AXES[axis].job(float(size))
        print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
        return
    columns = {"axis": "", "size": ",.6g", "CPU s": ".2f", "MiB": ",.0f", "exponent": ".2f", "cliff": ""}
    sizes = {name: AXES[name].sizes for name in arguments.axes.split(",")}
    if "records" in sizes:
        sizes["records"] = [10.0**k for k in range(4, arguments.largest + 1)]
    harness.print_table(columns, itertools.chain.from_iterable(map(_lines, sizes, sizes.values())))


def _lines(axis: str, sizes: list[float]) -> Iterator[list[object]]:
    before: tuple[float, float] | None = None
    for size in sizes:
        command = [sys.executable, __file__, "--one", axis, str(size)]
        seconds, mib = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
        now, exponent, cliff = (AXES[axis].work(size), max(seconds, LEAST_SECONDS)), None, ""
        if before:
            ratio = now[1] / before[1]
            exponent = math.log(ratio) / math.log(now[0] / before[0])
            over = max(ratio, 1 / ratio) > MOST_RATIO_OF_EPSILONS if axis == "epsilon" else exponent > MOST_EXPONENT
            cliff = "CLIFF" if over else ""
        before = now
        yield [axis, size, seconds, mib, exponent, cliff]


def dependent(sizes: list[int], n: int) -> pypgm.Dataset:
    """Return records of columns that depend on a hidden one."""
    import pypgm

    rng = np.random.default_rng(0)
    hidden, columns = rng.random(n), {}
    for i, size in enumerate(sizes):
        own = np.where(rng.random(n) < 0.5, hidden, rng.random(n))
        columns[f"x{i}"] = (own**2 * size).astype(np.int64)
    return pypgm.Dataset(columns, pypgm.Domain(list(columns), sizes))


def of_records(n: float) -> float:
    """Return the seconds of a release of a Parquet file; its records are not drawn."""
    import pyarrow
    from pyarrow import parquet

    import pypgm

    block = dependent(SIZES, 10**6 if n > 10**6 else int(n))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        rows = pyarrow.table({a: pyarrow.array(codes.astype(np.int32)) for a, codes in block.columns.items()})
        with parquet.ParquetWriter(path, rows.schema) as writer:
            for _ in range(int(n) // len(block)):
                writer.write_table(rows)
        release, seconds = timed(pypgm.synthesize, path, block.domain, 1, 1e-9, unsafe_seed=0)
    check_spent(release)
    check(abs(release.model.total / n - 1) < 0.05, "the number of records is far off")
    _check_model(block, release)
    return seconds


def of_columns(columns: float) -> float:
    """Return the seconds of all pairs of binary columns."""
    return _of_wide(binary(int(columns)), 1)[1]


def of_values(values: float) -> float:
    """Return the seconds of a release with a column of so many values, and of its records."""
    release, seconds = _of_wide(dependent([int(values), 3, 4, 5, 6], 50_000), 1)
    return seconds + _of_draw(release)


def of_epsilon(epsilon: float) -> float:
    """Return the seconds of a release and of its records."""
    release, seconds = _of_wide(dependent(SIZES, 50_000), epsilon)
    return seconds + _of_draw(release)


def of_cliques(count: float) -> float:
    """Return the seconds of an estimate from noisy counts of some pairs."""
    import pypgm

    data, rng = binary(1_000, 2_000), np.random.default_rng(1)
    names = np.array(data.domain.attributes)
    every = np.column_stack(np.triu_indices(len(names), 1))
    pairs = [tuple(names[p]) for p in every[rng.permutation(len(every))[: int(count)]]]
    tables = data.count(pairs)
    rows = [
        pypgm.LinearMeasurement(np.ravel(t) + rng.normal(0, 3, 4), p, 3.0) for t, p in zip(tables, pairs, strict=True)
    ]
    how: dict[str, Any] = {"oracle": "region_graph", "stop": "optimum", "iterations": 20, "tolerance": 0}
    model, seconds = timed(pypgm.estimate, data.domain, rows, len(data), **how)
    apart = total_variation(data, model, pairs[:500])
    check(apart < 0.1, f"pairs are {apart} from the records")
    return seconds


def _of_wide(data: pypgm.Dataset, epsilon: float) -> tuple[Any, float]:
    from pypgm import mechanisms

    release, seconds = timed(mechanisms.wide, data, epsilon, 1e-9, unsafe_seed=0)
    check_spent(release)
    _check_model(data, release)
    return release, seconds


def _check_model(data: pypgm.Dataset, release: Any) -> None:
    single = [(a,) for a in data.domain if data.domain.size(a) < 100]
    scale = len(data) / release.model.total
    apart = max(
        np.abs(scale * release.model.project(a).values - data.project(a).values).sum() / 2 / len(data) for a in single
    )
    check(apart < 0.2, f"an attribute is {apart} from the records")


def _of_draw(release: Any) -> float:
    records, seconds = timed(release.synthetic_data, rng=0)
    check(len(records) == round(release.model.total), "the number of records is not the model's")
    return seconds


AXES = {
    "records": Axis(of_records, [1e4, 1e5, 1e6, 1e7]),
    "columns": Axis(of_columns, [10, 30, 100, 300, 1000], lambda n: n * (n - 1) / 2),
    "values": Axis(of_values, [2, 20, 200, 2_000, 20_000, 100_000]),
    "cliques": Axis(of_cliques, [10, 100, 1_000, 10_000, 100_000]),
    "epsilon": Axis(of_epsilon, [0.1, 1, 10, 100]),
}


if __name__ == "__main__":
    main()
