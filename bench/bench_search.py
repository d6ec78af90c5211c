"""What `mechanisms.wide` finds beyond pairs, and what the search costs where there is nothing: beside no search.

Run: PYPGM_DATA=... python bench/bench_search.py [--only parities,hidden,tables,networks] [--seeds 3] [--epsilons 1]

Delta is 1e-9, the relation add-remove. Parities of two to six of ten bits, of 20,000 and 3,000 records, and other rules
hidden in columns of several values: the share of fresh records of which the target is the most frequent one among the
synthetic records with the same values of the columns that it follows from; of public tables, and of 10,000 records of
random networks, the mean total variation of all pairs. Beside each, the same with a workload of pairs, which is not
searched; seconds are of the processor. Each release is checked to have spent no more than its budget.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable

import numpy as np
from harness import check_spent, table

import pypgm
from pypgm.mechanisms import wide

Columns = dict[str, np.ndarray]
_TESTED = 10_000  # fresh records
_NETWORKS = 10  # random ones
_WRONG = 0.02  # of the records, whose target is drawn at random


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="parities,hidden,tables,networks")
    parser.add_argument("--tables", default="adult,titanic,fire,msnbc")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilons", default="1")
    arguments = parser.parse_args()
    for epsilon in arguments.epsilons.split(","):
        if "parities" in arguments.only:
            for n, k in [*itertools.product([20_000], range(2, 7)), *itertools.product([3000], range(2, 5))]:
                _predicted(f"parity of {k}", epsilon, n, arguments.seeds, _parity(k))
        if "hidden" in arguments.only:
            for name, (made, n_causes) in HIDDEN.items():
                _predicted(name, epsilon, 20_000, arguments.seeds, (made, n_causes))
        if "tables" in arguments.only:
            for name in arguments.tables.split(","):
                _compared(name, table(name), epsilon, arguments.seeds)
        if "networks" in arguments.only:
            for number in range(_NETWORKS):
                _compared(f"network {number}", _of_network(number, 10_000), epsilon, arguments.seeds)


Rule = tuple[Callable[[np.random.Generator, int], tuple[Columns, int]], int]


def _parity(k: int) -> Rule:
    """Return a rule of k of ten bits."""

    def made(rng: np.random.Generator, n: int) -> tuple[Columns, int]:
        bits = {f"x{i}": rng.integers(0, 2, n) for i in range(10)}
        return bits | {"y": np.bitwise_xor.reduce([bits[f"x{i}"] for i in range(k)])}, 2

    return made, k


def _sum_modulo(rng: np.random.Generator, n: int) -> tuple[Columns, int]:
    columns = {f"x{i}": rng.integers(0, 3, n) for i in range(10)}
    return columns | {"y": (columns["x0"] + columns["x1"] + columns["x2"]) % 3}, 3


def _halves(rng: np.random.Generator, n: int) -> tuple[Columns, int]:
    """Parity of random halves of the values of columns of six, four and eight."""
    fixed = np.random.default_rng(5)
    sizes = (6, 4, 8, 5, 10, 7, 9, 4, 6, 8)
    columns = {f"x{i}": rng.choice(k, n, p=fixed.dirichlet(np.full(k, 5.0))) for i, k in enumerate(sizes)}
    halves = [np.isin(columns[f"x{i}"], fixed.permutation(sizes[i])[: sizes[i] // 2]) for i in range(3)]
    return columns | {"y": np.bitwise_xor.reduce(halves).astype(int)}, 2


def _medians(rng: np.random.Generator, n: int) -> tuple[Columns, int]:
    """Parity of the upper halves of three ordered columns of 16 values, each near another column's."""
    hidden = rng.random((n, 5))
    near = np.clip(hidden + rng.normal(0, 0.3, (n, 5)), 0, 1 - 1e-9)
    columns = {f"x{i}": (16 * c).astype(int) for i, c in enumerate(np.hstack([hidden, near]).T)}
    return columns | {"y": np.bitwise_xor.reduce([columns[f"x{i}"] >= 8 for i in range(3)]).astype(int)}, 2


def _either(rng: np.random.Generator, n: int) -> tuple[Columns, int]:
    """One of two conjunctions, over four columns of eight and six values."""
    columns = {f"x{i}": rng.integers(0, 6 if i == 1 else 8, n) for i in range(10)}
    first = (columns["x0"] > 3) & np.isin(columns["x1"], [2, 5])
    return columns | {"y": (first | (columns["x2"] + columns["x3"] > 7)).astype(int)}, 2


HIDDEN: dict[str, Rule] = {
    "sum of three modulo 3": (_sum_modulo, 3),
    "parity of hidden halves": (_halves, 3),
    "parity of three medians": (_medians, 3),
    "either of two rules": (_either, 4),
}


def _records(rule: Rule, n: int, seed: int) -> pypgm.Dataset:
    """Return records with the target "y"; labels make columns nominal, but those of sixteen values and the rule's."""
    rng = np.random.default_rng(1000 + seed)
    columns, n_targets = rule[0](rng, n)
    columns["y"] = np.where(rng.random(n) < _WRONG, rng.integers(0, n_targets, n), columns["y"])
    is_ordered = rule[0] in {_medians, _either}
    sizes = {name: int(codes.max()) + 1 for name, codes in columns.items()}
    values = {name: k if is_ordered and name != "y" else [f"v{i}" for i in range(k)] for name, k in sizes.items()}
    return pypgm.Dataset(columns, pypgm.Domain(values))


def _predicted(name: str, epsilon: str, n: int, seeds: int, rule: Rule) -> None:
    shares, seconds = [], []
    for seed in range(seeds):
        data = _records(rule, n + _TESTED, seed)
        records = pypgm.Dataset({a: c[:n] for a, c in data.columns.items()}, data.domain)
        fresh = {a: c[n:] for a, c in data.columns.items()}
        for workload in (None, 2):
            begun = time.process_time()
            release = wide(records, epsilon, "1e-9", workload=workload, unsafe_seed=seed)
            seconds.append(time.process_time() - begun)
            check_spent(release)
            causes = [f"x{i}" for i in range(rule[1])]
            made = release.synthetic_data(n, rng=seed).project((*causes, "y")).values
            likely = made.argmax(axis=-1)
            shares.append(float((likely[tuple(fresh[a] for a in causes)] == fresh["y"]).mean()))
    found, without = np.reshape(shares, (-1, 2)).T
    cpu, cpu_without = np.reshape(seconds, (-1, 2)).mean(axis=0)
    print(
        f"{name}, {n} records, epsilon {epsilon}: predicted {found.min():.3f} to {found.max():.3f}, "
        f"without a search {without.mean():.3f}; {cpu:.2f} s, {cpu_without:.2f} s",
        flush=True,
    )


def _of_network(seed: int, n: int) -> pypgm.Dataset:
    """Return records of a random network of 10 to 40 columns of 2 to 8 values, each with up to three near causes."""
    rng = np.random.default_rng([63, seed])
    n_columns, concentration = int(rng.integers(10, 41)), float(rng.choice([0.1, 0.3, 1.0]))
    sizes = rng.choice([2, 2, 2, 3, 3, 4, 5, 6, 8], n_columns)
    columns: list[np.ndarray] = []
    for i in range(n_columns):
        n_causes = min(i, int(rng.choice([0, 1, 1, 2, 2, 3])))
        causes = rng.choice(np.arange(max(0, i - 8), i), n_causes, replace=False) if n_causes else []
        row = np.zeros(n, np.int64)
        for cause in causes:
            row = row * sizes[cause] + columns[cause]
        base = rng.dirichlet(np.ones(sizes[i]))
        tables = base[None]
        if n_causes:
            tables = rng.dirichlet(np.maximum(base * sizes[i] * concentration, 0.01), int(np.prod(sizes[causes])))
        below = tables.cumsum(axis=1)[row]
        columns.append(np.minimum((rng.random(n)[:, None] > below).sum(axis=1), sizes[i] - 1))
    named = {f"x{i:02}": column for i, column in enumerate(columns)}
    values = [[f"v{j}" for j in range(size)] for size in sizes]
    return pypgm.Dataset(named, pypgm.Domain(dict(zip(named, values, strict=True))))


def _compared(name: str, data: pypgm.Dataset, epsilon: str, seeds: int) -> None:
    """Print the error of pairs and triples with a search, and its ratio to that without one."""
    pairs = pypgm.workloads.all_k_way(data.domain, 2)
    triples = pypgm.workloads.random_k_way(data.domain, 3, 60, rng=0)
    rows = []
    for seed in range(seeds):
        for workload in (None, 2):
            begun = time.process_time()
            release = wide(data, epsilon, "1e-9", workload=workload, unsafe_seed=seed)
            cpu = time.process_time() - begun
            check_spent(release)
            errors = [pypgm.evaluate(release.model, cliques=c, unsafe_data=data).mean for c in (pairs, triples)]
            rows.append([*errors, cpu])
    found, without = np.mean(np.reshape(rows, (-1, 2, 3)), axis=0)
    ratios = ", ".join(f"{a:.4f} ({a / b - 1:+.1%})" for a, b in zip(found[:2], without[:2], strict=True))
    print(f"{name}, epsilon {epsilon}: pairs, triples {ratios}; {found[2]:.2f} s, {without[2]:.2f} s", flush=True)


if __name__ == "__main__":
    main()
