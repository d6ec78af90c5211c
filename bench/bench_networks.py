"""All node marginals of Bayesian networks, beside pyAgrum: from the structure, and with the plan kept and new evidence.

Run: PYPGM_DATA=... python bench/bench_networks.py [--agrum-python PYTHON] [--threads N] [--all] [network or file ...]

`cold` is planning, propagation and every posterior as an array, without evidence; for pyAgrum a new LazyPropagation,
makeInference and posterior(...).toarray() of every node. `known` keeps the plan (pyAgrum: the engine) and brings new
evidence on one node in ten, drawn from the network itself. Medians of --repeats, ratios pyAgrum / pypgm. The answers
are compared first: with the independent marginals in the data folder to 1e-9; with pyAgrum, which keeps its tables in
float32, to 1e-6, and given evidence to 1e-5. A network may also be the path of a BIF file compressed with gzip; it need
not have such marginals beside it. pyAgrum runs in an environment of its own, one process for all networks; without
--agrum-python its columns stay empty. With --all follow single records and approximate answers, as in
bench_approximate.py, and a part of the table of bench_structure.py, which needs pyagrum in this process.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import math
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from harness import beside, median_seconds, network_file, print_table, timed

import pypgm

NETWORKS = ("alarm", "hailfinder", "win95pts", "andes", "pigs", "water")

PEER = """
import json, statistics, sys, time
import pyagrum as gum
jobs = json.load(sys.stdin)
gum.setNumberOfThreads(jobs["threads"]) if jobs["threads"] else None
answers = {}
for name, job in jobs["networks"].items():
    net = gum.loadBN(job["path"])
    names = list(net.names())
    def read(engine):
        return {a: engine.posterior(a).toarray() for a in names}
    def cold():
        engine = gum.LazyPropagation(net)
        engine.makeInference()
        return read(engine)
    kept = gum.LazyPropagation(net)
    kept.makeInference()
    def known(evidence):
        kept.setEvidence(evidence)
        kept.makeInference()
        return read(kept)
    def median(calls):
        times = []
        for call in calls:
            started = time.perf_counter()
            call()
            times.append(time.perf_counter() - started)
        return statistics.median(times)
    plain = cold()
    found = [known(e) for e in job["evidence"]]
    labels = {a: list(net.variable(a).labels()) for a in names}
    answers[name] = {
        "cold": median([cold] * jobs["repeats"]),
        "known": median([lambda e=e: known(e) for e in job["evidence"]]),
        "labels": labels,
        "plain": {a: t.tolist() for a, t in plain.items()},
        "found": [{a: t.tolist() for a, t in f.items()} for f in found],
    }
json.dump(answers, sys.stdout)
"""


def some_evidence(net: pypgm.bayes.BayesianNetwork, repeats: int) -> list[dict[str, str]]:
    """Return values of one node in ten, drawn from the network: none is impossible."""
    rng = np.random.default_rng(0)
    records = net.sample(repeats, rng)
    labels = net.domain.labels
    drawn = []
    for row in range(repeats):
        chosen = rng.choice(len(net.domain), max(1, len(net.domain) // 10), replace=False)
        names = [net.domain.attributes[i] for i in sorted(chosen)]
        drawn.append({a: str(labels[a][int(records.columns[a][row])]) for a in names})
    return drawn


def check(name: str, ours: dict[str, np.ndarray], wanted: dict[str, np.ndarray], tolerance: float) -> None:
    """Raise unless all posteriors agree."""
    if set(ours) != set(wanted):
        raise AssertionError(f"{name}: other nodes")
    for a, table in ours.items():
        if np.abs(table - wanted[a]).max() > tolerance:
            raise AssertionError(f"{name}: the posteriors of {a} differ by {np.abs(table - wanted[a]).max()}")


class Network:
    """A network, its evidence, and what is timed."""

    def __init__(self, file: Path, repeats: int, threads: int) -> None:
        self.name = file.name.removesuffix(".bif.gz")
        self.file = file
        self.net = pypgm.bayes.BayesianNetwork.read_bif(self.file)
        self.potentials = self.net.potentials
        self.threads = threads
        self.tree = self.plan()
        self.evidence = some_evidence(self.net, repeats)
        known = file.with_name(f"{self.name}.marginals.json")
        if known.exists():
            exact = json.loads(known.read_text())["marginals"]
            labels = self.net.domain.labels
            check(self.name, self.cold(), {a: np.array([exact[a][str(v)] for v in labels[a]]) for a in exact}, 1e-9)

    def plan(self) -> pypgm.JunctionTree:
        return pypgm.JunctionTree(self.net.domain, self.potentials.cliques)

    def cold(self) -> dict[str, np.ndarray]:
        return self.plan().attribute_marginals(self.potentials, n_threads=self.threads)

    def known(self, evidence: dict[str, str]) -> dict[str, np.ndarray]:
        return self.tree.attribute_marginals(self.potentials, evidence=evidence, n_threads=self.threads)


def run_peer(python: str, networks: list[Network], repeats: int, threads: int) -> dict[str, dict]:
    """Run pyAgrum on all networks and return its times and answers."""
    with tempfile.TemporaryDirectory() as folder:
        jobs = {}
        for network in networks:
            path = Path(folder) / f"{network.name}.bif"
            path.write_bytes(gzip.decompress(network.file.read_bytes()))
            jobs[network.name] = {"path": str(path), "evidence": network.evidence}
        text = json.dumps({"networks": jobs, "repeats": repeats, "threads": threads})
        done = subprocess.run([python, "-c", PEER], input=text, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def check_peer(network: Network, peer: dict) -> None:
    """Raise unless pyAgrum gives the same posteriors, label by label."""
    labels = network.net.domain.labels

    def ordered(tables: dict[str, list[float]]) -> dict[str, np.ndarray]:
        return {a: np.array([t[peer["labels"][a].index(str(v))] for v in labels[a]]) for a, t in tables.items()}

    check(network.name, network.cold(), ordered(peer["plain"]), 1e-6)
    for evidence, answers in zip(network.evidence, peer["found"], strict=True):
        check(network.name, network.known(evidence), ordered(answers), 1e-5)


def further(files: list[Path], agrum: str | None) -> None:
    """Print the tables of single records, approximate answers and structures."""
    import bench_approximate

    bench_approximate.records(files)
    bench_approximate.networks(agrum)
    if importlib.util.find_spec("pyagrum"):
        import bench_structure

        bench_structure.main(["--networks", "asia,child,insurance,alarm", "--rows", "2000"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--agrum-python", help="the interpreter of an environment with pyagrum")
    parser.add_argument("--all", action="store_true", help="single records, approximate answers and structures too")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    files = [Path(name) if name.endswith(".gz") else network_file(name) for name in options.networks]
    networks = [Network(file, options.repeats, options.threads) for file in files]
    peers = {}
    if options.agrum_python:
        peers = run_peer(options.agrum_python, networks, options.repeats, options.threads)
    print(f"{pypgm.build_info()}, {options.threads or 'all'} thread(s)")
    ratios: dict[str, list[float]] = {"cold": [], "known": []}
    columns = {"network": "", "cells": ".4g"}
    for kind in ratios:
        columns |= {f"{kind} ms": ".3f", f"pyAgrum, {kind}": ".2f", f"ratio, {kind}": ".1f"}

    def rows() -> Iterator[list[object]]:
        for network in networks:
            cold = median_seconds(network.cold, options.repeats)
            known = statistics.median(timed(network.known, e)[1] for e in network.evidence)
            peer = peers.get(network.name)
            if peer:
                check_peer(network, peer)
            row = [network.name, network.tree.cost.cells]
            for kind, ours in (("cold", cold), ("known", known)):
                if peer:
                    ratios[kind].append(peer[kind] / ours)
                row += beside(ours, peer[kind]) if peer else [ours * 1e3, None, None]
            yield row

    print_table(columns, rows())
    for kind, factors in ratios.items():
        mean = math.exp(statistics.fmean(map(math.log, factors or [math.nan])))
        print(f"{kind}: geometric mean {mean:.1f}, least {min(factors, default=math.nan):.1f}")
    if options.all:
        further(files, options.agrum_python)


if __name__ == "__main__":
    main()
