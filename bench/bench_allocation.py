"""Parts of a budget for the tables of a network: errors beside those of equal parts, on the same records.

Run: PYPGM_DATA=... python bench/bench_allocation.py [--networks asia alarm] [--epsilons 0.1 1 10] [--runs 20]

For each network, budget (pure epsilon, and epsilon with delta 1e-9) and allocation it prints the mean ratio of four
errors to those of `allocation="uniform"`, with the standard error of that from paired runs: total variation of the
single marginals, L1 of the rows of tables with all rows counting the same, and as often as they come, and total
variation of 20 random pairs. A run draws 10,000 records; the reference is maximum likelihood on them. Each ledger is
checked.
"""

from __future__ import annotations

import argparse

import numpy as np
from harness import check_spent, network_file

from pypgm.bayes import BayesianNetwork, learn, learn_private

NETWORKS = ("asia", "sachs", "child", "insurance", "alarm", "win95pts", "hailfinder")
ALLOCATIONS = ("sizes", "data-dependent")
N_RECORDS = 10_000
N_PAIRS = 20
ERRORS = ("marginals", "rows", "weighted rows", "pairs")


def answers(net, pairs):
    """Return the joint tables of attributes, of families and of pairs, and the rows of the tables of families."""
    families = [(*net.parents[a], a) for a in net.domain]
    cliques = [*((a,) for a in net.domain), *families, *pairs]
    joint = [np.asarray(net.query(c).values) for c in cliques]
    rows = [net.tables[a].values for a in net.domain]
    n = len(net.domain)
    return joint[:n], joint[n : 2 * n], joint[2 * n :], rows


def errors(true, estimated):
    """Return the four errors."""
    singles, families, pairs, rows = true
    own_singles, _, own_pairs, own_rows = estimated
    row = [np.abs(a - b).sum(axis=-1) for a, b in zip(rows, own_rows, strict=True)]
    return (
        np.mean([0.5 * np.abs(a - b).sum() for a, b in zip(singles, own_singles, strict=True)]),
        np.mean([r.mean() for r in row]),
        np.mean([(r * f.sum(axis=-1)).sum() for r, f in zip(row, families, strict=True)]),
        np.mean([0.5 * np.abs(a - b).sum() for a, b in zip(pairs, own_pairs, strict=True)]),
    )


def measured(net, budget, runs):
    """Return the errors by allocation, shape (runs, errors)."""
    errors_of = {name: [] for name in ("uniform", *ALLOCATIONS)}
    names = list(net.domain)
    for run in range(runs):
        rng = np.random.default_rng([run, 11])
        data = net.sample(N_RECORDS, rng)
        pairs = [tuple(rng.choice(names, 2, replace=False).tolist()) for _ in range(N_PAIRS)]
        true = answers(learn(data, net), pairs)
        for name, errors_of_runs in errors_of.items():
            release = learn_private(data, net, *budget, allocation=name)
            check_spent(release)
            errors_of_runs.append(errors(true, answers(release.model, pairs)))
    return {name: np.array(rows) for name, rows in errors_of.items()}


def main():
    """Print a line for each network, budget and allocation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 1.0, 10.0])
    parser.add_argument("--runs", type=int, default=20)
    arguments = parser.parse_args()
    print(f"ratio to uniform (standard error): {', '.join(ERRORS)}")
    for name in arguments.networks:
        net = BayesianNetwork.read_bif(network_file(name))
        for epsilon in arguments.epsilons:
            for delta in (None, 1e-9):
                errors_of = measured(net, (epsilon, delta), arguments.runs)
                for allocation in ALLOCATIONS:
                    base, errors = errors_of["uniform"], errors_of[allocation]
                    ratio = errors.mean(axis=0) / base.mean(axis=0)
                    spread = (errors - ratio * base).std(axis=0, ddof=1) / base.mean(axis=0) / len(errors) ** 0.5
                    cells = "  ".join(f"{r:.3f}({1000 * s:.0f})" for r, s in zip(ratio, spread, strict=True))
                    what = f"{name}, epsilon {epsilon:g}{', delta 1e-9' if delta else ''}, {allocation}"
                    print(f"{what:<58} {cells}", flush=True)


if __name__ == "__main__":
    main()
