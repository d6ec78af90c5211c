"""Planning: cells of the junction tree and seconds, beside the best of published rules and restarts.

Run: PYPGM_DATA=... python bench/bench_plan.py

`auto` stops when planning has taken as many operations as one propagation, `best` searches on. `table` is the best of
four greedy rules with 30 restarts each (cells of the tables of all cliques). Every tree is checked first: each given
clique lies in a node, and the nodes of an attribute hang together. The second part plans structures at scale.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from typing import Literal

import harness
import numpy as np
from harness import network_file, print_table, timed

import pypgm

TABLE = {"alarm": 996, "insurance": 2.94e4, "andes": 3.33e5, "water": 3.47e6, "pigs": 6.90e5}
MORE = ("asia", "child", "hailfinder", "win95pts")


def check(tree: pypgm.JunctionTree) -> None:
    """Raise unless a tree is a junction tree of its cliques."""
    sets = [set(node.clique) for node in tree.nodes]
    holders: dict[str, list[int]] = {}
    for i, members in enumerate(sets):
        for a in members:
            holders.setdefault(a, []).append(i)
    for clique in tree.cliques:
        if clique and not any(set(clique) <= sets[i] for i in holders[clique[0]]):
            raise AssertionError(f"no node holds {clique}")
    for a, nodes in holders.items():
        if sum(tree.nodes[i].parent < 0 or a not in sets[tree.nodes[i].parent] for i in nodes) != 1:
            raise AssertionError(f"the nodes of {a} do not hang together")


def planned(
    domain: pypgm.Domain, cliques: list[tuple[str, ...]], effort: Literal["auto", "best"]
) -> tuple[pypgm.JunctionTree, float]:
    """Return a checked tree and the median seconds of planning it."""
    plans = [timed(pypgm.JunctionTree, domain, cliques, effort=effort, max_bytes=1e300) for _ in range(3)]
    check(plans[0][0])
    return plans[0][0], sorted(seconds for _, seconds in plans)[1]


def networks() -> Iterator[list[object]]:
    """Yield nodes, cells and milliseconds of each network, and the ratio of its cells to the published."""
    for name in (*TABLE, *MORE):
        net = pypgm.bayes.BayesianNetwork.read_bif(network_file(name))
        cliques = list(net.potentials.cliques)
        auto, auto_seconds = planned(net.domain, cliques, "auto")
        best, best_seconds = planned(net.domain, cliques, "best")
        costs = [auto.cost.cells, auto_seconds * 1e3, best.cost.cells, best_seconds * 1e3]
        table = TABLE.get(name)
        yield [name, len(net.domain), *costs, table, table and best.cost.cells / table]


def large(n: int, kind: str) -> tuple[pypgm.Domain, list[tuple[str, ...]]]:
    """Return a structure over n attributes."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(n)]
    domain = pypgm.Domain(names, [10] * n)
    if kind == "chain":
        return domain, [(names[i], names[i + 1]) for i in range(n - 1)]
    if kind == "local triples":
        return domain, [tuple(names[(i + int(k)) % n] for k in rng.choice(7, 3, replace=False)) for i in range(n)]
    return domain, [tuple(names[int(k)] for k in rng.choice(n, 2, replace=False)) for _ in range(n)]


def _table(name: str) -> pypgm.Dataset:
    return harness.table(name) if name == "adult" else harness.binary(60)


def announced_by_plan(mechanism: str, table: str) -> tuple[float, float]:
    """Return MiB and seconds."""
    data = _table(table)
    plan = pypgm.mechanisms.plan(mechanism, data.domain, 1, 1e-9, n_records=len(data))
    return plan.bytes / 2**20, plan.seconds


def used_by_run(mechanism: str, table: str) -> tuple[float, float]:
    """Return the most MiB of a process, and seconds."""
    data = _table(table)
    _, seconds = timed(getattr(pypgm.mechanisms, mechanism), data, 1, 1e-9, unsafe_seed=0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10, seconds


def main() -> None:
    print(pypgm.build_info())
    plans = {"auto cells": ".4g", "auto ms": ".2f", "best cells": ".4g", "best ms": ".1f"}
    print_table({"network": "", "nodes": "", **plans, "table": ".4g", "ratio": ".3f"}, networks())
    print_table({"structure": "", "seconds": ".3f", "width": "", "cells": ".3g"}, structures())


def structures() -> Iterator[list[object]]:
    """Yield seconds, width and cells of large structures; of one that is hopeless in any order the seconds alone."""
    sizes = ((1000, "chain"), (1000, "local triples"), (1000, "random pairs"), (10_000, "chain"), (100_000, "chain"))
    for n, kind in sizes:
        structure, name = large(n, kind), f"{n} attributes, {kind}"
        started = time.perf_counter()
        try:
            tree, seconds = planned(*structure, "auto")
            yield [name, seconds, tree.cost.width, tree.cost.cells]
        except pypgm.ModelTooLargeError:
            yield [name, time.perf_counter() - started, None, None]


if __name__ == "__main__":
    main()
