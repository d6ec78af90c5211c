"""Forecast of the error of `wide` by `mechanisms.plan`, beside that error.

Run: PYPGM_DATA=... python bench/bench_forecast.py [--tables adult,fire] [--epsilons .1,1,10] [--seeds 2]

The settings of the made-up records follow from reference priors and were seen to do on the networks asia, sachs and
insurance, titanic and adult. One line a table and epsilon: the range, the middle of it, the mean error of releases of
the table over the same pairs, and the middle over that. Stroke and loans are their first 30 and 20 attributes.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

import pypgm

TABLES = "titanic,stroke,loans,adult,fire,msnbc"
_N_ATTRIBUTES = {"stroke": 30, "loans": 20}  # attributes


def read(name: str) -> pypgm.Dataset:
    """Return a table of the folder, or records of one of its networks."""
    folder = Path(os.environ["PYPGM_DATA"])
    if (net := folder / "bif" / f"{name}.bif.gz").exists():
        return pypgm.bayes.BayesianNetwork.read_bif(net).sample(10_000, rng=0)
    data = pypgm.read_table(folder / name / f"{name}.csv.gz", pypgm.read_domain(folder / name / "domain.json"))
    kept = data.domain.attributes[: _N_ATTRIBUTES.get(name)]
    return pypgm.Dataset({a: data.columns[a] for a in kept}, data.domain.project(kept))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=TABLES)
    parser.add_argument("--epsilons", default=".1,1,10")
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    print("| table | records | epsilon | range | middle | error | middle / error |\n|---|---|---|---|---|---|---|")
    for name in given.tables.split(","):
        data = read(name)
        for epsilon in given.epsilons.split(","):
            guarantee = {"epsilon": epsilon, "delta": 1e-9}
            plan = pypgm.mechanisms.plan("wide", data.domain, n_records=len(data), **guarantee)
            pairs = [c for c in plan.distances if len(c) == 2]
            releases = (pypgm.mechanisms.wide(data, unsafe_seed=seed, **guarantee) for seed in range(given.seeds))
            error = np.mean([pypgm.evaluate(r.model, cliques=pairs, unsafe_data=data).mean for r in releases])
            cells = f"{plan.low:.4f} to {plan.high:.4f} | {plan.error:.4f} | {error:.4f} | {plan.error / error:.2f}"
            print(f"| {name} | {len(data):,} | {epsilon} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
