"""Synthetic records from region-graph models: their error beside the pseudo-marginals' own, and the time they take.

Run: PYPGM_DATA=... python bench/bench_record_refinement.py [--epsilons 0.1 1 100] [--stop validated] [--draws 3]

Adult, 32 random pairs, as in Table C.4. The error is the mean total variation on the measured pairs; that of records
has to stay below 1.3 times the pseudo-marginals' own plus half a cell count over the rows. Seconds are those of the
junction tree the records are drawn along, of drawing, and of refining them.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from pathlib import Path

import numpy as np

import pypgm
from pypgm.data import read_domain
from pypgm.models import model
from pypgm.models.refinement import refined_records


def main() -> None:
    """Print a line for each epsilon; raise where the records are too far off."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 1.0, 100.0])
    parser.add_argument("--stop", default="validated")
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    if "PYPGM_DATA" not in os.environ:
        sys.exit("PYPGM_DATA must name the folder that holds adult/")
    folder = Path(os.environ["PYPGM_DATA"]) / "adult"
    domain = read_domain(folder / "domain.json")
    data = pypgm.read_table(folder / "adult.csv.gz", domain)
    pairs = list(itertools.combinations(domain.attributes, 2))
    cliques = [pairs[i] for i in np.random.RandomState(0).choice(len(pairs), 32, replace=False)]
    refining = []

    def timed(*arguments):
        begin = time.perf_counter()
        found = refined_records(*arguments)
        refining.append(time.perf_counter() - begin)
        return found

    model.refined_records = timed
    print("epsilon     own  records   bound  tree cells  seconds: tree, drawing, refining")
    for epsilon in options.epsilons:
        rows = [_draw(data, cliques, epsilon, d, options.stop) for d in range(options.draws)]
        own, drawn, bound, cells, tree, records = np.mean(rows, axis=0)
        refined = np.mean(refining[-len(rows) :])
        print(
            f"{epsilon:7.4g}  {own:.4f}   {drawn:.4f}  {bound:.4f}  {cells:10.3g}"
            f"           {tree:.2f}     {records - refined:.2f}      {refined:.2f}",
            flush=True,
        )
        if drawn > bound:
            raise AssertionError(f"records at epsilon {epsilon} have the error {drawn}, the bound is {bound}")


def _draw(data, cliques, epsilon, draw, stop):
    spread = 2 * np.log(1e6)
    sigma = np.sqrt(32) * (np.sqrt(spread) + np.sqrt(spread + 2 * epsilon)) / (2 * epsilon)
    rng = np.random.default_rng(draw)
    truth = dict(zip(cliques, data.count(cliques), strict=True))
    noisy = [pypgm.LinearMeasurement(t + rng.normal(0, sigma, t.size), c, sigma) for c, t in truth.items()]
    model = pypgm.estimate(data.domain, noisy, oracle="region_graph", stop=stop)
    begin = time.perf_counter()
    cells = model.bounded_tree.tree.cost.cells
    tree = time.perf_counter() - begin
    begin = time.perf_counter()
    records = model.synthetic_data(rng=draw)
    seconds = time.perf_counter() - begin
    if len(records) != round(model.total):
        raise AssertionError(f"{len(records)} records of a model of {model.total}")
    own = pypgm.evaluate(model, unsafe_data=data, cliques=cliques).mean
    drawn = pypgm.evaluate(records, unsafe_data=data, cliques=cliques).mean
    bound = 1.3 * own + 0.5 * np.mean([data.domain.size(c) for c in cliques]) / len(records)
    return own, drawn, bound, cells, tree, seconds


if __name__ == "__main__":
    main()
