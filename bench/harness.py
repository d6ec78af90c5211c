"""Common part of the benchmarks: tables and networks of PYPGM_DATA, made-up records, seconds, checks of a release."""

from __future__ import annotations

import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    import pypgm  # imported where it is used: what its import takes is measured too
    from pypgm.domain import Clique

Clock = Callable[[], float]
T = TypeVar("T")


def data_folder() -> Path:
    """Return the folder that PYPGM_DATA names: of each table a folder, of networks `bif`, of figures `published`."""
    if not os.environ.get("PYPGM_DATA"):
        sys.exit("PYPGM_DATA must name the folder that holds a folder of each table, bif/ and published/")
    return Path(os.environ["PYPGM_DATA"])


def table(name: str) -> pypgm.Dataset:
    """Return a table of the data."""
    import pypgm

    folder = data_folder() / name
    return pypgm.read_table(next(folder.glob("*.csv*")), pypgm.read_domain(folder / "domain.json"))


def network_file(name: str) -> Path:
    """Return the file of a network of the data."""
    return data_folder() / "bif" / f"{name}.bif.gz"


def random_cliques(domain: pypgm.Domain, count: int, width: int = 2) -> list[Clique]:
    """Return so many random sets of attributes, as the published experiments draw them, or all if they are fewer."""
    every = list(itertools.combinations(domain.attributes, width))
    chosen = np.random.RandomState(0).choice(len(every), min(count, len(every)), replace=False)
    return [every[i] for i in chosen]


def resumed(
    results: Path, wanted: Iterable[Mapping[str, Any]], measured: Callable[..., Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the runs of a file of JSON lines, after adding those of the wanted keys that it lacks.

    The values of a key, in their order, are the arguments of `measured`.
    """
    runs = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    for key in wanted:
        if not any(key.items() <= run.items() for run in runs):
            runs.append({**key, **measured(*key.values())})
            with results.open("a") as file:  # a line at a time: a stop loses no more than one run
                file.write(json.dumps(runs[-1]) + "\n")
    return runs


def binary(attributes: int, n: int = 5_000) -> pypgm.Dataset:
    """Return records in which each attribute is one of ten hidden ones, with errors."""
    import pypgm

    rng = np.random.default_rng(0)
    hidden, columns = rng.integers(0, 2, (10, n)), {}
    for i in range(attributes):
        wrong = rng.random(n) < rng.uniform(0.05, 0.45)
        columns[f"x{i}"] = (hidden[rng.integers(10)] ^ wrong).astype(np.uint8)
    return pypgm.Dataset(columns, pypgm.Domain(dict.fromkeys(columns, 2)))


def timed(job: Callable[..., T], *given: Any, clock: Clock = time.perf_counter, **options: Any) -> tuple[T, float]:
    """Return what a job returns, and its seconds: on the clock, or by `time.process_time` of all processors."""
    began = clock()
    result = job(*given, **options)
    return result, clock() - began


def median_seconds(job: Callable[[], object], repeats: int = 5, clock: Clock = time.perf_counter) -> float:
    """Return the median of the seconds of a job."""
    return statistics.median(timed(job, clock=clock)[1] for _ in range(repeats))


def warm_seconds(job: Callable[[], object], repeats: int = 5) -> float:
    """Return the median of the seconds of a job, after one that is not counted."""
    job()
    return median_seconds(job, repeats)


def beside(ours: float, *peers: float) -> list[float]:
    """Return seconds as a row of milliseconds: our own, and of each peer its own and the ratio to ours."""
    return [ours * 1e3, *(figure for peer in peers for figure in (peer * 1e3, peer / ours))]


def print_table(columns: Mapping[str, str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows as they come, figures by the format of their column; None leaves a cell blank."""

    def show(name: str, *cells: str) -> None:
        widths = [max(9, len(head)) for head in [*columns][1:]]
        print(name.ljust(30), *(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)), flush=True)

    show(*columns)
    for row in rows:
        pairs = zip(row, columns.values(), strict=True)
        show(*("" if figure is None else format(figure, how) for figure, how in pairs))


def check(holds: bool, what: str) -> None:
    """Raise unless an answer is right."""
    if not holds:
        raise AssertionError(what)


def check_spent(release: pypgm.Release) -> None:
    """Raise where a release spent more than its budget."""
    spent, limit = release.ledger.spent(), release.ledger.budget.limit
    check(spent <= limit, f"{spent} was spent of {limit}")


def total_variation(data: pypgm.Dataset, source: object, cliques: list[Clique]) -> float:
    """Return the mean total variation of some counts from those of the records."""
    apart = [np.abs(source.project(c).values - data.project(c).values).sum() for c in cliques]
    return float(np.mean(apart)) / 2 / len(data)
