"""The error of an estimate on the adult table: 32 random pairs at nine budgets, and MST over all 91 pairs.

Run: PYPGM_DATA=... python bench/bench_accuracy.py [--draws 5] [--epsilons 0.01 0.1 1] [--stops validated optimum]
     [--measured-only] [--mst]

The protocol is that of Table C.4 of "Relaxed marginal consistency for differentially private query answering" (NeurIPS
2021): pairs drawn by RandomState(0), Gaussian noise of sigma = sqrt(32) (sqrt(2 ln 1/delta) + sqrt(2 ln 1/delta + 2
epsilon)) / (2 epsilon) with delta = 1e-6, mean total variation on the pairs measured; here the number of records is
estimated from the measurements too. Beside each error stand the published one of exact inference and the one to reach.
Every model is checked before it counts: finite marginals that sum to its total.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import pypgm
from pypgm.data import read_domain

EPSILONS = [0.01, 0.0316227766, 0.1, 0.316227766, 1.0, 3.16227766, 10.0, 31.6227766, 100.0]
PUBLISHED = [0.4375, 0.2848, 0.1724, 0.0908, 0.0433, 0.0187, 0.0074, 0.0037, 0.0027]
TO_REACH = [0.38, 0.225, 0.112, 0.057, 0.0290, 0.0147, 0.0072, 0.0037, 0.0019]
FIRST_DRAW = 1000
TIME_LIMIT = 60.0  # seconds, for the optimum


def main() -> None:
    options = _arguments()
    if "PYPGM_DATA" not in os.environ:
        sys.exit("PYPGM_DATA needs to name the folder that holds adult/adult.csv.gz and adult/domain.json")
    folder = Path(os.environ["PYPGM_DATA"]) / "adult"
    domain = read_domain(folder / "domain.json")
    data = pypgm.read_table(folder / "adult.csv.gz", domain)
    if options.mst:
        _mst(data, options.draws)
        return
    pairs = list(itertools.combinations(domain.attributes, 2))
    measured = [pairs[i] for i in sorted(np.random.RandomState(0).choice(len(pairs), 32, replace=False))]
    workloads = {"measured": measured, "unmeasured": [p for p in pairs if p not in measured]}
    if options.measured_only:
        del workloads["unmeasured"]
    truth = dict(zip(measured, data.count(measured), strict=True))
    print("epsilon  stop        measured (published, to reach)  unmeasured  relative gap  calls  seconds  status")
    for epsilon in options.epsilons:
        place = int(np.argmin(np.abs(np.log(np.array(EPSILONS) / epsilon))))
        for stop in options.stops:
            rows = [_draw(data, workloads, _noisy(truth, epsilon, d), stop) for d in range(options.draws)]
            gap, calls, seconds, *errors = np.mean([r[1:] for r in rows], axis=0)
            outside = f"{errors[1]:.4f}" if len(errors) > 1 else ""
            reference = f"({PUBLISHED[place]:.4f}, {TO_REACH[place]:.4f})"
            print(
                f"{epsilon:7.4g}  {stop:10}  {errors[0]:8.4f} {reference:22}  {outside:10}  {gap:12.2e}  {calls:5.0f}"
                f"  {seconds:7.1f}  {rows[0][0]}",
                flush=True,
            )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--measured-only", action="store_true", help="leave out the 59 pairs not measured")
    parser.add_argument("--stops", nargs="+", default=["validated", "optimum"])
    parser.add_argument("--mst", action="store_true", help="MST instead, with compression and without")
    return parser.parse_args()


def _noisy(truth, epsilon, draw):
    slack = 2 * math.log(1e6)
    sigma = math.sqrt(32) * (math.sqrt(slack) + math.sqrt(slack + 2 * epsilon)) / (2 * epsilon)
    rng = np.random.default_rng(FIRST_DRAW + draw)
    return [pypgm.LinearMeasurement(t + sigma * rng.normal(size=t.size), c, sigma) for c, t in truth.items()]


def _draw(data, workloads, noisy, stop):
    limit = TIME_LIMIT if stop == "optimum" else None
    started = time.perf_counter()
    model = pypgm.estimate(data.domain, noisy, stop=stop, time_limit=limit)
    seconds = time.perf_counter() - started
    _check(model)
    errors = [pypgm.evaluate(model, unsafe_data=data, cliques=c).mean for c in workloads.values()]
    return (model.fit.status, model.fit.gap / (1 + model.fit.loss), model.fit.iterations, seconds, *errors)


def _mst(data: pypgm.Dataset, runs: int) -> None:
    pairs = list(itertools.combinations(data.domain.attributes, 2))
    for compress, to_reach in ((True, 0.0545), (False, 0.053)):
        errors = []
        for _ in range(runs):
            model = pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9, compress=compress).model
            _check(model)
            errors.append(pypgm.evaluate(model, unsafe_data=data, cliques=pairs).mean)
        shown = " ".join(f"{e:.4f}" for e in errors)
        print(
            f"MST, compress={compress}: median {statistics.median(errors):.4f} (to reach {to_reach}); {shown}",
            flush=True,
        )


def _check(model: pypgm.GraphicalModel) -> None:
    sums = [model.marginals[c].values.sum() for c in model.cliques]
    if not (np.isfinite(model.marginals.values).all() and np.allclose(sums, model.total)):
        raise AssertionError("the model's marginals do not sum to its total")


if __name__ == "__main__":
    main()
