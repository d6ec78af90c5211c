"""Kronecker queries of a 15-attribute model beside numpy.einsum over the same factors, and in a batch.

Run: python bench/bench_kronecker.py [--threads N]

The model has the attributes of the San Francisco fire calls and a random spanning tree of pairs, the one of
bench_project_many. `numpy.einsum` gets the exponentials of the potentials and the blocks, with the path that its own
optimizer found beforehand; mbi 2.0 has a `kron_query`, which ends in a ValueError whatever potentials it is given.
Answers are compared first, to 1e-9 of the total. Medians of five.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from bench_project_many import SIZES, TOTAL, problem
from harness import beside, check, print_table, warm_seconds

import pypgm
from pypgm import KroneckerQuery, queries


def questions(names: list[str]) -> dict[str, KroneckerQuery]:
    """Return queries of three kinds."""
    size = dict(zip(names, SIZES, strict=True))
    rng = np.random.default_rng(1)
    middle = {a: queries.RangeList(size[a], [(size[a] // 4, (3 * size[a]) // 4)]) for a in names}
    return {
        "a range of every attribute": KroneckerQuery(middle),
        "prefix x prefix x mean": KroneckerQuery(
            {
                "x8": queries.Prefix(size["x8"]),
                "x11": queries.Prefix(size["x11"]),
                "x14": queries.mean(rng.normal(size=size["x14"])),
            }
        ),
        "5 signed rows on 6 attributes": KroneckerQuery({a: rng.normal(size=(5, size[a])) for a in names[3:15:2]}),
    }


class Einsum:
    """Query as a call of numpy.einsum, with a path computed once."""

    def __init__(self, model: pypgm.GraphicalModel, query: KroneckerQuery) -> None:
        domain = model.domain
        self.total = model.total
        self.operands: list[object] = []
        for index, clique in enumerate(model.cliques):
            table = np.exp(model.potentials.table(index)).reshape(domain.sizes(clique))
            self.operands += [table, [domain.index(a) for a in clique]]
        self.plain = [*self.operands, []]
        out = []
        for i, (attribute, block) in enumerate(query.blocks.items()):
            rows = block.to_sparse().toarray()
            out.append(len(domain) + i)
            self.operands += [rows, [out[-1], domain.index(attribute)]]
        self.operands.append(out)
        self.path = np.einsum_path(*self.operands, optimize="greedy")[0]
        self.mass = np.einsum(*self.plain, optimize=np.einsum_path(*self.plain, optimize="greedy")[0])

    def __call__(self) -> np.ndarray:
        """Return the answer in counts."""
        return np.einsum(*self.operands, optimize=self.path) * (self.total / self.mass)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=0)
    threads = parser.parse_args().threads
    names, pairs, values, _ = problem()
    domain = pypgm.Domain(names, SIZES)
    model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, pairs, values), TOTAL)
    print(f"{pypgm.build_info()}, {threads or 'all'} thread(s)")
    print_table({"query": "", "ms": ".3f", "peer ms": ".3f", "ratio": ".1f"}, rows(model, names, threads))


def rows(model: pypgm.GraphicalModel, names: list[str], threads: int) -> Iterator[list[object]]:
    """Yield the milliseconds of each query beside einsum's, and of queries in a batch beside one by one."""
    for name, query in questions(names).items():
        peer = Einsum(model, query)
        apart = np.abs(model.answer(query, n_threads=threads) - peer()).max()
        check(apart <= 1e-9 * TOTAL, f"{name}: the answers differ")
        ours, other = warm_seconds(lambda q=query: model.answer(q, n_threads=threads)), warm_seconds(peer)
        yield [name, *beside(ours, other)]
    rng = np.random.default_rng(2)
    batch = []
    for _ in range(1000):
        chosen = rng.choice(len(names), 3, replace=False)
        bounds = [sorted(rng.integers(0, SIZES[i], size=2).tolist()) for i in chosen]
        blocks = {names[i]: queries.RangeList(SIZES[i], [tuple(b)]) for i, b in zip(chosen, bounds, strict=True)}
        batch.append(KroneckerQuery(blocks))
    together = model.answer(batch, n_threads=threads)
    for query, answer in zip(batch, together, strict=True):
        apart = np.abs(model.answer(query) - answer).max()
        check(apart <= 1e-12 * TOTAL, "a query in a batch has another answer than alone")
    ours = warm_seconds(lambda: model.answer(batch, n_threads=threads))
    alone = warm_seconds(lambda: [model.answer(q, n_threads=threads) for q in batch])
    yield ["1000 ranges of 3; one by one", *beside(ours, alone)]


if __name__ == "__main__":
    main()
