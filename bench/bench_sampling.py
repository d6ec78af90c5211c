"""Synthetic records from a junction tree: counts are checked against the model, then drawing is timed.

Run: ``python bench/bench_sampling.py [--repeat N]``. The peer is independent ancestral sampling in NumPy, the same run.
"""

from __future__ import annotations

import argparse
import statistics

import numpy as np
from harness import check, median_seconds

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain
from pypgm.factor import Factor
from pypgm.graphs.junction_tree import JunctionTree
from pypgm.models.sampling import draw_records

CASES = {
    "small: 1,000 rows, 5 binary attributes, pairs": (1_000, [2] * 5, 2),
    "adult-like: 50,000 rows, 14 attributes of up to 100 values, pairs": (
        50_000,
        [85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2],
        2,
    ),
    "1,000,000 rows, 15 attributes of 20 values, pairs": (1_000_000, [20] * 15, 2),
    "1,000,000 rows, 15 attributes of 20 values, triples": (1_000_000, [20] * 15, 3),
    "one pair of 3,000 x 3,000 cells, 100,000 rows": (100_000, [3_000, 3_000], 2),
    "one step of 10^7 cells, 10,000 rows": (10_000, [1_000, 100, 100], 3),
}


def chain(sizes: list[int], width: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Beliefs of a random Markov chain of order width - 1."""
    current = rng.dirichlet(np.full(int(np.prod(sizes[: width - 1])), 0.5)).reshape(sizes[: width - 1])
    tables = []
    for size in sizes[width - 1 :]:
        conditional = rng.gamma(0.5, size=(*current.shape, size)) + 1e-9
        tables.append(current[..., None] * (conditional / conditional.sum(axis=-1, keepdims=True)))
        current = tables[-1].sum(axis=0)
    return tables


def chain_tree(domain: Domain, tables: list[np.ndarray], width: int) -> tuple[JunctionTree, list[Factor]]:
    """Return the junction tree of a chain, and the tables of its nodes."""
    cliques = [domain.attributes[i : i + width] for i in range(len(tables))]
    logs = [np.log(t if i == 0 else t / t.sum(axis=-1, keepdims=True)) for i, t in enumerate(tables)]
    tree = JunctionTree(domain, cliques)
    return tree, tree.tables(CliqueVector(domain, cliques, np.concatenate([log.ravel() for log in logs])))


def ancestral(tables: list[np.ndarray], rows: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Independent records: each new value by inverting its conditional distribution function."""
    first = tables[0]
    cells = np.searchsorted(np.cumsum(first.ravel() / first.sum()), rng.random(rows), side="right")
    columns = list(np.unravel_index(np.minimum(cells, first.size - 1), first.shape))
    for table in tables[1:]:
        shape, size = table.shape[:-1], table.shape[-1]
        flat = table.reshape(-1, size)
        shares = np.cumsum(flat / flat.sum(axis=1, keepdims=True), axis=1)
        group = np.ravel_multi_index(columns[-len(shape) :], shape)
        ladder = (shares + np.arange(len(flat))[:, None]).ravel()
        positions = np.searchsorted(ladder, group + rng.random(rows), side="right") - group * size
        columns.append(np.clip(positions, 0, size - 1))
    return columns


def total_variation(columns: list[np.ndarray], tables: list[np.ndarray], rows: int, width: int) -> tuple[float, float]:
    """Mean total variation over the cliques, and the largest difference of one count."""
    distances, worst = [], 0.0
    for i, table in enumerate(tables):
        codes = np.ravel_multi_index([np.asarray(c, dtype=np.int64) for c in columns[i : i + width]], table.shape)
        error = np.abs(np.bincount(codes, minlength=table.size) - rows * table.ravel())
        distances.append(error.sum() / (2 * rows))
        worst = max(worst, float(error.max()))
    return statistics.fmean(distances), worst


def main() -> None:
    """Check and time every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    for title, (rows, sizes, width) in CASES.items():
        rng = np.random.default_rng(0)
        names = [f"x{i}" for i in range(len(sizes))]
        domain = Domain(names, sizes)
        tables = chain(sizes, width, rng)
        tree, beliefs = chain_tree(domain, tables, width)
        records = list(draw_records(tree, beliefs, rows, 0).values())
        mine, worst = total_variation(records, tables, rows, width)
        peer, _ = total_variation(ancestral(tables, rows, rng), tables, rows, width)
        check(width > 2 or worst < 2, f"{title}: a pair's count is {worst} from the model's")
        fast = median_seconds(lambda t=tree, b=beliefs, n=rows: draw_records(t, b, n, 1), repeat)
        slow = median_seconds(lambda t=tables, n=rows, g=rng: ancestral(t, n, g), repeat)
        print(
            f"{title}\n  {fast:.4f} s, {rows / fast:,.0f} rows/s, {1e9 * fast / rows / len(sizes):.0f} ns a value;"
            f" numpy's independent sampling {slow:.4f} s: ratio {slow / fast:.1f}"
            f"\n  mean total variation {mine:.2e}, independent {peer:.2e}: ratio {mine / peer:.3f};"
            f" furthest count {worst:.2f}"
        )


if __name__ == "__main__":
    main()
