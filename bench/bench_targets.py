"""How well a target is predicted from synthetic records: `wide`, `wide` with `targets`, and other mechanisms.

Run: PYPGM_DATA=... python bench/bench_targets.py --results FILE [--tables "alarm;asia"] [--epsilons .1,1,10]
     [--mechanisms wide,targets,aim,mwem,mst,privbayes] [--seeds 0,1]; with --show it prints what FILE holds

Delta is 1e-9, the relation add-remove, one thread, options as they are by default; `targets` is `wide` that is given
the target. At most 5,000 records are given and as many others, or a third of a smaller table, test. Boosted trees
learn the target from as many synthetic records as were given: the area under the curve on the test, beside `real`, that
of the given records; mean total variation of pairs and of single attributes from the given records, in percent; seconds
of the processor. Tables marked * are those on which `wide` was developed. The last lines count the tables on which the
area under the curve is within .01 of the best mechanism's.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench_interactions import auc
from harness import (
    check_spent,
    data_folder,
    network_file,
    print_table,
    random_cliques,
    resumed,
    table,
    timed,
    total_variation,
)
from numpy.typing import NDArray
from sklearn import datasets

import pypgm
from pypgm import Budget, Dataset, Domain
from pypgm.bayes import BayesianNetwork

RECORDS = 5_000  # given, at most
PAIRS = 300  # pairs whose error is computed
MECHANISMS = ("wide", "targets", "aim", "mwem", "mst", "privbayes")
CLOSE = 0.01  # of the area under the curve: as good as the best

# Columns known at randomisation, and the death within two weeks.
_STROKE = ("AGE", "SEX", "STYPE", "RCONSC", "RDELAY", "RSBP", "RSLEEP", "RATRIAL", "RCT", "RVISINF", "RHEP24", "RASP3")
_DEFICITS = tuple(f"RDEF{i}" for i in range(1, 9))


def chosen(name: str, *columns: str) -> Callable[[], Dataset]:
    """Return a maker of some columns of a table, all by default."""

    def made() -> Dataset:
        whole = table(name)
        kept = columns or whole.domain.attributes
        return Dataset({a: whole.columns[a] for a in kept}, whole.domain.project(kept))

    return made


def sampled(name: str) -> Callable[[], Dataset]:
    """Return a maker of the records of a network."""

    def made() -> Dataset:
        folder = data_folder() / "samples"
        states = json.loads((folder / f"{name}.states.json").read_text())
        return pypgm.read_table(folder / f"{name}.csv.gz", Domain({a: len(labels) for a, labels in states.items()}))

    return made


def drawn(name: str) -> Callable[[], Dataset]:
    """Return a maker of records drawn from a network."""
    return lambda: BayesianNetwork.read_bif(network_file(name)).sample(2 * RECORDS, 0)


def binned(load: Callable[..., Any], values: int) -> Callable[[], Dataset]:
    """Return a maker of a table of scikit-learn, each column in equally frequent bins, the target above its middle."""

    def made() -> Dataset:
        x, y = load(return_X_y=True)
        columns: dict[str, NDArray[np.int64]] = {}
        for i, column in enumerate(x.T):
            cuts = np.unique(np.quantile(column, np.arange(1, values) / values))
            codes = np.unique(np.searchsorted(cuts, column, side="right"), return_inverse=True)[1]
            if codes.max() > 0:
                columns[f"x{i}"] = codes.astype(np.int64)
        columns["target"] = (y > (y.max() + y.min()) / 2).astype(np.int64)
        return Dataset(columns, Domain({a: int(column.max()) + 1 for a, column in columns.items()}))

    return made


def made_up(columns: int, rows: int, kind: str) -> Callable[[], Dataset]:
    """Return a maker of columns of two to six values that depend on latent classes, on the target, or along a tree."""

    def made() -> Dataset:
        rng = np.random.default_rng([columns, rows])
        sizes = [2, *rng.integers(2, 7, columns - 1).tolist()]
        hidden = rng.integers(0, 10, 2 * rows)
        drawn = [(hidden % 2) ^ (rng.random(2 * rows) < 0.1)]
        for i, size in enumerate(sizes[1:], 1):
            cause = {"classes": hidden, "bayes": drawn[0], "tree": drawn[int(rng.integers(i))]}[kind]
            laws = rng.dirichlet(np.full(size, 3.0 if kind == "bayes" else 0.7), int(cause.max()) + 1).cumsum(axis=1)
            drawn.append((rng.random(2 * rows)[:, None] > laws[cause]).sum(axis=1).clip(0, size - 1))
        names = ["target", *(f"x{i}" for i in range(1, columns))]
        codes = {a: column.astype(np.int64) for a, column in zip(names, drawn, strict=True)}
        return Dataset(codes, Domain({a: [f"v{k}" for k in range(n)] for a, n in zip(names, sizes, strict=True)}))

    return made


MADE_UP = {
    f"{kind} {columns} x {rows}*": ("target", 0, made_up(columns, rows, kind))
    for kind, columns, rows in (
        ("classes", 21, 5000),
        ("classes", 31, 500),
        ("bayes", 60, 3000),
        ("bayes", 20, 800),
        ("tree", 20, 1000),
        ("tree", 30, 4000),
    )
}

# Target, the largest code of its negative class, and the maker of the table.
TABLES: dict[str, tuple[str, int, Callable[[], Dataset]]] = {
    "adult*": ("income>50K", 0, chosen("adult")),
    "adult, sex*": ("sex", 0, chosen("adult")),
    "titanic*": ("Survived", 0, chosen("titanic")),
    "fire, priority*": ("Final Priority", 0, chosen("fire")),
    "fire, ALS*": ("ALS Unit", 0, chosen("fire")),
    "msnbc*": ("site_2", 1, chosen("msnbc")),
    "loans": ("loan_status", 2, chosen("loans", "loan_amnt", "int_rate", "annual_inc", "dti", "delinq_2yrs",
              "inq_last_6mths", "open_acc", "pub_rec", "revol_bal", "revol_util", "total_acc", "term", "grade",
              "emp_length", "home_ownership", "verification_status", "purpose", "addr_state", "loan_status")),
    "stroke": ("ID14", 0, chosen("stroke", *_STROKE, *_DEFICITS, "RXASP", "RXHEP", "ID14")),
    "asia": ("D", 0, sampled("asia")),
    "alarm": ("BP", 1, sampled("alarm")),
    "breast cancer": ("target", 0, binned(datasets.load_breast_cancer, 4)),
    "diabetes": ("target", 0, binned(datasets.load_diabetes, 4)),
    "digits": ("target", 0, binned(datasets.load_digits, 3)),
    "insurance": ("PropCost", 0, drawn("insurance")),
    "child": ("XrayReport", 0, drawn("child")),
    "win95pts": ("Problem1", 0, drawn("win95pts")),
}  # fmt: skip


def halves(name: str) -> tuple[Dataset, Dataset, str]:
    """Return the given records of a table, those that test, and the target, whose positive class comes last."""
    target, negative, made = (TABLES | MADE_UP)[name]
    whole = made()
    order = np.random.default_rng(0).permutation(len(whole))
    given = len(whole) // 2 if name in MADE_UP else min(RECORDS, 2 * len(whole) // 3)
    domain = whole.domain
    columns = {a: np.asarray(whole.columns[a])[order[: 2 * given]].astype(np.int64) for a in domain}
    columns[target] = (columns[target] > negative).astype(np.int64)
    if domain.size((target,)) > 2:
        domain = Domain({a: 2 if a == target else domain.labels.get(a, domain.size((a,))) for a in domain})
    parts = ({a: c[rows] for a, c in columns.items()} for rows in (slice(given), slice(given, None)))
    first, second = (Dataset(part, domain) for part in parts)
    return first, second, target


def released(how: str, given: Dataset, target: str, budget: Budget, seed: int) -> Dataset:
    """Return the synthetic records of a release, which spent no more than its budget."""
    if how == "real":
        return given
    options = {"targets": target} if how == "targets" else {}
    mechanism = getattr(pypgm.mechanisms, "wide" if how == "targets" else how)
    release = mechanism(given, budget=budget, n_threads=1, unsafe_seed=seed, **options)
    check_spent(release)
    return release.synthetic_data(len(given), rng=seed)


def measured(name: str, how: str, epsilon: str, seed: int) -> dict[str, float]:
    """Return the figures of one release."""
    given, test, target = halves(name)
    budget = Budget(epsilon=epsilon, delta="1e-9")
    records, seconds = timed(released, how, given, target, budget, seed, clock=time.process_time)
    errors = [100 * total_variation(given, records, random_cliques(given.domain, PAIRS, k)) for k in (2, 1)]
    return {"auc": auc(records, test, target), "pairs": errors[0], "singles": errors[1], "seconds": seconds}


def means(runs: list[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, float]]:
    """Return for each table, budget and method the means over seeds."""
    cells: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for one in runs:
        cells.setdefault((one["table"], one["epsilon"], one["how"]), []).append(one)
    kinds = ("auc", "pairs", "singles", "seconds")
    return {key: {k: float(np.mean([one[k] for one in ones])) for k in kinds} for key, ones in cells.items()}


def rows(runs: list[dict[str, Any]]) -> Iterator[list[object]]:
    """Yield a row of figures for each table, budget and method."""
    for key, figures in means(runs).items():
        yield [", ".join(key), *figures.values()]


def counted(runs: list[dict[str, Any]]) -> Iterator[str]:
    """Yield for each budget and mechanism on how many tables it is as good as the best."""
    cells = means(runs)
    for epsilon in dict.fromkeys(key[1] for key in cells):
        areas: dict[str, dict[str, float]] = {}
        for (name, of, how), figures in cells.items():
            if of == epsilon and how != "real":
                areas.setdefault(name, {})[how] = figures["auc"]
        for how in dict.fromkeys(h for of in areas.values() for h in of):
            near = [of[how] >= max(of.values()) - CLOSE for of in areas.values() if how in of]
            yield f"epsilon {epsilon}, {how}: within {CLOSE} of the best on {sum(near)} of {len(near)} tables"


def main() -> None:
    """Run what FILE lacks, and print what it holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--tables", default=";".join(TABLES), help="separated by semicolons")
    parser.add_argument("--mechanisms", default=",".join(["real", *MECHANISMS]))
    parser.add_argument("--epsilons", default=".1,1,10")
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # releases whose answers are all noise say so
    lists = (given.seeds.split(","), given.tables.split(";"), given.epsilons.split(","), given.mechanisms.split(","))
    wanted = (
        {"table": name, "how": how, "epsilon": epsilon, "seed": int(seed)}
        for seed, name, epsilon, how in itertools.product(*lists)
    )
    runs = resumed(given.results, () if given.show else wanted, measured)
    print_table(
        {"table, epsilon, method": "", "auc": ".3f", "pairs": ".2f", "singles": ".2f", "seconds": ".1f"}, rows(runs)
    )
    print(*counted(runs), sep="\n")


if __name__ == "__main__":
    main()
