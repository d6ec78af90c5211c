"""PrivBayes with one model of all its measurements beside PrivBayes as published, on the same measurements.

Run: PYPGM_DATA=... python bench/bench_privbayes.py [--tables titanic,adult,loans] [--epsilons 1] [--seeds 3]
     [--triples 100]

Both estimators get the same noise (one seed), so the same network and the same counts: a ratio is that of the estimates
alone. Errors are total variation distances from the records, in the mean over random sets of three attributes of at
most 100,000 cells. Pure budgets, add-remove. Each release is checked to have spent its budget and no more, and both to
hold the same measurements.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
from harness import check, check_spent, table, timed, total_variation

import pypgm
from pypgm.domain import Clique
from pypgm.mechanisms import privbayes

MOST_CELLS = 100_000


def main() -> None:
    arguments = _arguments()
    print("table epsilon: as published, with one model (mean total variation of triples); ratio; seconds of each")
    for name in arguments.tables.split(","):
        data = table(name)
        triples = _triples(data.domain, arguments.triples)
        for epsilon in arguments.epsilons.split(","):
            rows = np.array([_run(data, epsilon, seed, triples) for seed in range(arguments.seeds)])
            published, model, first, second = rows.mean(axis=0)
            ratios = rows[:, 0] / rows[:, 1]
            cells = f"{published:.4f}, {model:.4f}; {published / model:.2f} ({ratios.min():.2f} to {ratios.max():.2f})"
            print(f"{name} {epsilon}: {cells}; {first:.1f} s, {second:.1f} s", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="PrivBayes with one model beside PrivBayes as published.")
    parser.add_argument("--tables", default="titanic,adult,loans")
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--triples", type=int, default=100)
    return parser.parse_args()


def _triples(domain: pypgm.Domain, count: int) -> list[Clique]:
    small = [c for c in itertools.combinations(domain, 3) if domain.size(c) <= MOST_CELLS]
    return [small[i] for i in np.random.default_rng(0).permutation(len(small))[:count]]


def _run(data: pypgm.Dataset, epsilon: str, seed: int, triples: list[Clique]) -> list[float]:
    """Return the errors and the seconds of both estimators."""
    releases, seconds = [], []
    for estimator in ("tables", "model"):
        release, took = timed(privbayes, data, epsilon, estimator=estimator, unsafe_seed=seed)
        releases.append(release)
        seconds.append(took)
        check_spent(release)
        check(release.ledger.spent() > 0.99 * release.ledger.budget.limit, "part of the budget is left")
    for a, b in zip(releases[0].measurements, releases[1].measurements, strict=True):
        np.testing.assert_array_equal(a.values, b.values)
    return [total_variation(data, r, triples) for r in releases] + seconds


if __name__ == "__main__":
    main()
