"""Structures learned from records beside pyAgrum and pgmpy, all in one process.

Run: PYPGM_DATA=... python bench/bench_structure.py [--networks alarm,child] [--rows 1000,10000] [--pgmpy-rows 1000];
pyagrum has to be installed, and pgmpy for --pgmpy-rows.

Every structure is scored by `fit_score` of its own network, so that all packages are judged alike; ours has to be the
score it reports. Then the score less that of the true structure, the structural Hamming distance to it and the CPU
seconds are printed, all on one thread. "BDeu" has the strength 1 here and in pyAgrum; pgmpy climbs its "BIC".
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
import pyagrum
from harness import network_file

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


def timed(call: Callable[[], Arcs]) -> tuple[list[tuple[str, str]], float]:
    start = time.process_time()
    arcs = list(call())
    return arcs, time.process_time() - start


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
            arcs, seconds = timed(call)
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


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--networks", default=NETWORKS)
    options.add_argument("--rows", default="500,2000,10000")
    options.add_argument("--pgmpy-rows", type=int, default=0, help="largest number of rows for pgmpy")
    given = options.parse_args()
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


if __name__ == "__main__":
    main()
