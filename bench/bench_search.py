"""What `mechanisms.wide` finds beyond pairs, and what that costs pairs: beside no search and no triples.

Run: python bench/bench_search.py [--only parities,hidden] [--seeds 3] [--epsilons 1]
     PYPGM_DATA=... python bench/bench_search.py --results FILE [--tables child,network 0] [--seeds 8]
     [--epsilons .1,1,10]; with --show it prints what FILE holds

Delta is 1e-9, the relation add-remove. Parities of two to six of ten bits, of 20,000 and 3,000 records, and other rules
hidden in columns of several values: the share of fresh records of which the target is the most frequent one among the
synthetic records with the same values of the columns that it follows from; seconds are of the processor. With
`--results`, tables: at most 10,000 records of public ones and of networks, 20,000 of those made for
`bench_interactions.py` and of those made up here; * are those on which search and triples were developed. Of the
records of a release: the mean total variation of at most 300 pairs and 60 triples, the change by search and triples in
percent, the mean over seeds with its standard error, and the errors of a second sample of as many records. Beside each,
the same with a workload of pairs, for which neither larger sets nor triples are looked at, with the same noise in
answers that both ask, up to its scale. Each release is checked to have spent no more than its budget.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import bench_interactions
import bench_tables
import bench_targets
import numpy as np
from harness import check_spent, network_file, print_table, random_cliques, resumed, timed, total_variation

import pypgm
from pypgm import _core
from pypgm.mechanisms import wide
from pypgm.privacy.observer import Observer, observed_by

Columns = dict[str, np.ndarray]
_TESTED = 10_000  # fresh records
_WRONG = 0.02  # of the records, whose target is drawn at random
_RECORDS = 10_000  # of a table, at most
_PAIRS, _TRIPLES, _CELLS = 300, 60, 10**6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="parities,hidden")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    if arguments.results is not None:
        warnings.simplefilter("ignore")  # releases whose answers are all noise say so
        lists = arguments.epsilons.split(","), range(arguments.seeds), arguments.tables.split(","), HOW
        keys = ({"table": t, "how": h, "epsilon": e, "seed": s} for e, s, t, h in itertools.product(*lists))
        runs = resumed(arguments.results, () if arguments.show else keys, measured)
        print_table({"table, epsilon, seeds": "", **dict.fromkeys(FIGURES, ".2f")}, rows(runs))
        return
    for epsilon in arguments.epsilons.split(","):
        if "parities" in arguments.only:
            for n, k in [*itertools.product([20_000], range(2, 7)), *itertools.product([3000], range(2, 5))]:
                _predicted(f"parity of {k}", epsilon, n, arguments.seeds, _parity(k))
        if "hidden" in arguments.only:
            for name, (made, n_causes) in HIDDEN.items():
                _predicted(name, epsilon, 20_000, arguments.seeds, (made, n_causes))


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


def _functions(rng: np.random.Generator, n: int) -> Columns:
    """Return six free columns and six that are functions of some of these, one of them a parity of three."""
    a, b, c = rng.integers(0, 4, (3, n))
    d, f = rng.integers(0, 2, n), rng.integers(0, 3, n)
    e = rng.choice(6, n, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    product = (a * d + e) % 7
    made = {
        "sum": (a + b + rng.integers(0, 2, n)) % 5,
        "product": product,
        "rest": product % 3,
        "noisy": (c + f + (rng.random(n) < 0.1)) % 3,
        "parity": (a > 1) ^ (b > 1) ^ (d > 0) ^ (rng.random(n) < 0.03),
        "either": np.where(e > 2, np.minimum(f + a, 5), c),
    }
    free = dict(zip("abcdef", (a, b, c, d, e, f), strict=True))
    return {name: column.astype(np.int64) for name, column in {**free, **made}.items()}


def _rare(rng: np.random.Generator, n: int) -> Columns:
    """Return eight classes, down to three in a thousand, and ten columns that depend on them and on another column."""
    columns = {"class": rng.choice(8, n, p=[0.5, 0.25, 0.12, 0.06, 0.04, 0.017, 0.01, 0.003])}
    for i in range(10):
        size = int(rng.integers(2, 9))
        other = columns[f"x{i - 1}"] % 2 if i % 3 == 0 and i else rng.integers(0, 2, n)
        below = rng.dirichlet(np.full(size, 0.6), (8, 2)).cumsum(axis=2)[columns["class"], other]
        columns[f"x{i}"] = np.minimum((rng.random(n)[:, None] > below).sum(axis=1), size - 1)
    return columns


def _made_up(made: Callable[[np.random.Generator, int], Columns]) -> pypgm.Dataset:
    columns = made(np.random.default_rng(5), 2 * _RECORDS)
    return pypgm.Dataset(columns, pypgm.Domain({a: int(c.max()) + 1 for a, c in columns.items()}))


# Whether search or triples were developed on it.
TABLES = {
    **dict.fromkeys(("child", "sachs", "insurance", "water", "hailfinder", "asia", "alarm", "stroke", "loans"), False),
    **dict.fromkeys(("breast cancer", "diabetes", "digits"), False),
    **dict.fromkeys(("adult", "titanic", "fire", "msnbc", "chain", "forest", "network", "waves"), True),
    **dict.fromkeys(("functions", "rare", *(f"network {i}" for i in range(10))), True),
}
HOW = "searched", "pairs", "sample"
FIGURES = "pairs", "change", "+-", "triples", "change of", "them +-", "sample", "of triples", "seconds", "without"


@lru_cache(maxsize=1)
def _read(name: str) -> pypgm.Dataset:
    """Return a table or a part of it, drawn with a fixed seed."""
    if name in bench_interactions.MADE_UP:
        return bench_interactions.halves(name)[0]
    if name in {"functions", "rare"}:
        return _made_up(_functions if name == "functions" else _rare)
    if name.startswith("network "):
        return _of_network(int(name.split()[1]), _RECORDS)
    if name in bench_targets.TABLES and not network_file(name).exists():
        data = bench_targets.TABLES[name][2]()
    else:
        data = bench_tables.read(name)
    order = np.random.default_rng(0).permutation(len(data))[:_RECORDS]
    return pypgm.Dataset({a: np.asarray(data.columns[a])[order] for a in data.domain}, data.domain)


class _SameNoise(Observer):
    """Observer that draws the noise of a line of the ledger from the line's name and a seed.

    What two runs ask alike gets the same noise, up to its scale, whatever else one of them asks: their difference
    scatters a tenth as much as with noise of their own.
    """

    def __init__(self, seed: int) -> None:
        self.core, self._seed = self, seed
        self._lines, self._times = deque[str](), Counter[str]()

    def charged(self, ledger: object, line: Any) -> None:
        """Note the name of a line: it is drawn next."""
        del ledger
        self._lines.append(f"{line.what} {line.on}")

    def add_discrete_gaussian(self, counts: np.ndarray, over: int, under: int, *_: object) -> np.ndarray:
        """Add normal noise, rounded."""
        return counts + np.rint((over / under) ** 0.5 * self._rng().standard_normal(len(counts))).astype(np.int64)

    def select_exponential(self, scores: np.ndarray, over: int, under: int, *_: object) -> int:
        """Return the largest score after Gumbel noise, which is the exponential mechanism."""
        return int(np.argmax((scores - scores.max()) * (over / under) + self._rng().gumbel(size=len(scores))))

    def __getattr__(self, name: str) -> Any:
        return getattr(_core, name)

    def _rng(self) -> np.random.Generator:
        name = self._lines.popleft()
        self._times[name] += 1
        return np.random.default_rng([self._seed, zlib.crc32(name.encode()), self._times[name]])


def measured(name: str, how: str, epsilon: str, seed: int) -> dict[str, float]:
    """Return the errors of pairs and triples of the records of a release, or of a sample, and its seconds."""
    data = _read(name)
    if how == "sample":
        drawn, seconds = np.random.default_rng(seed).integers(0, len(data), len(data)), 0.0
        records = pypgm.Dataset({a: np.asarray(data.columns[a])[drawn] for a in data.domain}, data.domain)
    else:
        options: dict[str, Any] = {"workload": 2 if how == "pairs" else None, "n_threads": 1, "unsafe_seed": seed}
        with observed_by(_SameNoise(seed)):
            release, seconds = timed(wide, data, epsilon, "1e-9", **options, clock=time.process_time)
        check_spent(release)
        records = release.synthetic_data(len(data), rng=seed)
    triples = [c for c in random_cliques(data.domain, _TRIPLES, 3) if data.domain.size(c) <= _CELLS]
    errors = (100 * total_variation(data, records, c) for c in (random_cliques(data.domain, _PAIRS), triples))
    return {**dict(zip(("pairs", "triples"), errors, strict=True)), "seconds": seconds}


def rows(runs: list[dict[str, Any]]) -> Iterator[list[object]]:
    """Yield for each table and budget the errors, and the change by the search with its standard error."""
    cells: dict[tuple[str, str], dict[str, dict[int, dict[str, Any]]]] = {}
    for run in runs:
        cells.setdefault((run["epsilon"], run["table"]), {}).setdefault(run["how"], {})[run["seed"]] = run
    for (epsilon, name), of in sorted(cells.items()):
        seeds = sorted(of["searched"].keys() & of.get("pairs", {}).keys())
        if not seeds:
            continue
        figures: list[float] = []
        for kind in ("pairs", "triples"):
            found, without = (np.array([of[how][seed][kind] for seed in seeds]) for how in HOW[:2])
            change = 100 * (found / without - 1)
            error = change.std(ddof=1) / len(seeds) ** 0.5 if len(seeds) > 1 else np.nan
            figures += [float(found.mean()), float(change.mean()), float(error)]
        figures += [float(np.mean([run[k] for run in of.get("sample", {}).values()])) for k in ("pairs", "triples")]
        figures += [float(np.mean([of[how][seed]["seconds"] for seed in seeds])) for how in HOW[:2]]
        yield [f"{name}{'*' * TABLES.get(name, False)}, {epsilon}, {len(seeds)}", *figures]


if __name__ == "__main__":
    main()
