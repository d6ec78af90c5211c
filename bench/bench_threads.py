"""Iterations, records and intervals on two threads beside one, and beside what the machine's two cores can do.

Run: PYPGM_DATA=... python bench/bench_threads.py [--repeats N] [--jobs]

32 random pairs of the adult table and the chain of 998 triples (`bench_descent.py`). The answer is checked first: one
and two threads give the same bits. One and two threads take turns; the limit is how much more work two processes of one
thread each do in the same time than one alone. Medians; cores shared with others show in the quartiles.
The last figure is the processor time of two threads over that of one.

--jobs: a million records of `wide` on adult, and intervals of means of one, five and all columns, each in a process of
its own for either number of threads. Where each thread has a core, the seconds on the clock are at least half of the
processor time and at least that of the calling thread: on a busy machine read those.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import time

import harness
import numpy as np
from bench_descent import ROWS, STEP, adult_problem, chain_problem, iteration

import pypgm

Problem = tuple[pypgm.Domain, list[pypgm.LinearMeasurement]]


def problem_of(name: str) -> Problem:
    """Return the problem of that name."""
    return adult_problem() if name == "adult" else chain_problem(int(name))


def check(problem: Problem) -> None:
    """Raise unless one and two threads give the same bits."""
    one, two = (
        pypgm.estimate(*problem, ROWS, stepsize=STEP, tolerance=0, iterations=5, n_threads=t).potentials.values
        for t in (1, 2)
    )
    harness.check(np.array_equal(one, two), "one and two threads differ")


def processes(name: str, n: int, count: int) -> float:
    """Return the mean seconds of an iteration of as many processes at once, each on one thread."""
    command = [sys.executable, __file__, "--alone", name, str(n)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    return statistics.fmean(float(p.communicate()[0]) for p in running)


def job(name: str) -> None:
    """Do a whole job, and print its seconds, those of all threads, those of the calling thread, and a digest."""
    release = pypgm.mechanisms.wide(harness.table("adult"), 1, 1e-9, unsafe_seed=0)
    clocks = time.perf_counter, time.process_time, time.thread_time
    begun = [clock() for clock in clocks]
    if name == "records":
        made = release.model.synthetic_data(10**6, rng=0)
        found = b"".join(np.asarray(made.columns[a]).tobytes() for a in made.domain)
    else:
        columns = release.model.domain.attributes[: int(name)]
        interval = release.interval(lambda table: [np.mean(table[a]) for a in columns])
        found = np.concatenate([interval.low, interval.high]).tobytes()
    seconds = [clock() - since for clock, since in zip(clocks, begun, strict=True)]
    print(*seconds, hashlib.sha256(found).hexdigest())


def print_jobs(repeats: int) -> None:
    """Print a line for each job, after checking that both numbers of threads give the same."""
    for name in ("records", "1", "5", "14"):
        seconds: dict[int, list[list[float]]] = {1: [], 2: []}
        digests = set()
        for _ in range(repeats):
            for n_threads, runs in seconds.items():
                command = [sys.executable, __file__, "--job", name]
                own = os.environ | {"OMP_NUM_THREADS": str(n_threads), "OPENBLAS_NUM_THREADS": str(n_threads)}
                done = subprocess.run(command, env=own, check=True, capture_output=True, text=True)
                *figures, digest = done.stdout.split()
                runs.append([float(figure) for figure in figures])
                digests.add(digest)
        harness.check(len(digests) == 1, f"{name}: one and two threads differ")
        one, two = (np.median(runs, axis=0) for runs in seconds.values())
        what = "10^6 records" if name == "records" else f"interval of {name} columns"
        texts = [f"{o:.2f}, {t:.2f}" for o, t in zip(one, two, strict=True)]
        print(
            f"{what:>24}, one thread, two: {texts[0]} s on the clock, {texts[1]} s of processors, "
            f"{texts[2]} s of these by the calling thread",
            flush=True,
        )


def quartiles(values: list[float]) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle * 1e3:.2f} ({low * 1e3:.2f} to {high * 1e3:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--jobs", action="store_true")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--alone", nargs=2, metavar=("NAME", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        name, n = options.alone[0], int(options.alone[1])
        problem = problem_of(name)
        print(statistics.median(iteration(*problem, n, 1) for _ in range(options.repeats)))
        return
    if options.job:
        job(options.job)
        return
    print(pypgm.build_info())
    if options.jobs:
        print_jobs(options.repeats)
        return
    for name, n in (("adult", 10), ("1000", 20)):
        problem = problem_of(name)
        check(problem)
        times, seconds = [], {1: 0.0, 2: 0.0}
        for _ in range(options.repeats):
            times.append([])
            for t in (1, 2):
                begun = time.process_time()
                times[-1].append(iteration(*problem, n, t))
                seconds[t] += time.process_time() - begun
        one, two = ([pair[k] for pair in times] for k in (0, 1))
        limit = statistics.median(2 * processes(name, n, 1) / processes(name, n, 2) for _ in range(3))
        ratio = statistics.median(one) / statistics.median(two)
        print(
            f"{name:>6}: {quartiles(one)} ms on one thread, {quartiles(two)} on two: {ratio:.2f} times as fast; "
            f"two processes do {limit:.2f} times the work of one; processor time {seconds[2] / seconds[1]:.2f} times"
        )


if __name__ == "__main__":
    main()
