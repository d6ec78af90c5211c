"""All mechanisms side by side: errors over all pairs, seconds and peak memory, each release in a process of its own.

Run: PYPGM_DATA=... python bench/bench_mechanisms.py [--tables adult,titanic] [--epsilons .1,1,10] [--seeds 3]
     [--mechanisms wide,mst]

Delta is 1e-9, the relation add-remove, the workload all pairs where a mechanism takes one. One line a table and
mechanism: medians over the seeds of the mean total variation over all pairs, of the model and of records drawn from it,
at each budget; then, at the last budget but one, seconds of the whole process without reading the table, and the most
memory it held. Each release is checked to have spent at most its budget. In `independent` every attribute is measured
and nothing else; a mechanism that is no better has learnt no dependence.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from typing import Any

import numpy as np
from harness import check_spent, table, timed

import pypgm
from pypgm import mechanisms, workloads

ARMS: dict[str, tuple[str, dict[str, Any]]] = {
    "wide": ("wide", {}),
    "aim": ("aim", {}),
    "aim, risk": ("aim", {"score": "risk"}),
    "aim, regions": ("aim", {"oracle": "region_graph"}),
    "aim, regions, risk": ("aim", {"oracle": "region_graph", "score": "risk"}),
    "mst": ("mst", {}),
    "adaptive_grid": ("adaptive_grid", {}),
    "screen": ("screen", {}),
    "screen, regions": ("screen", {"oracle": "region_graph"}),
    "mwem": ("mwem", {}),
    "mwem, weights": ("mwem", {"estimator": "weights"}),
    "privbayes": ("privbayes", {}),
    "privbayes, tables": ("privbayes", {"estimator": "tables"}),
    "dualquery": ("dualquery", {}),
    "dualquery, records": ("dualquery", {"estimator": "records"}),
    "fem": ("fem", {}),
    "fem, records": ("fem", {"estimator": "records"}),
    "hdmm": ("hdmm", {}),
    "independent": ("hdmm", {"workload": 1}),
}


def main() -> None:
    arguments = _arguments()
    if arguments.one:
        print(json.dumps(_release(*arguments.one)))
        return
    epsilons = arguments.epsilons.split(",")
    print(f"| table | mechanism | {' | '.join(f'ε = {e}: model, records' for e in epsilons)} | seconds | MiB |")
    for of in arguments.tables.split(","):
        for arm in arguments.mechanisms.split("; ") if arguments.mechanisms else ARMS:
            cells = [_median(of, arm, epsilon, arguments.seeds) for epsilon in epsilons]
            errors = " | ".join(f"{c[0]:.4f}, {c[1]:.4f}" for c in cells)
            print(f"| {of} | {arm} | {errors} | {cells[-2:][0][2]:.1f} | {cells[-2:][0][3]:.0f} |", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="All mechanisms side by side.")
    parser.add_argument("--tables", default="adult,titanic")
    parser.add_argument("--epsilons", default=".1,1,10")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--mechanisms", help=f"some of: {'; '.join(ARMS)}; separated by '; '")
    parser.add_argument("--one", nargs=4, metavar=("TABLE", "MECHANISM", "EPSILON", "SEED"), help=argparse.SUPPRESS)
    return parser.parse_args()


def _median(of: str, arm: str, epsilon: str, seeds: int) -> list[float]:
    """Return the error of the model and of records, seconds and MiB; each seed runs in a process of its own."""
    command = [sys.executable, __file__, "--one", of, arm, epsilon]
    runs = [subprocess.run([*command, str(s)], capture_output=True, text=True, check=False) for s in range(seeds)]
    failed = [r.stderr.strip().splitlines()[-1:] for r in runs if r.returncode]
    if failed:
        print(f"{of} {arm} {epsilon}: {failed[0]}", file=sys.stderr)
        return [np.nan] * 4
    return [float(v) for v in np.median([json.loads(r.stdout) for r in runs], axis=0)]


def _release(of: str, arm: str, epsilon: str, seed: str) -> list[float]:
    data = table(of)
    pairs = workloads.all_k_way(data.domain, 2)
    name, options = ARMS[arm]
    if "workload" in options:
        options = options | {"workload": workloads.all_k_way(data.domain, options["workload"])}
    run = getattr(mechanisms, name)
    release, seconds = timed(run, data, epsilon, 1e-9, unsafe_seed=int(seed), **options)
    check_spent(release)
    records = release.synthetic_data(rng=int(seed))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    errors = [pypgm.evaluate(source, cliques=pairs, unsafe_data=data).mean for source in (release.model, records)]
    return [*errors, seconds, peak]


if __name__ == "__main__":
    main()
