"""Coverage of intervals of expected errors: `wide` on tables of PYPGM_DATA, released with fresh noise.

    PYPGM_DATA=... python bench/bench_expected_error.py [--tables adult titanic] [--epsilons 1] [--seeds 10]

For each table and epsilon a line for each kind of answer: cells within 1.645 expected errors of the true counts (of
all cells, of those above 0, of those at 0), of the model and of synthetic records (`release.error`), and the expected
mean total variation of pairs over the true one.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from harness import table

import pypgm
from pypgm._base.clock import Clock
from pypgm.models.expected_error import expected_total_variation

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
TABLES = ["adult", "titanic", "msnbc", "fire", "loans"]
PAIRS = 40  # that are asked


def rows(name: str, epsilon: float, seed: int, draws: int) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Yield for each answer its kind and covered shares, then the predicted over the true total variation of pairs."""
    data = table(name)
    pairs = list(itertools.combinations(data.domain, 2))
    chosen = [pairs[i] for i in np.random.default_rng(seed).permutation(len(pairs))[:PAIRS]]
    model = pypgm.mechanisms.wide(data, epsilon=epsilon, delta=1e-9).model
    records = model.synthetic_data(rng=0)
    cliques = [*((a,) for a in data.domain), *chosen]
    for clique, errors in zip(cliques, model.expected_error_many(cliques, draws=draws), strict=True):
        true = data.project(clique).datavector()
        kind, answer = f"{len(clique)}-way {model.basis(clique)}", model.project(clique).datavector()
        yield kind, _held(answer, true, errors.datavector())
        counts = records.project(clique).datavector() * (model.total / len(records))
        yield f"{kind}, records", _held(counts, true, np.hypot(errors.datavector(), counts - answer))
    predicted = expected_total_variation(model, chosen, 2, Clock()).mean()
    yield "2-way", (predicted / pypgm.evaluate(model, cliques=chosen, unsafe_data=data).mean,)


def _held(answer: Array, true: Array, errors: Array) -> tuple[float, ...]:
    held = np.abs(answer - true) <= 1.645 * errors
    return tuple(_mean(held[chosen]) for chosen in (true >= 0, true > 0, true == 0))


def _mean(values: Sequence[bool]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 1.0, 10.0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--draws", type=int, default=20)
    given = parser.parse_args()
    print("| table | epsilon | answers | covered | above 0 | at 0 |\n|---|---|---|---|---|---|")
    for name, epsilon in itertools.product(given.tables, given.epsilons):
        numbers_of: dict[str, list[tuple[float, ...]]] = {}
        for seed in range(given.seeds):
            for kind, numbers in rows(name, epsilon, seed, given.draws):
                numbers_of.setdefault(kind, []).append(numbers)
        ratio = np.median(numbers_of.pop("2-way"))
        for kind, each in sorted(numbers_of.items()):
            covered = " | ".join(_shown([x for x in column if not np.isnan(x)]) for column in zip(*each, strict=True))
            print(f"| {name} | {epsilon:g} | {kind} ({len(each)}) | {covered} |")
        print(f"| {name} | {epsilon:g} | total variation of pairs, predicted / true | {ratio:.2f} | | |", flush=True)


def _shown(shares: Sequence[float]) -> str:
    return f"{100 * np.mean(shares):.0f} %" if shares else ""


if __name__ == "__main__":
    main()
