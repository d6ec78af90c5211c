"""What lies above pairs, by `wide`, other mechanisms, and methods of others written from their papers, side by side.

Run: PYPGM_DATA=... python bench/bench_interactions.py --results FILE [--tables parity4,forest] [--epsilons .1,1,10]
     [--mechanisms wide,aim3,private_evolution] [--seeds 0,1,2]; with --show it prints what FILE holds

Delta is 1e-9, the relation add-remove, one thread, options as they are by default. Tables: parities of 2 to 6 of ten
binary attributes; causal models, each attribute a random function of up to three before it (`forest`, `network`,
`waves`); a chain of near copies; public tables. Half of the records are given, the others test. Of the records of a
release: the mean total variation of random sets of one to five attributes from the given records, `auc` of boosted
trees that learn the target from them on the test, and seconds of the processor; `real` are the given records.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from baselines import generator, private_evolution, residuals
from harness import print_table, random_cliques, resumed, table, timed, total_variation
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

import pypgm
from pypgm import Budget, Dataset, Domain

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Released = Callable[[Dataset, Budget, int], Dataset]

RECORDS = 40_000  # of a made-up table, both halves together
ORDERS = range(1, 6)
SETS = 40  # of each order
FIGURES = {**{f"of {order}": ".2f" for order in ORDERS}, "auc": ".3f", "seconds": ".1f"}
WRONG = 0.04  # share of a parity's targets that are drawn anew


def parity(k: int) -> Callable[[np.random.Generator], dict[str, Codes]]:
    """Return a maker of ten binary attributes and the parity of the first k of them."""

    def made(rng: np.random.Generator) -> dict[str, Codes]:
        bits = rng.integers(0, 2, (RECORDS, 10))
        wrong = rng.random(RECORDS) < WRONG
        target = np.where(wrong, rng.integers(0, 2, RECORDS), bits[:, :k].sum(axis=1) % 2)
        return {**{f"x{i}": bits[:, i] for i in range(10)}, "target": target}

    return made


def _forest(given: Floats, rng: np.random.Generator) -> Floats:
    """Return a value for each leaf of a random tree of depth four."""
    leaf, everyone = np.zeros(len(given), np.int64), np.arange(len(given))
    for depth in range(4):
        column, cut = rng.integers(0, given.shape[1], 2**depth), rng.normal(0, 0.7, 2**depth)
        leaf = 2 * leaf + (given[everyone, column[leaf]] > cut[leaf])
    return np.asarray(rng.normal(size=16)[leaf])


def _network(given: Floats, rng: np.random.Generator) -> Floats:
    hidden = np.tanh(given @ rng.normal(0, 1.5, (given.shape[1], 8)) + rng.normal(size=8))
    return np.asarray(hidden @ rng.normal(size=8))


def _waves(given: Floats, rng: np.random.Generator) -> Floats:
    waves = np.cos(given @ rng.normal(0, 1.5, (given.shape[1], 12)) + rng.uniform(0, 2 * np.pi, 12))
    return np.asarray(waves @ rng.normal(size=12))


def causal(function: Callable[[Floats, np.random.Generator], Floats]) -> Callable[..., dict[str, Codes]]:
    """Return a maker of 19 attributes of eight values and a binary target, functions of each other with noise."""

    def made(rng: np.random.Generator) -> dict[str, Codes]:
        columns: list[Floats] = []
        for i in range(20):
            noise = rng.normal(size=RECORDS)
            causes = rng.permutation(i)[:3]
            if i == 0:
                columns.append(noise)
                continue
            effect = function(np.stack([columns[j] for j in causes], axis=1), rng)
            columns.append((effect - effect.mean()) / effect.std() + noise / 4)
        ranks = [np.argsort(np.argsort(column)) * 8 // RECORDS for column in columns[:19]]
        return {**{f"x{i}": rank for i, rank in enumerate(ranks)}, "target": (columns[19] > 0).astype(np.int64)}

    return made


def chain(rng: np.random.Generator) -> dict[str, Codes]:
    """Return twelve attributes of six values, each a permutation of the one before in 98 of 100 records."""
    columns = [rng.integers(0, 6, RECORDS)]
    for _ in range(11):
        anew = rng.random(RECORDS) < 0.02
        columns.append(np.where(anew, rng.integers(0, 6, RECORDS), rng.permutation(6)[columns[-1]]))
    return {**{f"x{i}": column for i, column in enumerate(columns)}, "target": columns[-1] % 2}


MADE_UP: dict[str, Callable[[np.random.Generator], dict[str, Codes]]] = {
    **{f"parity{k}": parity(k) for k in range(2, 7)},
    **{function.__name__[1:]: causal(function) for function in (_forest, _network, _waves)},
    "chain": chain,
}
TARGETS = {"adult": "income>50K", "titanic": "Survived"}


def halves(name: str) -> tuple[Dataset, Dataset, str]:
    """Return the given half of a table, the half that tests, and the target."""
    rng = np.random.default_rng(0)
    if name in MADE_UP:
        columns, target = MADE_UP[name](rng), "target"
        whole = Dataset(columns, Domain({a: int(column.max()) + 1 for a, column in columns.items()}))
    else:
        whole, target = table(name), TARGETS[name]
    order = rng.permutation(len(whole))
    given, test = (
        Dataset({a: np.asarray(whole.columns[a])[rows] for a in whole.domain}, whole.domain)
        for rows in np.array_split(order, 2)
    )
    return given, test, target


def by_mechanism(name: str, **options: Any) -> Released:
    """Return a release of records by one of the mechanisms."""
    mechanism = getattr(pypgm.mechanisms, name)

    def released(data: Dataset, budget: Budget, seed: int) -> Dataset:
        release: pypgm.Release = mechanism(data, budget=budget, n_threads=1, unsafe_seed=seed, **options)
        return release.synthetic_data(len(data), rng=seed)

    return released


def by_aim(order: int) -> Released:
    """Return AIM over all sets of up to an order."""

    def released(data: Dataset, budget: Budget, seed: int) -> Dataset:
        return by_mechanism("aim", workload=pypgm.workloads.all_k_way(data.domain, order))(data, budget, seed)

    return released


def themselves(data: Dataset, budget: Budget, seed: int) -> Dataset:  # noqa: ARG001
    """Return the records that were given: what no release can be better than."""
    return data


RELEASED: dict[str, Released] = {
    "real": themselves,
    "wide": by_mechanism("wide"),
    **{f"aim{order}": by_aim(order) for order in (2, 3, 4)},
    "mwem": by_mechanism("mwem"),
    "private_evolution": private_evolution.release,
    "generator": generator.release,
    "residuals": residuals.release,
}


def auc(records: Dataset, test: Dataset, target: str) -> float:
    """Return how well the target of the test is ranked by what the records teach; .5 where they have one class."""
    others = [a for a in test.domain if a != target]
    learnt, tested = (np.stack([np.asarray(d.columns[a]) for a in others], axis=1) for d in (records, test))
    classes = np.asarray(records.columns[target]) > 0
    if len(np.unique(classes)) < 2:
        return 0.5
    model = HistGradientBoostingClassifier(max_iter=100, random_state=0).fit(learnt, classes)
    return float(roc_auc_score(np.asarray(test.columns[target]) > 0, model.predict_proba(tested)[:, 1]))


def measured(name: str, how: str, epsilon: str, seed: int) -> dict[str, float]:
    """Return the errors of a release's records, and its seconds."""
    given, test, target = halves(name)
    budget = Budget(epsilon=epsilon, delta="1e-9")
    records, seconds = timed(RELEASED[how], given, budget, seed, clock=time.process_time)
    errors = {}
    for order in ORDERS:
        cliques = [c for c in random_cliques(given.domain, SETS, order) if given.domain.size(c) <= 10**6]
        errors[f"of {order}"] = 100 * total_variation(given, records, cliques)
    return {**errors, "auc": auc(records, test, target), "seconds": seconds}


def rows(runs: list[dict[str, Any]]) -> Iterator[list[object]]:
    """Yield for each table, budget and method the means over seeds."""
    cells: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for one in runs:
        cells.setdefault((one["table"], one["epsilon"], one["how"]), []).append(one)
    for (name, epsilon, how), ones in cells.items():
        figures = [
            float(np.mean([one[key] for one in ones])) for key in ones[0] if key.startswith(("of ", "auc", "sec"))
        ]
        yield [f"{name} {epsilon} {how}", *figures]


def main() -> None:
    """Run what FILE lacks, and print what it holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--tables", default=",".join([*MADE_UP, *TARGETS]))
    parser.add_argument("--mechanisms", default=",".join(RELEASED))
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # releases without room for their workload say so
    wanted = (
        {"table": name, "how": how, "epsilon": epsilon, "seed": int(seed)}
        for name in given.tables.split(",")
        for epsilon in given.epsilons.split(",")
        for how in given.mechanisms.split(",")
        for seed in given.seeds.split(",")
    )
    runs = resumed(given.results, () if given.show else wanted, measured)
    print_table({"table, epsilon, method": "", **FIGURES}, rows(runs))


if __name__ == "__main__":
    main()
