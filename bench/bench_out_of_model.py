"""Figures 2a/2b of the relaxed-consistency paper: errors on measured and unmeasured triples, and the time of answers.

Run: ``PYPGM_DATA=... python bench/bench_out_of_model.py [--seeds N] [--measured M ...]``. Eight attributes of four
values, 10,000 records of a random tree model at temperature 3, m random triples measured with Laplace noise of scale m.
The same instances for all methods; published means (other draws of the data) are printed beside.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import statistics
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

import pypgm

DOMAIN = pypgm.Domain({f"x{i}": 4 for i in range(8)})
TRIPLES = list(itertools.combinations(DOMAIN.attributes, 3))
RECORDS = 10_000
TEMPERATURE = 3.0
PUBLISHED = {"exact": "exact", "approx": "region graph", "pairwise": "factor graph"}


def random_tree(rng: np.random.Generator) -> list[tuple[str, str]]:
    """Edges of a tree drawn evenly from all labelled trees (Pruefer codes)."""
    code = rng.integers(8, size=6)
    degree = np.bincount(code, minlength=8) + 1
    edges = []
    for node in code:
        leaf = int(np.flatnonzero(degree == 1)[0])
        edges.append((leaf, int(node)))
        degree[[leaf, node]] -= 1
    a, b = np.flatnonzero(degree == 1)
    return [(f"x{min(e)}", f"x{max(e)}") for e in [*edges, (int(a), int(b))]]


def instance(seed: int, m: int) -> tuple[dict[tuple[str, ...], np.ndarray], list[pypgm.LinearMeasurement]]:
    """Counts of all triples, and noisy measurements of m of them."""
    rng = np.random.default_rng(seed)
    potentials = pypgm.CliqueVector(DOMAIN, random_tree(rng))
    potentials.values[:] = TEMPERATURE * rng.normal(size=potentials.values.size)
    joint = pypgm.GraphicalModel(potentials, 1.0).project(DOMAIN.attributes).datavector()
    table = pypgm.Factor(DOMAIN, rng.multinomial(RECORDS, joint / joint.sum()))
    truth = {t: table.project(t).datavector() for t in TRIPLES}
    chosen = [TRIPLES[i] for i in rng.choice(len(TRIPLES), m, replace=False)]
    noisy = [
        pypgm.LinearMeasurement(truth[t] + rng.laplace(scale=m, size=64), t, np.sqrt(2.0) * m, noise="laplace")
        for t in chosen
    ]
    return truth, noisy


def distance(answers: list[pypgm.Factor], truth: list[np.ndarray]) -> float:
    """Mean total variation."""
    return statistics.fmean(
        float(np.abs(a.datavector() - t).sum()) / (2 * RECORDS) for a, t in zip(answers, truth, strict=True)
    )


def errors(seed: int, m: int, stop: str, exact: bool) -> dict[str, float]:
    """Errors of all methods on one instance."""
    truth, noisy = instance(seed, m)
    inside = [x.clique for x in noisy]
    outside = [t for t in TRIPLES if t not in set(inside)]
    here, there = [truth[t] for t in inside], [truth[t] for t in outside]
    found = {"in noisy": distance([pypgm.Factor(DOMAIN.project(x.clique), x.values) for x in noisy], here)}
    oracles = {"exact": "exact", "region graph": "region_graph", "factor graph": "factor_graph"}
    for name, oracle in oracles.items():
        if name == "exact" and not exact:
            continue
        model = pypgm.estimate(DOMAIN, noisy, float(RECORDS), oracle=oracle, stop=stop)
        found[f"in {name}"] = distance(model.project_many(inside), here)
        if name == "exact":
            found["out exact"] = distance(model.project_many(outside), there)
        if name == "region graph":
            for method in ("local", "combined"):
                begin = time.perf_counter()
                found[f"out {method}"] = distance(model.project_many(outside, method=method), there)
                found[f"ms {method}"] = 1e3 * (time.perf_counter() - begin)
    return found


def published() -> dict[tuple[str, int], float]:
    """Mean errors of the paper's own runs, by kind and number of measured triples."""
    rows = defaultdict(list)
    with (Path(os.environ["PYPGM_DATA"]) / "published" / "exact_vs_approx.csv").open() as file:
        for row in csv.DictReader(file):
            if float(row["temperature"]) == TEMPERATURE and row["oracle"] in PUBLISHED:
                name, m = PUBLISHED[row["oracle"]], int(row["measurements"])
                rows[f"in {name}", m].append(float(row["error_in"]))
                rows[f"out {name}", m].append(float(row["error_out"]))
    return {key: statistics.fmean(values) for key, values in rows.items()}


def main() -> None:
    """Print means over the seeds; raise where an order is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--measured", type=int, nargs="*", default=[5, 10, 15, 25, 35])
    parser.add_argument("--stop", default="optimum")
    parser.add_argument("--no-exact", action="store_true")
    arguments = parser.parse_args()
    paper, broken = published(), []
    for m in arguments.measured:
        runs = [errors(s, m, arguments.stop, not arguments.no_exact) for s in range(arguments.seeds)]
        mean = {key: statistics.fmean(r[key] for r in runs) for key in runs[0]}
        print(f"m = {m}, {arguments.seeds} instances, stop {arguments.stop}")
        for key, value in mean.items():
            beside = f"   published {paper[key, m]:.4f}" if (key, m) in paper else ""
            print(f"  {key:18s} {value:.5f}{beside}", flush=True)
        order = [mean[k] for k in ("in exact", "in region graph", "in factor graph", "in noisy") if k in mean]
        if order != sorted(order) or mean["out combined"] > 1.05 * mean["out local"]:
            broken.append(m)
    if broken:
        raise AssertionError(f"errors are out of order at m = {broken}")


if __name__ == "__main__":
    main()
