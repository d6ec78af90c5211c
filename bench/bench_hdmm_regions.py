"""Answers to triples of the fire table under the published measuring strategies (Figure 3a), at both stops.

Run: PYPGM_DATA=... python bench/bench_hdmm_regions.py [--draws N] [--cliques 4,16,64]

A strategy's clique of weight w is measured with Laplace noise of scale 1/w (epsilon 1); the error is the root of the
mean squared error over all cells of the workload's triples, averaged over draws. The published region-graph column
stands beside; +- is the standard error of each mean. With one clique the optimum is a projection onto a simplex, which
no solver can better. Answers are checked: those of measured cliques are the model's own marginals, and all sum to the
total.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Literal

import numpy as np

import pypgm
from pypgm.data import read_domain

STOPS: tuple[Literal["optimum", "validated"], ...] = ("optimum", "validated")


def mean_of(errors: list[float]) -> tuple[float, float]:
    """Return the mean and its standard error."""
    return float(np.mean(errors)), float(np.std(errors, ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else np.nan


def published(path: Path) -> dict[int, tuple[float, float]]:
    """Return mean and standard error of the published RMSE of the region graph by number of cliques.

    Rows lead with the data set's name.
    """
    errors = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in list(csv.reader(file))[1:]:
            if row[2] == "convex":
                errors[int(row[1])].append(np.sqrt(float(row[9]) / float(row[10])))
    return {k: mean_of(e) for k, e in errors.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--cliques", default="1,4,16,64,256,455")
    options = parser.parse_args()
    if "PYPGM_DATA" not in os.environ:
        sys.exit("PYPGM_DATA needs to name the folder that holds fire/ and published/hdmm_strategies/")
    folder = Path(os.environ["PYPGM_DATA"])
    domain = read_domain(folder / "fire" / "domain.json")
    data = pypgm.read_table(folder / "fire" / "fire.csv.gz", domain)
    column = published(folder / "published" / "hdmm_new.csv")
    print(
        f"{'k':>4} {'stop':>10} {'RMSE':>8} {'+-':>6} {'published':>9} {'+-':>6} {'ratio':>6} "
        f"{'seconds':>8} {'iterations':>10}"
    )
    for k in map(int, options.cliques.split(",")):
        plan = json.loads(
            (folder / "published" / "hdmm_strategies" / f"hdmm-fire-{k}.json").read_text(encoding="utf-8")
        )
        names = plan["attributes"]
        cliques = [tuple(names[i] for i in c) for c in plan["strategy"]]
        workload = [tuple(names[i] for i in c) for c in plan["workload"]]
        truth = dict(zip(cliques, data.count(cliques), strict=True))
        answers = dict(zip(workload, data.count(workload), strict=True))
        for stop in STOPS:
            errors, started, calls = [], time.perf_counter(), 0
            for draw in range(options.draws):
                rng = np.random.default_rng([draw, k])
                noisy = [
                    pypgm.LinearMeasurement(
                        truth[c] + rng.laplace(0.0, 1 / w, truth[c].size), c, np.sqrt(2.0) / w, noise="laplace"
                    )
                    for c, w in zip(cliques, plan["strategy_weights"], strict=True)
                ]
                model = pypgm.estimate(domain, noisy, oracle="region_graph", stop=stop)
                calls += model.fit.iterations
                found = {c: model.project(c).datavector() for c in workload}
                if not all(np.isclose(f.sum(), model.total) for f in found.values()):
                    raise AssertionError("an answer does not sum to the total")
                squares = sum(np.square(found[c] - answers[c]).sum() for c in workload)
                errors.append(float(np.sqrt(squares / sum(a.size for a in answers.values()))))
            (error, spread), seconds = mean_of(errors), (time.perf_counter() - started) / options.draws
            theirs, their_spread = column[k]
            print(
                f"{k:>4} {stop:>10} {error:>8.3f} {spread:>6.3f} {theirs:>9.3f} {their_spread:>6.3f} "
                f"{error / theirs:>6.3f} {seconds:>8.2f} {calls // options.draws:>10}",
                flush=True,
            )


if __name__ == "__main__":
    main()
