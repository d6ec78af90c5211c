"""All 2- and 3-way marginals of a 15-attribute model: at once, one by one, and by mbi.

Run: python bench/bench_project_many.py [--threads N] [--mbi PYTHON] [--part K]

The model has the attributes of the San Francisco fire calls (2 to 46 values) and potentials on a random spanning tree
of pairs. Answers are checked first: at once against one by one to 1e-12 of the total, and against mbi to 1e-9. `--mbi`
names an interpreter that has mbi 2.0; what it does for one query (its `project`, and its jitted
`bulk_variable_elimination` after compilation) is timed on every K-th query and multiplied by K. Medians of five.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from harness import print_table, timed, warm_seconds

SIZES = (2, 11, 15, 32, 5, 9, 2, 11, 42, 8, 8, 46, 12, 10, 28)
TOTAL = 305_119.0
PEER = "--as-mbi"


def problem() -> tuple[list[str], list[tuple[str, str]], np.ndarray, list[tuple[str, ...]]]:
    """Return names, the pairs of a random tree, their potentials, and all pairs and triples."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(len(SIZES))]
    pairs = [(names[int(rng.integers(0, i))], names[i]) for i in range(1, len(SIZES))]
    size = dict(zip(names, SIZES, strict=True))
    values = rng.normal(size=sum(size[a] * size[b] for a, b in pairs))
    cliques = [c for k in (2, 3) for c in itertools.combinations(names, k)]
    return names, pairs, values, cliques


def run_peer(path: str, part: int) -> None:
    """Answer with mbi: print seconds for one query by `project`, by the compiled call, and write the answers."""
    os.environ["JAX_ENABLE_X64"] = "1"
    import jax
    import mbi
    from mbi import marginal_oracles

    names, pairs, values, cliques = problem()
    domain = mbi.Domain(names, SIZES)
    tables, start = {}, 0
    for pair in pairs:
        pair_domain = domain.project(pair)
        tables[pair] = mbi.Factor(
            pair_domain, jax.numpy.asarray(values[start : start + pair_domain.size()].reshape(pair_domain.shape))
        )
        start += pair_domain.size()
    potentials = mbi.CliqueVector(domain, pairs, tables)
    marginals = marginal_oracles.message_passing_stable(potentials, TOTAL)
    model = mbi.MarkovRandomField(potentials=potentials, marginals=marginals, total=TOTAL)
    chosen = cliques[::part]
    eager = warm_seconds(lambda: [np.asarray(model.project(c).values) for c in chosen], 1)
    jitted = jax.jit(marginal_oracles.variable_elimination, static_argnames=("clique",))
    answers, compilation = timed(lambda: [np.asarray(jitted(potentials, c, total=TOTAL).values) for c in chosen])
    compiled = warm_seconds(lambda: [np.asarray(jitted(potentials, c, total=TOTAL).values) for c in chosen])
    np.savez(path, *answers)
    print(eager * part, compiled * part, compilation * part)


def of_mbi(python: str, part: int, ours: list[np.ndarray]) -> dict[str, float]:
    """Run mbi in its own interpreter, compare the answers, and return its seconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "answers.npz")
        command = [python, __file__, PEER, path, "--part", str(part)]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        with np.load(path) as answers:
            for mine, other in zip(ours[::part], answers.values(), strict=True):
                if np.abs(mine - other).max() > 1e-9 * TOTAL:
                    raise AssertionError(f"mbi differs by {np.abs(mine - other).max()}")
    names = ("mbi project, one by one", "mbi elimination, compiled", "  its compilation")
    return dict(zip(names, map(float, printed.split()[-3:]), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--mbi", metavar="PYTHON")
    parser.add_argument("--part", type=int, default=20)
    parser.add_argument(PEER, dest="peer", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        run_peer(options.peer, options.part)
        return
    import pypgm

    names, pairs, values, cliques = problem()
    domain = pypgm.Domain(names, SIZES)
    model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, pairs, values), TOTAL)
    many = model.project_many(cliques, n_threads=options.threads)
    for clique, factor in zip(cliques, many, strict=True):
        difference = np.abs(factor.values - model.project(clique).values).max()
        if difference > 1e-12 * TOTAL:
            raise AssertionError(f"{clique} at once and alone differ by {difference}")
    cells = sum(domain.size(c) for c in cliques)
    at_once = warm_seconds(lambda: model.project_many(cliques, n_threads=options.threads))
    alone = warm_seconds(lambda: [model.project(c) for c in cliques])
    rows = np.empty(cells)
    copy = warm_seconds(lambda: np.copyto(rows, 1.0))
    print(f"{pypgm.build_info()}")
    print(f"{len(cliques)} marginals, {cells} cells, {options.threads or 'all'} thread(s)")
    seconds = {"project_many": at_once, "project, one by one": alone, "a pass that writes the cells": copy}
    if options.mbi:
        seconds |= of_mbi(options.mbi, options.part, [f.values for f in many])
    columns = {"what": "", "ms": ".1f", "ns a cell": ".2f", "ratio": ".2f"}
    print_table(columns, ([name, s * 1e3, s / cells * 1e9, s / at_once] for name, s in seconds.items()))


if __name__ == "__main__":
    main()
