"""Errors of `wide`, `mst`, `aim` and of attributes alone on public tables and made-up structures, side by side.

Run: PYPGM_DATA=... python bench/bench_tables.py --results FILE [--tables titanic,sums] [--mechanisms wide,alone]
     [--epsilons .1,1,10] [--seeds 0,1,2]; the same with --show prints the tables of what FILE holds

Delta is 1e-9, the relation add-remove, one thread, all settings as they are by default; `alone` is `wide` with single
attributes as its workload. Each run is a line of FILE, and what has one is not run again. Of a model: mean total
variation of all pairs (of more than 300, of so many random ones, which are then the workload of `wide` and `aim`), of
single attributes, the largest of the pairs, the mean of 30 random triples; seconds of the processor. Loans and stroke
are their first 20 and 30 attributes, msnbc its first 200,000 records.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from harness import check_spent, network_file, random_cliques, resumed, table, timed

import pypgm
from pypgm import Dataset, Domain
from pypgm.mechanisms.tables import mechanism_named, takes

Columns = list[Any]

MECHANISMS = ["wide", "aim", "mst", "alone"]
MEASURES = ["pairs", "singles", "worst", "triples", "seconds"]
_N_ATTRIBUTES = {"loans": 20, "stroke": 30}  # attributes
_N_RECORDS = {"msnbc": 200_000}  # records
_PAIRS, _TRIPLES, _CELLS = 300, 30, 200_000


def _chained(rng: np.random.Generator, n: int, sizes: list[int], parents: list[int], sharpness: float) -> Columns:
    """Return columns each of which depends on an earlier one: nearly a function of it where sharpness is small."""
    columns: Columns = []
    for size, parent in zip(sizes, parents, strict=True):
        given = columns[parent] if parent >= 0 else np.zeros(n, int)
        rows = rng.dirichlet(np.full(size, sharpness if parent >= 0 else 1.0), int(given.max()) + 1).cumsum(axis=1)
        columns.append((rng.random(n)[:, None] > rows[given]).sum(axis=1).clip(0, size - 1))
    return columns


def tree(rng: np.random.Generator) -> Columns:
    """Return 20 attributes, each nearly a function of an earlier one: 8,000 records."""
    sizes = rng.integers(2, 12, 20).tolist()
    return _chained(rng, 8_000, sizes, [-1, *(int(rng.integers(i)) for i in range(1, 20))], 0.1)


def classes(rng: np.random.Generator) -> Columns:
    """Return 20 attributes that depend on one of twelve classes, which is no attribute: 8,000 records."""
    return _chained(rng, 8_000, [12, *rng.integers(2, 10, 20).tolist()], [-1, *[0] * 20], 0.5)[1:]


def function(rng: np.random.Generator) -> Columns:
    """Return 14 attributes: one of 264 values that determines another of 19, and a chain of twelve; 27,000 records."""
    columns = _chained(rng, 27_000, [264, *rng.integers(2, 9, 12).tolist()], list(range(-1, 12)), 0.5)
    return [*columns, rng.integers(0, 19, 264)[columns[0]]]


def sums(rng: np.random.Generator) -> Columns:
    """Return eight attributes of three values, two of them sums modulo 3 of pairs of others: 20,000 records."""
    drawn = _chained(rng, 20_000, [3] * 6, [-1, 0, -1, 2, -1, 4], 1.0)
    return [*drawn, (drawn[0] + drawn[2]) % 3, (drawn[1] + drawn[4]) % 3]


def weak(rng: np.random.Generator) -> Columns:
    """Return 20 attributes that depend a little on each other: 1,000 records."""
    return _chained(
        rng, 1_000, rng.integers(2, 6, 20).tolist(), [-1, *(int(rng.integers(i)) for i in range(1, 20))], 20
    )


MADE_UP: dict[str, Callable[[np.random.Generator], Columns]] = {
    made.__name__: made for made in (tree, classes, function, sums, weak)
}
TABLES = ["titanic", *MADE_UP, "asia", "alarm", "stroke", "loans", "adult", "msnbc", "fire"]


@lru_cache(maxsize=1)
def read(name: str) -> Dataset:
    """Return a table of the folder or a made-up one, or records of a network."""
    if name in MADE_UP:
        columns = {f"x{i}": column for i, column in enumerate(MADE_UP[name](np.random.default_rng(0)))}
        return Dataset(columns, Domain({a: int(column.max()) + 1 for a, column in columns.items()}))
    if network_file(name).exists():
        return pypgm.bayes.BayesianNetwork.read_bif(network_file(name)).sample(20_000, rng=0)
    data = table(name)
    kept = data.domain.attributes[: _N_ATTRIBUTES.get(name)]
    return Dataset({a: np.asarray(data.columns[a])[: _N_RECORDS.get(name)] for a in kept}, data.domain.project(kept))


def measured(of: str, mechanism: str, epsilon: str, seed: int) -> dict[str, float]:
    """Return the errors of a release of a table, and its seconds."""
    data = read(of)
    every = list(itertools.combinations(data.domain, 2))
    pairs = every if len(every) <= _PAIRS else random_cliques(data.domain, _PAIRS)
    singles = [(a,) for a in data.domain]
    count = len(data.domain) * (len(data.domain) - 1) * (len(data.domain) - 2) // 6
    triples = [c for c in random_cliques(data.domain, count, 3) if data.domain.size(c) <= _CELLS][:_TRIPLES]
    name, chosen = ("wide", singles) if mechanism == "alone" else (mechanism, pairs)
    options: dict[str, Any] = {"workload": chosen} if takes(name, "workload") else {}
    how = {"epsilon": epsilon, "delta": 1e-9, "n_threads": 1, "unsafe_seed": seed}
    release, seconds = timed(mechanism_named(name), data, **how, **options, clock=time.process_time)
    check_spent(release)
    cliques = [*pairs, *singles, *triples]
    errors = pypgm.evaluate(release.model, cliques=cliques, unsafe_data=data).values
    of_pairs, alone, three = np.split(errors, [len(pairs), len(pairs) + len(singles)])
    return dict(
        zip(MEASURES, map(float, (of_pairs.mean(), alone.mean(), of_pairs.max(), three.mean(), seconds)), strict=True)
    )


def show(runs: list[dict[str, Any]]) -> None:
    """Print for each epsilon the means of the runs, of pairs with their standard error."""
    cells: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for one in runs:
        cells.setdefault((one["epsilon"], one["table"], one["mechanism"]), []).append(one)
    for epsilon in dict.fromkeys(e for e, _, _ in cells):
        print(f"\nepsilon {epsilon}\n\n| table | {' | '.join(MECHANISMS)} |\n|{'---|' * (1 + len(MECHANISMS))}")
        for name in [t for t in TABLES if any((epsilon, t, m) in cells for m in MECHANISMS)]:
            print(
                "|".join(["", f" {name} ", *(f" {_shown(cells.get((epsilon, name, m), []))} " for m in MECHANISMS), ""])
            )


def _shown(runs: list[dict[str, Any]]) -> str:
    if not runs:
        return "–"
    pairs = [one["pairs"] for one in runs]
    error = f"({np.std(pairs, ddof=1) / np.sqrt(len(runs)):.1g})" if len(runs) > 1 else ""
    rest = " / ".join(f"{np.mean([one[m] for one in runs]):.3g}" for m in MEASURES[1:])
    return f"{np.mean(pairs):.3g}{error} / {rest}; {len(runs)}"


def main() -> None:
    """Run what has not been run, or print what has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--show", action="store_true")
    for name, default in (("tables", TABLES), ("mechanisms", MECHANISMS), ("epsilons", [".1", "1", "10"])):
        parser.add_argument(f"--{name}", default=",".join(default))
    parser.add_argument("--seeds", default="0,1,2,3,4")
    given = parser.parse_args()
    if given.show:
        show(resumed(given.results, (), measured))
        return
    lists = (given.tables.split(","), given.epsilons.split(","), given.mechanisms.split(","), given.seeds.split(","))
    wanted = (
        {"table": name, "mechanism": mechanism, "epsilon": epsilon, "seed": int(seed)}
        for name, epsilon, mechanism, seed in itertools.product(*lists)
    )
    resumed(given.results, wanted, measured)


if __name__ == "__main__":
    main()
