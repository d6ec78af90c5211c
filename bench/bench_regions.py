"""Region graphs of random triples: plan, cost of an iteration, memory, and mbi 2.0.0 beside.

Run: python bench/bench_regions.py [--cliques 50,200,1000] [--attributes 100] [--values 10] [--threads N]
    [--mbi PYTHON] [--solve [N]]

Random triples are measured with Gaussian noise. An iteration is (time(3n) - time(n)) / 2n, plan and polish outside, the
median of three; CPU time with one thread. A region cell is one number of one region's table. Many small tables, where
edges cost more than cells: --cliques 10000 --attributes 3333 --values 4. With --mbi, the Python of an environment that
has mbi 2.0.0, its region-graph oracle runs on the same cliques in a process of its own, and its converged
pseudo-marginals for given potentials are compared with ours; its iteration is the oracle alone, after compilation, in
the faster of single and double precision, ours an estimate's with loss, gradient and average. With --solve each problem
is run to a relative change of 1e-6, or for N iterations; the gap is a certified bound of how far the loss is above its
optimum.
"""

from __future__ import annotations

import argparse
import pickle
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import timed

import pypgm
from pypgm.estimation import FitState

ROWS = 100_000

MBI = """
import pickle, sys, time
import numpy as np
import jax
jax.config.update("jax_enable_x64", sys.argv[3] == "double")
import mbi
from mbi.approximate_oracles import convex_generalized_belief_propagation as gbp
attributes, shape, cliques, potentials, total = pickle.load(open(sys.argv[1], "rb"))
domain = mbi.Domain(attributes, shape)
tables = zip(cliques, potentials)
factors = {c: mbi.Factor(domain.project(c), jax.numpy.asarray(p).reshape(domain.project(c).shape)) for c, p in tables}
vector = mbi.CliqueVector(domain, list(cliques), factors)
answers, state = gbp(vector, total)
answers, state = gbp(vector, total, state)
times = []
for _ in range(400):
    started = time.perf_counter()
    answers, state = gbp(vector, total, state)
    jax.block_until_ready(state)
    times.append(time.perf_counter() - started)
found = {c: np.asarray(answers[c].values) for c in cliques}
pickle.dump((sorted(times)[200], found), open(sys.argv[2], "wb"))
"""


def problem(
    k: int, attributes: int, values: int, sigma: float = 50.0
) -> tuple[pypgm.Domain, list[pypgm.LinearMeasurement]]:
    """Return k random triples of records in which neighbouring attributes depend on each other, measured with noise."""
    rng = np.random.default_rng(0)
    columns = np.empty((attributes, ROWS), dtype=np.int16)
    columns[0] = rng.integers(0, values, ROWS)
    for i in range(1, attributes):
        columns[i] = np.where(rng.random(ROWS) < 0.5, columns[i - 1], rng.integers(0, values, ROWS))
    triples: set[tuple[int, ...]] = set()
    while len(triples) < k:
        triples.add(tuple(sorted(rng.choice(attributes, 3, replace=False).tolist())))
    names = [f"x{i:04}" for i in range(attributes)]
    shape = (values,) * 3
    measurements = []
    for triple in sorted(triples):
        cells = np.ravel_multi_index(tuple(columns[list(triple)]), shape)
        noisy = np.bincount(cells, minlength=values**3) + rng.normal(0.0, sigma, values**3)
        measurements.append(pypgm.LinearMeasurement(noisy, [names[i] for i in triple], sigma))
    return pypgm.Domain(names, [values] * attributes), measurements


def seconds_an_iteration(
    domain: pypgm.Domain, measurements: list[pypgm.LinearMeasurement], graph: pypgm.RegionGraph, n: int, threads: int
) -> float:
    """Return the steady time of one oracle call of an estimate."""

    clock = time.process_time if threads == 1 else time.perf_counter

    def spent(iterations: int) -> tuple[float, int]:
        stamps: list[float] = []

        def stamp(_: FitState) -> None:
            stamps.append(clock())

        model = pypgm.estimate(
            domain, measurements, ROWS, oracle=graph, stop="optimum", tolerance=0, iterations=iterations,
            n_threads=threads, callback=stamp,
        )  # fmt: skip
        return stamps[-1] - stamps[0], model.fit.iterations - 1

    pairs = [(spent(n), spent(3 * n)) for _ in range(3)]
    return statistics.median((long[0] - short[0]) / (long[1] - short[1]) for short, long in pairs)


def memory(name: str) -> int:
    """Return an entry of Linux's account of this process, bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def forget_peak() -> int:
    """Let the largest memory so far be what is in use, which is returned, bytes."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return memory("VmRSS")


def check(model: pypgm.RegionGraphModel) -> None:
    """Raise unless marginals agree along the edges and sum to the total."""
    for parent, child in model.graph.edges[:2000]:
        small = model.graph.regions[child]
        apart = model.marginals[model.graph.regions[parent]].project(small).values - model.marginals[small].values
        if np.abs(apart).sum() > 1e-5 * model.total:
            raise AssertionError(f"marginals over {small} differ by {np.abs(apart).sum()}")


def beside_mbi(python: str, domain: pypgm.Domain, model: pypgm.RegionGraphModel) -> tuple[float, float]:
    """Return mbi's seconds an iteration, and how far its pseudo-marginals are from ours, for the same potentials."""
    graph = pypgm.RegionGraph.saturated(domain, model.graph.cliques, minimal=True)
    rng = np.random.default_rng(1)
    potentials = pypgm.CliqueVector(domain, model.graph.cliques)
    potentials.values[:] = rng.normal(size=potentials.values.size)
    ours = pypgm.convex_gbp(potentials, graph, None, ROWS, tolerance=1e-10)
    tables = [potentials.table(i) for i in range(len(potentials))]
    with tempfile.TemporaryDirectory() as folder:
        given, answer_file = Path(folder) / "given", Path(folder) / "found"
        given.write_bytes(pickle.dumps((domain.attributes, domain.shape, potentials.cliques, tables, float(ROWS))))
        seconds = []
        for precision in ("single", "double"):
            subprocess.run([python, "-c", MBI, str(given), str(answer_file), precision], check=True)
            timed, answers = pickle.loads(answer_file.read_bytes())
            seconds.append(timed)
    apart = [np.abs(answers[c] - ours.marginals[c].values).max() for c in potentials.cliques]
    return min(seconds), float(max(apart)) / ROWS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cliques", default="50,200,1000")
    parser.add_argument("--attributes", type=int, default=100)
    parser.add_argument("--values", type=int, default=10)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--mbi")
    parser.add_argument("--solve", type=int, nargs="?", const=5000)
    options = parser.parse_args()
    for k in map(int, options.cliques.split(",")):
        domain, measurements = problem(k, options.attributes, options.values)
        graph, planned = timed(pypgm.RegionGraph.saturated, domain, [m.clique for m in measurements])
        before = forget_peak()
        model = pypgm.estimate(domain, measurements, ROWS, oracle=graph, stop="optimum", tolerance=0, iterations=5)
        peak = memory("VmHWM") - before
        check(model)
        seconds = seconds_an_iteration(domain, measurements, graph, max(5, 10_000 // k), options.threads)
        print(
            f"k={k}: {graph.cells} cells, plan {planned:.3f} s, {seconds * 1e3:.3f} ms an iteration, "
            f"{seconds / graph.cells * 1e9:.1f} ns a cell, {seconds / len(graph.edges) * 1e9:.0f} ns an edge, "
            f"peak {peak / graph.bytes:.1f} times the tables",
            flush=True,
        )
        if options.mbi and k <= 200:
            theirs, apart = beside_mbi(options.mbi, domain, model)
            print(f"  mbi {theirs * 1e3:.2f} ms: 1/{theirs / seconds:.1f}; marginals differ by {apart:.1e}", flush=True)
        if options.solve:
            for sigma in (5.0, 50.0):
                _, noisy = problem(k, options.attributes, options.values, sigma)
                estimated = pypgm.estimate(
                    domain, noisy, ROWS, oracle=graph, stop="optimum", n_threads=options.threads,
                    iterations=options.solve,
                )  # fmt: skip
                fit = estimated.fit
                print(
                    f"  sigma {sigma}: {fit.status} after {fit.iterations} sweeps, {fit.seconds:.2f} s, loss "
                    f"{fit.loss:.8g}, at most {(fit.gap or 0.0) / fit.loss:.1e} of it above the optimum",
                    flush=True,
                )


if __name__ == "__main__":
    main()
