"""Synthetic records from region-graph models: their error beside the pseudo-marginals' own, and the time they take.

Run: PYPGM_DATA=... python bench/bench_record_refinement.py [--epsilons 0.1 1 100] [--stop validated] [--draws 3]

Adult, 32 random pairs, as in Table C.4. The error is the mean total variation on the measured pairs; that of records
has to stay below 1.3 times the pseudo-marginals' own plus half a cell count over the rows. Seconds are those of the
junction tree the records are drawn along, of drawing, and of refining them.
"""

from __future__ import annotations

import argparse

import numpy as np
from harness import check, random_cliques, table, timed

import pypgm
from pypgm.models import model
from pypgm.models.sampling import refined_records


def main() -> None:
    """Print a line for each epsilon; raise where the records are too far off."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 1.0, 100.0])
    parser.add_argument("--stop", default="validated")
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    data = table("adult")
    cliques, refining = random_cliques(data.domain, 32), []

    def refined(*arguments, **options):
        columns, seconds = timed(refined_records, *arguments, **options)
        refining.append(seconds)
        return columns

    model.refined_records = refined
    print("epsilon     own  records   bound  tree cells  seconds: tree, drawing, refining")
    for epsilon in options.epsilons:
        rows = [_draw(data, cliques, epsilon, d, options.stop) for d in range(options.draws)]
        model_error, drawn, bound, cells, tree, records = np.mean(rows, axis=0)
        last = np.mean(refining[-len(rows) :])
        print(
            f"{epsilon:7.4g}  {model_error:.4f}   {drawn:.4f}  {bound:.4f}  {cells:10.3g}"
            f"           {tree:.2f}     {records - last:.2f}      {last:.2f}",
            flush=True,
        )
        check(drawn <= bound, f"records at epsilon {epsilon} have the error {drawn}, the bound is {bound}")


def _draw(data, cliques, epsilon, draw, stop):
    spread = 2 * np.log(1e6)
    sigma = np.sqrt(32) * (np.sqrt(spread) + np.sqrt(spread + 2 * epsilon)) / (2 * epsilon)
    rng = np.random.default_rng(draw)
    truth = dict(zip(cliques, data.count(cliques), strict=True))
    noisy = [pypgm.LinearMeasurement(t + rng.normal(0, sigma, t.size), c, sigma) for c, t in truth.items()]
    model = pypgm.estimate(data.domain, noisy, oracle="region_graph", stop=stop)
    cells, tree = timed(lambda: model.bounded_tree.tree.cost.cells)
    records, seconds = timed(model.synthetic_data, rng=draw)
    check(len(records) == round(model.total), f"{len(records)} records of a model of {model.total}")
    model_error = pypgm.evaluate(model, unsafe_data=data, cliques=cliques).mean
    drawn = pypgm.evaluate(records, unsafe_data=data, cliques=cliques).mean
    bound = 1.3 * model_error + 0.5 * np.mean([data.domain.size(c) for c in cliques]) / len(records)
    return model_error, drawn, bound, cells, tree, seconds


if __name__ == "__main__":
    main()
