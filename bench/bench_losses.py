"""The L1 and the L2 estimate of the same Laplace measurements: both losses of both, and their workload error.

Run: PYPGM_DATA=... python bench/bench_losses.py [--threads N]

The setting of the supplement D.1 of the Private-PGM paper: random triples of titanic and adult pairs, Laplace noise,
epsilon 1 split evenly. The L1 loss is the likelihood of that noise, the L2 loss is the faster one. Each estimate is
checked: its loss is computed again by hand, and neither may beat the other's own loss by more than its certified gap.
The workload error is the mean over the measured marginals of the total variation from the table.
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

PROBLEMS = {"titanic": (15, 3), "adult": (10, 2)}
EPSILON = 1.0


def measured_table(name: str) -> tuple[pypgm.Domain, list[pypgm.LinearMeasurement], list[np.ndarray]]:
    """Return random marginals of a public table with Laplace noise, and without."""
    count, width = PROBLEMS[name]
    folder = Path(os.environ["PYPGM_DATA"]) / name
    domain = read_domain(folder / "domain.json")
    data = pypgm.read_table(folder / f"{name}.csv.gz", domain)
    every = list(itertools.combinations(domain.attributes, width))
    cliques = [every[i] for i in np.random.RandomState(0).choice(len(every), count, replace=False)]
    exact = [data.project(c).values for c in cliques]
    scale, rng = count / EPSILON, np.random.default_rng(0)
    noisy = [t + rng.laplace(size=t.shape) * scale for t in exact]
    spread = scale * np.sqrt(2)
    both = zip(noisy, cliques, strict=True)
    return domain, [pypgm.LinearMeasurement(v, c, spread, None, "laplace") for v, c in both], exact


def by_hand(model: pypgm.GraphicalModel, measurements: list[pypgm.LinearMeasurement]) -> dict[str, float]:
    """Return both losses of a model."""
    found = {"l1": 0.0, "l2": 0.0}
    for m in measurements:
        residual = (model.project(m.clique).datavector() - m.values) / m.stddev
        found["l2"] += 0.5 * float(np.square(residual).sum())
        found["l1"] += float(np.abs(residual).sum()) * np.sqrt(2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=0)
    threads = parser.parse_args().threads
    if "PYPGM_DATA" not in os.environ:
        sys.exit("PYPGM_DATA must name the folder that holds titanic and adult")
    print("   table       stop  loss         L1         L2       gap   error  calls  seconds")
    for name, stop in itertools.product(PROBLEMS, ("optimum", "validated")):
        domain, measurements, exact = measured_table(name)
        losses, gaps = {}, {}
        for loss in ("l1", "l2"):
            started = time.perf_counter()
            model = pypgm.estimate(domain, measurements, loss=loss, stop=stop, n_threads=threads, time_limit=60)
            seconds = time.perf_counter() - started
            losses[loss], gaps[loss] = by_hand(model, measurements), model.fit.gap
            if abs(losses[loss][loss] - model.fit.loss) > 1e-6 * model.fit.loss:
                raise AssertionError(
                    f"the {loss} loss by hand is {losses[loss][loss]}, that of the fit {model.fit.loss}"
                )
            pairs = zip(measurements, exact, strict=True)
            error = np.mean([np.abs(model.project(m.clique).values - t).sum() / t.sum() / 2 for m, t in pairs])
            print(
                f"{name:>8} {stop:>10} {loss:>5} {losses[loss]['l1']:>10.1f} {losses[loss]['l2']:>10.1f} "
                f"{gaps[loss]:>9.2g} {error:>7.4f} {model.fit.iterations:>6} {seconds:>8.2f}"
            )
        for one, other in (("l1", "l2"), ("l2", "l1")):
            if losses[other][one] < losses[one][one] - gaps[one] - 1e-9:
                raise AssertionError(f"the {other} estimate has the lower {one} loss, by more than the gap")


if __name__ == "__main__":
    main()
