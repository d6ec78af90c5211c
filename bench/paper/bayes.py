"""Private parameter learning of Bayesian networks: the uniform baseline, the published scheme and ours, side by side.

Run: PYPGM_DATA=... python bench/paper/bayes.py [--runs 10] [--networks asia sachs child alarm] [--epsilons 1 2 3]

The protocol is that of Chowdhury, Rekatsinas and Jha 2020: 10,000 records drawn from a published network, 20 random
queries (10 marginal, 10 conditional), repeated. The reference is the network of maximum likelihood on the same records,
so that errors are those of privacy. Printed are means with standard errors over the runs:

    L1     of a row of a conditional table, in the mean over the rows of a table, then over tables
    KL     of a query's probabilities from the reference's, both mixed with 1e-12 of the uniform
    MAP    part of the queries whose most probable answer is the reference's

and paired 95 % intervals between schemes; where the published gain over D-Ind does not reproduce it says so. Every
learned network is checked before it counts: its ledger within the budget, its rows distributions.
"""

from __future__ import annotations

import argparse
import os
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy import stats

from pypgm.bayes import BayesianNetwork, compare_answers, compare_tables, learn, learn_private

N_RECORDS = 10_000
N_QUERIES = 20
SCHEMES = {
    "D-Ind": {"allocation": "uniform", "estimator": "tables", "consistency": None},
    "published": {"paper": True},
    "ours": {},
    "uniform, joint": {"allocation": "uniform"},
}
MEASURES = ("L1", "KL", "MAP")


def random_queries(net, rng):
    """Return targets with evidence: half of them marginal, half given one other attribute of a record drawn."""
    names, record = list(net.domain), net.sample(N_QUERIES, rng)
    queries = []
    for i in range(N_QUERIES):
        target, known = rng.choice(names, 2, replace=False)
        code = int(record.columns[known][i])
        label = net.domain.labels[known][code] if known in net.domain.labels else code
        queries.append((str(target), {str(known): label} if i >= N_QUERIES // 2 else {}))
    return queries


def errors(reference, learned, queries):
    """Return L1, KL and MAP of one learned network; queries on impossible evidence count nowhere."""
    found = compare_answers(reference, learned, queries)
    l1 = np.mean(list(compare_tables(reference, learned).mean_l1.values()))
    return l1, np.nanmean(found.smoothed_kl), np.nanmean(found.map_agreement)


def checked(release, epsilon):
    """Return the network of a release, once its ledger and its tables are as they must be."""
    spent = sum(line.cost for line in release.ledger.lines)
    if spent > Fraction(str(epsilon)):
        raise AssertionError(f"{spent} was spent of {epsilon}")
    for table in release.model.tables.values():
        np.testing.assert_allclose(table.values.sum(axis=-1), 1, atol=1e-9)
    return release.model


def measured(net, epsilon, runs):
    """Return errors by scheme, shape (runs, measures), and seconds by scheme."""
    found = {name: [] for name in SCHEMES}
    seconds = dict.fromkeys(SCHEMES, 0.0)
    for run in range(runs):
        rng = np.random.default_rng([run, 7])
        data, queries = net.sample(N_RECORDS, rng), random_queries(net, rng)
        reference = learn(data, net)
        for name, options in SCHEMES.items():
            began = time.perf_counter()
            model = checked(learn_private(data, net, epsilon, **options), epsilon)
            seconds[name] += time.perf_counter() - began
            found[name].append(errors(reference, model, queries))
    return {name: np.array(rows) for name, rows in found.items()}, seconds


def show(network, epsilon, found, seconds):
    """Print a line a scheme, and the paired differences."""
    for name, rows in found.items():
        spread = rows.std(axis=0, ddof=1) / len(rows) ** 0.5
        cells = "  ".join(f"{m:.4f} +- {s:.4f}" for m, s in zip(rows.mean(axis=0), spread, strict=True))
        print(f"{network:8} {epsilon:4g}  {name:15} {cells}  {seconds[name] / len(rows):.2f} s")
    for one, other in (("ours", "published"), ("ours", "D-Ind"), ("published", "D-Ind")):
        paired = found[one] - found[other]
        reach = stats.t.ppf(0.975, len(paired) - 1) * paired.std(axis=0, ddof=1) / len(paired) ** 0.5
        cells = "  ".join(f"{m:+.4f} +- {r:.4f}" for m, r in zip(paired.mean(axis=0), reach, strict=True))
        print(f"{'':6} {one + ' - ' + other:22} {cells}", flush=True)
        if other == "D-Ind" and one == "published" and paired[:, 0].mean() > reach[0]:
            print(f"{'':6} the published gain over D-Ind does not reproduce here: its L1 is larger")


def main():
    """Measure every network at every budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="at least 2")
    parser.add_argument("--networks", nargs="+", default=["asia", "sachs", "child", "alarm"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 1.5, 2.0, 2.5, 3.0])
    arguments = parser.parse_args()
    folder = Path(os.environ["PYPGM_DATA"]) / "bif"
    began, ratios = time.perf_counter(), {name: [] for name in SCHEMES}
    print(f"{'network':8} {'eps':>4}  {'scheme':15} {'L1':16}  {'KL':16}  {'MAP':16}  a run")
    for network in arguments.networks:
        net = BayesianNetwork.read_bif(folder / f"{network}.bif.gz")
        for epsilon in arguments.epsilons:
            found, seconds = measured(net, epsilon, arguments.runs)
            show(network, epsilon, found, seconds)
            for name, rows in found.items():
                ratios[name].append(rows[:, 0].mean() / found["published"][:, 0].mean())
    for name, values in ratios.items():
        print(f"L1 of {name}, beside the published scheme, in the mean over all: {np.mean(values):.3f}")
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
