"""Structures learned from records beside pyAgrum and pgmpy, all in one process.

Run: PYPGM_DATA=... python bench/bench_structure.py [--networks alarm,child] [--rows 1000,10000] [--pgmpy-rows 1000];
pyagrum has to be installed, and pgmpy for --pgmpy-rows.

Every structure is scored by `fit_score` of its own network, so that all packages are judged alike; ours has to be the
score it reports. Then the score less that of the true structure, the structural Hamming distance to it and the CPU
seconds are printed, all on one thread. "BDeu" has the strength 1 here and in pyAgrum; pgmpy climbs its "BIC".

Then what the peers lack or do otherwise, with its own checks: exact search, whose score no climb exceeds; structural
expectation maximisation with a tenth of the values missing; strengths of arcs in 20 resamples.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import pyagrum
from harness import check, network_file, print_table, timed

from pypgm import Dataset
from pypgm.bayes import BayesianNetwork, compare_networks, fit_score, learn, learn_structure

NETWORKS = "asia,sachs,child,insurance,alarm,water,win95pts,hailfinder,survey,earthquake"

Arcs = Iterable[tuple[str, str]]


def by_pyagrum(frame: pd.DataFrame, net: BayesianNetwork, score: str) -> Arcs:
    model = pyagrum.BayesNet()
    for a in net.domain:
        model.add(pyagrum.LabelizedVariable(a, a, [str(v) for v in range(net.domain.size(a))]))
    learner = pyagrum.BNLearner(frame, model)
    if score == "bdeu":
        learner.useScoreBDeu()
        learner.useBDeuPrior(1)
    else:
        learner.useScoreBIC()
    learner.useGreedyHillClimbing()
    learner.setMaxIndegree(4)
    learner.setNumberOfThreads(1)
    names = {model.idFromName(a): a for a in net.domain}
    return [(names[p], names[c]) for p, c in learner.learnDAG().arcs()]


def by_pgmpy(frame: pd.DataFrame) -> Arcs:
    from pgmpy.estimators import HillClimbSearch

    search = HillClimbSearch(frame.astype("category"))
    return list(search.estimate(scoring_method="bic-d", max_indegree=4, show_progress=False).edges())


def compare(name: str, rows: int, score: str, with_pgmpy: bool) -> list[tuple[str, float, float]]:
    net = BayesianNetwork.read_bif(network_file(name))
    records = net.sample(rows, rng=rows)
    codes = {a: np.char.mod("%d", records.columns[a]) for a in net.domain}
    frame = pd.DataFrame(codes, dtype=object)
    contenders = {
        "pypgm": lambda: learn_structure(records, score=score).arcs,
        "pyagrum": lambda: by_pyagrum(frame, net, score),
        **({"pgmpy": lambda: by_pgmpy(frame)} if with_pgmpy and score == "bic" else {}),
    }
    truth = score_of(records, net.parents, score)
    found = []
    for who, call in contenders.items():
        try:
            arcs, seconds = timed(call, clock=time.process_time)
        except Exception as error:  # a peer may refuse a table
            print(f"{name:<12}{rows:>7} {score:<5}{who:<8} {type(error).__name__}: {str(error)[:60]}", flush=True)
            continue
        learned = learn(records, arcs)
        reached = fit_score(learned, records, score)
        if who == "pypgm":
            assert abs(reached - learn_structure(records, score=score).score) < 1e-6 * abs(reached)
        hamming = compare_networks(net, learned).structural_hamming
        gap = reached - truth
        print(f"{name:<12}{rows:>7} {score:<5}{who:<8}{gap:>+10.1f} {hamming:>4}{seconds:>9.3f} s", flush=True)
        found.append((who, reached, seconds))
    return found


def score_of(records: Dataset, parents: dict, score: str) -> float:
    return fit_score(learn(records, parents), records, score)


def others() -> None:
    """Time what the peers lack on 2,000 records: exact search, missing values, strengths of arcs."""
    rows = []
    for name in ("sachs", "child"):
        net = BayesianNetwork.read_bif(network_file(name))
        records = net.sample(2000, rng=1)
        climbed = learn_structure(records)
        best, seconds = timed(learn_structure, records, "exact", clock=time.process_time)
        check(best.score >= climbed.score - 1e-6, f"{name}: a climb exceeds the best score of all")
        rows.append([f"{name}, exact: score of the climb less the best", climbed.score - best.score, seconds])
        frame = records.to_frame()
        holed = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1)
        found, seconds = timed(learn_structure, holed, domain=net.domain, clock=time.process_time)
        further = [compare_networks(net, learn(records, s)).structural_hamming for s in (found, climbed)]
        rows.append([f"{name}, a tenth missing: Hamming distance more than without", further[0] - further[1], seconds])
    net = BayesianNetwork.read_bif(network_file("alarm"))
    found, seconds = timed(learn_structure, net.sample(2000, rng=1), bootstrap=20, clock=time.process_time)
    strengths: dict[frozenset[str], float] = {}
    for arc, share in found.strengths.items():
        strengths[frozenset(arc)] = strengths.get(frozenset(arc), 0.0) + share
    true = {frozenset((p, child)) for child, parents in net.parents.items() for p in parents}
    check(np.mean([strengths.get(pair, 0.0) for pair in true]) > 0.8, "true arcs are not strong")
    wrong = sum(share > 0.5 and pair not in true for pair, share in strengths.items())
    rows.append([f"alarm, 20 resamples: false arcs in more than half, beside {len(true)} true ones", wrong, seconds])
    print_table({"what": "", "found": ".4g", "CPU s": ".2f"}, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--networks", default=NETWORKS)
    options.add_argument("--rows", default="500,2000,10000")
    options.add_argument("--pgmpy-rows", type=int, default=0, help="largest number of rows for pgmpy")
    given = options.parse_args(arguments)
    warnings.simplefilter("ignore")
    learn_structure({"a": [0, 1]})  # what is imported at the first call
    results = [
        compare(name, int(rows), score, int(rows) <= given.pgmpy_rows)
        for name in given.networks.split(",")
        for rows in given.rows.split(",")
        for score in ("bdeu", "bic")
    ]
    for peer in ("pyagrum", "pgmpy"):
        pairs = [(r[0], next(x for x in r if x[0] == peer)) for r in results if any(x[0] == peer for x in r)]
        if pairs:
            as_good = sum(ours[1] >= theirs[1] - 1e-6 * abs(theirs[1]) for ours, theirs in pairs)
            ratio = sum(theirs[2] for _, theirs in pairs) / sum(ours[2] for ours, _ in pairs)
            print(f"{peer}: our score as good in {as_good} of {len(pairs)}; its CPU time {ratio:.2f} times ours in all")
    others()


if __name__ == "__main__":
    main()
