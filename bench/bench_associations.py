"""Shrinkage of associations in a release: odds ratios, correlations, Cramer's V and slopes, by mechanism.

Run: PYPGM_DATA=... python bench/bench_associations.py [--tables adult,fire] [--mechanisms wide,mst,aim] [--seeds 3]

Epsilon 1, delta 1e-9, tables of the model. An attribute's codes are its numbers. Of at most 300 pairs: the log odds
ratio of both being above their medians (cells of at least 30 records in the table), the correlation and the slope of
the second on the first in standard deviations (attributes of five values and more), Cramer's V. For each: what is kept,
the mean of the release's over the mean of the table's, both times the sign of the table's; then the mean absolute
error. Pairs count whose true one is away from 0: .2 for log odds ratios, .05 for others. 1 is no bias; .7 means that
three tenths are lost. Then total variation over the same pairs. Means of the seeds, with their standard errors.
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import pypgm
from pypgm.mechanisms.tables import mechanism_named

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
TABLES = "titanic,adult,fire,msnbc,stroke,loans"
_N_ATTRIBUTES = {"stroke": 30, "loans": 20}  # attributes
_ROWS = 200_000
_PAIRS, _MIN_RECORDS, _VALUES = 300, 30, 5
_AWAY = {"log odds ratio": 0.2, "correlation": 0.05, "slope": 0.05, "Cramer's V": 0.05}


def read(name: str) -> pypgm.Dataset:
    """Return a table of the folder, the first of its records and attributes where it is large."""
    folder = Path(os.environ["PYPGM_DATA"]) / name
    data = pypgm.read_table(folder / f"{name}.csv.gz", pypgm.read_domain(folder / "domain.json"))
    kept = data.domain.attributes[: _N_ATTRIBUTES.get(name)]
    return pypgm.Dataset({a: data.columns[a][:_ROWS] for a in kept}, data.domain.project(kept))


def associations(answered: Array, true: Array, n_records: int) -> Iterator[tuple[str, float, float]]:
    """Yield kinds of association of a pair, in a release and in its table, from shares of the records."""
    tables = (answered, true)
    if min(true.shape) >= _VALUES:
        correlations = [_moments(t) for t in tables]
        deviations = correlations[1][1:]  # the table's units for both
        yield "correlation", *(c[0] for c in correlations)
        yield "slope", *(c[0] * (c[2] / c[1]) * deviations[0] / deviations[1] for c in correlations)
    cuts = [int(np.searchsorted(true.sum(axis=1 - axis).cumsum(), 0.5)) + 1 for axis in (0, 1)]
    cuts = [min(cut, size - 1) for cut, size in zip(cuts, true.shape, strict=True)]
    halves = [_halves(t, cuts) for t in tables]
    if halves[1].min() * n_records >= _MIN_RECORDS:
        a, b = (float(np.log(h[0, 0] * h[1, 1] / (h[0, 1] * h[1, 0]))) for h in np.maximum(halves, 0.5 / n_records))
        yield "log odds ratio", a, b
    yield "Cramer's V", *(_cramer(t) for t in tables)


def _moments(table: Array) -> tuple[float, float, float]:
    """Return the correlation and both standard deviations of codes."""
    x, y = (np.arange(size) for size in table.shape)
    of_x, of_y = table.sum(axis=1), table.sum(axis=0)
    x, y = x - x @ of_x, y - y @ of_y
    sx, sy = (max(float(np.sqrt(np.square(v) @ p)), 1e-9) for v, p in ((x, of_x), (y, of_y)))
    return float(x @ table @ y) / (sx * sy), sx, sy


def _halves(table: Array, cuts: list[int]) -> Array:
    i, j = cuts
    return np.array([[table[:i, :j].sum(), table[:i, j:].sum()], [table[i:, :j].sum(), table[i:, j:].sum()]])


def _cramer(table: Array) -> float:
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    some = expected > 0
    square = float((np.square(table - expected)[some] / expected[some]).sum())
    return float(np.sqrt(square / max(min(table.shape) - 1, 1)))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=TABLES)
    parser.add_argument("--mechanisms", default="wide,mst,aim")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    print(f"| table | mechanism | {' | '.join(_AWAY)} | total variation |\n|{'---|' * 7}")
    for name, mechanism in itertools.product(given.tables.split(","), given.mechanisms.split(",")):
        data = read(name)
        pairs = [c for c in itertools.combinations(data.domain.attributes, 2) if min(data.domain.sizes(c)) > 1]
        pairs = [pairs[i] for i in np.random.default_rng(0).permutation(len(pairs))[:_PAIRS]]
        true = [data.project(c).values / len(data) for c in pairs]
        rows: dict[str, list[list[tuple[float, float]]]] = {kind: [] for kind in _AWAY}
        distances: list[list[float]] = []
        for seed in range(given.seeds):
            distances.append([])
            for values in rows.values():
                values.append([])
            release = mechanism_named(mechanism)(data, epsilon=1, delta=1e-9, unsafe_seed=seed)
            for answer, table in zip(release.model.project_many(pairs), true, strict=True):
                shares = answer.values / answer.values.sum()
                distances[-1].append(0.5 * float(np.abs(shares - table).sum()))
                for kind, a, b in associations(shares, table, len(data)):
                    if abs(b) >= _AWAY[kind]:
                        rows[kind][-1].append((a * np.sign(b), abs(b)))
        cells = " | ".join(_kept(row) for row in rows.values())
        apart = _shown([float(np.mean(values)) for values in distances], 4)
        print(f"| {name} | `{mechanism}` | {cells} | {apart} |", flush=True)


def _kept(seeds: list[list[tuple[float, float]]]) -> str:
    """Return what is kept and the mean absolute error."""
    if not seeds[0]:
        return "–"
    answered, true = np.moveaxis(np.array(seeds), 2, 0)  # seeds x pairs
    return f"{_shown(answered.mean(axis=1) / true.mean(axis=1), 2)} ({np.abs(answered - true).mean():.3f})"


def _shown(seeds: Sequence[float] | Array, digits: int) -> str:
    """Return the mean of the seeds and, of two and more, its standard error."""
    error = f" ± {np.std(seeds, ddof=1) / len(seeds) ** 0.5:.{digits}f}" if len(seeds) > 1 else ""
    return f"{np.mean(seeds):.{digits}f}{error}"


if __name__ == "__main__":
    main()
