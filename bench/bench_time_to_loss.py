"""Seconds to the loss of a relative gap of 1e-2 and 1e-3, beside mbi's universal accelerated method.

Run: PYPGM_DATA=... python bench/bench_time_to_loss.py [--mbi-python PATH] [--threads N] [--seconds S]

Problems: adult with 10 random pairs, a chain of 98 triples over 100 attributes of 10 values, titanic with 15 random
triples; Gaussian noise of the zCDP budget of epsilon 1 at delta 1e-9, split evenly, N known. First the optimum is
estimated for as long as the limit allows; targets are its loss plus the tolerance times 1 + loss. Then each side runs
once for its compilation and again for the time: "cold" is the first run's time to the target, from the call of the
estimator with everything it compiles, "warm" the second's. Imports are left out of both. mbi runs in float64 in the
Python given, which needs mbi >= 2.0; its loss is evaluated outside the clock by the formula that is used here, on the
iterates its callback sees, every 10 iterations.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import random_cliques, table, timed

TOLERANCES = (1e-2, 1e-3)
CHAIN = 100

Problem = dict[str, object]
PEER = r"""
import json, sys, time
import numpy as np
from harness import random_cliques, table, timed
import jax
jax.config.update("jax_enable_x64", True)
import mbi
from mbi import estimation
estimation.CALLBACK_EVERY = 10
folder, targets, limit = sys.argv[1], json.loads(sys.argv[2]), float(sys.argv[3])
described = json.load(open(folder + "/problem.json"))
values = np.load(folder + "/values.npz")
domain = mbi.Domain(described["attributes"], described["shape"])
cliques = [tuple(c) for c in described["cliques"]]
sigma, total = described["sigma"], described["total"]
measured = [mbi.LinearMeasurement(values[str(i)].ravel(), c, sigma) for i, c in enumerate(cliques)]

class Enough(Exception):
    pass

def run(estimator):
    reached, away, started, lowest = {}, 0.0, time.perf_counter(), [float("inf")]
    def look(marginals):
        nonlocal away
        jax.block_until_ready(jax.tree.leaves(marginals))
        now = time.perf_counter()
        tables = (np.asarray(marginals.project(c).datavector()) for c in cliques)
        misses = ((t.ravel() - values[str(i)].ravel()) / sigma for i, t in enumerate(tables))
        loss = sum(0.5 * float(np.square(m).sum()) for m in misses)
        lowest[0] = min(lowest[0], loss)
        for target in targets:
            if loss <= target and str(target) not in reached:
                reached[str(target)] = now - started - away
        away += time.perf_counter() - now
        if len(reached) == len(targets) or now - started - away > limit:
            raise Enough
    try:
        estimator.estimate(domain, measured, known_total=total, iters=10**7, callback_fn=look)
    except Enough:
        pass
    return [reached.get(str(t)) for t in targets], lowest[0]

estimator = estimation.UniversalAcceleratedMethod()
cold, warm = run(estimator), run(estimator)
print(json.dumps({"cold": cold[0], "warm": warm[0], "lowest": warm[1]}))
"""


def problem_of_table(name: str, k: int, width: int) -> Problem:
    """Return random marginals of a public table, as the published experiments draw them."""
    data = table(name)
    cliques = random_cliques(data.domain, k, width)
    counts = [data.project(c).values for c in cliques]
    return noisy(data.domain.attributes, data.domain.shape, cliques, counts)


def chain_problem() -> Problem:
    """Return a Markov chain's triples: 100,000 records drawn as they come."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(CHAIN)]
    columns = [rng.integers(0, 10, 100_000)]
    for _ in range(CHAIN - 1):
        moved = np.where(rng.random(100_000) < 0.6, columns[-1], rng.binomial(9, 0.3, 100_000))
        columns.append(moved)
    cliques = [tuple(names[i : i + 3]) for i in range(CHAIN - 2)]
    counts = []
    for i in range(CHAIN - 2):
        codes = np.ravel_multi_index(columns[i : i + 3], (10, 10, 10))
        counts.append(np.bincount(codes, minlength=1000).reshape(10, 10, 10))
    return noisy(tuple(names), (10,) * CHAIN, cliques, counts)


def noisy(attributes, shape, cliques, counts) -> Problem:
    from pypgm import Budget

    sigma = math.sqrt(len(cliques) / (2 * float(Budget(epsilon=1, delta="1e-9").limit)))
    rng = np.random.default_rng(1)
    values = [c + rng.normal(size=c.shape) * sigma for c in counts]
    total = float(counts[0].sum())
    return {
        "attributes": attributes,
        "shape": shape,
        "cliques": cliques,
        "values": values,
        "sigma": sigma,
        "total": total,
    }


def own_times(problem: Problem, targets: list[float], limit: float, threads: int) -> tuple[list[float | None], float]:
    """Return seconds from the call of `estimate` to each target, and the last loss."""
    import pypgm

    domain = pypgm.Domain(problem["attributes"], problem["shape"])
    both = zip(problem["values"], problem["cliques"], strict=True)
    measured = [pypgm.LinearMeasurement(v, c, problem["sigma"]) for v, c in both]
    reached: dict[float, float] = {}

    def look(state: pypgm.estimation.FitState) -> bool:
        for target in targets:
            if state.loss <= target and target not in reached:
                reached[target] = state.seconds
        return len(reached) == len(targets)

    model = pypgm.estimate(
        domain, measured, problem["total"], stop="optimum", tolerance=0, iterations=10**6, time_limit=limit,
        callback=look, n_threads=threads,
    )  # fmt: skip
    return [reached.get(t) for t in targets], model.fit.loss


def optimum(problem: Problem, limit: float, threads: int) -> tuple[float, float]:
    """Return the loss of a long estimate and the bound of how far above the optimum it is."""
    import pypgm

    domain = pypgm.Domain(problem["attributes"], problem["shape"])
    both = zip(problem["values"], problem["cliques"], strict=True)
    measured = [pypgm.LinearMeasurement(v, c, problem["sigma"]) for v, c in both]
    model = pypgm.estimate(
        domain, measured, problem["total"], stop="optimum", tolerance=1e-4, iterations=10**6, time_limit=limit,
        n_threads=threads,
    )  # fmt: skip
    matrices = zip(model.project_many(problem["cliques"]), problem["values"], strict=True)
    loss = sum(0.5 * float(np.square((m.values - v) / problem["sigma"]).sum()) for m, v in matrices)
    if abs(loss - model.fit.loss) > 1e-6 * loss:
        raise AssertionError(f"the loss by hand is {loss}, that of the fit {model.fit.loss}")
    return loss, model.fit.gap


def peer_times(python: str, problem: Problem, targets: list[float], limit: float) -> dict[str, list[float | None]]:
    """Run mbi in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        names = ("attributes", "shape", "cliques", "sigma", "total")
        (Path(folder) / "problem.json").write_text(json.dumps({n: problem[n] for n in names}))
        np.savez(Path(folder) / "values.npz", **{str(i): v for i, v in enumerate(problem["values"])})
        command = [python, "-c", PEER, folder, json.dumps(targets), str(limit)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        return json.loads(done.stdout.splitlines()[-1])


def shown(seconds: float | None) -> str:
    return "   never" if seconds is None else f"{seconds:8.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mbi-python", help="a Python that has mbi >= 2.0; without it only the own times are shown")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of each run")
    parser.add_argument("--only", choices=["adult", "chain", "titanic"])
    arguments = parser.parse_args()
    problems = {
        "adult": lambda: problem_of_table("adult", 10, 2),
        "chain": chain_problem,
        "titanic": lambda: problem_of_table("titanic", 15, 3),
    }
    for name, made in problems.items():
        if arguments.only not in {None, name}:
            continue
        problem = made()
        (least, gap), took = timed(optimum, problem, arguments.seconds, arguments.threads)
        print(f"{name}: loss {least:.6g}, relative gap {gap / (1 + least):.1e} after {took:.1f} s")
        targets = [least + t * (1 + least) for t in TOLERANCES]
        ours, _ = own_times(problem, targets, arguments.seconds, arguments.threads)
        warm, _ = own_times(problem, targets, arguments.seconds, arguments.threads)
        print(f"  pypgm  first {' '.join(map(shown, ours))}   again {' '.join(map(shown, warm))}")
        if arguments.mbi_python is None:
            continue
        peer = peer_times(arguments.mbi_python, problem, targets, arguments.seconds)
        cold, hot = peer["cold"], peer["warm"]
        print(f"  mbi    cold  {' '.join(map(shown, cold))}   warm  {' '.join(map(shown, hot))}")
        ratios = [
            f"{p / o:.0f}x"
            if p is not None and o is not None
            else f"more than {arguments.seconds / o:.0f}x"
            if o
            else "-"
            for p, o in zip([*cold, *hot], [*ours, *warm], strict=True)
        ]
        print(f"  ratio  with compilation {ratios[0]} {ratios[1]}, without {ratios[2]} {ratios[3]}")


if __name__ == "__main__":
    main()
