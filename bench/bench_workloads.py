"""Workloads people have: the error each names, asked for with it and without, at equal budget.

Run: PYPGM_DATA=... python bench/bench_workloads.py [--tables adult,titanic,stroke] [--kinds rates,causal] [--seeds 5]

Four kinds. Running sums of pairs of numbers, whose marginals are asked: mean absolute error of a sum, in shares of the
records. Rates of an outcome by the value of each other attribute (`workloads.with_target(..., 2)`): mean absolute error
over values that 50 records have. A target with two others (`with_target(..., 3)`, tables of at most 20,000 cells): mean
total variation. Effects (`workloads.causal`): mean absolute error of the difference of the outcome's rate between two
treatments, standardised for one covariate after the other. One line a table, kind and mechanism: the mean error with
all pairs and with the workload, and by how much the workload lowers it, with the standard error of paired seeds.
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

import pypgm
from pypgm import workloads
from pypgm.mechanisms.tables import mechanism_named

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Table = Callable[[tuple[str, ...]], Array]  # shares of the records

_MAX_CELLS = 20_000  # cells of a triple
_MIN_RECORDS = 50  # records below which a rate is not looked at
NUMBERS = {
    "adult": ["age", "education-num", "capital-gain", "hours-per-week"],
    "titanic": ["Age", "SibSp", "Parch", "Fare"],
    "stroke": ["AGE", "RDELAY", "RSBP"],
}
EFFECTS = {
    "adult": ("sex", "income>50K", ["age", "education-num", "marital-status", "occupation", "hours-per-week"]),
    "titanic": ("Sex", "Survived", ["Pclass", "Age", "SibSp", "Parch", "Embarked"]),
    "stroke": ("RXASP", "DIED", ["AGE", "SEX", "RCONSC", "STYPE", "RATRIAL"]),
}
STROKE = (  # what is known at admission, treatment and outcome
    *("AGE", "SEX", "RDELAY", "RCONSC", "RSLEEP", "RATRIAL", "RVISINF", "RHEP24", "RASP3", "RSBP", "STYPE"),
    *(f"RDEF{i}" for i in range(1, 9)),
    *("RXASP", "RXHEP", "DIED"),
)


def read(name: str) -> pypgm.Dataset:
    """Return a table of the folder."""
    folder = Path(os.environ["PYPGM_DATA"]) / name
    data = pypgm.read_table(folder / f"{name}.csv.gz", pypgm.read_domain(folder / "domain.json"))
    if name != "stroke":
        return data
    return pypgm.Dataset({a: data.columns[a] for a in STROKE}, data.domain.project(STROKE))


def sums(answer: Table, true: Table, workload: workloads.Workload) -> float:
    """Return the mean absolute error of running sums along both attributes."""
    return float(np.mean([np.abs(_running(answer(c)) - _running(true(c))).mean() for c in workload]))


def _running(table: Array) -> Array:
    return np.asarray(table.cumsum(axis=0).cumsum(axis=1))


def rates(answer: Table, true: Table, workload: workloads.Workload, outcome: str, n_records: int) -> float:
    """Return the mean absolute error of the rates of the outcome's last value."""
    errors: list[float] = []
    for clique in workload:
        others = [a for a in clique if a != outcome]
        tables = [f((*others, outcome)) for f in (answer, true)]
        often = tables[1].sum(axis=-1) * n_records >= _MIN_RECORDS
        answered, right = (t[..., -1][often] / np.maximum(t.sum(axis=-1)[often], 1e-12) for t in tables)
        errors += np.abs(answered - right).ravel().tolist()
    return float(np.mean(errors))


def distances(answer: Table, true: Table, workload: workloads.Workload) -> float:
    """Return the mean total variation distance."""
    return float(np.mean([0.5 * np.abs(answer(c) - true(c)).sum() for c in workload]))


def effects(answer: Table, true: Table, treatment: str, outcome: str, covariates: list[str]) -> float:
    """Return the mean absolute error of standardised differences of rates."""
    differences = [[_effect(f((treatment, c, outcome))) for f in (answer, true)] for c in covariates]
    return float(np.mean([abs(answered - right) for answered, right in differences]))


def _effect(table: Array) -> float:
    """Return how much the rate of the last outcome changes from the first treatment to the last."""
    of_value = table.sum(axis=(0, 2))
    cells = table.sum(axis=2)
    both = (cells[0] > 0) & (cells[-1] > 0)
    rate = [table[t, :, -1][both] / cells[t][both] for t in (0, -1)]
    return float(((rate[1] - rate[0]) * of_value[both]).sum() / of_value[both].sum())


def kinds(name: str, data: pypgm.Dataset) -> dict[str, tuple[workloads.Workload, Callable[[Table, Table], float]]]:
    """Return each workload with the error it names."""
    domain, numbers = data.domain, NUMBERS[name]
    treatment, outcome, covariates = EFFECTS[name]
    along = workloads.Workload(domain, list(itertools.combinations(numbers, 2)))
    pairs = workloads.with_target(domain, outcome, 2)
    triples = workloads.with_target(domain, outcome, 3, max_cells=_MAX_CELLS)
    return {
        "prefixes": (along, lambda a, t: sums(a, t, along)),
        "rates": (pairs, lambda a, t: rates(a, t, pairs, outcome, len(data))),
        "target triples": (triples, lambda a, t: distances(a, t, triples)),
        "causal": (
            workloads.causal(domain, treatment, outcome, covariates),
            lambda a, t: effects(a, t, treatment, outcome, covariates),
        ),
    }


def shares_of(answers: pypgm.Dataset | pypgm.models.Model) -> Table:
    """Return a function that gives shares of the records in a clique's cells."""

    def table(clique: tuple[str, ...]) -> Array:
        values = answers.project(clique).values
        return np.asarray(values / values.sum())

    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default="adult,titanic,stroke")
    parser.add_argument("--mechanisms", default="wide,aim")
    parser.add_argument("--kinds", default="prefixes,rates,target triples,causal")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilon", default="1")
    given = parser.parse_args()
    print("| table | workload | mechanism | all pairs | workload | change |\n|---|---|---|---|---|---|")
    for name, mechanism in itertools.product(given.tables.split(","), given.mechanisms.split(",")):
        data = read(name)
        every, true = kinds(name, data), shares_of(data)
        chosen = {kind: every[kind] for kind in given.kinds.split(",")}
        before: dict[str, list[float]] = {kind: [] for kind in chosen}
        after: dict[str, list[float]] = {kind: [] for kind in chosen}

        def model(seed: int, **options: object) -> Table:
            keywords = {"epsilon": given.epsilon, "delta": 1e-9, "unsafe_seed": seed, **options}
            return shares_of(mechanism_named(mechanism)(data, **keywords).model)  # noqa: B023 - called within the loop

        for seed in range(given.seeds):
            usual = model(seed)
            for kind, (workload, error) in chosen.items():
                before[kind].append(error(usual, true))
                after[kind].append(error(model(seed, workload=workload), true))
        for kind in chosen:
            print(f"| {name} | {kind} | `{mechanism}` | {_line(before[kind], after[kind])} |", flush=True)


def _line(before: list[float], after: list[float]) -> str:
    change = (np.array(after) - before) / np.mean(before)
    error = change.std(ddof=1) / np.sqrt(change.size) if change.size > 1 else float("nan")
    return f"{np.mean(before):.4f} | {np.mean(after):.4f} | {100 * change.mean():+.0f} ± {100 * error:.0f} %"


if __name__ == "__main__":
    main()
