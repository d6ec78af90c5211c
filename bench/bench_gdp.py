"""Budgets of epsilon and delta in Gaussian differential privacy beside the same in zCDP: rho bought, and errors.

Run: PYPGM_DATA=... python bench/bench_gdp.py [--mechanisms hdmm,wide,aim,mwem,privbayes,mst] [--epsilons .1,1,3,10]
     [--deltas 1e-6,1e-9] [--table adult] [--errors mst,wide] [--seeds 25]

A line for each mechanism, relation, epsilon and delta: the rho, in zCDP, of all that was charged, by that of a zCDP
budget; its limit, where all steps are Gaussian noise; and the noise that is spared. Each ledger is checked first: it
spent no more than its budget, its file is read with equal costs, and its lines, taken as if fixed beforehand, have no
more than epsilon. Then, for `--errors`, at (1, 1e-9) and (.1, 1e-6), the mean total variation of attributes, and of
pairs of at most 400 cells, from the records: the mean over the seeds of paired ratios, with its standard error.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import check, check_spent, table, total_variation

import pypgm
from pypgm.mechanisms.tables import mechanism_named
from pypgm.privacy import Budget, LedgerReport, Privacy, realised_pld_epsilon

_PAIRED = (("1", "1e-9"), (".1", "1e-6"))
_OPTIONS: dict[str, dict[str, Any]] = {"mwem": {"rounds": 10}}
_CELLS = 400  # of a pair whose error is measured


def main() -> None:
    arguments = _arguments()
    data = table(arguments.table)
    if arguments.mechanisms:
        print("mechanism relation epsilon delta: lines; rho by zCDP's, at most; noise spared; realised epsilon")
    for name in filter(None, arguments.mechanisms.split(",")):
        for point in itertools.product(
            ("add-remove", "replace"), arguments.epsilons.split(","), arguments.deltas.split(",")
        ):
            print(name, *point, _bought(data, name, *point), flush=True)
    for name in filter(None, arguments.errors.split(",")):
        for epsilon, delta in _PAIRED:
            for line in _paired(data, name, epsilon, delta, arguments.seeds):
                print(name, epsilon, delta, line, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Accounting in Gaussian differential privacy beside zCDP.")
    parser.add_argument("--mechanisms", default="hdmm,wide,aim,mwem,privbayes,mst")
    parser.add_argument("--epsilons", default=".1,1,3,10")
    parser.add_argument("--deltas", default="1e-6,1e-9")
    parser.add_argument("--table", default="adult")
    parser.add_argument("--errors", default="mst,wide", help="mechanisms whose errors are compared")
    parser.add_argument("--seeds", type=int, default=25)
    return parser.parse_args()


def _bought(data: pypgm.Dataset, name: str, neighbours: Any, epsilon: str, delta: str) -> str:
    budget, before = (Budget(epsilon=epsilon, delta=delta, accounting=kind) for kind in ("gdp", "zcdp"))
    options = _OPTIONS.get(name, {})
    release = mechanism_named(name)(data, budget=budget, privacy=Privacy(neighbours), iterations=50, **options)
    check_spent(release)
    ledger = release.ledger
    check(LedgerReport.from_dict(ledger.to_dict()).spent() == ledger.spent(), "a file has other costs")
    realised = realised_pld_epsilon(ledger)
    check(ledger.epsilon() == float(epsilon) and realised <= float(epsilon), f"{realised} of {epsilon}")
    bought = float(sum(line.law.cost("rho") for line in ledger.lines) / before.limit)
    most, spared = float(budget.limit / before.limit), 1 - 1 / math.sqrt(bought)
    return f"{len(ledger.lines)} lines; {bought:.4f}, {most:.4f}; {spared:.2%}; {realised:.4f}"


def _paired(data: pypgm.Dataset, name: str, epsilon: str, delta: str, seeds: int) -> Iterator[str]:
    """Yield lines of the errors in both kinds of accounting, after every fifth seed and at the end."""
    pairs = [p for p in itertools.combinations(data.domain.attributes, 2) if data.domain.size(p) <= _CELLS]
    sets = {"attributes": [(a,) for a in data.domain.attributes], "pairs": pairs}
    budgets = [Budget(epsilon=epsilon, delta=delta, accounting=accounting) for accounting in ("zcdp", "gdp")]
    errors: list[list[list[float]]] = []
    for seed in range(seeds):
        releases = [mechanism_named(name)(data, budget=budget, unsafe_seed=seed) for budget in budgets]
        for release in releases:
            check_spent(release)
        errors.append([[total_variation(data, r, cliques) for cliques in sets.values()] for r in releases])
        if seed + 1 == seeds or (seed + 1) % 5 == 0:
            means = np.mean(errors, axis=0)
            ratios = np.array([[new / old for old, new in zip(*both, strict=True)] for both in errors]) - 1
            half = ratios.std(axis=0, ddof=1) / math.sqrt(seed + 1) if seed else np.full(len(sets), np.nan)
            for i, what in enumerate(sets):
                told = f"{means[0, i]:.5f} -> {means[1, i]:.5f}: {means[1, i] / means[0, i] - 1:+.2%} ± {half[i]:.2%}"
                yield f"{what}, {seed + 1} seeds: {told}"


if __name__ == "__main__":
    main()
