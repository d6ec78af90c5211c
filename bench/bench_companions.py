"""Bounded logistic regressions of an Ising model's nodes beside scikit-learn's penalised ones, without privacy.

Run: python bench/bench_companions.py [--records 20000] [--nodes 40] [--radius 0.4]

Each node has one regression on the signs of all others with a bound on the l1 norm. scikit-learn's has a penalty
instead: with the multiplier that the bounded optimum has, both have the same optimum. Losses are compared before
seconds are printed; both take turns, medians of three.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import warnings

import numpy as np
from harness import timed
from sklearn.linear_model import LogisticRegression

from pypgm import CliqueVector, Domain, mrf
from pypgm.mrf.nonprivate_learning import Regressions, solve

WEIGHT, TOLERANCE = 0.25, 1e-6


def main() -> None:
    parser = argparse.ArgumentParser(description="Bounded logistic regressions beside scikit-learn's.")
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--nodes", type=int, default=40)
    parser.add_argument("--radius", type=float, default=0.4, help="half the bound; below .5 it binds")
    arguments = parser.parse_args()
    x = signs(arguments.records, arguments.nodes)
    seconds: dict[str, list[float]] = {"pypgm": [], "scikit-learn": []}
    for _ in range(3):
        weights, took = timed(bounded, x, arguments.nodes, 2 * arguments.radius)
        seconds["pypgm"].append(took)
        multipliers = [np.abs(slope(x, i, w)).max() for i, w in enumerate(weights)]
        peers, took = timed(lambda all_=multipliers: [penalised(x, i, m) for i, m in enumerate(all_)])
        seconds["scikit-learn"].append(took)
    gaps = [loss(x, i, a) - loss(x, i, b) for i, (a, b) in enumerate(zip(weights, peers, strict=True))]
    norms = [np.abs(b).sum() for b in peers]
    print(f"bound {2 * arguments.radius}, norms of the peer {min(norms):.4f} to {max(norms):.4f}")
    print(f"loss above the peer's {min(gaps):.1e} to {max(gaps):.1e} nats a record")
    assert max(gaps) < 1e-4
    middle = {name: statistics.median(times) for name, times in seconds.items()}
    for name, value in middle.items():
        print(f"{name:13} {value:7.2f} s, {middle['scikit-learn'] / value:5.1f} times scikit-learn's speed")


def signs(records: int, nodes: int) -> np.ndarray:
    """Return records of a chain of spins, and a column of ones."""
    names = [f"x{i}" for i in range(nodes)]
    chain = list(itertools.pairwise(names))
    table = WEIGHT * np.array([1.0, -1.0, -1.0, 1.0])
    potentials = CliqueVector(Domain(dict.fromkeys(names, 2)), chain, np.tile(table, len(chain)))
    data = mrf.sample(potentials, records, rng=0).data
    return np.column_stack([*(2.0 * data.columns[a] - 1 for a in names), np.ones(records)])


def bounded(x: np.ndarray, nodes: int, bound: float) -> list[np.ndarray]:
    """Return the weights of each node's regression, 0 for itself."""
    groups = np.arange(nodes + 1)
    allowed, shares = groups[:, None] != groups[:-1], np.full((len(x), nodes), 1 / len(x))
    weights = solve(Regressions(x, x[:, :-1], shares, allowed, groups, bound), TOLERANCE, 20_000)[0]
    return list(weights.T)


def penalised(x: np.ndarray, node: int, multiplier: float) -> np.ndarray:
    """Return the weights of scikit-learn's regression of a node."""
    others = np.arange(x.shape[1]) != node
    model = LogisticRegression(C=1 / multiplier, l1_ratio=1.0, solver="liblinear", fit_intercept=False, tol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x[:, others], x[:, node])
    weights = np.zeros(x.shape[1])
    weights[others] = model.coef_[0]
    return weights


def loss(x: np.ndarray, node: int, weights: np.ndarray) -> float:
    """Return the mean logistic loss, in nats."""
    return float(np.logaddexp(0, -x[:, node] * (x @ weights)).mean())


def slope(x: np.ndarray, node: int, weights: np.ndarray) -> np.ndarray:
    """Return the gradient of the summed loss, 0 for the node itself."""
    gradient = -x.T @ (x[:, node] / (1 + np.exp(x[:, node] * (x @ weights))))
    gradient[node] = 0
    return gradient


if __name__ == "__main__":
    main()
