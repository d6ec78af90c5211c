"""The workload of the Private-PGM paper and its error, for whatever answers triples."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

import pypgm
from pypgm import workloads

PAPER = "Private-PGM: McKenna, Sheldon and Miklau 2019"
CELLS = 10_000  # most of a triple
NUMERIC = 50  # values, from which on an attribute is asked in running sums

Answers = Callable[[tuple[str, ...]], Any]


def fifteen_triples(data: pypgm.Dataset) -> workloads.Workload:
    """Return fifteen random triples, numbers asked in running sums."""
    triples = workloads.random_k_way(data.domain, 3, 15, max_cells=CELLS)
    return workloads.prefixes(data.domain, triples, [a for a in data.domain if data.domain.size((a,)) >= NUMERIC])


def workload_error(
    answers: Answers, data: pypgm.Dataset, work: workloads.Workload, only: Collection[tuple[str, ...]] | None = None
) -> float:
    """Return the L1 distance of the answers over twice the norm of the true ones, in the mean over the triples."""
    errors = []
    for clique, query in zip(work, work.queries, strict=True):
        if only is not None and clique not in only:
            continue
        true = data.project(clique).datavector()
        wrong = answers(clique).datavector() - true
        wanted, off = (true, wrong) if query is None else (query.matvec(true), query.matvec(wrong))
        errors.append(np.abs(off).sum() / wanted.sum() / 2)
    return float(np.mean(errors))
