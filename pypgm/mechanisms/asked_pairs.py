"""The pairs of attributes in a workload of marginals."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from pypgm.mechanisms.grouping import is_every_cell
from pypgm.workloads import check_listable

if TYPE_CHECKING:
    from pypgm.domain import Clique
    from pypgm.mechanisms.run import Run
    from pypgm.workloads import WorkloadLike


def asked_pairs(run: Run, workload: WorkloadLike | None) -> dict[Clique, float]:
    """Return the pairs of attributes that a workload's marginals hold, with how much each counts.

    Pairs with an attribute of one value are left out: single attributes determine them. Without a workload all pairs
    count the same.

    Raises
    ------
    ValueError
        If the workload is over another domain, or has queries other than whole marginals.
    TypeError
        If it is not a workload.
    ModelTooLargeError
        If all pairs are more than memory can list.
    """
    domain = run.domain
    if workload is None:
        check_listable(domain, min(2, len(domain)))
        weighted: list[tuple[Clique, float]] = [(domain.attributes, 1.0)]
    elif not all(map(is_every_cell, (checked := run.checked_workload(workload)).queries)):
        raise ValueError(f"{run.name} answers marginals cell by cell; the workload asks other queries")
    else:
        weighted = [(domain.canonical(c), float(w)) for c, w in zip(checked, checked.weights, strict=True)]
    pairs: dict[Clique, float] = {}
    for clique, weight in weighted:
        for pair in itertools.combinations(clique, 2):
            if min(domain.sizes(pair)) > 1:
                pairs[pair] = pairs.get(pair, 0.0) + weight
    return pairs
