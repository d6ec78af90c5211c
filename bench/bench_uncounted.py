"""Errors of pairs that `wide` did not count, with what its screen says of them and without: coverage and size.

    PYPGM_DATA=... python bench/bench_uncounted.py [--tables titanic hospital] [--epsilons 1] [--seeds 3]

For each table and epsilon a line: cells within 1.645 expected errors of the true counts (of all cells, of those above
0), and the median over pairs of the expected over the true error, both as root mean squares over cells; first without
the screen, then with it, from the same releases and draws. Cells are compared with the table itself.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import os
from pathlib import Path

import numpy as np
from harness import table

import pypgm

TABLES = ["titanic", "hospital", "adult", "insurance"]
PAIRS = 10  # that are asked, of those that were not counted
ADULTS, STAYS, DRIVERS = 8_000, 15_000, 10_000


def stays(n: int) -> pypgm.Dataset:
    """Return made-up stays in a hospital: some columns depend strongly, most not at all."""
    rng = np.random.default_rng(3)
    sizes = {"age": 9, "sex": 2, "ward": 12, "days": 10, "cost": 12, "region": 12, "origin": 6, "weekday": 7}
    sizes |= {"source": 5, "died": 2, "month": 12}
    columns = {a: rng.choice(k, n, p=np.arange(2 * k, k, -1) / np.arange(2 * k, k, -1).sum()) for a, k in sizes.items()}
    columns["ward"] = np.where((columns["age"] < 2) & (rng.random(n) < 0.6), 0, columns["ward"])
    columns["days"] = np.minimum(9, rng.poisson(1 + 0.3 * columns["age"] + columns["ward"] % 3))
    columns["cost"] = np.minimum(11, columns["days"] + rng.integers(0, 3, n))
    columns["died"] = (rng.random(n) < 0.005 * (columns["age"] + 1)).astype(int)
    return pypgm.Dataset(columns, pypgm.Domain(sizes))


def records(name: str) -> pypgm.Dataset:
    """Return one of the tables."""
    if name == "hospital":
        return stays(STAYS)
    if name == "insurance":
        path = Path(os.environ["PYPGM_DATA"]) / "bif" / "insurance.bif.gz"
        return pypgm.bayes.BayesianNetwork.read_bif(path).sample(DRIVERS, 5)
    data = table(name)
    if name != "adult":
        return data
    some = np.random.default_rng(0).choice(len(data), ADULTS, replace=False)
    return pypgm.Dataset({a: np.asarray(data.columns[a])[some] for a in data.domain}, data.domain)


def of_release(data: pypgm.Dataset, epsilon: float, seed: int, draws: int) -> list[tuple[float, ...]]:
    """Return for each pair, without and with the screen, the shares held and the expected over the true error."""
    release = pypgm.mechanisms.wide(data, epsilon=epsilon, delta=1e-9, unsafe_seed=seed)
    pairs = [p for p in itertools.combinations(data.domain, 2) if release.model.basis(p) == "unmeasured"]
    pairs = [pairs[i] for i in np.random.default_rng(seed).permutation(len(pairs))[:PAIRS]]
    before = dataclasses.replace(release, screen=None)
    stated = [r.expected_error_many(pairs, draws=draws) for r in (before, release)]
    return [_compared(release, data, p, *e) for p, *e in zip(pairs, *stated, strict=True)]


def _compared(
    release: pypgm.Release, data: pypgm.Dataset, pair: tuple[str, ...], *stated: pypgm.Factor
) -> tuple[float, ...]:
    true = data.project(pair).values
    made = np.abs(release.project(pair).values - true)
    numbers: list[float] = []
    for errors in stated:
        held = made <= 1.645 * errors.values
        numbers += [float(held.mean()), float(held[true > 0].mean())]
        numbers.append(float(np.sqrt(np.square(errors.values).mean() / np.square(made).mean())))
    return tuple(numbers)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.3, 1.0, 3.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--draws", type=int, default=10)
    given = parser.parse_args()
    print("| table | epsilon | pairs | held before (above 0) | expected / true | held (above 0) | expected / true |")
    print("|---|---|---|---|---|---|---|")
    for name, epsilon in itertools.product(given.tables, given.epsilons):
        data = records(name)
        found = [row for seed in range(given.seeds) for row in of_release(data, epsilon, seed, given.draws)]
        if not found:
            continue
        held = 100 * np.mean(found, axis=0)
        ratios = np.median(found, axis=0)
        parts = (f"{held[i]:.0f} ({held[i + 1]:.0f}) % | {ratios[i + 2]:.2f}" for i in (0, 3))
        print(f"| {name} | {epsilon:g} | {len(found)} | {' | '.join(parts)} |", flush=True)


if __name__ == "__main__":
    main()
