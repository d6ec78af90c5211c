"""Errors of `mechanisms.wide` over all pairs of public tables at several budgets: model and records, beside MST.

Run: PYPGM_DATA=... python bench/bench_wide.py [--tables adult,titanic,msnbc,fire] [--epsilons .03,.1,1,10] [--seeds 5]
     [--random-pairs 300] [--mst] [--no-records]

Delta is 1e-9, the relation add-remove. One line a table and budget: medians over the seeds of the mean total variation
over all pairs of attributes, or over `--random-pairs` of them, which are then the workload; seconds of the release, and
of drawing records. Each release is checked to have spent its budget and no more.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import pypgm
from pypgm import workloads
from pypgm.data import read_domain
from pypgm.mechanisms import mst, wide


def main() -> None:
    asked = _arguments()
    if "PYPGM_DATA" not in os.environ:
        sys.exit("PYPGM_DATA must name the folder that holds a folder of each table")
    print("table epsilon mechanism: model, records (mean total variation); seconds of the release, of the records")
    for name in asked.tables.split(","):
        folder = Path(os.environ["PYPGM_DATA"]) / name
        path = next(folder.glob("*.csv*"))
        data = pypgm.read_table(path, read_domain(folder / "domain.json"))
        for epsilon in asked.epsilons.split(","):
            for mechanism in (wide, mst) if asked.mst else (wide,):
                rows = [_run(mechanism, data, epsilon, seed, asked) for seed in range(asked.seeds)]
                model, records, seconds, drawing = np.median(rows, axis=0)
                spread = f"{min(r[0] for r in rows):.4f} to {max(r[0] for r in rows):.4f}"
                found = f"{model:.4f} ({spread}), {records:.4f}; {seconds:.2f} s, {drawing:.2f} s"
                print(f"{name} {epsilon} {mechanism.__name__}: {found}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", default="adult,titanic,msnbc,fire")
    parser.add_argument("--epsilons", default=".03,.1,1,10")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--random-pairs", type=int)
    parser.add_argument("--mst", action="store_true")
    parser.add_argument("--no-records", action="store_true")
    return parser.parse_args()


def _run(mechanism: Any, data: pypgm.Dataset, epsilon: str, seed: int, asked: argparse.Namespace) -> list[float]:
    pairs = workloads.all_k_way(data.domain, 2)
    if asked.random_pairs:
        pairs = workloads.random_k_way(data.domain, 2, asked.random_pairs)
    options = {"workload": pairs} if mechanism is wide else {}
    started = time.perf_counter()
    release = mechanism(data, epsilon=epsilon, delta=1e-9, n_threads=1, unsafe_seed=seed, **options)
    seconds = time.perf_counter() - started
    if not 0.999 < release.ledger.spent() / release.ledger.budget.limit <= 1:
        raise AssertionError(f"{release.ledger.spent()} of {release.ledger.budget.limit} was spent")
    error = pypgm.evaluate(release.model, cliques=pairs, unsafe_data=data).mean
    if asked.no_records:
        return [error, np.nan, seconds, np.nan]
    started = time.perf_counter()
    records = release.synthetic_data(rng=seed)
    drawing = time.perf_counter() - started
    return [error, pypgm.evaluate(records, cliques=pairs, unsafe_data=data).mean, seconds, drawing]


if __name__ == "__main__":
    main()
