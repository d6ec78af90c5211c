"""Many marginals of one data set."""

from __future__ import annotations

from collections.abc import Iterable

from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.dataset import Dataset


def precompute_marginals(dataset: Dataset, cliques: Iterable[object], *, transpose: bool = True) -> CliqueVector:
    """Return the counts of cliques."""
    del transpose
    return CliqueVector.from_projectable(dataset, cliques)
