"""The join of two related tables: one parent more, with all their children, and what that changes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pypgm import mechanisms
from pypgm.audit.finding import Finding, finding
from pypgm.data import Dataset
from pypgm.domain import Domain
from pypgm.mechanisms.related import joined

__all__ = ["check_related"]

_PARENTS, _CHILDREN = Domain({"a": 2}), Domain({"b": 3})


def check_related(pairs: int = 40) -> Finding:
    """Compare what two related tables become with and without one parent, and the relations of their ledgers.

    The parents must change by one record and the children by at most the public bound: what the noise is drawn for.
    """
    found = [wrong for seed in range(pairs) for wrong in _of_neighbours(seed)]
    found.extend(_of_releases())
    return finding("related tables", f"{pairs} pairs of tables", found, "a parent is 1 record, and their children k")


def _of_neighbours(seed: int) -> Iterator[tuple[str, str]]:
    rng = np.random.default_rng(seed)
    parents, children, most = int(rng.integers(1, 5)), int(rng.integers(13)), int(rng.integers(1, 4))
    a, b = rng.integers(2, size=parents), rng.integers(3, size=children)
    of = rng.integers(-1, parents, size=children)
    whole = joined(Dataset({"a": a}, _PARENTS), Dataset({"b": b}, _CHILDREN), of, max_children=most)
    row = int(rng.integers(parents))
    fewer, stay = Dataset({"a": np.delete(a, row)}, _PARENTS), of != row
    rest = Dataset({"b": b[stay]}, _CHILDREN)
    less = joined(fewer, rest, of[stay] - (of[stay] > row), max_children=most)
    for name, bound, one, other in zip(("parents", "children"), (1, most), whole, less, strict=True):
        clique = one.domain.attributes
        moved = int(np.abs(one.count([clique])[0] - other.count([clique])[0]).sum())
        if moved > bound:
            yield "sensitivity", f"{moved} records of the {name} change with one parent, {bound} are declared"


def _of_releases() -> Iterator[tuple[str, str]]:
    tables = Dataset({"a": [0, 1]}, _PARENTS), Dataset({"b": [2, 1, 0]}, _CHILDREN)
    release = mechanisms.synthesize_related(*tables, [0, 0, 1], max_children=3, epsilon=1, delta=1e-9, mechanism="mst")
    for name, table, bound in (("parents", release.parents, 1), ("children", release.children, 3)):
        declared = table.privacy.records_per_person
        if declared != bound:
            yield "lost user bound", f"the {name} are released for {declared} records a parent, not {bound}"
    if sum(r.ledger.budget.limit for r in (release.parents, release.children)) > release.budget.limit:
        yield "overspent", "the budgets of both tables are more than that of the release"
