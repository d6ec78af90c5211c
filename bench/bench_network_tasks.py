"""Everyday tasks on a Bayesian network beside pgmpy and pyAgrum, all in one process: queries, holes, learning, records.

Run: PYPGM_DATA=... python bench/bench_network_tasks.py [network]; pgmpy and pyagrum have to be installed.

The answers are compared first: posteriors to 1e-6 (pyAgrum keeps single precision), single marginals of what pyAgrum
learns to 1e-6, and records by the shares of one attribute, within five standard errors. Then CPU time is taken, the
median of --repeats, and the ratio to ours printed. Peers answer fewer rows with holes than we do; theirs is the time a
row, times the rows.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyagrum
from harness import median_seconds, network_file
from pgmpy.inference import VariableElimination

from pypgm.bayes import BayesianNetwork, learn
from pypgm.integrations.pgmpy import to_pgmpy
from pypgm.integrations.pyagrum import from_pyagrum

RECORDS = 20_000
HOLED, PEER_ROWS = 2_000, 20


def known(row: pd.Series) -> dict[str, str]:
    return {a: str(value) for a, value in row.items() if not pd.isna(value)}


class Task:
    """Task with the call of each package, and the number of our units that each call of a peer stands for."""

    def __init__(self, name: str, ours: Callable[[], Any], peers: dict[str, tuple[Callable[[], Any], float]]) -> None:
        self.name, self.ours, self.peers = name, ours, peers

    def run(self, repeats: int) -> None:
        mine = median_seconds(self.ours, repeats, time.process_time)
        shown = [f"{self.name:<28}{mine * 1e3:>10.2f} ms"]
        for peer, (call, units) in self.peers.items():
            theirs = median_seconds(call, max(1, repeats // 2), time.process_time) * units
            shown.append(f"{peer} {theirs * 1e3:>10.1f} ms {theirs / mine:>7.1f} x")
        print("  ".join(shown), flush=True)


def tasks(path: Path) -> list[Task]:
    net = BayesianNetwork.read_bif(path)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "net.bif"
        plain.write_bytes(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
        bn = pyagrum.loadBN(str(plain))
    m = to_pgmpy(net)
    frame = net.sample(RECORDS, rng=1).to_frame()
    rng = np.random.default_rng(0)
    target, *rest = reversed(net.domain.attributes)
    holed = frame.head(HOLED).mask(rng.random((HOLED, len(net.domain))) < 0.1).drop(columns=target)
    evidence = {a: str(frame[a][0]) for a in rest[:2]}
    engine = VariableElimination(m)

    def of_pgmpy(evidence: dict[str, str]) -> np.ndarray:
        factor = engine.query([target], evidence=evidence, show_progress=False)
        return factor.values[[factor.state_names[target].index(label) for label in net.domain.labels[target]]]

    def of_pyagrum(evidence: dict[str, str]) -> np.ndarray:
        return pyagrum.getPosterior(bn, target=target, evs=evidence).toarray()

    def learned_by_pyagrum() -> BayesianNetwork:
        learner = pyagrum.BNLearner(frame, bn)
        learner.useBDeuPrior(10)
        return from_pyagrum(learner.learnParameters(bn.dag()))

    def learned_by_pgmpy() -> dict[str, np.ndarray]:
        from pgmpy.estimators import BayesianEstimator

        estimator = BayesianEstimator(m, frame)
        cpds = estimator.get_parameters(prior_type="BDeu", equivalent_sample_size=10)
        return {cpd.variable: cpd.values for cpd in cpds}

    rows = [known(row) for _, row in holed.head(PEER_ROWS).iterrows()]
    ours = net.query(target, evidence).values
    for theirs in (of_pgmpy(evidence), of_pyagrum(evidence)):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    batch = net.predict_proba(holed, target)[target][:PEER_ROWS]
    for answer in (of_pgmpy, of_pyagrum):
        np.testing.assert_allclose(batch, [answer(row) for row in rows], atol=1e-5)
    mine, other = learn(frame, net, prior="bdeu", strength=10), learned_by_pyagrum()
    for a in net.domain:
        np.testing.assert_allclose(mine.query(a).values, other.query(a).values, atol=1e-6)

    def sampled_by_pyagrum() -> Any:
        generator = pyagrum.BNDatabaseGenerator(bn)
        generator.drawSamples(RECORDS)
        return generator.to_pandas()

    exact = net.query(target).values
    for drawn in (
        net.sample(RECORDS, rng=0).to_frame(),
        m.simulate(RECORDS, show_progress=False),
        sampled_by_pyagrum(),
    ):
        shares = [np.mean(drawn[target].astype(str) == str(label)) for label in net.domain.labels[target]]
        np.testing.assert_allclose(shares, exact, atol=5 * 0.5 / RECORDS**0.5)

    share = HOLED / PEER_ROWS
    return [
        Task(
            "one posterior",
            lambda: net.query(target, evidence),
            {"pgmpy": (lambda: of_pgmpy(evidence), 1), "pyAgrum": (lambda: of_pyagrum(evidence), 1)},
        ),
        Task(
            f"{HOLED} rows with holes",
            lambda: net.predict_proba(holed, target),
            {
                "pgmpy": (lambda: [of_pgmpy(row) for row in rows], share),
                "pyAgrum": (lambda: [of_pyagrum(row) for row in rows], share),
            },
        ),
        Task(
            f"BDeu of {RECORDS} records",
            lambda: learn(frame, net, prior="bdeu", strength=10),
            {"pgmpy": (learned_by_pgmpy, 1), "pyAgrum": (learned_by_pyagrum, 1)},
        ),
        Task(
            f"{RECORDS} records",
            lambda: net.sample(RECORDS, rng=0).to_frame(),
            {"pgmpy": (lambda: m.simulate(RECORDS, show_progress=False), 1), "pyAgrum": (sampled_by_pyagrum, 1)},
        ),
        Task(
            f"{RECORDS} records given evidence",
            lambda: net.sample(RECORDS, rng=0, evidence=evidence).to_frame(),
            {"pgmpy": (lambda: m.simulate(RECORDS, evidence=evidence, show_progress=False), 1)},
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", nargs="?", default="alarm")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    path = Path(options.network)
    if not path.exists():
        path = network_file(options.network)
    for task in tasks(path):
        task.run(options.repeats)


if __name__ == "__main__":
    main()
