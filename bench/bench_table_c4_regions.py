"""Table C.4's region-graph column: adult, 32 random pairs, nine epsilons, as means of seeds, at both stops.

Run: PYPGM_DATA=... python bench/bench_table_c4_regions.py [--seeds N] [--start SEED]

The error is the mean total variation on the measured pairs; the number of records is estimated from the measurements,
and all options are the defaults. Beside it stand the published means of the region graph, of the junction tree and of
PriView, and what the answers are held to. Answers are checked before they count: marginals of regions agree where an
edge joins them, and all sum to the total.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import os
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Literal

import numpy as np

import pypgm
from pypgm.data import read_domain

EPSILONS = [0.01, 0.0316, 0.1, 0.316, 1.0, 3.16, 10.0, 31.6, 100.0]
DELTA = 1e-6
PAIRS = 32
GOALS = {
    "optimum": [0.51, 0.315, 0.1788 * 1.01, 0.0931 * 1.01, 0.0447 * 1.01, 0.0198 * 1.01, 0.0087, 0.0040, 0.0020],
    "validated": [0.46, 0.265, 0.135, 0.066, 0.0317, 0.0153, 0.0074, 0.0037, 0.0019],
}
STOPS: tuple[Literal["optimum", "validated"], ...] = ("optimum", "validated")


def published(path: Path) -> dict[str, list[float]]:
    """Return the published mean error of each oracle at each epsilon; broken lines have fewer than ten fields."""
    errors: dict[tuple[str, int], list[float]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            if len(row) >= 10 and row[0] != "oracle" and row[3] == str(PAIRS):
                errors[row[0], round(4 * (math.log10(float(row[5])) + 2) / 2)].append(float(row[8]))
    names = {name for name, _ in errors}
    return {n: [float(np.mean(errors.get((n, i), [math.nan]))) for i in range(len(EPSILONS))] for n in names}


def noise_scale(epsilon: float) -> float:
    """Return the standard deviation of the noise of each of the pairs."""
    spread = 2 * math.log(1 / DELTA)
    return math.sqrt(PAIRS) * (math.sqrt(spread) + math.sqrt(spread + 2 * epsilon)) / (2 * epsilon)


def check(model: pypgm.RegionGraphModel) -> None:
    """Raise unless marginals agree along the edges and sum to the total."""
    for parent, child in model.graph.edges:
        small = model.graph.regions[child]
        apart = model.marginals[model.graph.regions[parent]].project(small).values - model.marginals[small].values
        if np.abs(apart).sum() > 1e-6 * model.total:
            raise AssertionError(f"marginals over {small} differ by {np.abs(apart).sum()}")
    for region in model.graph.regions:
        if not np.isclose(model.marginals[region].values.sum(), model.total):
            raise AssertionError(f"the marginal over {region} does not sum to the total")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--start", type=int, default=1)
    options = parser.parse_args()
    if "PYPGM_DATA" not in os.environ:
        sys.exit("PYPGM_DATA must name the folder that holds adult/ and published/gum3.csv")
    folder = Path(os.environ["PYPGM_DATA"])
    domain = read_domain(folder / "adult" / "domain.json")
    data = pypgm.read_table(folder / "adult" / "adult.csv.gz", domain)
    pairs = list(itertools.combinations(domain.attributes, 2))
    cliques = [pairs[i] for i in np.random.RandomState(0).choice(len(pairs), PAIRS, replace=False)]
    truth = dict(zip(cliques, data.count(cliques), strict=True))
    columns = published(folder / "published" / "gum3.csv")
    print(
        f"{'epsilon':>8} {'stop':>10} {'error':>8} {'goal':>8} {'met':>4} {'seconds':>8}"
        "   published: graph, exact, PriView"
    )
    for i, epsilon in enumerate(EPSILONS):
        for stop in STOPS:
            errors, seconds = [], []
            for seed in range(options.start, options.start + options.seeds):
                rng = np.random.default_rng([seed, i])
                sigma = noise_scale(10 ** (i / 2 - 2))
                noisy = [
                    pypgm.LinearMeasurement(t + rng.normal(0.0, sigma, t.size), c, sigma) for c, t in truth.items()
                ]
                started = time.perf_counter()
                model = pypgm.estimate(domain, noisy, oracle="region_graph", stop=stop)
                seconds.append(time.perf_counter() - started)
                check(model)
                shares = ((model.marginals[c].datavector() / model.total, t / data.n_records) for c, t in truth.items())
                errors.append(float(np.mean([np.abs(a - b).sum() / 2 for a, b in shares])))
            error, goal = float(np.mean(errors)), GOALS[stop][i]
            rest = ", ".join(f"{columns[name][i]:.4f}" for name in ("convex", "exact", "gum"))
            print(
                f"{epsilon:>8} {stop:>10} {error:>8.4f} {goal:>8.4f} {'yes' if error <= goal else 'NO':>4} "
                f"{max(seconds):>8.2f}   {rest}",
                flush=True,
            )


if __name__ == "__main__":
    main()
