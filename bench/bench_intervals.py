"""Coverage and length of intervals at a level of 0.9, by kind of statistic and by mechanism.

    PYPGM_DATA=... python bench/bench_intervals.py [--tables adult titanic] [--mechanisms wide mst aim] [--epsilons 1]

Each table is one of PYPGM_DATA, of at most so many records and columns, drawn with a seed that is also the release's;
"network:NAME" is records of a network of PYPGM_DATA/bif, "groups" a made-up table of strong structure, "skewed" one of
long tails and rare flags. For each mechanism and epsilon a line for each kind: answers, how many per cent the larger
view holds, with the standard error over releases, of which one's answers share their noise, and worlds alone, and the
mean length over that of worlds (geometric). Counts are asked as expected errors (1.645 of them), the rest as
`Release.interval`.
"""

from __future__ import annotations

import argparse
import itertools
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import pypgm
from pypgm import Dataset, Domain

TABLES = ["titanic", "adult", "groups"]
LOOKS = 4  # statistics of a kind, of a table

Columns = dict[str, np.ndarray[Any, Any]]
Statistic = Callable[[Any], Any]


def table(name: str, rows: int, columns: int, seed: int) -> Dataset:
    """Return a table by its name: some of its columns, and of its records."""
    rng, data = np.random.default_rng(seed), _whole(name, rows, seed)
    chosen = sorted(rng.permutation(len(data.domain))[:columns])
    names = [data.domain.attributes[i] for i in chosen]
    some = rng.permutation(len(data))[:rows]
    codes = Domain(names, data.domain.sizes(names))  # statistics are of codes
    return Dataset({a: np.asarray(data.columns[a])[some] for a in names}, codes)


def _whole(name: str, rows: int, seed: int) -> Dataset:
    if name in MADE_UP:
        return MADE_UP[name](rows, seed)
    folder = Path(os.environ["PYPGM_DATA"])
    if name.startswith("network:"):
        return pypgm.bayes.BayesianNetwork.read_bif(folder / "bif" / f"{name[8:]}.bif.gz").sample(rows, rng=seed)
    return pypgm.read_table(folder / name / f"{name}.csv.gz", pypgm.read_domain(folder / name / "domain.json"))


def groups(rows: int, seed: int) -> Dataset:
    """Return records of twenty kinds, which nearly decide each of ten columns of two to nine values."""
    rng = np.random.default_rng(seed)
    kind, columns, sizes = rng.choice(20, rows, p=rng.dirichlet(np.full(20, 2.0))), {}, [2, 3, 4, 5, 6, 7, 8, 9, 2, 4]
    for i, size in enumerate(sizes):
        steps = rng.dirichlet(np.full(size, 0.15), 20).cumsum(axis=1)
        columns[f"x{i}"] = (rng.random(rows)[:, None] > steps[kind]).sum(axis=1).clip(0, size - 1)
    return Dataset(columns, Domain({f"x{i}": size for i, size in enumerate(sizes)}))


def skewed(rows: int, seed: int) -> Dataset:
    """Return records of five amounts with long tails, three rare flags and two columns of a few common values."""
    rng = np.random.default_rng(seed)
    z, columns, sizes = rng.normal(size=rows), {}, [100, 80, 60, 40, 25, 2, 2, 3, 12, 30]
    for i, size in enumerate(sizes):
        loading = rng.uniform(0, 0.9)
        x = loading * z + np.sqrt(1 - loading**2) * rng.normal(size=rows)
        if i < 5:
            columns[f"x{i}"] = np.exp(rng.uniform(0.5, 1.5) * x + rng.uniform(0, 2)).astype(int).clip(0, size - 1)
        else:  # the commonest value first
            shares = (np.arange(1, size + 1.0) ** -1.5 if i > 7 else 0.06 ** np.arange(size)).cumsum()
            columns[f"x{i}"] = np.searchsorted(shares / shares[-1], (x.argsort().argsort() + 0.5) / rows)
    return Dataset(columns, Domain({f"x{i}": size for i, size in enumerate(sizes)}))


MADE_UP = {"groups": groups, "skewed": skewed}


def statistics(data: Dataset, seed: int) -> Iterator[tuple[str, Statistic]]:
    """Yield statistics of codes of random columns, cut at the median where two values are needed, by kind."""
    rng, names = np.random.default_rng(seed), list(data.domain)
    cut = {a: _cut(np.asarray(data[a])) for a in names}

    def high(columns: Columns, a: str) -> np.ndarray[Any, Any]:
        return np.asarray(columns[a]) > cut[a]

    for _ in range(LOOKS):
        a, b, c, d = (names[i] for i in rng.permutation(len(names))[:4])
        yield "mean", lambda r, a=a: np.mean(r[a])
        yield "quantiles", lambda r, a=a: np.quantile(r[a], [0.25, 0.5, 0.75])
        yield "rate by one", lambda r, a=a, b=b: _rates(high(r, a), [high(r, b)])
        yield "rate by two", lambda r, a=a, b=b, c=c: _rates(high(r, a), [high(r, b), high(r, c)])
        yield "mean by group", lambda r, a=a, b=b: _rates(np.asarray(r[a]), [high(r, b)])
        yield "log odds ratio", lambda r, a=a, b=b: _log_odds(high(r, a), high(r, b))
        yield "correlation", lambda r, a=a, b=b: _correlation(np.asarray(r[a]), np.asarray(r[b]))
        yield "linear coefficients", lambda r, chosen=(a, b, c, d): _linear(*(np.asarray(r[x], float) for x in chosen))


def _cut(column: np.ndarray[Any, Any]) -> int:
    """Return the code at and below which nearest to half of the records are."""
    below = np.bincount(column).cumsum()[:-1] / len(column)
    return int(np.argmin(np.abs(below - 0.5)))


def _rates(of: np.ndarray[Any, Any], by: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    key = sum(2**i * np.asarray(codes, int) for i, codes in enumerate(by))
    n = np.bincount(key, minlength=2 ** len(by))
    return np.where(n >= 25, np.bincount(key, of, 2 ** len(by)) / np.maximum(n, 1), np.nan)


def _log_odds(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    n = np.bincount(2 * one.astype(int) + other, minlength=4) + 0.5
    return float(np.log(n[0] * n[3] / (n[1] * n[2])))


def _correlation(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    both = np.cov(one, other)
    return float(both[0, 1] / max(np.sqrt(both[0, 0] * both[1, 1]), 1e-12))


def _linear(y: np.ndarray[Any, Any], *x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(np.linalg.lstsq(np.stack([*x, np.ones(len(y))], axis=1), y, rcond=None)[0][:-1])


def rows(data: Dataset, mechanism: str, epsilon: float, seed: int) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield for each answer its kind, its distance from the truth, and half of the interval, and that of worlds."""
    release = getattr(pypgm.mechanisms, mechanism)(data, epsilon=epsilon, delta=1e-9, unsafe_seed=seed)
    rng, names = np.random.default_rng(seed), data.domain.attributes
    cliques = [(a,) for a in names]
    for size, most in ((2, 20), (3, 6)):
        every = list(itertools.combinations(names, size))
        cliques += [every[i] for i in rng.permutation(len(every))[:most]]
    small = [c for c in cliques if data.domain.size(c) <= 50_000]
    errors = release.expected_error_many(small)
    for clique, error, worlds in zip(small, errors, release.model.expected_error_many(small), strict=True):
        true, answer = data.project(clique).datavector(), release.model.project(clique).datavector()
        kind = (
            f"{release.model.basis(clique)} pairs" if len(clique) == 2 else "one-way" if len(clique) == 1 else "triples"
        )
        off, there = np.abs(true - answer), true > 0
        yield kind, off[there], 1.645 * error.datavector()[there], 1.645 * worlds.datavector()[there]
    for kind, statistic in statistics(data, seed):
        interval = release.interval(statistic)
        off = np.abs(np.asarray(statistic(data)) - interval.answer)
        known = np.isfinite(off)
        yield (
            kind,
            *(
                np.atleast_1d(x)[np.atleast_1d(known)]
                for x in (off, interval.high - interval.answer, interval.views["worlds"])
            ),
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--mechanisms", nargs="+", default=["wide", "mst", "aim"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--each", action="store_true", help="a table for each of the tables as well")
    given = parser.parse_args()
    print("| mechanism | epsilon | answers | marginals or statistics | held, % | by worlds, % | length over worlds' |")
    print("|---|---|---|---|---|---|---|")
    for mechanism, epsilon in itertools.product(given.mechanisms, given.epsilons):
        shares_of: dict[str, list[list[tuple[float, float, float]]]] = {}
        for name, seed in itertools.product(given.tables, given.seeds):
            single: dict[str, list[tuple[float, float, float]]] = {}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for kind, off, half, worlds in rows(
                    table(name, given.rows, given.columns, seed), mechanism, epsilon, seed
                ):
                    if off.size:
                        single.setdefault(kind, []).append(_shares(off, half, worlds))
            if given.each:
                _print(f"{mechanism}, {name}", epsilon, {kind: [each] for kind, each in single.items()})
            for kind, each in single.items():
                shares_of.setdefault(kind, []).append(each)
        _print(mechanism, epsilon, shares_of)


def _shares(off: Any, half: Any, worlds: Any) -> tuple[float, float, float]:
    longer = np.log(np.maximum(half, 1e-12) / np.maximum(worlds, 1e-12))
    return float(np.mean(off <= half + 1e-9)), float(np.mean(off <= worlds + 1e-9)), float(np.mean(longer))


def _print(mechanism: str, epsilon: float, shares_of: dict[str, list[list[tuple[float, float, float]]]]) -> None:
    for kind, releases in shares_of.items():
        held, by_worlds, longer = np.mean([figures for each in releases for figures in each], axis=0)
        n = np.array([len(each) for each in releases])
        off = np.array([np.mean(each, axis=0)[0] for each in releases]) - held
        error = np.sqrt(np.square(n / n.sum() * off).sum() * n.size / max(n.size - 1, 1))
        shares = f"{100 * held:.0f} ± {100 * error:.0f} | {100 * by_worlds:.0f} | {np.exp(longer):.2f}"
        print(f"| {mechanism} | {epsilon:g} | {kind} | {n.sum()} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
