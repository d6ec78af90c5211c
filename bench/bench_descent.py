"""Cost per cell of an estimation iteration on a chain of adjacent triples, beside a plain exp pass.

Run: python bench/bench_descent.py [--threads N]

An iteration is one propagation with loss, gradient and update at a fixed step. Its time is
(wall(3n) - wall(n)) / 2n, so that planning does not count; the median of five. The answer is checked first: the
marginals of neighbouring triples agree where they overlap, and all sum to the total.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

import pypgm

VALUES = 10
SIGMA = 50.0
ROWS = 100_000


def chain_problem(d: int) -> tuple[pypgm.Domain, list[pypgm.LinearMeasurement]]:
    """Return a chain of d - 2 triples and a noisy measurement of each."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(d)]
    domain = pypgm.Domain(names, [VALUES] * d)
    measurements = []
    for i in range(d - 2):
        counts = rng.dirichlet(np.ones(VALUES**3)) * ROWS
        noisy = counts + rng.normal(0.0, SIGMA, VALUES**3)
        measurements.append(pypgm.LinearMeasurement(noisy, names[i : i + 3], SIGMA))
    return domain, measurements


def seconds_per_iteration(
    domain: pypgm.Domain, measurements: list[pypgm.LinearMeasurement], n: int, threads: int
) -> float:
    """Return the steady time of one iteration, planning excluded."""

    def wall(iterations: int) -> float:
        started = time.perf_counter()
        pypgm.estimate(domain, measurements, ROWS, stepsize=1e-4, tolerance=0, iterations=iterations, n_threads=threads)
        return time.perf_counter() - started

    return statistics.median((wall(3 * n) - wall(n)) / (2 * n) for _ in range(5))


def check(domain: pypgm.Domain, measurements: list[pypgm.LinearMeasurement]) -> None:
    """Raise unless the marginals of an estimate are consistent and sum to the total."""
    model = pypgm.estimate(domain, measurements, ROWS, stepsize=1e-4, tolerance=0, iterations=20)
    for a, b in zip(model.cliques, model.cliques[1:], strict=False):
        shared = [x for x in a if x in b]
        difference = model.marginals[a].project(shared).values - model.marginals[b].project(shared).values
        if np.abs(difference).max() > 1e-9 * ROWS:
            raise AssertionError(f"marginals of {a} and {b} differ by {np.abs(difference).max()}")
        if abs(model.marginals[a].values.sum() - ROWS) > 1e-9 * ROWS:
            raise AssertionError(f"the marginal of {a} does not sum to the total")


def exp_pass(cells: int) -> float:
    """Return the seconds of NumPy's exp over as many cells, into an existing array."""
    table = np.random.default_rng(0).normal(-1.0, 1.0, cells)
    out = np.empty_like(table)
    repeats = max(3, 2_000_000 // cells)
    times = []
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(repeats):
            np.exp(table, out=out)
        times.append((time.perf_counter() - started) / repeats)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    threads = parser.parse_args().threads
    print(f"{pypgm.build_info()}, {threads} thread(s)")
    print(f"{'d':>5} {'cells':>8} {'ms/iteration':>13} {'ns/cell':>8} {'exp ns/cell':>12} {'ratio':>6}")
    for d, n in ((10, 2000), (100, 200), (1000, 20)):
        domain, measurements = chain_problem(d)
        check(domain, measurements)
        cells = (d - 2) * VALUES**3
        seconds = seconds_per_iteration(domain, measurements, n, threads)
        plain = exp_pass(cells)
        print(
            f"{d:>5} {cells:>8} {seconds * 1e3:>13.4f} {seconds / cells * 1e9:>8.2f} "
            f"{plain / cells * 1e9:>12.2f} {seconds / plain:>6.2f}"
        )


if __name__ == "__main__":
    main()
