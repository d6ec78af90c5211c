"""Errors of `mechanisms.wide` over all pairs of public tables at several budgets, beside other mechanisms.

Run: PYPGM_DATA=... python bench/bench_wide.py [--tables adult,titanic,msnbc,fire] [--epsilons .03,.1,1,10] [--seeds 5]
     [--random-pairs 300] [--beside mst,aim] [--nominal workclass,race [--shuffled]] [--no-records]

Delta is 1e-9, the relation add-remove. One line a table and budget: medians over the seeds of the mean total variation
over all pairs of attributes, or over `--random-pairs` of them, which are then the workload; seconds of the release, and
of drawing records. For each mechanism beside, the mean over the seeds of wide's error less its own, with the 95 %
interval of paired differences. `--nominal` attributes are told to wide as such; `--shuffled` permutes their codes. Each
release is checked to have spent no more than its budget.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from harness import check_spent, table, timed
from scipy import stats

import pypgm
from pypgm import workloads
from pypgm.mechanisms.tables import mechanism_named, takes


def main() -> None:
    arguments = _arguments()
    print("table epsilon mechanism: model, records (mean total variation); seconds of the release, of the records")
    for name in arguments.tables.split(","):
        data = table(name)
        if arguments.shuffled:
            data = _shuffled(data, arguments.nominal.split(","))
        for epsilon in arguments.epsilons.split(","):
            baseline: list[list[float]] = []
            for mechanism in ("wide", *(arguments.beside.split(",") if arguments.beside else ())):
                rows = [_run(mechanism, data, epsilon, seed, arguments) for seed in range(arguments.seeds)]
                model, records, seconds, drawing = np.median(rows, axis=0)
                spread = f"{min(r[0] for r in rows):.4f} to {max(r[0] for r in rows):.4f}"
                cells = f"{model:.4f} ({spread}), {records:.4f}; {seconds:.2f} s, {drawing:.2f} s"
                print(f"{name} {epsilon} {mechanism}: {cells}{_beside(baseline, rows)}", flush=True)
                baseline = baseline or rows


def _beside(baseline: list[list[float]], rows: list[list[float]]) -> str:
    """Return by how much wide errs more than another mechanism with the same seeds."""
    if not baseline or len(rows) < 2:
        return ""
    more = np.array(baseline)[:, 0] - np.array(rows)[:, 0]
    half = stats.t.ppf(0.975, more.size - 1) * more.std(ddof=1) / np.sqrt(more.size)
    return f"; wide less this {more.mean():+.4f} ± {half:.4f}"


def _shuffled(data: pypgm.Dataset, nominal: list[str]) -> pypgm.Dataset:
    """Return the same records with other codes for the values of nominal attributes."""
    rng = np.random.default_rng(0)
    columns = {a: np.asarray(column) for a, column in data.columns.items()}
    for attribute in nominal:
        columns[attribute] = rng.permutation(data.domain.size((attribute,)))[columns[attribute]]
    return pypgm.Dataset(columns, pypgm.Domain(data.domain.attributes, data.domain.shape))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", default="adult,titanic,msnbc,fire")
    parser.add_argument("--epsilons", default=".03,.1,1,10")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--random-pairs", type=int)
    parser.add_argument("--beside", default="", help="other mechanisms, such as mst,aim")
    parser.add_argument("--nominal", default="", help="attributes without an order")
    parser.add_argument("--shuffled", action="store_true", help="with other codes of the nominal attributes")
    parser.add_argument("--no-records", action="store_true")
    return parser.parse_args()


def _run(mechanism: str, data: pypgm.Dataset, epsilon: str, seed: int, arguments: argparse.Namespace) -> list[float]:
    pairs = workloads.all_k_way(data.domain, 2)
    if arguments.random_pairs:
        pairs = workloads.random_k_way(data.domain, 2, arguments.random_pairs)
    options: dict[str, Any] = {"workload": pairs} if takes(mechanism, "workload") else {}
    if mechanism == "wide" and arguments.nominal:
        options["ordinal"] = [a for a in data.domain if a not in arguments.nominal.split(",")]
    how = {"epsilon": epsilon, "delta": 1e-9, "n_threads": 1, "unsafe_seed": seed}
    release, seconds = timed(mechanism_named(mechanism), data, **how, **options)
    check_spent(release)
    error = pypgm.evaluate(release.model, cliques=pairs, unsafe_data=data).mean
    if arguments.no_records:
        return [error, np.nan, seconds, np.nan]
    records, drawing = timed(release.synthetic_data, rng=seed)
    return [error, pypgm.evaluate(records, cliques=pairs, unsafe_data=data).mean, seconds, drawing]


if __name__ == "__main__":
    main()
