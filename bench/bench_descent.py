"""Cost per cell of an estimation iteration on a chain of adjacent triples, beside a plain exp pass.

Run: python bench/bench_descent.py [--threads N] [--mbi-python PYTHON [--only NAME]]

An iteration is one propagation with loss, gradient and update at a fixed step. Its time is
(wall(3n) - wall(n)) / 2n, so that planning does not count; the median of five. The answer is checked first: the
marginals of neighbouring triples agree where they overlap, and all sum to the total. With the Python of an environment
that has mbi, the same iterations are timed there (MirrorDescent at the same step), after the marginals of the same
potentials have been compared to 1e-9; 32 random pairs of the adult table come in too if PYPGM_DATA names the data.

A second table has whole calls, in CPU ns a cell and iteration: the default one, and one to the optimum, where zeros are
part of the answer and the potentials of neighbouring triples run apart.
"""

from __future__ import annotations

import argparse
import itertools
import pickle
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from harness import beside, data_folder, median_seconds, print_table, random_cliques, timed

import pypgm

VALUES = 10
SIGMA = 50.0
ROWS = 100_000
STEP = 1e-4


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


def adult_problem() -> tuple[pypgm.Domain, list[pypgm.LinearMeasurement]]:
    """Return the domain of the adult table and noisy counts on 32 random pairs of its attributes."""
    domain, rng = pypgm.read_domain(data_folder() / "adult" / "domain.json"), np.random.default_rng(0)
    measurements = []
    for pair in random_cliques(domain, 32):
        cells = domain.size(pair)
        noisy = rng.dirichlet(np.ones(cells)) * ROWS + rng.normal(0.0, SIGMA, cells)
        measurements.append(pypgm.LinearMeasurement(noisy, pair, SIGMA))
    return domain, measurements


def iteration(domain: pypgm.Domain, measurements: list[pypgm.LinearMeasurement], n: int, threads: int) -> float:
    """Return the time of one iteration out of 2n, planning excluded."""

    how = {"stepsize": STEP, "tolerance": 0, "n_threads": threads}
    many, few = (timed(pypgm.estimate, domain, measurements, ROWS, iterations=k, **how)[1] for k in (3 * n, n))
    return (many - few) / (2 * n)


def seconds_per_iteration(
    domain: pypgm.Domain, measurements: list[pypgm.LinearMeasurement], n: int, threads: int
) -> float:
    """Return the steady time of one iteration, planning excluded."""
    return statistics.median(iteration(domain, measurements, n, threads) for _ in range(5))


def check(model: pypgm.GraphicalModel) -> None:
    """Raise unless the marginals of an estimate are consistent and sum to the total."""
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
    return median_seconds(lambda: [np.exp(table, out=out) for _ in range(repeats)]) / repeats


def with_mbi(python: str, name: str, n: int, repeats: int, threads: int) -> list[object]:
    """Return the time of an iteration here and in mbi, once both have given the same marginals."""
    domain, measurements = adult_problem() if name == "adult" else chain_problem(int(name))
    potentials = pypgm.CliqueVector(domain, [m.clique for m in measurements])
    potentials.values[:] = np.random.default_rng(1).normal(0.0, 1.0, potentials.values.size)
    tables = {c: potentials.table(i) for i, c in enumerate(potentials.cliques)}
    measured = [(m.values, m.clique) for m in measurements]
    problem = (domain.attributes, domain.shape, measured, SIGMA, ROWS, tables, n, repeats, STEP)
    with tempfile.TemporaryDirectory() as folder:
        problem_file, answer_file = Path(folder, "asked"), Path(folder, "answered")
        problem_file.write_bytes(pickle.dumps(problem))
        script = Path(__file__).with_name("mbi_descent.py")
        subprocess.run(
            [python, str(script), str(problem_file), str(answer_file)], check=True, stderr=subprocess.DEVNULL
        )
        theirs, marginals = pickle.loads(answer_file.read_bytes())
    of_pypgm = pypgm.marginals(potentials, float(ROWS))
    worst = max(np.abs(of_pypgm[c].values - marginals[c]).max() for c in of_pypgm.cliques)
    if worst > 1e-9 * ROWS:
        raise AssertionError(f"marginals differ by {worst} of {ROWS}")
    ours = seconds_per_iteration(domain, measurements, n, threads)
    return [name, *beside(ours, theirs), worst]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--mbi-python", help="the Python of an environment that has mbi")
    parser.add_argument("--only", nargs="*", help="of 10, 30, 100, adult")
    options = parser.parse_args()
    threads = options.threads
    print(f"{pypgm.build_info()}, {threads} thread(s)")
    if options.mbi_python:
        sizes = {"10": (200, 5), "30": (100, 5), "100": (50, 5), "adult": (50, 1)}
        rows = (with_mbi(options.mbi_python, name, *sizes[name], threads) for name in options.only or sizes)
        print_table({"attributes": "", "ms": ".4f", "mbi ms": ".4f", "ratio": ".1f", "apart": ".1e"}, rows)
        return
    columns = {"attributes": "", "cells": "", "ms": ".4f", "ns a cell": ".2f", "exp ns a cell": ".2f", "ratio": ".2f"}
    print_table(columns, chains(threads))
    whole = {"a whole call": "", "iterations": "", "ns a cell": ".2f", "relative gap": ".1e"}
    print_table(whole, calls(threads))


def chains(threads: int) -> Iterator[list[object]]:
    """Yield cells and the time of an iteration on chains, beside a plain exp pass."""
    for d, n in ((10, 2000), (100, 200), (1000, 20)):
        domain, measurements = chain_problem(d)
        check(pypgm.estimate(domain, measurements, ROWS, stepsize=STEP, tolerance=0, iterations=20))
        cells = (d - 2) * VALUES**3
        seconds = seconds_per_iteration(domain, measurements, n, threads)
        plain = exp_pass(cells)
        yield [f"{d}", cells, seconds * 1e3, seconds / cells * 1e9, plain / cells * 1e9, seconds / plain]


def calls(threads: int) -> Iterator[list[object]]:
    """Yield iterations and the time of warm calls on chains, towards zeros too."""
    for d, options in itertools.product((10, 30, 100), ({}, {"stop": "optimum", "tolerance": 0, "iterations": 500})):
        domain, measurements = chain_problem(d)
        call = partial(pypgm.estimate, domain, measurements, ROWS, n_threads=threads, **options)
        model = call()
        check(model)
        fit, cells = model.fit, (d - 2) * VALUES**3
        seconds = median_seconds(call, clock=time.process_time) / fit.iterations
        yield [f"d = {d}, {options.get('stop', 'default')}", fit.iterations, seconds / cells * 1e9, fit.gap / fit.loss]


if __name__ == "__main__":
    main()
