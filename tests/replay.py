"""Adaptive measuring without noise: each round the worst pair is measured exactly (Appendix C.2 of the paper)."""

from __future__ import annotations

import itertools

import numpy as np

from pypgm import CliqueVector, RegionGraph, RegionGraphModel


def all_pairs(data):
    """Return the counts of all pairs of attributes, flat, in the order of the domain."""
    pairs = itertools.combinations(data.domain.attributes, 2)
    return {p: data.project(p).datavector() for p in pairs}


def total_of(counts):
    """Return the number of records."""
    return float(next(iter(counts.values())).sum())


def exact_model(domain, counts, measured, *, previous=None, tree_cells=1e6):
    """Return the region-graph model of exact measurements of some pairs."""
    single = {a: counts[p].reshape(domain.sizes(p)).sum(1 - p.index(a)) for p in counts for a in p}
    graph = RegionGraph.saturated(domain, measured)
    tables = np.concatenate([counts[r] if len(r) == 2 else single[r[0]] for r in graph.regions])
    marginals = CliqueVector(domain, graph.regions, tables)
    return RegionGraphModel(graph, marginals, total_of(counts), previous=previous, tree_cells=tree_cells)


def replay(domain, counts, *, method=None, rounds=None, tree_cells=1e6, take=None):
    """Yield (round, pair measured, mean L1 error of all pairs over the records, model).

    The next pair is the one with the largest L1 error in counts less its number of cells, the first if several; or
    what ``take(round, scores)`` says.
    """
    total = total_of(counts)
    answers = {p: np.full(c.size, total / c.size) for p, c in counts.items()}
    measured, model = [], None
    for n in itertools.count():
        errors = {p: np.abs(answers[p] - c).sum() for p, c in counts.items()}
        yield n, measured[-1] if measured else None, np.mean(list(errors.values())) / total, model
        left = {p: errors[p] - c.size for p, c in counts.items() if p not in set(measured)}
        if not left or n == rounds:
            return
        measured.append(max(left, key=left.get) if take is None else take(n + 1, left))
        model = exact_model(domain, counts, measured, previous=model, tree_cells=tree_cells)
        for pair, answer in zip(counts, model.project_many(list(counts), method=method), strict=True):
            answers[pair] = answer.datavector()


def published(data_dir, name, kind):
    """Return the rows (pair, error) of a published replay; the pair of round 0 is None."""
    rows = []
    for line in (data_dir / "published" / f"mwem-no-noise-{name}_{kind}.out").read_text().splitlines():
        _, pair, _, error = line.split(",")
        rows.append((None if pair == "None" else tuple(pair.split(" x ")), float(error)))
    return rows
