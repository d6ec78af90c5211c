"""Which further cliques leave a junction tree small."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pypgm.errors import ModelTooLargeError
from pypgm.graphs import JunctionTree

if TYPE_CHECKING:
    from pypgm.domain import Clique, Domain
    from pypgm.mechanisms.run import Run

__all__ = ["TREE_BYTES", "that_fit"]

TREE_BYTES = 2.0**23
"""Of the tables of the trees that mechanisms grow round by round."""


def that_fit(run: Run, known: Iterable[Clique], candidates: Sequence[Clique], limit: float) -> Sequence[int]:
    """Return the positions of the candidates with which the tree of the known cliques takes at most so many bytes.

    Those that the tree holds already are among them. A region graph has no limit: there all are.
    """
    if run.oracle == "region_graph":
        return range(len(candidates))
    sets = [set(c) for c in (*known, *(ruled.clique for ruled in run.constraints))]
    largest = [c for c in sets if not any(c < other for other in sets)]
    held = sorted(run.domain.canonical(c) for c in largest)
    return [
        i
        for i, clique in enumerate(candidates)
        if any(set(clique) <= c for c in largest) or _bytes(run.domain, [*held, clique]) <= limit
    ]


def _bytes(domain: Domain, cliques: Sequence[Clique]) -> float:
    try:
        return JunctionTree(domain, cliques).cost.table_bytes
    except ModelTooLargeError:
        return math.inf
