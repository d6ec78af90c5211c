"""`mechanisms.wide` at size: seconds and peak memory of a whole process, beside their limits.

Run: PYPGM_DATA=... python bench/bench_wide_size.py [--cases adult,stroke300,stroke,binary500]

    adult       14 attributes, all 91 pairs: 2 s
    stroke300   110 attributes, 300 random pairs: 60 s
    stroke      all 5,995 pairs: 5 minutes
    binary500   500 attributes of two values, 100,000 records, all 124,750 pairs: 10 minutes, 8 GiB

Epsilon is 1, delta 1e-9, the relation add-remove, threads as by default. Each case is a process of its own, which
starts Python, reads the table (or draws the records) and releases: seconds on the clock, of all its threads on the
processor, and of the release alone. Told too is the mean total variation of the pairs (of 1,000 random ones at most),
beside that where all is spent on single attributes: a release is checked to err less, and to have spent at most its
budget.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np
from harness import binary, check, check_spent, table, total_variation

from pypgm import workloads
from pypgm.mechanisms import hdmm, wide

LIMITS = {"adult": (2, None), "stroke300": (60, None), "stroke": (300, None), "binary500": (600, 8192)}


def main() -> None:
    arguments = _arguments()
    if arguments.one:
        print(json.dumps(_release(arguments.one[0], float(arguments.one[1]))))
        return
    for case in arguments.cases.split(","):
        most, most_memory = LIMITS[case]
        load = os.getloadavg()[0]
        command = [sys.executable, __file__, "--one", case, str(time.time())]
        result = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
        limit = f"{most} s" + (f", {most_memory} MiB" if most_memory else "")
        over = result["seconds"] > most or (most_memory is not None and result["MiB"] > most_memory)
        cells = f"{result['seconds']:.1f} s, {result['processor']:.1f} s of the processor, {result['MiB']:.0f} MiB"
        rest = f"(limit {limit}){', OVER' if over else ''}; of it the release {result['release']:.1f} s"
        print(
            f"{case}: {cells} {rest}; error {result['error']:.4f}, alone {result['alone']:.4f}; load before {load:.1f}",
            flush=True,
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="wide at size.")
    parser.add_argument("--cases", default=",".join(LIMITS))
    parser.add_argument("--one", nargs=2, metavar=("CASE", "BEGAN"), help=argparse.SUPPRESS)
    return parser.parse_args()


def _release(case: str, began: float) -> dict[str, float]:
    data = binary(500, 100_000) if case == "binary500" else table("adult" if case == "adult" else "stroke")
    pairs = workloads.all_k_way(data.domain, 2)
    if case == "stroke300":
        pairs = workloads.random_k_way(data.domain, 2, 300)
    ready = time.time()
    release = wide(data, 1, 1e-9, workload=pairs, unsafe_seed=0)
    ended, usage = time.time(), resource.getrusage(resource.RUSAGE_SELF)
    check_spent(release)
    among = list(pairs)
    some = [among[i] for i in np.random.default_rng(1).permutation(len(among))[:1000]]
    alone = hdmm(data, 1, 1e-9, workload=workloads.all_k_way(data.domain, 1), unsafe_seed=0)
    errors = [total_variation(data, r, some) for r in (release, alone)]
    check(errors[0] < errors[1], f"errors of {errors[0]} are no less than {errors[1]} of attributes alone")
    return {
        "seconds": ended - began,
        "release": ended - ready,
        "processor": usage.ru_utime + usage.ru_stime,
        "MiB": usage.ru_maxrss / 1024,
        "error": errors[0],
        "alone": errors[1],
    }


if __name__ == "__main__":
    main()
