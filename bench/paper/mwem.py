"""MWEM on the fire table beside the published curves: mean L1 error of all 105 pairs after rounds of epsilon .1.

Run: PYPGM_DATA=... python bench/paper/mwem.py [--rounds 5,17,34,104] [--seeds 3]

The published runs are those of Figure 3b of "Relaxed marginal consistency for differentially private query answering"
(NeurIPS 2021): five seeds with multiplicative weights, with exact estimation and over region graphs. Ours has the same
pure budget, epsilon = .1 a round, under the relation "replace" that theirs names (their selection costs twice what it
is said to). A run of ours plans for the rounds of its row; multiplicative weights take joint tables of at most 8 MiB,
theirs took up to a gigabyte and days. Each release is checked to have spent at most its budget.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from pathlib import Path

import numpy as np

import pypgm
from pypgm import workloads
from pypgm.mechanisms import mwem

ENGINES = {"MW": {"estimator": "weights"}, "MB-exact": {}, "MB-convex": {"oracle": "region_graph"}}


def main() -> None:
    asked = _arguments()
    if "PYPGM_DATA" not in os.environ:
        sys.exit("PYPGM_DATA must name the folder that holds a folder of each table")
    folder = Path(os.environ["PYPGM_DATA"])
    data = pypgm.read_table(next((folder / "fire").glob("*.csv*")), pypgm.read_domain(folder / "fire" / "domain.json"))
    pairs = workloads.all_k_way(data.domain, 2)
    for rounds in map(int, asked.rounds.split(",")):
        for engine, options in ENGINES.items():
            published = _published(folder / "published", engine, rounds)
            if published is None and engine == "MW":
                continue  # minutes, and nothing to compare with
            began = time.perf_counter()
            errors = [_error(data, pairs, rounds, seed, options) for seed in range(asked.seeds)]
            seconds = (time.perf_counter() - began) / asked.seeds
            told = f"ours {np.mean(errors):.3f} ({min(errors):.3f} to {max(errors):.3f}; {seconds:.1f} s a run)"
            print(f"{rounds} rounds, {engine}: {told}, published {published or 'none'}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="MWEM on the fire table beside published curves.")
    parser.add_argument("--rounds", default="5,17,34,104")
    parser.add_argument("--seeds", type=int, default=3)
    return parser.parse_args()


def _published(folder: Path, engine: str, rounds: int) -> str | None:
    """Return the mean error of the published runs after some rounds, and how many got so far; None if none did."""
    found, seconds = [], []
    for path in sorted(folder.glob(f"mwem_fire_{engine}_0.100_*.out")):
        with path.open(encoding="utf-8") as file:
            rows = list(csv.reader(file))
        if len(rows) >= rounds:
            found.append(float(rows[rounds - 1][6]))
            seconds.append(float(rows[rounds - 1][3]))
    return f"{np.mean(found):.3f} ({len(found)} runs, {np.mean(seconds):.0f} s)" if found else None


def _error(data: pypgm.Dataset, pairs: workloads.Workload, rounds: int, seed: int, options: dict[str, str]) -> float:
    release = mwem(
        data,
        f"{rounds / 10:.1f}",
        workload=pairs,
        rounds=rounds,
        neighbours="replace",
        unsafe_seed=seed,
        **options,
    )
    if release.ledger.spent() > release.ledger.budget.limit:
        raise AssertionError(f"{release.ledger.spent()} was spent of {release.ledger.budget.limit}")
    return 2 * pypgm.evaluate(release.model, cliques=pairs, unsafe_data=data).mean


if __name__ == "__main__":
    main()
