"""MWEM with graphical models beside MWEM as published, with multiplicative weights, at one budget.

Run: PYPGM_DATA=... python bench/bench_mwem.py [--tables titanic,adult] [--epsilons .1,1] [--seeds 3]

All pairs of attributes, add-remove, as many rounds as attributes, tables of at most 8 MiB. Errors are mean total
variation distances from the records. A pure budget, as published, and one with delta = 1e-9. Each release is checked to
have spent at most its budget.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
from harness import check_spent, table, timed, total_variation

import pypgm
from pypgm.mechanisms import mwem

ARMS = {
    "weights": {"estimator": "weights"},
    "tree": {},
    "regions": {"oracle": "region_graph"},
}


def main() -> None:
    arguments = _arguments()
    for name in arguments.tables.split(","):
        data = table(name)
        for epsilon, delta in itertools.product(arguments.epsilons.split(","), (None, "1e-9")):
            cells = [f"{arm} {_run(data, epsilon, delta, options, arguments.seeds)}" for arm, options in ARMS.items()]
            print(f"{name}, epsilon {epsilon}, delta {delta or 0}: " + ", ".join(cells), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="MWEM with graphical models beside multiplicative weights.")
    parser.add_argument("--tables", default="titanic,adult")
    parser.add_argument("--epsilons", default=".1,1")
    parser.add_argument("--seeds", type=int, default=3)
    return parser.parse_args()


def _run(data: pypgm.Dataset, epsilon: str, delta: str | None, options: dict[str, str], seeds: int) -> str:
    """Return mean error and seconds."""
    pairs = list(itertools.combinations(data.domain, 2))
    errors, seconds = [], []
    for seed in range(seeds):
        release, took = timed(mwem, data, epsilon, delta, unsafe_seed=seed, **options)
        check_spent(release)
        errors.append(total_variation(data, release, pairs))
        seconds.append(took)
    return f"{np.mean(errors):.4f} ({np.mean(seconds):.1f} s)"


if __name__ == "__main__":
    main()
