"""Private parameter learning of Bayesian networks: the uniform baseline, the published scheme and ours, side by side.

Run: PYPGM_DATA=... python bench/paper/bayes.py [--runs 10] [--networks asia sachs child alarm] [--epsilons 1 2 3]
     [--plot FILE.png]

The protocol is that of Chowdhury, Rekatsinas and Jha 2020: 10,000 records drawn from a published network, 20 random
queries (10 marginal, 10 conditional), repeated. The reference is the network of maximum likelihood on the same records,
so that errors are those of privacy. Printed are means with standard errors over the runs:

    L1     of a row of a conditional table, in the mean over the rows of a table, then over tables
    KL     of a query's probabilities from the reference's, both mixed with 1e-12 of the uniform
    MAP    part of the queries whose most probable answer is the reference's

and paired 95 % intervals between schemes; where the published gain over D-Ind does not reproduce it says so. Every
learned network is checked before it counts: its ledger within the budget, its rows distributions.

`adult` is a table of real records, where the structure is chosen privately too, under the same budget: PrivBayes as
published and with one model of all its measurements, and both schemes above on a structure chosen as PrivBayes does.
Printed is the total variation distance from the records, in the mean over all pairs of attributes.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy import stats

import pypgm
from pypgm.bayes import BayesianNetwork, PrivateStructure, compare_answers, compare_tables, learn, learn_private
from pypgm.mechanisms import privbayes

N_RECORDS = 10_000
N_QUERIES = 20
SCHEMES = {
    "D-Ind": {"paper": True, "allocation": "uniform"},
    "published": {"paper": True},
    "ours": {},
    "uniform, joint": {"allocation": "uniform"},
}
ON_RECORDS = {
    "PrivBayes": lambda data, epsilon: privbayes(data, epsilon, estimator="tables"),
    "PrivBayes, joint": privbayes,
    "published": lambda data, epsilon: learn_private(data, PrivateStructure(), epsilon, paper=True),
    "ours": lambda data, epsilon: learn_private(data, PrivateStructure(), epsilon),
    "uniform, joint": lambda data, epsilon: learn_private(data, PrivateStructure(), epsilon, allocation="uniform"),
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


def differences(paired):
    """Return the mean of paired differences and half of its 95 % interval, shape (measures,)."""
    return paired.mean(axis=0), stats.t.ppf(0.975, len(paired) - 1) * paired.std(axis=0, ddof=1) / len(paired) ** 0.5


def show(network, epsilon, found, seconds):
    """Print a line a scheme, and the paired differences."""
    for name, rows in found.items():
        spread = rows.std(axis=0, ddof=1) / len(rows) ** 0.5
        cells = "  ".join(f"{m:.4f} +- {s:.4f}" for m, s in zip(rows.mean(axis=0), spread, strict=True))
        print(f"{network:8} {epsilon:4g}  {name:15} {cells}  {seconds[name] / len(rows):.2f} s")
    for one, other in (("ours", "published"), ("ours", "D-Ind"), ("published", "D-Ind")):
        mean, reach = differences(found[one] - found[other])
        cells = "  ".join(f"{m:+.4f} +- {r:.4f}" for m, r in zip(mean, reach, strict=True))
        print(f"{'':6} {one + ' - ' + other:22} {cells}", flush=True)
        if other == "D-Ind" and one == "published" and mean[0] > reach[0]:
            print(f"{'':6} the published gain over D-Ind does not reproduce here: its L1 is larger")


def show_records(folder, epsilons, runs):
    """Print the distance of each scheme's marginals from the records of the adult table; return it by budget."""
    domain = pypgm.read_domain(folder / "domain.json")
    data = pypgm.read_table(folder / "adult.csv.gz", domain)
    pairs = list(itertools.combinations(domain.attributes, 2))
    results = {}
    for epsilon in epsilons:
        results[epsilon] = {}
        for name, learned in ON_RECORDS.items():
            began, rows = time.perf_counter(), []
            for _ in range(runs):
                release = learned(data, epsilon)
                spent = sum(line.cost for line in release.ledger.lines)
                if spent > Fraction(str(epsilon)):
                    raise AssertionError(f"{spent} was spent of {epsilon}")
                rows.append(pypgm.evaluate(release, cliques=pairs, unsafe_data=data).mean)
            seconds = (time.perf_counter() - began) / runs
            results[epsilon][name] = np.array(rows)[:, None]
            spread = np.std(rows, ddof=1) / runs**0.5
            print(f"adult    {epsilon:4g}  {name:17} {np.mean(rows):.4f} +- {spread:.4f}  {seconds:.2f} s", flush=True)
    return results


def plot(path, results):
    """Draw a row of panels a network, each measure against epsilon, with standard errors."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 2.8 * len(results)), layout="constrained")
    panels = figure.subplots(len(results), 3, squeeze=False)
    for row, (network, by_epsilon) in zip(panels, results.items(), strict=True):
        budgets = list(by_epsilon)
        names = ("total variation",) if network == "adult" else MEASURES
        for i, (panel, measure) in enumerate(zip(row, names, strict=False)):
            for scheme in by_epsilon[budgets[0]]:
                columns = [by_epsilon[e][scheme][:, i] for e in budgets]
                spread = [c.std(ddof=1) / len(c) ** 0.5 for c in columns]
                panel.errorbar(budgets, [c.mean() for c in columns], spread, label=scheme, capsize=2)
            panel.set_title(f"{network}: {measure}", loc="left")
            panel.set_xlabel("epsilon")
            panel.set_ylim(bottom=None if measure == "MAP" else 0)
        row[0].legend(frameon=False, fontsize=8)
        for panel in row[len(names) :]:
            panel.set_visible(False)
    figure.savefig(path, dpi=110)


def show_ratios(results):
    """Print each scheme's L1 beside the published one's, and where ours exceeds it."""
    found = [by for network, by_epsilon in results.items() if network != "adult" for by in by_epsilon.values()]
    for name in SCHEMES if found else ():
        ours, theirs = ([by[scheme][:, 0].mean() for by in found] for scheme in (name, "published"))
        ratios = np.array(ours) / np.array(theirs)
        means = np.mean(ours) / np.mean(theirs)
        print(
            f"L1 of {name} beside the published scheme's: of the means {means:.3f}, "
            f"in the mean over all {ratios.mean():.3f}"
        )
    for network, by_epsilon in results.items():
        for epsilon, by in by_epsilon.items() if network != "adult" else ():
            paired, reach = differences(by["ours"] - by["published"])
            for i, (measure, sign) in enumerate(zip(MEASURES, (1, 1, -1), strict=True)):
                if sign * paired[i] > reach[i]:
                    print(f"ours exceeds the published scheme: {network}, epsilon {epsilon:g}, {measure}")


def main():
    """Measure every network at every budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="at least 2")
    parser.add_argument("--networks", nargs="+", default=["asia", "sachs", "child", "alarm", "adult"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 1.5, 2.0, 2.5, 3.0])
    parser.add_argument("--plot", help="a PNG file")
    arguments = parser.parse_args()
    folder = Path(os.environ["PYPGM_DATA"])
    began, results = time.perf_counter(), {}
    print(f"{'network':8} {'eps':>4}  {'scheme':15} {'L1':16}  {'KL':16}  {'MAP':16}  a run")
    for network in arguments.networks:
        if network == "adult":
            results[network] = show_records(folder / network, arguments.epsilons, arguments.runs)
            continue
        net = BayesianNetwork.read_bif(folder / "bif" / f"{network}.bif.gz")
        results[network] = {}
        for epsilon in arguments.epsilons:
            results[network][epsilon], seconds = measured(net, epsilon, arguments.runs)
            show(network, epsilon, results[network][epsilon], seconds)
    show_ratios(results)
    if arguments.plot:
        plot(arguments.plot, results)
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
