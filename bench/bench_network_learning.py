"""Learning Bayesian networks of the size of hepar2 and munin, with and without privacy: seconds and memory.

Run: python bench/bench_network_learning.py [--records 10000] [--only hepar2 munin]

The networks are random, with as many attributes and arcs, as many parents at most and about as many probabilities as
the published ones: hepar2 has 70 attributes, 123 arcs and 2,139 probabilities, munin 1,041, 1,397 and 98,423. Each runs
in a process of its own. What is learned is checked before it is timed: the ledger sums to the budget, rows are
distributions, and with a budget of 10^6 a small table is that of maximum likelihood. `memory` is what the joint
estimate, exact here, adds to the largest memory of the process, beside what it is said to take before it starts: below
that, `max_bytes` refuses it, or an estimate on regions takes its place.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
from harness import timed

from pypgm import Domain, JunctionTree
from pypgm.bayes import BayesianNetwork, learn, learn_private
from pypgm.estimation.methods import estimate_bytes

SHAPES = {
    # attributes, arcs, most parents, sizes to draw from, how far back a parent may stand
    "hepar2": (70, 123, 6, [2] * 6 + [3, 4], 20),
    "munin": (1041, 1397, 3, [1, 2, 3, 4, 4, 5, 5, 6, 7, 7], 8),
}
_STATUS = Path("/proc/self/status")


def network(name):
    """Return a random network of a size."""
    n, arcs, most, sizes, back = SHAPES[name]
    rng = np.random.default_rng(3)
    names = [f"x{i}" for i in range(n)]
    domain = Domain(names, rng.choice(sizes, n).tolist())
    parents = {a: [] for a in names}
    while sum(map(len, parents.values())) < arcs:
        child = int(rng.integers(1, n))
        parent, chosen = names[int(rng.integers(max(0, child - back), child))], parents[names[child]]
        if parent not in chosen and len(chosen) < most:
            chosen.append(parent)
    tables = {a: rng.dirichlet([1.0] * domain.size(a), domain.sizes(parents[a])) for a in names}
    return BayesianNetwork(domain, parents, tables)


def peak():
    """Return the largest memory of this process so far, bytes."""
    return 1024 * next(int(line.split()[1]) for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM"))


def announced(release):
    """Return what the joint estimate of a release is said to take, bytes."""
    domain, cliques = release.model.domain, release.model.cliques
    return estimate_bytes(JunctionTree(domain, cliques), release.measurements, "accelerated")


def check(release, data, net):
    """Raise AssertionError unless a release is what it should be."""
    if sum(line.cost for line in release.ledger.lines) != 1:
        raise AssertionError("the ledger does not sum to the budget")
    for table in release.model.tables.values():
        np.testing.assert_allclose(table.values.sum(axis=-1), 1, atol=1e-9)
    exact, sure = learn(data, net), learn_private(data, net, 10**6, estimator="tables").model
    root = next(a for a in net.domain if not net.parents[a])
    np.testing.assert_allclose(sure.tables[root].values, exact.tables[root].values, atol=1e-3)


def measure(name, n_records):
    """Print a line for one network."""
    net = network(name)
    data = net.sample(n_records, 0)
    seconds = [timed(learn, data, net)[1]]
    for options in ({"estimator": "tables"}, {}):
        before = peak()
        release, took = timed(learn_private, data, net, 1, **options)
        seconds.append(took)
    grown = peak() - before
    check(release, data, net)
    cells = sum(table.domain.size() for table in net.tables.values())
    fit = release.model.fit
    print(f"{name}: {len(net.domain):,} attributes, {cells:,} probabilities, {n_records:,} records")
    print(f"  maximum likelihood      {seconds[0]:6.2f} s")
    print(f"  private, table by table {seconds[1]:6.2f} s")
    print(f"  private, jointly        {seconds[2]:6.2f} s ({fit.status} after {fit.iterations} iterations)")
    print(f"  memory {grown / 2**20:.1f} MiB, announced {announced(release) / 2**20:.1f} MiB", flush=True)


def main():
    """Measure each network in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--only", nargs="+", choices=SHAPES, default=list(SHAPES))
    arguments = parser.parse_args()
    if len(arguments.only) == 1:
        measure(arguments.only[0], arguments.records)
        return
    for name in arguments.only:
        subprocess.run([sys.executable, __file__, "--only", name, "--records", str(arguments.records)], check=True)


if __name__ == "__main__":
    main()
