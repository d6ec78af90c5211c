"""Planning: cells of the junction tree and seconds, beside the best of published rules and restarts.

Run: PYPGM_DATA=... python bench/bench_plan.py

`auto` stops when planning has taken as many operations as one propagation, `best` searches on. `table` is the best of
four greedy rules with 30 restarts each (cells of the tables of all cliques). Every tree is checked first: each given
clique lies in a node, and the nodes of an attribute hang together. The second part plans structures at scale.
"""

from __future__ import annotations

import time
from typing import Literal

import numpy as np
from harness import network_file, timed

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
    found = [timed(pypgm.JunctionTree, domain, cliques, effort=effort, max_bytes=1e300) for _ in range(3)]
    check(found[0][0])
    return found[0][0], sorted(seconds for _, seconds in found)[1]


def networks() -> None:
    """Print the table of the networks."""
    print(f"{'network':<12}{'nodes':>6}{'auto cells':>12}{'ms':>8}{'best cells':>12}{'ms':>8}{'table':>10}{'ratio':>7}")
    for name in (*TABLE, *MORE):
        net = pypgm.bayes.BayesianNetwork.read_bif(network_file(name))
        cliques = list(net.potentials.cliques)
        auto, auto_seconds = planned(net.domain, cliques, "auto")
        best, best_seconds = planned(net.domain, cliques, "best")
        line = f"{name:<12}{len(net.domain):>6}{auto.cost.cells:>12.4g}{auto_seconds * 1e3:>8.2f}"
        line += f"{best.cost.cells:>12.4g}{best_seconds * 1e3:>8.1f}"
        if name in TABLE:
            line += f"{TABLE[name]:>10.4g}{best.cost.cells / TABLE[name]:>7.3f}"
        print(line)


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


def main() -> None:
    print(pypgm.build_info())
    networks()
    print(f"{'structure':<28}{'seconds':>8}{'width':>7}{'cells':>10}")
    for n, kind in (
        (1000, "chain"),
        (1000, "local triples"),
        (1000, "random pairs"),
        (10_000, "chain"),
        (100_000, "chain"),
    ):
        structure, name = large(n, kind), f"{n} attributes, {kind}"
        started = time.perf_counter()
        try:
            tree, seconds = planned(*structure, "auto")
        except pypgm.ModelTooLargeError:
            print(
                f"{f'{n} attributes, {kind}':<28}{time.perf_counter() - started:>8.3f} refused: hopeless in any order"
            )
            continue
        print(f"{name:<28}{seconds:>8.3f}{tree.cost.width:>7}{tree.cost.cells:>10.3g}")


if __name__ == "__main__":
    main()
