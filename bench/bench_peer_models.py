"""Marginals and records of models that are trees of pairs, beside mbi: many small cliques, and a million records.

Run: python bench/bench_peer_models.py --mbi PYTHON

PYTHON is that of an environment with mbi. Marginals of the same potentials are compared to 1e-9 of the total before
anything counts, and the pairs of records must be within .01 of the model's, in total variation. CPU seconds of one run:
here an iteration of an estimate, which takes marginals, loss and update, there the marginals alone once they are
compiled. mbi runs in float64; its records include what it compiles for them.
"""

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
from harness import check, print_table

timed = partial(harness.timed, clock=time.process_time)
REPEATS = 20


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mbi", metavar="PYTHON")
    parser.add_argument("--one", nargs=2, metavar=("ASKED", "ANSWERED"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        asked, answered = map(Path, arguments.one)
        answered.write_bytes(pickle.dumps(_with_mbi(**pickle.loads(asked.read_bytes()))))
    elif not arguments.mbi:
        sys.exit("--mbi must name the Python of an environment that has mbi")
    else:
        columns = {"model": ""} | {
            f"{who}{what}": form
            for who in ("", "mbi ")
            for what, form in (("iteration ms", ".3f"), ("records s", ".3f"), ("apart", ".1e"))
        }
        print_table(columns | {"compiling s": ".1f"}, _lines(arguments.mbi))


def _lines(python: str) -> Iterator[list[object]]:
    parents = np.random.default_rng(0)
    many = [(int(parents.integers(max(0, i - 5), i)), i) for i in range(1, 100)]
    yield _line(python, "99 pairs, 1,000 records", [3] * 100, many, 1_000)
    yield _line(
        python, "14 pairs, 10^6 records", [4 + i % 7 for i in range(15)], [(i // 2, i) for i in range(1, 15)], 10**6
    )


def _line(python: str, name: str, sizes: list[int], edges: list[tuple[int, int]], rows: int) -> list[object]:
    import pypgm

    rng, total = np.random.default_rng(1), 1e6
    domain = pypgm.Domain([f"x{i}" for i in range(len(sizes))], sizes)
    potentials = pypgm.CliqueVector(domain, [(f"x{i}", f"x{j}") for i, j in edges])
    potentials.values[:] = rng.normal(0, 1, potentials.values.size)
    tables = {c: np.array(potentials[c].values) for c in potentials.cliques}
    marginals = pypgm.marginals(potentials, total)
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "asked"), Path(folder, "answered")
        asked.write_bytes(
            pickle.dumps(
                {"sizes": dict(zip(domain, domain.shape, strict=True)), "tables": tables, "total": total, "rows": rows}
            )
        )
        command = [python, __file__, "--one", str(asked), str(answered)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        theirs = pickle.loads(answered.read_bytes())
    apart = max(np.abs(marginals[c].values - theirs["marginals"][c]).max() for c in tables)
    check(apart < 1e-9 * total, f"marginals differ by {apart} of {total}")
    noisy = {c: marginals[c].values.ravel() + rng.normal(0, 10, tables[c].size) for c in tables}
    measured = [pypgm.LinearMeasurement(y, c, 10.0) for c, y in noisy.items()]
    how: dict[str, Any] = {"stepsize": 1e-6, "tolerance": 0, "stop": "optimum"}
    (a, few), (b, more) = (timed(pypgm.estimate, domain, measured, total, iterations=k, **how) for k in (100, 2100))
    check((a.fit.iterations, b.fit.iterations) == (100, 2100), f"estimates ended early: {a.fit.status}, {b.fit.status}")
    records, seconds = timed(pypgm.GraphicalModel(potentials, total).synthetic_data, rows, rng=0)
    distances = [
        np.mean([np.abs(counts[c] / rows - marginals[c].values / total).sum() / 2 for c in tables])
        for counts in ({c: records.project(c).values for c in tables}, theirs["counts"])
    ]
    check(max(distances) < 0.01, f"records are {distances} from their models")
    ours = [(more - few) / 2000 * 1e3, seconds, distances[0]]
    return [name, *ours, theirs["marginals_s"] * 1e3, theirs["records_s"], distances[1], theirs["compiling_s"]]


def _with_mbi(sizes: dict[str, int], tables: dict[tuple[str, str], Any], total: float, rows: int) -> dict[str, Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    import mbi
    from mbi import marginal_oracles

    domain = mbi.Domain(list(sizes), list(sizes.values()))
    factors = {c: mbi.Factor(domain.project(c), jax.numpy.asarray(t)) for c, t in tables.items()}
    potentials = mbi.CliqueVector(domain, list(tables), factors)
    compiled = jax.jit(lambda given: marginal_oracles.message_passing_stable(given, total))
    marginals, compiling = timed(lambda: jax.block_until_ready(compiled(potentials)))
    _, seconds = timed(lambda: [jax.block_until_ready(compiled(potentials)) for _ in range(REPEATS)])
    model = mbi.MarkovRandomField(potentials=potentials, marginals=marginals, total=total)
    records, drawing = timed(model.synthetic_data, rows=rows)
    return {
        "marginals": {c: np.asarray(marginals[c].values) for c in tables},
        "counts": {c: np.asarray(records.project(c).datavector(flatten=False)) for c in tables},
        "compiling_s": compiling,
        "marginals_s": seconds / REPEATS,
        "records_s": drawing,
    }


if __name__ == "__main__":
    main()
