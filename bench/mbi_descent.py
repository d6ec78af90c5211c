"""The mbi side of bench_descent.py, run by the Python of an environment that has mbi.

Reads a pickled problem from the file named first: (names, sizes, measurements as (values, clique), sigma, total,
potentials by clique, n, repeats, step). Writes to the file named second the seconds of one iteration, the median over
the repeats, and the marginals of the potentials.
"""

from __future__ import annotations

import pickle
import statistics
import sys
import time
from pathlib import Path

import jax
import mbi
import numpy as np
from mbi import estimation, marginal_oracles

jax.config.update("jax_enable_x64", True)


def main() -> None:
    names, sizes, measured, sigma, total, tables, n, repeats, step = pickle.loads(Path(sys.argv[1]).read_bytes())
    domain = mbi.Domain(names, sizes)
    measurements = [mbi.LinearMeasurement(values, clique, sigma) for values, clique in measured]
    cliques = [clique for _, clique in measured]
    factors = {c: mbi.Factor(domain.project(c), np.reshape(t, domain.project(c).shape)) for c, t in tables.items()}
    potentials = mbi.CliqueVector(domain, cliques, factors)
    marginals = marginal_oracles.default_oracle(cliques, domain)(potentials, total)
    solver = estimation.MirrorDescent(stepsize=step)

    def wall(iterations: int) -> float:
        started = time.perf_counter()
        model = solver.estimate(domain, measurements, known_total=total, iters=iterations)
        jax.block_until_ready(model.marginals[cliques[0]].values)
        return time.perf_counter() - started

    wall(n)
    seconds = statistics.median((wall(3 * n) - wall(n)) / (2 * n) for _ in range(repeats))
    answer = {c: np.asarray(marginals[c].values) for c in cliques}
    Path(sys.argv[2]).write_bytes(pickle.dumps((seconds, answer)))


if __name__ == "__main__":
    main()
