"""Reading BIF files, and answering frames: against pyAgrum, where another Python has it.

``python bench/bench_bif.py [--peer /path/to/python]``: the peer's Python needs pyAgrum. Answers are compared first.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from harness import beside, median_seconds, print_table, timed

from pypgm import Domain
from pypgm.bayes import BayesianNetwork

RUNS = 5
PEER = """
import json, statistics, sys, time
import pyagrum as gum
seconds = []
for _ in range(int(sys.argv[2])):
    start = time.perf_counter()
    net = gum.loadBN(sys.argv[1])
    seconds.append(time.perf_counter() - start)
tables = {net.variable(n).name(): net.cpt(n).toarray().reshape(-1).tolist() for n in net.nodes()}
scopes = {n: list(net.cpt(n).names)[::-1] for n in tables}
print(json.dumps([statistics.median(seconds), scopes, tables]))
"""


def large():
    """Return a network of the size of the largest ones in use: half a million probabilities in rows of four."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(36)]
    parents = {n: names[max(0, i - 6) : i] for i, n in enumerate(names)}
    labels = {n: ["low", "middle", "high", "none"] for n in names}
    return BayesianNetwork(
        Domain(labels), parents, {n: rng.dirichlet(np.ones(4), (4,) * len(parents[n])) for n in names}
    )


def compare(path, peer):
    """Return the peer's median seconds, after its tables are ours to single precision."""
    answer = subprocess.run([peer, "-c", PEER, path, str(RUNS)], check=True, capture_output=True, text=True)
    seconds, scopes, tables = json.loads(answer.stdout.splitlines()[-1])
    net = BayesianNetwork.read_bif(path)
    for name, cells in tables.items():
        wanted = net.tables[name].transpose(scopes[name]).datavector()
        np.testing.assert_allclose(cells, wanted, rtol=1e-6, atol=1e-7)
    return seconds


def read(folder, peer):
    """Yield size, values and speed of reading each network, beside a peer's."""
    with tempfile.TemporaryDirectory() as scratch:
        paths = []
        for packed in sorted(folder.glob("*.bif.gz")) if folder else []:
            paths.append(Path(scratch, packed.name.removesuffix(".gz")))
            paths[-1].write_bytes(gzip.decompress(packed.read_bytes()))
        paths.append(Path(scratch, "large.bif"))
        large().write_bif(paths[-1])
        for path in paths:
            seconds, net = median_seconds(partial(BayesianNetwork.read_bif, path), RUNS), BayesianNetwork.read_bif(path)
            size = path.stat().st_size / 1e6
            values = sum(t.domain.size() for t in net.tables.values())
            is_compared = peer and path.stem != "child"  # whose labels it cannot read
            row = beside(seconds, compare(str(path), peer)) if is_compared else [seconds * 1e3, None, None]
            yield [path.stem, size, values, size / seconds, *row]


def predict(folder):
    """Time posteriors of a frame, after a row of each kind is what a single query says."""
    net = BayesianNetwork.read_bif(folder / "alarm.bif.gz")
    data = net.sample(20_000, rng=0)
    labels = net.domain.labels
    frame = {a: np.array(labels[a], dtype=object)[data.columns[a]] for a in net.domain}
    targets = ("HYPOVOLEMIA", "LVFAILURE", "PULMEMBOLUS")
    known = {a: column for a, column in frame.items() if a not in targets}
    gaps = {a: column.copy() for a, column in known.items()}
    for i, column in enumerate(gaps.values()):
        column[i % 7 :: 7] = None
    for title, given in (("complete", known), ("with gaps", gaps)):
        seconds = median_seconds(partial(net.predict_proba, given, targets), RUNS)
        probabilities = net.predict_proba(given, targets)
        for row in (0, 1, 17):
            evidence = {a: c[row] for a, c in given.items() if c[row] is not None}
            for t in targets:
                np.testing.assert_allclose(probabilities[t][row], net.query(t, evidence).values, rtol=1e-9, atol=1e-12)
        each = [{a: c[row] for a, c in given.items() if c[row] is not None} for row in range(50)]
        one = timed(lambda rows=each: [net.marginals(row) for row in rows])[1] / 50
        per_row = seconds / 20_000
        print(f"predict alarm, 20,000 rows, {title}: {seconds:.2f} s, {per_row * 1e6:.0f} us a row; {one / per_row:.0f}"
              " rows in the time of one single call")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="a Python that has pyAgrum")
    peer = parser.parse_args().peer
    folder = Path(os.environ["PYPGM_DATA"], "bif") if "PYPGM_DATA" in os.environ else None
    columns = {"network": "", "MB": ".3f", "values": "", "MB/s": ".1f", "ms": ".2f", "peer ms": ".2f", "ratio": ".2f"}
    print_table(columns, read(folder, peer))
    if folder:
        predict(folder)


if __name__ == "__main__":
    main()
