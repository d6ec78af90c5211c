"""FEM and its graphical model on adult beside the published figures: mean error of 64 random triples.

Run: PYPGM_DATA=... python bench/paper/fem.py [--epsilons .1,.25,1] [--seeds 1]

The published ones are those of Figure 3c of "Relaxed marginal consistency for differentially private query answering"
(NeurIPS 2021): five seeds, delta = 1 / N^2, triples of at most N cells. Their rounds have
scores of epsilon .008 sqrt(epsilon) and cost four times what they need to; ours have the same and are four times as
many, under the relation "replace". What is published as L1 is half of the sum over the cells, as a total variation: so
it agrees with ours as the largest errors of a cell do. Each release is checked to have spent at most its budget.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import pypgm
from pypgm import workloads
from pypgm.mechanisms import fem


def main() -> None:
    asked = _arguments()
    if "PYPGM_DATA" not in os.environ:
        sys.exit("PYPGM_DATA must name the folder that holds a folder of each table")
    folder = Path(os.environ["PYPGM_DATA"])
    data = pypgm.read_table(
        next((folder / "adult").glob("*.csv*")), pypgm.read_domain(folder / "adult" / "domain.json")
    )
    triples = workloads.random_k_way(data.domain, 3, 64, max_cells=len(data))
    for epsilon in asked.epsilons.split(","):
        told = []
        for estimator in ("records", "model"):
            began = time.perf_counter()
            options = {"rounds": _rounds(data, epsilon), "estimator": estimator}
            errors = [_error(data, triples, epsilon, unsafe_seed=seed, **options) for seed in range(asked.seeds)]
            seconds = (time.perf_counter() - began) / asked.seeds
            told.append(f"{estimator} {np.mean(errors):.3f} ({seconds:.0f} s)")
        own, model = _published(folder / "published" / "fem2.csv", float(epsilon))
        print(f"epsilon {epsilon}: {', '.join(told)}; published {own:.3f}, model {model:.3f}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="FEM beside its published errors.")
    parser.add_argument("--epsilons", default=".1,.25,1")
    parser.add_argument("--seeds", type=int, default=1)
    return parser.parse_args()


def _rounds(data: pypgm.Dataset, epsilon: str) -> int:
    """Return how many rounds of the published sharpness a budget pays for."""
    rho = pypgm.Budget(epsilon=epsilon, delta=Fraction(1, len(data) ** 2)).limit
    return int(8 * rho / Fraction(64, 10**6) / Fraction(epsilon))


def _published(path: Path, epsilon: float) -> tuple[float, float]:
    """Return the mean errors of FEM and of the model at a budget."""
    with path.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if float(row["epsilon"]) == epsilon]
    own, model = (float(np.mean([float(row[name]) for row in rows])) for name in ("FEM_L1", "PGM_L1"))
    return own, model


def _error(data: pypgm.Dataset, triples: workloads.Workload, epsilon: str, **options: Any) -> float:
    release = fem(
        data,
        epsilon,
        Fraction(1, len(data) ** 2),
        workload=triples,
        neighbours="replace",
        **options,
    )
    if release.ledger.spent() > release.ledger.budget.limit:
        raise AssertionError(f"{release.ledger.spent()} was spent of {release.ledger.budget.limit}")
    tables = [release.project(t).values - data.project(t).values for t in triples]
    return float(np.mean([np.abs(table).sum() for table in tables])) / len(data) / 2


if __name__ == "__main__":
    main()
